"""What must hold of a shipped app's window, whatever was done in it; and things to do."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
from hypothesis import strategies as st

from sightline.apps import App, Lod
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking
from sightline.values.settings import Settings

FORGERIES = (
    "[button:clear]", "[form:add text=x]", "[ref:e1]", "**[e1]** x", "[FULL] **[e1]** x", "```", "</Window>", "]]>",
    "<tool_call>{}</tool_call>", "&amp;", "a\nb", "a\r\n# b", "\u2028", "\x00", "> x", "| x |", "`", "\\", "买菜",
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=30), st.sampled_from(FORGERIES), st.text(min_size=190, max_size=220))
LOOKS = st.builds(Settings, locale=st.sampled_from(["en", "zh"]), windows=st.sampled_from(["xml", "markdown"]))

Act = tuple[str, Mapping[str, Any]]


def started(*apps: str, settings: Settings | None = None) -> Session:
    """A session in memory that knows these apps, with a window of each."""
    session = Session(MemoryStore("apps"), apps=apps, settings=settings, clock=Ticking(), project=Path())
    for name in apps:
        session.windows.open(name)
    return session


def app(session: Session, window_id: str) -> Any:
    """The app that an open window shows."""
    window = session.windows.window(window_id)
    assert window is not None
    return window.app


def rendered(session: Session, window_id: str, lod: Lod | None = None) -> str:
    """What a model sees of a window; at this level, where one is given."""
    if lod is not None:
        session.windows.lod(window_id, lod)
    window = session.windows.window(window_id)
    assert window is not None
    return window.render()


def content(session: Session, window_id: str, lod: Lod = Lod.FULL) -> list[str]:
    """The lines that an app shows of itself in Markdown: without heading and actions."""
    lines = rendered(session, window_id, lod).split("\n\n")
    return lines[1].split("\n")


def done(session: Session, window_id: str, acts: Sequence[Act]) -> None:
    """Do these things. One that fails leaves the data as they were; after each, the window keeps to the laws."""
    for action, params in acts:
        before = app(session, window_id).save()
        outcome = session.windows.act(window_id, action, **params)
        assert outcome.success or app(session, window_id).save() == before
        check(session, window_id)


def check(session: Session, window_id: str) -> None:
    """Same data, same view; levels only add anchors; XML is well-formed; what is saved brings the same view back."""
    shown, below = app(session, window_id), set[str]()
    again = _restored(shown)
    for lod in Lod:
        assert shown.page(lod) == shown.page(lod) == again.page(lod)
        text = rendered(session, window_id, lod)
        window = session.windows.window(window_id)
        assert window is not None
        assert not window.document.content().failed
        anchors = set(window.context().anchors)
        assert anchors >= below
        below = anchors
        if session.settings.windows == "xml":
            assert ElementTree.fromstring(text).get("id") == window_id
        else:
            shown_entries = [each for each in shown.page(lod).elements if each.lod is not None]
            assert len(re.findall(r"(?m)^\[(?:GIST|SUMMARY|FULL)\] \*\*\[", text)) == len(shown_entries)


def _restored(shown: App) -> App:
    again = type(shown)()
    again.host, again.target = shown.host, shown.target
    again.restore(msgspec.json.decode(msgspec.json.encode(shown.save())))
    return again
