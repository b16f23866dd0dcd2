"""JSON: values under their keys; lists of like objects as a header and rows, or in a gist as columns."""

import re
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from sightline.shorten.fill import Piece, Pieces, by_place, by_worth, grouped
from sightline.shorten.identifiers import shown, values_in, values_of_lines
from sightline.shorten.lines import Levels, weigh

MOST_PIECES = 1500  # a larger document is read from its beginning
LARGEST = 256 * 1024  # characters of a document that is parsed; a larger one is read as text
DEEPEST = 12
ROW = 300  # characters of one row
LEAF = 120  # characters of one value in a gist
EMPTY = -0.28  # added to a member without a value: worth saying last
ROWS = 0.45  # share of a summary for whole rows
OPENED = 8  # rows that may be told by the unchanged beginning already
HOLDER = 0.6  # share of the document in one string, from which that string is what the document is about

_TELLING = re.compile(
    r"(?:^|_|\b)(?:id|ids|number|code|status|state|name|email|key|uuid|sha|version|path|url|type)s?$|Id$|Name$|编号|单号|名称|状态",
    re.IGNORECASE,
)
_ID = re.compile(r"(?:^|_|\b)(?:id|uuid|key|number|code)s?$|Id$|编号|单号|订单", re.IGNORECASE)


_WORD = re.compile(r"\w+")


class Said(NamedTuple):
    """Something a document says: a row of a summary, or one scalar under the path of keys to it, lists as `[]`."""

    label: str
    ahead: str  # a key that is told with it
    text: str
    worth: float


def parsed(text: str) -> Any:
    """The JSON value of a text, or None if it is no object or list of at least two members."""
    if len(text) > LARGEST or text[:64].lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) and value else None


def held_text(value: Any, size: int) -> str | None:
    """The document as lines when one string in it is most of it: a tool that wraps its output in JSON."""
    if not isinstance(value, dict):
        return None
    longest = max((v for v in value.values() if isinstance(v, str)), key=len, default="")
    if len(longest) < HOLDER * size or "\n" not in longest:
        return None
    rest = [f"{key}: {compact(member)[:ROW]}" for key, member in value.items() if member is not longest]
    return "\n".join([*rest, longest])


def document(value: Any, opening: str = "") -> Levels:
    """Rows for the summary, after the opening; columns for the gist."""
    rows: list[Said] = []
    _rows(value, "", rows, 0)
    leaves: dict[tuple[str, str], Said] = {}
    _leaves(value, "", "", leaves, 0)
    columns = grouped(by_worth(_weighed(list(leaves.values()))))

    def render(label: str, chosen: list[Piece], values: list[Piece]) -> str:
        return "\n".join(filter(None, (opening, label, _tabled(chosen, values))))

    told = [row for i, row in enumerate(_weighed(rows)) if i >= OPENED or not _says(opening, row.text)]
    lines = grouped(by_worth(told, 1.0), 1.0)
    opened, fixed = values_in(opening), len(opening)
    summary = Pieces(lines, columns, ROWS, render, opened, fixed, bias=0.92)
    return Levels(summary, Pieces([], columns, 0.0, _gist, bias=1.1))


def _says(opening: str, row: str) -> bool:
    return all(word in opening for word in _WORD.findall(row))


def _weighed(said: list[Said]) -> list[Piece]:
    """What is said as pieces, with the worth of what they show."""
    values = values_of_lines([one.text for one in said])
    return [
        Piece(i, one.ahead + one.text, one.worth + worth, found, one.label)
        for i, (one, found, worth) in enumerate(zip(said, values, weigh(values).lines, strict=True))
    ]


def compact(value: Any, room: int = ROW, depth: int = 0) -> str:
    """A value without the quotes JSON needs, in about `room` characters; what is beyond is not even visited."""
    if not isinstance(value, (dict, list)):
        return scalar(value)
    members = value.items() if isinstance(value, dict) else (("", member) for member in value)
    parts: list[str] = []
    for key, member in members:
        if room <= 0 or depth > DEEPEST:
            parts.append("…")
            break
        text = compact(member, room, depth + 1)
        parts.append(f"{key}: {text}" if isinstance(value, dict) else text)
        room -= len(parts[-1]) + 2
    inner = ", ".join(parts)
    return f"[{inner}]" if isinstance(value, list) else f"{{{inner}}}" if depth else inner


