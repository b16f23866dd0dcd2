"""Tool calls: the same arguments with long texts shortened, still a JSON object."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple

from sightline.shorten.call_subject import KEYS
from sightline.shorten.fill import EMPTY, Count, CountedText, TokenLimit
from sightline.shorten.identifiers import values_of_lines
from sightline.shorten.lines import ValueWorths, rank_values, value_worths
from sightline.shorten.sample import encodable, read_sample
from sightline.values.items import Call

SHORT = 120  # characters; a value up to this length without a blank (a path, an id, a URL) is never cut
WORDS = 60  # characters; nor is one up to this length with blanks
SLACK = (0.95, 0.7, 0.4)  # of the tokens that long texts should have, tried in turn until all fits
MEMBERS = (24, 12, 6, 3)  # members of a list that are kept, tried in turn
FIELDS = 8  # members of an object that are kept even where a list has fewer
MOST_CHARS = 24  # to a token in any vocabulary at most: a longer text need not be counted
DEEPEST = 6
HEAD = 0.35  # share of the kept characters that go to the beginning; the rest to names
SHORTEST = 24  # characters; of a long text that would get fewer only the mark is shown


class _Cutter(NamedTuple):
    """How values are cut: characters for a long text, members for a list, and the phrases for what is left out."""

    chars: int
    members: int
    handle: str
    wording: Mapping[str, str]

    def phrase(self, key: str, n: int) -> str:
        return self.wording[key].format(handle=self.handle, n=f"{n:,}")


def argument_text(call: Call) -> str:
    """Return the argument text of a call as it was or would be sent; "" if it is nested too deep to be written."""
    if call.raw is not None:
        return call.raw
    try:
        return json.dumps(call.input if call.input is not None else {}, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        return ""


def shorten_arguments(
    call: Call, handle: str, count: Count, limit: TokenLimit, wording: Mapping[str, str]
) -> CountedText:
    """Return the arguments as a JSON object that fits the limit.

    All keys stay, in order, with values of their types, and all short values. Long texts and lists share the tokens
    that are left. If even the short values are too long, the least important are cut: first the longest that are not
    the subject, then whole members.
    """
    arguments = (
        call.input if isinstance(call.input, dict) else {"input": call.raw if call.input is None else call.input}
    )
    for text in _attempts(arguments, _Cutter(0, MEMBERS[0], handle, wording), limit, len(argument_text(call))):
        if len(text) <= limit.tokens * MOST_CHARS and (tokens := count(text)) <= limit.tokens:
            return CountedText(text, tokens)
    return EMPTY


def _attempts(arguments: dict[Any, Any], cut: _Cutter, limit: TokenLimit, size: int) -> Iterator[str]:
    """Yield texts of the arguments, each smaller than the one before."""
    for members in MEMBERS:
        fixed = _dump(_cut_value(arguments, cut._replace(members=members), 0))
        free = limit.tokens * limit.chars_per_token - len(fixed)
        if free < 0 and members != MEMBERS[-1]:
            continue
        share = free / max(1, _count_long(arguments, members, 0))
        for slack in SLACK:
            if share * slack >= SHORTEST:
                yield _dump(_cut_value(arguments, cut._replace(chars=int(share * slack), members=members), 0))
        yield fixed
    for kept in _drop_values(_cut_value(arguments, cut._replace(members=0), 0)):
        # With one mark for everything that is left out, if some text is left that can have it.
        yield _dump(kept if cut.handle in _dump(kept) else _marked(kept, cut.phrase("cut", size).strip()))


def _drop_values(short: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield ever fewer values: first some texts become an ellipsis, the subject last, then members are left out."""
    yield short
    order = sorted(short, key=lambda key: (key in KEYS, -len(str(short[key]))))
    for share in (0.25, 0.5, 1.0):
        least = set(order[: int(len(order) * share)])
        yield {key: _emptied(value) if key in least else value for key, value in short.items()}
    for share in (0.5, 0.25, 0.1):
        most = set(order[len(order) - int(len(order) * share) :])
        yield {key: value for key, value in short.items() if key in most}
    subject = [key for key in KEYS if key in short][:1]
    yield {key: short[key] for key in subject}
    yield {}


