"""JSON: values under their keys. Lists of similar objects become a header and rows, in a gist columns."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

from sightline.shorten.fill import Piece, Pieces, by_place, rank, rank_by_label, rows_by_label
from sightline.shorten.identifiers import values_in, values_of_lines, without_marks
from sightline.shorten.lines import Levels, gist_level, value_worths
from sightline.shorten.rarity import cell_traits, odd_pieces, odd_rows

MOST_PIECES = 1500  # a larger document is read from its beginning
DEEPEST = 12
COMPARED, KEYS, NESTED = 500, 24, 3  # members of a list that are compared, by how many keys, down to which depth
ROW = 300  # characters of one row
LEAF = 120  # characters of one value in a gist
EMPTY = -0.28  # worth added to a member without a value, so that it comes last
ROWS = 0.45  # share of a summary for whole rows
OPENING_ROWS = 8  # rows that the unchanged beginning may already show
WRAPPER = 0.6  # share of the document in one string, from which that string is what the document is about

_NOTABLE = re.compile(
    r"(?:^|_|\b)(?:id|ids|number|code|status|state|name|email|key|uuid|sha|version|path|url|type)s?$|Id$|Name$|编号|单号|名称|状态",
    re.IGNORECASE,
)
_ID = re.compile(r"(?:^|_|\b)(?:id|uuid|key|number|code)s?$|Id$|编号|单号|订单", re.IGNORECASE)
_WORD = re.compile(r"\w+")


class _Statement(NamedTuple):
    """One row of a summary, or one scalar of a gist. Its label is the path of keys to it, with `[]` for lists."""

    label: str
    key: str  # written before the text
    text: str
    worth: float


def wrapped_text(value: Any, size: int) -> str | None:
    """Return the document as lines if one string is most of it, as when a tool wraps its output in JSON."""
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if not isinstance(value, dict):
        return None
    longest = max((v for v in value.values() if isinstance(v, str)), key=len, default="")
    if len(longest) < WRAPPER * size or "\n" not in longest:
        return None
    rest = [f"{key}: {compact(member)[:ROW]}" for key, member in value.items() if member is not longest]
    return "\n".join([*rest, longest])


def json_levels(value: Any, opening: str = "", visible: Sequence[str] = ()) -> Levels:
    """Choose rows for the summary, after the opening; for the gist unusual members, then new columns."""
    rows: list[_Statement] = []
    _rows(value, "", rows, 0)
    leaves: dict[tuple[str, str], _Statement] = {}
    _leaves(value, "", "", leaves, 0)
    columns = rank_by_label(rank(_as_pieces(list(leaves.values()))))

    def render(label: str, chosen: list[Piece], values: list[Piece]) -> str:
        return "\n".join(filter(None, (opening, label, _render_rows(chosen, values))))

    new = [
        row
        for i, row in enumerate(_as_pieces(rows))
        if i >= OPENING_ROWS or not all(word in opening for word in _WORD.findall(row.text))
    ]
    lines = rank_by_label(rank(new, 1.0), 1.0)
    summary = Pieces(lines, columns, ROWS, render, values_in(opening), len(opening), bias=0.92)
    return Levels(summary, gist_level(_odd_members(value), columns, visible, separator=", ", bias=1.1))


def _odd_members(value: Any, depth: int = 0) -> list[Piece]:
    """Return the unusual members of every list of objects: what is unusual about them, and which one it is."""
    if not isinstance(value, (dict, list)) or depth > DEEPEST:
        return []
    members = list(value.values() if isinstance(value, dict) else value)[:COMPARED]
    nested = [member for member in members if isinstance(member, (dict, list))]
    inner = [piece for member in nested for piece in _odd_members(member, depth + 1)]
    columns = _columns(members)
    if not columns:
        return inner
    first = next(iter(columns))
    ids = list(value) if isinstance(value, dict) else [f"{first}: {cell}" for cell in columns[first]]
    return [*odd_pieces(list(columns), list(columns.values()), ids), *inner]


def _columns(members: list[Any]) -> dict[str, list[str]]:
    """Return the scalars of objects that are alike, by their keys; nothing if they are not."""
    if not _are_alike(members):
        return {}
    rows = list(map(_scalars, members))
    met = [*dict.fromkeys(chain.from_iterable(rows))]
    keys = sorted(met[: 8 * KEYS], key=_key_worth, reverse=True)[:KEYS]
    return {key: [row.get(key, "") for row in rows] for key in keys}


def _scalars(value: dict[str, Any], before: str = "", depth: int = 0) -> dict[str, str]:
    """Return the scalars of an object, and of the objects in it, under the keys that lead to them."""
    scalars: dict[str, str] = {}
    for key, member in value.items():
        if isinstance(member, dict) and depth < NESTED:
            scalars |= _scalars(member, f"{before}{key}.", depth + 1)
        elif not isinstance(member, (dict, list)):
            scalars[before + key] = scalar(member)
    return scalars


def _as_pieces(statements: list[_Statement]) -> list[Piece]:
    """Return the statements as pieces, with the worth of their values."""
    values = values_of_lines([statement.text for statement in statements])
    return [
        Piece(i, statement.key + statement.text, statement.worth + worth, own, statement.label)
        for i, (statement, own, worth) in enumerate(zip(statements, values, value_worths(values).lines, strict=True))
    ]


def compact(value: Any, chars: int = ROW, depth: int = 0) -> str:
    """Return a value without the quotes of JSON, in about `chars` characters. What is beyond is not even visited."""
    if not isinstance(value, (dict, list)):
        return scalar(value)
    members = value.items() if isinstance(value, dict) else (("", member) for member in value)
    parts: list[str] = []
    for key, member in members:
        if chars <= 0 or depth > DEEPEST:
            parts.append("…")
            break
        text = compact(member, chars, depth + 1) if isinstance(member, (dict, list)) else scalar(member)
        parts.append(f"{key}: {text}" if isinstance(value, dict) else text)
        chars -= len(parts[-1]) + 2
    inner = ", ".join(parts)
    return f"[{inner}]" if isinstance(value, list) else f"{{{inner}}}" if depth else inner


def scalar(value: Any) -> str:
    """Return a scalar as JSON writes it; strings without quotes and on one line."""
    if isinstance(value, str):
        return (
            value
            if len(value) <= 2 * ROW and value.isprintable()
            else without_marks(" ".join(value[: 2 * ROW].split()))
        )
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _rows(value: Any, label: str, out: list[_Statement], depth: int) -> None:
    """Collect the rows of a summary: the scalars of one object share a line, a member of a list is a row."""
    if len(out) >= MOST_PIECES or depth > DEEPEST:
        return
    if isinstance(value, dict) and not _are_alike(list(value.values())):
        for key, member in value.items():
            if isinstance(member, (dict, list)) and len(compact(member, 80)) > 80:
                _rows(member, f"{label}.{key}" if label else key, out, depth + 1)
            else:
                out.append(
                    _Statement(
                        label,
                        f"{without_marks(key)}: ",
                        compact(member, depth=1)[:ROW],
                        0.3 + _member_worth(key, member),
                    )
                )
        return
    names, members = (list(value), list(value.values())) if isinstance(value, dict) else ([], value)
    keys = _shared_keys(members)
    head = f"{label}[{len(members)}]" + (f" ({', '.join(keys)})" if keys else "")
    odd = odd_rows(map(cell_traits, _columns(members[:COMPARED]).values()))
    for i, member in enumerate(members):
        cells = [compact(member[key], depth=1) for key in keys] if keys else [compact(member)]
        if names and names[i] not in cells:  # many objects repeat their key
            cells[0] = f"{without_marks(names[i])}: {cells[0]}"
        out.append(_Statement(head, "", ", ".join(cells)[:ROW], 0.6 / (1 + i / 4) + sum(odd.get(i, {}).values())))


def _are_alike(members: list[Any]) -> bool:
    """Whether these are two or more objects with mostly the same keys: a table whose first column is the outer key."""
    if len(members) < 2 or not all(isinstance(member, dict) and member for member in members):
        return False
    first = set(members[0])
    return all(len(first & set(member)) * 2 >= len(first) for member in members[:50])


def _shared_keys(members: list[Any]) -> list[str]:
    keys = list(members[0]) if _are_alike(members) else []
    return keys if 0 < len(keys) <= 24 and all(list(member) == keys for member in members) else []


def _member_worth(key: str, value: Any) -> float:
    return EMPTY if value is None or value in ("", "null") or value == [] else _key_worth(key)


@lru_cache(maxsize=1024)
def _key_worth(key: str) -> float:
    """Return what the name of a member adds to the worth of its value."""
    return 1.0 if _ID.search(key) else 0.5 if _NOTABLE.search(key) else 0.0


def _leaves(value: Any, path: str, key: str, out: dict[tuple[str, str], _Statement], depth: int) -> None:
    """Collect every distinct scalar of each path, in order. The keys of a table keyed by id are values too."""
    if len(out) >= MOST_PIECES or depth > DEEPEST:
        return
    if isinstance(value, dict):
        table = f"{path}[{len(value)}]" if _are_alike(list(value.values())) else ""
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
        out[path, text] = _Statement(path, "", text, 0.05 + _member_worth(key, value))


def _render_rows(chosen: list[Piece], values: list[Piece]) -> str:
    """Return the rows of each list, with a mark after one that others follow in the list, and the other members."""
    rows: list[str] = []
    groups: dict[str, list[Piece]] = {}
    for piece in sorted(chosen, key=by_place):
        groups.setdefault(piece.label, []).append(piece)
    for label, members in groups.items():
        if "[" in label:
            ends = ["" if after.place == row.place + 1 else " …" for row, after in pairwise(members)]
            rows.append(f"{label}:")
            rows.extend(f" {row.text}{end}" for row, end in zip(members, [*ends, ""], strict=True))
        else:
            rows.append((f"{label}: " if label else "") + "; ".join(row.text for row in members))
    text = "\n".join(rows)
    new = [piece for piece in values if piece.text not in text]
    return f"{text}\n… {'; '.join(rows_by_label(new, ', '))}" if new else text
