"""What the tests of the DocUI document share: its vectors, and a notebook as an app's author would render one."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sightline.origins.docui import (
    AnchorInfo,
    AnchorType,
    Builder,
    Context,
    ContextVersion,
    Document,
    Element,
    Interaction,
    LodLevel,
    LodState,
    Page,
    SourceData,
    to_json,
)
from sightline.testing import Ticking

GIST, SUMMARY, FULL = LodLevel
AT = datetime(2025, 12, 10, 10, 0, tzinfo=UTC)
LATER = datetime(2025, 12, 10, 10, 5, tzinfo=UTC)
VERSION = ContextVersion(1, 0, 0)

VECTOR_1 = r"""
{
  "header": {
    "appId": "notebook",
    "sessionId": "sess-001",
    "version": { "major": 1, "minor": 0, "patch": 0 },
    "timestamp": "2025-12-10T10:00:00Z"
  },
  "state": {
    "currentLod": "Summary",
    "focusId": null,
    "custom": null
  },
  "content": "# Notebook\n\n[SUMMARY] Entry 1",
  "anchors": {},
  "history": null
}
"""

VECTOR_2 = r"""
{
  "header": { "appId": "notebook", "sessionId": "sess-002", "version": { "major": 1, "minor": 1, "patch": 0 }, "timestamp": "2025-12-10T10:05:00Z" },
  "state": { "currentLod": "Summary", "focusId": "entry-1", "custom": null },
  "content": "# Notebook\n\n[SUMMARY] **[entry-1]** PipeMux 概览 [button:expand]",
  "anchors": {
    "expand-entry-1": {
      "type": "Button",
      "params": [],
      "target": "entry-1"
    },
    "entry-1": {
      "type": "Reference",
      "params": [],
      "target": null
    }
  },
  "history": null
}
"""  # noqa: E501


# ------------------------------------------------------------------ a notebook, as an app's author would render one


def notebook(value: Any, lod: LodLevel) -> Page:
    """Entries that can be expanded, deleted when all of it is shown."""
    offers = {GIST: (), SUMMARY: ("expand",), FULL: ("expand", "delete")}[lod]
    entries = tuple(
        Element(id=each.get("id", ""), text=each["title"], body=each.get("text", ""), lod=lod, actions=offers)
        if each.get("id")
        else Element(text=each["title"], lod=lod)
        for each in value["entries"]
    )
    return Page("Notebook", entries, value.get("focus"), value.get("custom"))


def notes(*titles: str, **more: Any) -> dict[str, Any]:
    return {"entries": [{"id": f"entry-{n}", "title": each} for n, each in enumerate(titles, 1)], **more}


def source(value: Any, major: int = 1, at: datetime = AT, session: str = "sess-001") -> SourceData:
    return SourceData("notebook", session, major, at, value)


class Counted:
    """A render function that knows how often it was called."""

    def __init__(self, render: Callable[[Any, LodLevel], Page] = notebook) -> None:
        self._render, self.calls = render, 0

    def __call__(self, value: Any, lod: LodLevel) -> Page:
        self.calls += 1
        return self._render(value, lod)


def document(render: Callable[[Any, LodLevel], Page] = notebook, value: Any = None, **more: Any) -> Document:
    builder = Builder(render, **{name: more.pop(name) for name in ("actions", "redact") if name in more})
    return Document(
        builder,
        app_id="notebook",
        session_id=more.pop("session", "sess-001"),
        clock=more.pop("clock", None) or Ticking(),
        value=value if value is not None else notes("one", "two"),
        **more,
    )


def built(value: Any, lod: LodLevel = SUMMARY, history: tuple[Interaction, ...] | None = None) -> Context:
    return Builder(notebook).build(source(value), LodState(lod), history)


def happened(action: str = "expand", result: str = "expanded") -> Interaction:
    return Interaction(action, result, AT)


def letters(context: Context) -> int:
    return len(to_json(context))


BUTTON, FORM, REFERENCE = (
    AnchorInfo(AnchorType.BUTTON, ()), AnchorInfo(AnchorType.FORM, ("text",)), AnchorInfo(AnchorType.REFERENCE, ()),
)  # fmt: skip
EXPAND = AnchorInfo(AnchorType.BUTTON, (), "entry-1")


def minimum(context: Context) -> None:
    """The document's five fields, on the wire."""
    said = json.loads(to_json(context))
    assert isinstance(said["header"]["appId"], str)
    assert said["header"]["appId"]
    assert isinstance(said["header"]["sessionId"], str)
    assert said["header"]["sessionId"]
    assert all(isinstance(said["header"]["version"][part], int) for part in ("major", "minor", "patch"))
    assert said["state"]["currentLod"] in ("Gist", "Summary", "Full")
    assert isinstance(said["anchors"], dict)
