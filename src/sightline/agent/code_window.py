"""The code of a session: what a response brings is kept, and a window shows what there is now.

As a window, because then the model always sees the list as it is and the prompt's prefix stays.
"""

from sightline.agent.code.store import CodeStore, Saved
from sightline.agent.structured_response import CodeBlock
from sightline.apps import App, Element, Lod, Options

_MOST = {Lod.SUMMARY: 20, Lod.GIST: 5}  # of the newest pieces of code: some hundred tokens, and some thirty


def kept(block: CodeBlock, store: CodeStore, session_id: str) -> Saved:
    """Store a piece of code that a response brings. Raises what `CodeStore.store` raises."""
    return store.store(
        block.code_id, block.code, language=block.language, description=block.description, session_id=session_id
    )


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

        def view(self, lod: Lod) -> list[Element]:
            """All of the list, since each line of it may be the one that is needed; where there is no room, the newest.

            The newest come first then, and a line behind them says how many more there are.
            """
            lines = [line for line in self.listed.split("\n") if line]
            if lod in _MOST and len(lines) > _MOST[lod] + 2:  # the first says what it is, the last how to refer to it
                older = len(lines) - 2 - _MOST[lod]
                more = self.says(
                    f"… and {older:,} older: file_reader reads each by its id",
                    f"……还有较早的 {older:,} 个，可用 file_reader 按 ID 读取",
                )
                lines = [lines[0], *lines[-2 : -2 - _MOST[lod] : -1], more, lines[-1]]
            return [Element(id=str(number), text=line) for number, line in enumerate(lines, 1)]

    return CodeList
