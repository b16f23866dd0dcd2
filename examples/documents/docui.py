"""The DocUI document from beginning to end: notebooks that a model reads as documents with anchors, and uses.

Run it: python examples/documents/docui.py. It prints the document's three test vectors, what a model is sent of an open
notebook and what it does with the anchors there, and each of the four errors with what follows from it. No model is
needed: the answer is written below. docui.txt has the output.
"""

import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

import sightline as sl
from sightline.apps import App, Element, Lod, Page
from sightline.origins.docui import (
    AnchorInfo,
    AnchorType,
    Builder,
    Context,
    ContextTooLargeError,
    ContextVersion,
    Document,
    VersionMismatchError,
    to_json,
)
from sightline.testing import Ticking

TEN, FIVE_PAST = 1_765_360_800_000, 1_765_361_100_000  # 2025-12-10, 10:00 and 10:05 UTC, in milliseconds
UNFOLD = '{"name": "action", "arguments": {"window_id": "notebook_1", "action_id": "unfold-entry-1"}}'


class Plain(App):
    """Notes without anything to press."""

    name, title = "notebook", "Notebook"
    notes: list[str]

    def __init__(self) -> None:
        self.notes = ["Entry 1"]

    def view(self, lod: Lod) -> list[Element]:
        """One line for each note, with its level."""
        if not self.notes:
            raise ValueError("a notebook without notes")
        return [Element(text=note, lod=lod) for note in self.notes]


def render(notes: dict[str, str], lod: Lod) -> Page:
    """Entries with an id, which can be expanded: a render function, which is all that a builder needs."""
    entries = [Element(id=name, text=title, lod=lod, actions=("expand",)) for name, title in notes.items()]
    return Page("Notebook", tuple(entries), focus=next(iter(notes), None))


def main() -> None:
    """Print the document's samples, then use what they show."""
    handler = logging.StreamHandler(sys.stdout)
    handler.addFilter(lambda record: "Traceback" not in record.getMessage())  # the context says it
    logging.basicConfig(handlers=[handler], format="warning: %(message)s")
    with tempfile.TemporaryDirectory() as folder:
        print_first_vector(Path(folder))
        document = print_second_vector()
        print_third_vector()
        use_anchors(Path(folder))
        meet_errors(Path(folder), document)


def print_first_vector(folder: Path) -> None:
    """Print the smallest context, of a window in a session."""
    with opened(folder, "sess-001", Plain) as session:
        window = session.windows.open("notebook", lod=Lod.SUMMARY, closable=False)
        print("== vector 1 ==")
        print_context(session.windows.window(window).context())


def print_second_vector() -> Document:
    """Print a context with anchors, of a document; its level was switched, so Minor is 1."""
    notes, clock = {"entry-1": "PipeMux 概览"}, Ticking(FIVE_PAST, step=0)
    document = Document(Builder(render), app_id="notebook", session_id="sess-002", clock=clock, value=notes)
    document.switch(Lod.SUMMARY)
    print("== vector 2 ==")
    print_context(document.context())
    return document


def print_third_vector() -> None:
    """Print which versions are compatible."""
    v1, v2, v3 = ContextVersion(1, 0, 0), ContextVersion(1, 1, 0), ContextVersion(2, 0, 0)
    print("== vector 3 ==")
    print(f"v1.IsCompatibleWith(v2); // {str(v1.is_compatible_with(v2)).lower()} (minor change)")
    print(f"v1.IsCompatibleWith(v3); // {str(v1.is_compatible_with(v3)).lower()} (major change)")


def use_anchors(folder: Path) -> None:
    """Let a model press a button of the notebook that ships, and print what it is sent before and after."""
    print("== anchors ==")
    with opened(folder, "sess-003", "notebook") as session:
        window = session.windows.open("notebook")
        text = "A broker between processes. [button:remove] is only text here."
        session.windows.act(window, "add", entry_id="entry-1", title="PipeMux 概览", summary="A broker.", content=text)
        session.user("What is PipeMux?")
        before = session.windows.window(window).context()
        print_entry(session)
        session.reply(f"I look it up. <tool_call>{UNFOLD}</tool_call>")
        print_entry(session)
        after = session.windows.window(window).context()
        print("versions:", dotted(before), "→", dotted(after))
        print("history:", [each.action for each in after.history or ()])
        print(session.windows.act(window, "[button:wipe]").message)


def meet_errors(folder: Path, document: Document) -> None:
    """Meet each error of the document, and print how it is recovered from."""
    print("== InvalidSourceDataError ==")
    with opened(folder, "sess-004", Plain) as ours:
        window = ours.windows.open("notebook", closable=False)
        held = ours.windows.window(window)
        held.app.notes.clear()
        ours.windows.changed(held.app)
        print(held.context().content)
        held.app.notes.append("Entry 2")
        ours.windows.changed(held.app)

        print("== VersionMismatchError ==")
        with sl.Session.resume("sess-004", folder, root=folder, apps=[Plain]) as theirs:
            app: Any = theirs.windows.window(window).app
            app.notes.append("Entry 3")
            theirs.windows.changed(app)
        ours.refresh()
        try:
            held.render()
        except VersionMismatchError as error:
            print(error)
        print(ours.windows.window(window).context().content)

    print("== AnchorConflictError ==")
    document.register("expand-entry-1", AnchorInfo(AnchorType.FORM, ("text",)))
    print("expand-entry-1 is still a", document.context().anchors["expand-entry-1"].type)

    print("== ContextTooLargeError ==")
    document.switch(Lod.FULL)
    try:
        document.fit(40, lambda context: len(context.content))
    except ContextTooLargeError as error:
        print(error)
    print("level:", document.context().state.current_lod.name)


def opened(folder: Path, session_id: str, app: type[App] | str) -> sl.Session:
    """Begin a session with this app, whose windows are Markdown with anchors; its clock stands at ten."""
    settings = sl.Settings(windows="markdown")
    clock = Ticking(TEN, step=0)
    return sl.Session.new(folder, root=folder, session_id=session_id, apps=[app], settings=settings, clock=clock)


def print_context(context: Context) -> None:
    """Print a context as the document's JSON."""
    print(msgspec.json.format(to_json(context), indent=2).decode())


def print_entry(session: sl.Session) -> None:
    """Print the part about entries of what the model is sent now."""
    [*_, last] = session.compose(sl.Budget(8_000)).openai()["messages"]
    print(str(last["content"]).split("\n\n")[1])


def dotted(context: Context) -> str:
    """The version of a context, as people write it."""
    version = context.header.version
    return f"{version.major}.{version.minor}.{version.patch}"


if __name__ == "__main__":
    main()
