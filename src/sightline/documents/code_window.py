"""The window that lists a session's code.

It is a window because then the model always sees the current list, and the prompt prefix stays the same.
"""

from sightline.apps import App, Element, Lod, Options
from sightline.documents.code.phrases import say
from sightline.documents.code.store import CodeStore

CODE_LIST = "code_list"
_MOST = {Lod.SUMMARY: 20, Lod.GIST: 5}  # newest pieces of code that are shown: about 100 tokens, and about 30


def code_list(store: CodeStore, session_id: str, *, plain: bool = False) -> type[App]:
    """Return the app that lists a session's code. `plain`: word for word as `CodeStore.listing`, as a system message.

    A list that is larger than the windows' share of the token budget is shortened in both forms.
    """

    class CodeList(App):
        """List the code of this conversation."""

        name = CODE_LIST
        zh = "代码列表：本次对话中的代码文件"
        single = True
        options = Options(closable=False, important=False, plain=plain)
        listed: str = ""

        def opened(self) -> None:
            self.refresh()

        def refresh(self) -> bool:
            """List the code again; whether the list has changed."""
            before, self.listed = self.listed, store.listing(session_id, self.host.locale)
            return self.listed != before

        def view(self, lod: Lod) -> list[Element]:
            """Return the whole list, because any line may be the one that is needed; at lower levels, the newest.

            Then the newest come first, and a line after them says how many older ones there are.
            """
            if plain and lod is Lod.FULL:
                return [Element(id="list", text=self.listed)]
            lines = [line for line in self.listed.split("\n") if line]
            if lod in _MOST and len(lines) > _MOST[lod] + 2:  # the first is a heading, the last says how to refer
                older = len(lines) - 2 - _MOST[lod]
                more = say("older codes", self.host.locale, older=older)
                lines = [lines[0], *lines[-2 : -2 - _MOST[lod] : -1], more, lines[-1]]
            return [Element(id=str(number), text=line) for number, line in enumerate(lines, 1)]

    return CodeList