def _emptied(value: Any) -> Any:
    """Return the least value of the same type: a model writes its next call as it sees its earlier ones."""
    return "…" if isinstance(value, str) else type(value)() if isinstance(value, (dict, list)) else value


def _marked(value: Any, mark: str) -> Any:
    """Return a value with a mark in the last of its texts that is no name; as it is, if it has no such text."""
    match value:
        case str():
            return mark if value == "…" else f"{value} {mark}"
        case list() if value and all(isinstance(member, str) for member in value):
            return [*value, mark]
        case list() if value:
            return [*value[:-1], _marked(value[-1], mark)]
        case dict():
            texts = [key for key, member in value.items() if isinstance(member, str) and key not in KEYS]
            places = texts or [key for key, member in value.items() if isinstance(member, (dict, list)) and member]
            place = max(places, key=lambda key: (value[key] == "…", len(str(value[key]))), default=None)
            return value if place is None else {**value, place: _marked(value[place], mark)}
        case _:
            return value


def _dump(value: Any) -> str:
    return encodable(json.dumps(value, ensure_ascii=False, default=str))


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= WORDS or (len(value) <= SHORT and not any(map(str.isspace, value)))
    return not isinstance(value, (dict, list)) or not value


def _count_long(value: Any, members: int, depth: int) -> int:
    """Count the long texts among the members that are kept."""
    if isinstance(value, (dict, list)) and depth < DEEPEST:
        inner = list(value.values()) if isinstance(value, dict) else value
        return sum(_count_long(member, members, depth + 1) for member in (inner[:members] if depth else inner))
    return 0 if _is_short(value) else 1


def _cut_value(value: Any, cut: _Cutter, depth: int) -> Any:
    """Return a value of the same shape with long texts, lists and objects cut. The outermost one keeps all its keys.

    What says how much is left out stands in a text, never under a key of its own or as a member of another kind.
    """
    if isinstance(value, str):
        return value if _is_short(value) else _cut_text(value, cut)
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # JSON has no such number
    if not isinstance(value, (dict, list)) or not value:
        return value
    most = max(cut.members, FIELDS) if isinstance(value, dict) and cut.members else cut.members
    members = min(len(value), most) if depth else len(value)
    if depth >= DEEPEST or not members:
        return type(value)()
    more = cut.phrase("more", len(value) - members)
    kept: Any = [_cut_value(member, cut, depth + 1) for member in value[:members]] if isinstance(value, list) else {
        str(key)[:200]: _cut_value(member, cut, depth + 1) for key, member in islice(value.items(), members)
    }  # fmt: skip
    return _marked(kept, more) if len(value) > members else kept


def _cut_text(text: str, cut: _Cutter) -> str:
    mark = cut.phrase("cut", len(text))
    if len(text) <= cut.chars + len(mark):
        return text
    if cut.chars < SHORTEST:
        return mark.strip(" …")
    head = text[: int(cut.chars * HEAD)]
    head = text[: max(head.rfind(" "), head.rfind("\n"), len(head) // 2) + 1]  # no name is cut in two
    return head + mark + _names(text, head, cut.chars - len(head))


@lru_cache(maxsize=4)  # both levels and every attempt ask for the same texts
def _rank_text(text: str) -> tuple[ValueWorths, list[str]]:
    worths = value_worths(values_of_lines(read_sample(text).lines))
    return worths, rank_values(worths)


def _names(text: str, head: str, chars: int) -> str:
    """Return the values of a text with the most worth that are not in its head, in order, in `chars` characters."""
    worths, names = _rank_text(text)
    chosen = []
    for name in names:
        if len(name) < chars and name not in head:
            chosen.append(name)
            chars -= len(name) + 1
    return " ".join(sorted(chosen, key=worths.first.__getitem__))
