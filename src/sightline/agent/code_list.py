"""The code of a session as a window: the model always sees what there is now, and the prompt's prefix stays."""

from sightline.apps import App, Element, Lod, Options
from sightline.code.store import CodeStore


def code_list(store: CodeStore, session_id: str) -> type[App]:
    """The app that lists a session's code."""

    class CodeList(App):
        """List the code of this conversation."""

        name = "code_list"
        zh = "代码列表：本次对话中的代码文件"
        single = True
        options = Options(closable=False, important=False)
        listed: str

        def __init__(self) -> None:
            self.listed = ""

        def opened(self) -> None:
            """Look up what there is."""
            self.refresh()

        def refresh(self) -> bool:
            """Code may have been saved since."""
            before, self.listed = self.listed, store.listing(session_id, self.says("en", "zh"))
            return self.listed != before

        def view(self, lod: Lod) -> list[Element]:  # noqa: ARG002 - the same at every level
            """All of the list: each line of it may be the one that is needed."""
            return [
                Element(id=str(number), text=line) for number, line in enumerate(self.listed.split("\n"), 1) if line
            ]

    return CodeList
