"""Short ways to write down a conversation as items."""

from typing import Any

from sightline.values.items import Call, Item, Kind, Result, Text


class Conversation:
    """Items in the order they are said."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._next = 1

    def user(self, text: str) -> "Conversation":
        return self._add(Kind.USER, Text(text))

    def says(self, text: str) -> "Conversation":
        return self._add(Kind.ASSISTANT, Text(text))

    def summary(self, text: str) -> "Conversation":
        return self._add(Kind.SUMMARY, Text(text))

    def call(self, name: str, given: Any, result: str = "done", *, says: str = "", error: str = "") -> "Conversation":
        """An assistant message with one call, and its result."""
        self._add(Kind.ASSISTANT, *([Text(says)] if says else []))
        identity = f"call_{self._next}"
        self.items.append(Item(f"{self._next - 1}.1", Kind.CALL, (Call(identity, name, given),)))
        return self._add(Kind.RESULT, Result(identity, (Text(result),), error))

    def bash(self, command: str, result: str = "", *, says: str = "", error: str = "") -> "Conversation":
        return self.call("bash", {"command": command}, result, says=says, error=error)

    def _add(self, kind: Kind, *parts: Any) -> "Conversation":
        self.items.append(Item(str(self._next), kind, tuple(parts)))
        self._next += 1
        return self


def words(text: str) -> int:
    """Counts as simply as can be, so that a reader can follow the budgets."""
    return len(text.split())


def section(text: str, name: str) -> list[str]:
    """The lines below a heading."""
    lines = text.split("\n")
    if f"## {name}" not in lines:
        return []
    start = lines.index(f"## {name}") + 1
    end = next((i for i in range(start, len(lines)) if lines[i].startswith("## ")), len(lines))
    return lines[start:end]
