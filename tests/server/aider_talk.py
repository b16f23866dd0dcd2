"""Conversations in aider's form: no tools, and files, a map of the repository and rules anew in each request."""

from typing import Any

from through_proxy import Json, Talk, Through, text_of

RULES = (
    "# *SEARCH/REPLACE block* Rules:\n\nEvery *SEARCH* section must *EXACTLY MATCH* the existing file content.\n" * 3
)
AGREED = {"role": "assistant", "content": "Ok."}


def user(text: str) -> Json:
    """A message of the user."""
    return {"role": "user", "content": text}


def source(turn: int, lines: int = 60) -> str:
    """The file as it is after so many turns."""
    methods = (
        f"    def valve_{at}(self) -> int:\n        return self.pressure * {at + (at == turn % lines) * turn * 7919}\n"
        for at in range(lines)
    )
    return "class Pump:\n" + "\n".join(methods)


class AiderTalk(Talk):
    """As aider 0.86 puts its messages together: see `format_chat_chunks` in its `coders/base_coder.py`."""

    def __init__(self, through: Through, wire: str = "chat", *, examples: bool = True, **fields: Any) -> None:
        super().__init__(through, wire, **fields)
        del self.fields["tools"]
        self.system = "Act as an expert software developer. " * 20 + "\n" + RULES
        self.examples = [
            user("Change get_factorial() to use math.factorial"),
            {"role": "assistant", "content": "Here are the *SEARCH/REPLACE* blocks:\n\n```\nimport math\n```"},
            user("I switched to a new code base. Please don't consider the above files."), AGREED,
        ] if examples else []  # fmt: skip
        self.done: list[Json] = []
        self.turn, self.file = 0, source(0)

    def body(self, **changed: Any) -> Json:
        """The next request: what was said stands between what is written anew."""
        map_ = f"Here are summaries of some files present in my git repository.\n\nmap {self.turn // 3}:\n  pumps.py\n"
        files = "I have *added these files to the chat* so you can go ahead and edit them.\n\n"
        *before, question = self.list
        listed = [
            *self.examples,
            user(map_), {"role": "assistant", "content": "Ok, I won't try and edit those files without asking first."},
            *self.done,
            user(f"{files}pumps.py\n```\n{self.file}```\n"),
            {"role": "assistant", "content": "Ok, any changes I propose will be to those files."},
            *before, user(f"{question['content']}\n\n{RULES}"),
        ]  # fmt: skip
        system = [{"role": "system", "content": self.system}] if self.wire == "chat" else []
        told = {} if self.wire == "chat" else {"system": self.system}
        return self.fields | {"messages": [*system, *listed]} | told | changed

    def edit(self, text: str) -> None:
        """One turn: a question, an answer, and the edit that aider makes and tells of."""
        self.say(text)
        self.turn += 1
        self.file = source(self.turn)
        self.done += [*self.list, user("I updated the files."), AGREED]
        self.list = []

    def summarize(self, kept: int = 4) -> None:
        """As aider does by itself: a request of its own for a summary of the older part, which stands for it then."""
        head, tail = self.done[:-kept], self.done[-kept:]
        told = "".join(f"# {message['role'].upper()}\n{message['content']}\n" for message in head)
        request = {"model": self.fields["model"], "max_tokens": 500, "messages": [user(f"Briefly summarize.\n{told}")]}
        reply = self.through.post(self.wire, request).json()
        self.done = [user(f"I spoke to you previously about a number of things.\n{text_of(self.wire, reply)}"), *tail]
