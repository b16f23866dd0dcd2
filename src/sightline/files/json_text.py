"""Changes in a JSON text that leave everything else in it as it is: blanks, order, and how values are written."""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from sightline.errors import BadInput

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)', re.DOTALL)
_GAP = re.compile(r"[{\[](\s*)")
_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_LINE_END = re.compile(r"[ \t]*(,?)[ \t]*(?://[^\n]*|/\*[^\n]*?\*/[ \t]*)?(?=\r?\n)")  # behind a last value
_COMMA = re.compile(r"\s*,")
_MOST_DEPTH = 100  # of values in each other: more is no file that people write

Step = str | int


class Value(NamedTuple):
    """A value and where it stands. Of an object `items` are the values with their keys; of a list, without."""

    start: int
    end: int
    items: tuple["Item", ...] = ()


class Item(NamedTuple):
    """A value of an object or list. `start` is that of its key, if it has one."""

    start: int
    key: str | None
    value: Value


class JsonText:
    """The text of a JSON object. Each change returns a new one.

    With `comments` it may have them, and commas behind a last value, as many programs take it in their configuration.
    Raises BadInput if it is no JSON, or no object.
    """

    def __init__(self, text: str, *, comments: bool = False) -> None:
        self.text, self._comments = text, comments
        self._bare = _without_comments(text) if comments else text  # places in both are the same
        try:
            self.value: Any = json.loads(self._bare.removeprefix("\ufeff"), parse_constant=_refuse)
            self._at = 1 if text.startswith("\ufeff") else 0
            self._root = self._read(0)
        except RecursionError:
            raise BadInput("values are nested too deeply") from None
        except ValueError as error:
            raise BadInput(f"it is no JSON: {error}") from None
        if not isinstance(self.value, dict):
            raise BadInput("it is JSON, but no object: it must begin with {")

    def get(self, *path: Step) -> Any:
        """Return the value at a path of keys and numbers; None if there is none."""
        value = self.value
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def has(self, *path: Step) -> bool:
        """Whether there is a value at a path, be it null."""
        *outer, last = path
        there = self.get(*outer)
        return isinstance(there, dict) and last in there

    def has_twice(self, *path: Step) -> bool:
        """Whether the object at the path's beginning has its last key more than once."""
        *outer, last = path
        return [item.key for item in self._find(outer).items].count(str(last)) > 1

    def written(self, *path: Step) -> str:
        """Return how the value at a path is written."""
        value = self._find(path)
        return self.text[value.start : value.end]

    def write(self, path: Sequence[Step], written: str) -> "JsonText":
        """Write the text of another value in the place of one that is there."""
        replaced = self._find(path)
        return self._changed(self.text[: replaced.start] + written + self.text[replaced.end :])

    def replace(self, path: Sequence[Step], value: Any) -> "JsonText":
        """Write another value in the place of one that is there."""
        return self.write(path, self._dump(value, self._find(path).start))

    def add(self, path: Sequence[Step], key: str | None, value: Any) -> "JsonText":
        """Add a value at the end of the object or list at `path`, in an object under `key`."""
        outer = self._find(path)
        name = "" if key is None else json.dumps(key, ensure_ascii=False) + (": " if self._is_spaced else ":")
        if outer.items:
            gap = self._gap(outer)
            at = outer.items[-1].value.end
            if "\n" not in gap:
                gap = " " if self._is_spaced else ""
            own = f"{gap}{name}{self._dump(value, at, indent=_indent_in(gap))}"
            if self._comments and "\n" in gap and (line_end := _LINE_END.match(self.text, at)):
                comma = line_end[1]  # behind the last value
                before, after = self.text[:at] + ("" if comma else ","), self.text[line_end.end() :]
                return self._changed(before + line_end[0] + own + comma + after)
            new = f",{own}"
            return self._changed(self.text[:at] + new + self.text[at:])
        indent = self._indent_at(outer.start)
        opening, closing = self.text[outer.start], self.text[outer.end - 1]
        inside = self.text[outer.start + 1 : outer.end - 1]
        if self._unit is None:
            new = f"{opening}{name}{self._dump(value, outer.start)}{closing}"
        else:
            inner, line = indent + self._unit, self._newline
            after = inside if inside.strip() else f"{line}{indent}"  # comments
            new = f"{opening}{line}{inner}{name}{self._dump(value, 0, indent=inner)}{after}{closing}"
        return self._changed(self.text[: outer.start] + new + self.text[outer.end :])

    def remove(self, path: Sequence[Step]) -> "JsonText":
        """Remove the value at a path, with its key and a comma."""
        *outer_path, last = path
        outer = self._find(outer_path)
        at = self._index(outer, last)
        items = outer.items
        if len(items) == 1:
            start, end = outer.start + 1, outer.end - 1
        elif at + 1 < len(items):
            start, end = items[at].start, items[at + 1].start
        else:
            start, end = items[at - 1].value.end, items[at].value.end
            if self._comments:  # that stand between the two stay
                return self._changed(self._without_last(start, items[at].start, end))
        return self._changed(self.text[:start] + self.text[end:])

    def _without_last(self, before: int, start: int, end: int) -> str:
        """Return the text without its last value. `before`: the end of the one before, behind which a comma follows."""
        between = self.text[before:start].rstrip()
        if comma := _COMMA.match(_blank_comments(self.text), end):
            return self.text[:before] + between + self.text[comma.end() :]
        at = before + self._bare[before:start].index(",")
        return self.text[:at] + self.text[at + 1 : before + len(between)] + self.text[end:]

    def _changed(self, text: str) -> "JsonText":
        return JsonText(text, comments=self._comments)

    # ------------------------------------------------------------------ where things stand

    def _find(self, path: Sequence[Step]) -> Value:
        value = self._root
        for step in path:
            value = value.items[self._index(value, step)].value
        return value

    def _index(self, outer: Value, step: Step) -> int:
        """Return which item this is. Of a key that is there twice the last one counts, as for all who read JSON."""
        if isinstance(step, int):
            return step
        return max(index for index, item in enumerate(outer.items) if item.key == step)

    def _next(self) -> tuple[str, int]:
        token = _TOKEN.match(self._bare, self._at)
        assert token is not None, "the text was read as JSON before"
        self._at = token.end()
        return token[1], token.start(1)

    def _read(self, depth: int) -> Value:
        token, start = self._next()
        if token not in "{[":
            return Value(start, self._at)
        if depth > _MOST_DEPTH:
            raise RecursionError
        items: list[Item] = []
        while True:
            ahead, at = self._next()
            if ahead in "}]":
                return Value(start, self._at, tuple(items))
            if ahead == ",":
                ahead, at = self._next()
            if token == "{":
                self._next()  # the colon
                items.append(Item(at, json.loads(ahead), self._read(depth + 1)))
            else:
                self._at = at
                items.append(Item(at, None, self._read(depth + 1)))

    # ------------------------------------------------------------------ how it is written

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def _unit(self) -> str | None:
        """By how much a value is indented; None if the text is on one line."""
        if not self._root.items:
            return "  "
        gap = self._gap(self._root)
        return (_indent_in(gap) or "  ") if "\n" in gap else None

    @property
    def _is_spaced(self) -> bool:
        """Whether there is a blank after colons and commas."""
        if not self._root.items:
            return True
        first = self._root.items[0]
        return self.text[first.value.start - 1].isspace()

    def _gap(self, outer: Value) -> str:
        gap = _GAP.match(self._bare, outer.start)
        assert gap is not None, "an object or a list"
        has_comment = self._comments and "\n" in gap[1]
        return f"{self._newline}{_indent_in(gap[1])}" if has_comment else gap[1]

    def _indent_at(self, place: int) -> str:
        line = self._bare[self._bare.rfind("\n", 0, place) + 1 : place]
        return line[: len(line) - len(line.lstrip())]

    def _dump(self, value: Any, place: int, *, indent: str | None = None) -> str:
        if self._unit is None:
            return _dumped(value, separators=(", ", ": ") if self._is_spaced else (",", ":"))
        indent = self._indent_at(place) if indent is None else indent
        text = _dumped(value, indent=self._unit)
        return text.replace("\n", self._newline + indent)


def _without_comments(text: str) -> str:
    """Return the text with blanks in the place of comments and of commas behind a last value."""
    return _LAST_COMMA.sub(lambda found: found[0] if found[0][0] == '"' else " ", _blank_comments(text))


def _blank_comments(text: str) -> str:
    return _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0]), text)


def _dumped(value: Any, **options: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, **options)
    return text if _is_encodable(text) else json.dumps(value, **options)


def _is_encodable(text: str) -> bool:
    """Whether a text has no half of a character, which JSON can name and no file can hold."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _refuse(name: str) -> None:
    """Refuse what Python reads as a number and JSON does not have."""
    raise ValueError(f"{name} is no value of JSON")


def _indent_in(gap: str) -> str:
    return gap.rpartition("\n")[2]