def scalar(value: Any) -> str:
    """A scalar as JSON spells it, strings bare and on one line."""
    if isinstance(value, str):
        return value if len(value) <= 2 * ROW and value.isprintable() else shown(" ".join(value[: 2 * ROW].split()))
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _rows(value: Any, label: str, out: list[Said], depth: int) -> None:
    """What a summary may say: scalars of one object share a line; a member of a list is a row."""
    if len(out) >= MOST_PIECES or depth > DEEPEST:
        return
    if isinstance(value, dict) and not _alike(list(value.values())):
        for key, member in value.items():
            if isinstance(member, (dict, list)) and len(compact(member, 80)) > 80:
                _rows(member, f"{label}.{key}" if label else key, out, depth + 1)
            else:
                out.append(Said(label, f"{shown(key)}: ", compact(member, depth=1)[:ROW], 0.3 + _bonus(key, member)))
        return
    names, members = (list(value), list(value.values())) if isinstance(value, dict) else ([], value)
    keys = _shared_keys(members)
    head = f"{label}[{len(members)}]" + (f" ({', '.join(keys)})" if keys else "")
    for i, member in enumerate(members):
        cells = [compact(member[key], depth=1) for key in keys] if keys else [compact(member)]
        if names and names[i] not in cells:  # many an object says its own key
            cells[0] = f"{shown(names[i])}: {cells[0]}"
        out.append(Said(head, "", ", ".join(cells)[:ROW], 0.6 / (1 + i / 4)))


def _alike(members: list[Any]) -> bool:
    """Whether these are two or more objects with mostly the same keys: a table whose first column is the outer key."""
    if len(members) < 2 or not all(isinstance(member, dict) and member for member in members):
        return False
    first = set(members[0])
    return all(len(first & set(member)) * 2 >= len(first) for member in members[:50])


def _shared_keys(members: list[Any]) -> list[str]:
    if len(members) < 2 or not all(isinstance(member, dict) and member for member in members):
        return []
    keys = list(members[0])
    return keys if len(keys) <= 24 and all(list(member) == keys for member in members) else []


def _bonus(key: str, value: Any) -> float:
    return EMPTY if value is None or value in ("", "null") or value == [] else _telling(key)


@lru_cache(maxsize=1024)
def _telling(key: str) -> float:
    """What the name of a member adds to the worth of its value."""
    return 1.0 if _ID.search(key) else 0.5 if _TELLING.search(key) else 0.0


def _leaves(value: Any, path: str, key: str, out: dict[tuple[str, str], Said], depth: int) -> None:
    """Every distinct scalar of each path, in order; the keys of a table keyed by id are values too."""
    if len(out) >= MOST_PIECES or depth > DEEPEST:
        return
    if isinstance(value, dict):
        table = f"{path}[{len(value)}]" if _alike(list(value.values())) else ""
        for name, member in value.items():
            if table:
                _leaves(name, table, "id", out, depth)
                _leaves(member, f"{path}[]", key, out, depth + 1)
            else:
                _leaves(member, f"{path}.{name}" if path else name, name, out, depth + 1)
    elif isinstance(value, list):
        for member in value:
            _leaves(member, f"{path}[]", key, out, depth + 1)
    elif (text := scalar(value)[:LEAF]) and (path, text) not in out:
        out[path, text] = Said(path, "", text, 0.05 + _bonus(key, value))


def _tabled(chosen: list[Piece], values: list[Piece]) -> str:
    rows: list[str] = []
    for label, texts in _by_label(chosen).items():
        if "[" in label:
            rows.append(f"{label}:")
            rows.extend(f" {text}" for text in texts)
        else:
            rows.append((f"{label}: " if label else "") + "; ".join(texts))
    text = "\n".join(rows)
    new = [piece for piece in values if piece.text not in text]
    return f"{text}\n… {_columned(new)}" if new else text


def _gist(header: str, _: list[Piece], chosen: list[Piece]) -> str:
    return f"{header}\n{_columned(chosen)}" if chosen else header


def _columned(chosen: list[Piece]) -> str:
    return "; ".join((f"{label}: " if label else "") + ", ".join(texts) for label, texts in _by_label(chosen).items())


def _by_label(chosen: list[Piece]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for piece in sorted(chosen, key=by_place):
        groups.setdefault(piece.label, []).append(piece.text)
    return groups
