"""Tool calls: the same arguments with their long texts shortened, still a JSON object."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from sightline.shorten.call_subject import KEYS
from sightline.shorten.fill import NOTHING, Count, Filled, Room
from sightline.shorten.identifiers import values_of_lines
from sightline.shorten.lines import Weighed, ranked, weigh
from sightline.shorten.sample import legal, look
from sightline.values.items import Call

SHORT = 120  # a value of up to so many characters without a blank (a path, an id, a URL) is never cut
WORDS = 60  # nor is one of up to so many with blanks
SLACK = (0.95, 0.7, 0.4)  # of the room that long texts should have, tried in turn until all fits
MEMBERS = (24, 12, 6, 3)  # members of a list that are kept, tried in turn
FIELDS = 8  # members of an object that are kept even where a list has fewer
MOST_CHARS = 24  # no vocabulary has more characters to a token: what is longer need not be counted
DEEPEST = 6
HEAD = 0.35  # share of the kept characters that go to the beginning; the rest to names
LEAST = 24  # characters of a long text below which it is only said to be there


class Cut(NamedTuple):
    """How values are cut: characters left to a long text, members left to a list, and what is said of the rest."""

    room: int
    members: int
    handle: str
    wording: Mapping[str, str]

    def said(self, phrase: str, n: int) -> str:
        return self.wording[phrase].format(handle=self.handle, n=f"{n:,}")


def arguments(call: Call) -> str:
    """The argument text of a call as it was sent, or as it would be; "" if it is nested too deep to be written."""
    if call.raw is not None:
        return call.raw
    try:
        return json.dumps(call.input if call.input is not None else {}, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        return ""


def shortened(call: Call, handle: str, count: Count, room: Room, wording: Mapping[str, str]) -> Filled:
    """The arguments as a JSON object text that fits the room.

    All keys stay, in order, and all short values; long texts and lists get what room is left. Where even the short
    values are too much the least important are cut: those that are no subject, the longest first; then whole members.
    """
    given = call.input if isinstance(call.input, dict) else {"input": call.raw if call.input is None else call.input}
    for text in _attempts(given, Cut(0, MEMBERS[0], handle, wording), room, len(arguments(call))):
        if len(text) <= room.tokens * MOST_CHARS and (tokens := count(text)) <= room.tokens:
            return Filled(text, tokens)
    return NOTHING


def _attempts(given: dict[Any, Any], cut: Cut, room: Room, size: int) -> Iterator[str]:
    """Texts of the arguments, each smaller than the one before."""
    for members in MEMBERS:
        fixed = _dumped(_cut(given, cut._replace(members=members), 0))
        free = room.tokens * room.chars_per_token - len(fixed)
        if free < 0 and members != MEMBERS[-1]:
            continue
        each = free / max(1, _long(given, members, 0))
        for slack in SLACK:
            if each * slack >= LEAST:
                yield _dumped(_cut(given, cut._replace(room=int(each * slack), members=members), 0))
        yield fixed
    short = _cut(given, cut._replace(members=0), 0)
    yield _dumped(_marked(short, cut, size))
    yield from _without_the_least(short, cut, size)


def _marked(kept: dict[str, Any], cut: Cut, size: int) -> dict[str, Any]:
    """The members that are kept, and once what stands for all that is not."""
    return kept if cut.handle in _dumped(kept) else {**kept, "…": cut.said("cut", size).strip()}


def _without_the_least(short: dict[str, Any], cut: Cut, size: int) -> Iterator[str]:
    """Ever fewer values: those of a part of the keys, from all that are no subject to all; then fewer members."""
    order = sorted(short, key=lambda key: (key in KEYS, -len(str(short[key]))))
    for share in (0.25, 0.5, 1.0):
        least = set(order[: int(len(order) * share)])
        yield _dumped(_marked({key: "…" if key in least else value for key, value in short.items()}, cut, size))
    for share in (0.5, 0.25, 0.1):
        most = set(order[len(order) - int(len(order) * share) :])
        yield _dumped(_marked({key: value for key, value in short.items() if key in most}, cut, size))
    subject = next((key for key in KEYS if key in short), "")
    if subject:
        yield _dumped(_marked({subject: short[subject]}, cut, size))
    yield _dumped(_marked({}, cut, size))


def _dumped(value: Any) -> str:
    return legal(json.dumps(value, ensure_ascii=False, default=str))


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= WORDS or (len(value) <= SHORT and not any(map(str.isspace, value)))
    return not isinstance(value, (dict, list)) or not value


def _long(value: Any, members: int, depth: int) -> int:
    """How many long texts there are among the members that are kept."""
    if isinstance(value, (dict, list)) and depth < DEEPEST:
        inner = list(value.values()) if isinstance(value, dict) else value
        return sum(_long(member, members, depth + 1) for member in (inner[:members] if depth else inner))
    return 0 if _is_short(value) else 1


def _cut(value: Any, cut: Cut, depth: int) -> Any:
    """A value with its long texts and its lists and objects cut; the outermost object keeps all its keys."""
    if isinstance(value, str):
        return value if _is_short(value) else _cut_text(value, cut)
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # JSON has no such number
    if not isinstance(value, (dict, list)) or not value:
        return value
    most = max(cut.members, FIELDS) if isinstance(value, dict) and cut.members else cut.members
    members = min(len(value), most) if depth else len(value)
    if depth >= DEEPEST or not members:
        return cut.said("more", len(value))
    more = cut.said("more", len(value) - members)
    if isinstance(value, list):
        return [_cut(member, cut, depth + 1) for member in value[:members]] + ([more] if len(value) > members else [])
    pairs = [(str(key)[:200], _cut(member, cut, depth + 1)) for key, member in list(value.items())[:members]]
    return dict(pairs + ([("…", more)] if len(value) > members else []))


def _cut_text(text: str, cut: Cut) -> str:
    mark = cut.said("cut", len(text))
    if len(text) <= cut.room + len(mark):
        return text
    if cut.room < LEAST:
        return mark.strip(" …")
    head = text[: int(cut.room * HEAD)]
    head = text[: max(head.rfind(" "), head.rfind("\n"), len(head) // 2) + 1]  # no name is cut in two
    return head + mark + _names(text, head, cut.room - len(head))


@lru_cache(maxsize=4)  # both levels and every attempt ask for the same texts
def _ranked(text: str) -> tuple[Weighed, list[str]]:
    weighed = weigh(values_of_lines(look(text).lines))
    return weighed, ranked(weighed)


def _names(text: str, head: str, room: int) -> str:
    """The values of a text that are worth most and not in its head, in order, within `room` characters."""
    weighed, names = _ranked(text)
    chosen = []
    for name in names:
        if len(name) < room and name not in head:
            chosen.append(name)
            room -= len(name) + 1
    return " ".join(sorted(chosen, key=weighed.first.__getitem__))
