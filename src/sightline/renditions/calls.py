"""Tool calls: the same arguments with their long texts shortened, still a JSON object."""

import json
from collections.abc import Mapping
from typing import Any

from sightline.items import Call
from sightline.renditions.lines import single_values, view
from sightline.renditions.pack import NOTHING, Count, Filled, Room, ranked
from sightline.renditions.sample import legal, look

SHORT = 120  # characters of a string that are never cut in a summary; a gist may go lower
STEPS = (
    1600,
    1000,
    640,
    400,
    240,
    140,
    80,
    40,
)  # characters a long string may keep, tried from the left until all fits
MEMBERS = 24  # members of a list or object that are kept
DEEPEST = 6
HEAD = 0.5  # share of the kept characters that go to the beginning; the rest to pieces with values


def arguments(call: Call) -> str:
    """The argument text of a call as it was sent, or as it would be."""
    if call.raw is not None:
        return call.raw
    return json.dumps(call.input if call.input is not None else {}, ensure_ascii=False, default=str)


def shortened(call: Call, handle: str, count: Count, limit: int, wording: Mapping[str, str]) -> Filled:
    """The arguments as a JSON object text of at most `limit` tokens, with as much of the long strings as fits."""
    given = (
        call.input
        if isinstance(call.input, dict)
        else {"input": call.input if call.input is not None else call.raw or ""}
    )
    for room in STEPS:
        if room / 6 > limit:  # no vocabulary puts six characters of code in a token on average
            continue
        text = _dumped(_cut(given, room, MEMBERS * room // STEPS[0] + 4, handle, wording, 0))
        if (tokens := count(text)) <= limit:
            return Filled(text, tokens)
    text = _dumped({"…": wording["cut"].format(handle=handle, n=f"{len(arguments(call)):,}").strip()})
    return Filled(text, tokens) if (tokens := count(text)) <= limit else NOTHING


def _dumped(value: Any) -> str:
    return legal(json.dumps(value, ensure_ascii=False, default=str))


def _cut(value: Any, room: int, members: int, handle: str, wording: Mapping[str, str], depth: int) -> Any:
    """A value with its long strings cut to `room` characters and its lists and objects to some members."""
    if isinstance(value, str):
        return _cut_text(value, room, handle, wording)
    if not isinstance(value, (dict, list)) or not value:
        return value
    more = wording["more"].format(handle=handle, n=f"{len(value) - members:,}")
    if depth >= DEEPEST:
        return wording["more"].format(handle=handle, n=f"{len(value):,}")
    inner = max(40, room // 2) if depth else room
    if isinstance(value, list):
        kept = [_cut(member, inner, members, handle, wording, depth + 1) for member in value[:members]]
        return kept + ([more] if len(value) > members else [])
    pairs = [
        (str(key)[:200], _cut(member, inner, members, handle, wording, depth + 1))
        for key, member in list(value.items())[:members]
    ]
    return dict(pairs + ([("…", more)] if len(value) > members else []))


def _cut_text(text: str, room: int, handle: str, wording: Mapping[str, str]) -> str:
    mark = wording["cut"].format(handle=handle, n=f"{len(text):,}")
    if len(text) <= max(min(room, SHORT), room) + len(mark):
        return text
    head = text[: int(room * HEAD)]
    return head + mark + _pieces(text[len(head) :], room - len(head), wording)


def _pieces(text: str, room: int, wording: Mapping[str, str]) -> str:
    """Pieces of the lines of a text that hold values, in order, within `room` characters."""
    seen = view(look(text), "", wording)
    chosen, used = [], 0
    for piece in ranked(single_values(seen), seen.weights, Room(room, 1.0), 1.0, set()):
        if used + len(piece.text) < room:
            chosen.append(piece)
            used += len(piece.text) + 1
    return " ".join(piece.text for piece in sorted(chosen))
