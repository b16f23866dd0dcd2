"""The SUMMARY and the GIST of an item, made by rule, when a sweep first needs them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sightline.errors import BadInput
from sightline.shorten.call_subject import is_file_read
from sightline.shorten.dialogue import dialogue_levels
from sightline.shorten.dispatch import KIND, Choice, foreign_key, foreign_levels, foreigners, text_levels
from sightline.shorten.file_reads import read_gist
from sightline.shorten.fill import EMPTY, Count, CountedText, Level, TokenLimit, fill
from sightline.shorten.identifiers import values_in
from sightline.shorten.json_text import parse_json
from sightline.shorten.json_values import json_levels, wrapped_text
from sightline.shorten.labels import phrases, tables
from sightline.shorten.lines import make_view
from sightline.shorten.sample import (
    LONGEST_LINE,
    OPENING,
    READ_LIMIT,
    Opening,
    count_tokens,
    cut_at_blank,
    encodable,
    read_opening,
    read_page,
    read_sample,
)
from sightline.shorten.shortener import Shortener
from sightline.shorten.tool_calls import argument_text, shorten_arguments
from sightline.values.escape import plain_name
from sightline.values.foreign_code import warn_once
from sightline.values.items import Call, File, Image, Item, Kind, Part, Result, plain_text

FORMAT = 14  # rises when the same input would give other bytes

SUMMARY_TOKENS = 800


def levels_format() -> int:
    """Return a number that changes when the same text would be shortened otherwise: by other rules or shorteners."""
    return FORMAT + (foreign_key() << 8)


class Size(NamedTuple):
    """The largest size of both levels of an item: shares of its tokens, and for the gist also tokens."""

    summary: float  # a summary that saves less than 40 % is not worth a level
    gist: float
    tokens: int
    more: float = 0.0  # share of the item that is added to `tokens`,
    most: int = 400  # up to this many
    least: int = 0  # of a gist, however short the item is


# Of a long result more values are needed later than a few tokens can name.
RESULT = Size(0.6, 0.25, 40, 0.05, 300)
CALL = Size(0.6, 0.25, 120, 0.05)  # all that says what its result is about
# Messages have more words for each name, and more of them is never read again. A label needs a sentence beside it.
MESSAGE = Size(0.38, 0.12, 60, least=40)

MESSAGE_LABEL = 16  # tokens of a message's gist beside a sentence, at most: its label, and what marks a gap
HANDLE = 4  # tokens of a handle, at most
READ_SHARE = 0.5  # of a file, for the line that describes it: the gist of a short file is that line
PAGE_SHARE = 0.8  # of a page, for the unchanged beginning: what is read or edited next is most likely in it
SUBJECT, LEAST_SUBJECT = 160, 40  # characters of what a call was about, in the label of its result's summary
SUBJECT_SHARE = 0.1  # of a small summary, for the same
OPENING_SHARE = 0.35  # of a summary, for the unchanged beginning; this makes it too short only in a small summary

# Tokens; a shorter item has no summary: a reply would be rewritten twice on its way to a gist, and of the summary of a
# result the label and the beginning would take half.
_ONE_LEVEL = {Kind.ASSISTANT: 1000, Kind.RESULT: 300}
_MESSAGES = {Kind.USER: "user", Kind.ASSISTANT: "assistant", Kind.SYSTEM: "system", Kind.SUMMARY: "summarised"}
_KINDS = _MESSAGES | {Kind.WINDOW: "window", Kind.RECALL: "recall"}


class Shorter(NamedTuple):
    """The lower levels of an item. None means that the level does not exist and the next higher one is used."""

    summary: str | None
    gist: str | None


def shorten(
    item: Item,
    *,
    count: Count,
    name: str = "",
    subject: str = "",
    locale: str = "en",
    tokens: int | None = None,
    room: int = 0,
) -> Shorter:
    """Return the summary and the gist of an item. `tokens`, the size of its text or arguments, saves counting them.

    With `room`, the summary of a result is a page of up to `room` tokens: as many of its first lines as fit, and from
    the rest what a summary has.

    A summary has at most 800 tokens. The gist of a result has at most 40 and 5 % of the original, never more than 300
    or a quarter of it; that of a call 120 and 5 %, never more than 400 or a quarter. For messages the shares are 38 %
    and 12 %, and a gist never has more than 60 tokens, but may have 40 at any size. Each level is smaller than the one
    above it, or None. A short reply or result has only a gist.

    For a call both are JSON objects with all its short arguments. Otherwise they are plain text with a label that gives
    handle, kind and size. A gist begins with the label, then says what is unusual, then names values that its call does
    not show. The label of a result's gist does not repeat the call. The summary of a result or a user message begins
    like the original, and the label is at the first gap. The gist of a file that was read begins with the line that
    describes it, which may take half of a short file.

    Pure and total: the same item gives the same bytes, and no text makes it raise. Of a text beyond 44 KB only parts
    are read, those that name errors first; functions, rows and keys of a file are searched in more of it. Beyond
    128 KB tokens are estimated.
    """
    wording = phrases(locale)
    if item.kind is Kind.CALL:
        return _shorten_call(item, count, wording, tokens)
    media = _media_labels(item.parts, wording)[:8]
    text = plain_text(item.parts)
    original = count_tokens(text, count) if tokens is None else tokens
    if original < item.kind.least:
        # The caller compares the labels of pictures and files with the item itself.
        labels = encodable("\n".join(filter(None, [*media, text]))) if media else None
        return Shorter(labels, labels)
    ratio = max(0.5, len(text) / original)
    summary_tokens, gist_tokens = _limits(original, MESSAGE if item.kind in _MESSAGES else RESULT)
    summary_tokens, share = (room, PAGE_SHARE) if room else (summary_tokens, OPENING_SHARE)
    longest = int(max(1, gist_tokens - MESSAGE_LABEL) * ratio)
    most = int(summary_tokens * ratio * share)
    part = item.parts[0] if item.kind is Kind.RESULT and item.parts else None
    is_read = isinstance(part, Result) and not part.error and is_file_read(part.id, name or part.name)
    line = read_gist(text, locale, subject) if is_read else ""
    if line:
        gist_tokens = max(gist_tokens, min(count(line) + HANDLE, int(original * READ_SHARE)))
    first = 0  # the first shortener of others that is asked
    while True:
        choice, lines = _find_levels(item, text, subject, wording, longest, most, first, paged=bool(room))
        levels, foreign, place = choice
        begun = _lines_begun(text, most) if room else 0
        called = (
            plain_name(encodable(name[:80])),
            encodable(subject[:2000]),
            int(summary_tokens * ratio * SUBJECT_SHARE),
        )
        label, header = _labels(item, called, original, lines, wording, begun)
        summary = EMPTY
        try:
            if original >= _ONE_LEVEL.get(item.kind, 0):
                limit = TokenLimit(summary_tokens, ratio)
                summary = _fill("\n".join([label, *media]), levels.summary, count, limit, foreign)
            level = levels.gist
            if line:
                header, level = f"{line} #{item.id}", level._replace(shown=(*level.shown, *values_in(line)))
            gist = _fill("\n".join([header, *media]), level, count, TokenLimit(gist_tokens, ratio), foreign)
        except Exception as error:
            if foreign is None:
                raise
            warn_once(KIND, foreign, "made levels that cannot be shown:", error)
            first = place + 1
        else:
            return _keep_smaller(summary, gist, original)


def _fill(label: str, level: Level, count: Count, limit: TokenLimit, foreign: Shortener | None) -> CountedText:
    """Return a filled level. Raises BadInput if another package's shortener rendered it wrongly."""
    filled = fill(label, level, count, limit)
    if (
        foreign is not None
        and filled is not EMPTY
        and not (label in filled.text and encodable(filled.text) == filled.text)
    ):
        raise BadInput("the text lacks its label, or cannot be encoded")
    return filled


def _labels(
    item: Item, called: tuple[str, str, int], tokens: int, lines: int, wording: Mapping[str, str], begun: int = 0
) -> tuple[str, str]:
    """Return the lines that describe a shortened item in its summary and in its gist.

    `called`: the name and the subject of its call, and how many characters of the subject the summary may show.
    `begun`: how many of its first lines the summary shows, if it says from where to read on.
    """
    name, subject, chars = called
    chars = min(SUBJECT, max(LEAST_SUBJECT, chars))
    kind = wording.get("program" if item.by_program else _KINDS.get(item.kind, ""), "")
    error = next((plain_name(encodable(part.error[:200])) for part in item.parts if isinstance(part, Result)), "")

    def what(path_chars: int, command_chars: int) -> str:
        words = (kind, name, _short_subject(subject, path_chars, command_chars), error[:40])
        return "".join([f" {word}" for word in words if word])

    handle = f"#{item.id}"
    size = wording["lines" if lines > 1 else "line"].format(lines=f"{lines:,}", tokens=f"{tokens:,}")
    how = wording["how on" if begun else "how"].format(handle=handle, n=begun + 1)
    summary = wording["summary"].format(handle=handle, what=what(chars, chars), size=size, how=how)
    said = f" {error[:40]}" if error else "" if item.kind is Kind.RESULT else what(0, 0)  # the call says the rest
    return summary, wording["gist"].format(handle=handle, what=said, tokens=f"{tokens:,}")


def _short_subject(subject: str, path_chars: int, command_chars: int) -> str:
    """Return the subject on one line: the end of a long path, or a long command's first word and the paths in it."""
    parts = subject.split()
    if len(parts) <= 1:
        return subject.strip() if len(subject) <= path_chars else f"…{subject[-path_chars:].strip()}"
    whole = " ".join(parts)
    if len(whole) <= command_chars:
        return whole
    paths = [value for value in values_in(whole) if "/" in value.strip("/") and len(value) <= path_chars]
    if not paths or paths[0] in whole[:command_chars]:
        return f"{whole[:command_chars]}…"
    return f"{paths[0]} …" if whole.startswith(paths[0]) else f"{parts[0][:command_chars]} … {paths[0]} …"


def _limits(original: int, size: Size) -> tuple[int, int]:
    gist = min(size.most, size.tokens + size.more * original, max(size.least, original * size.gist))
    return min(SUMMARY_TOKENS, int(original * size.summary)), int(gist)


def _find_levels(
    item: Item,
    text: str,
    subject: str,
    wording: Mapping[str, str],
    longest: int,
    most: int,
    first: int,
    *,
    paged: bool = False,
) -> tuple[Choice, int]:
    """Return what both levels are chosen from, by the kind of item and of text, and the number of lines.

    A sentence of a message's gist has at most `longest` characters, the beginning of a summary at most `most`, which it
    uses if it is `paged`. Of the shorteners of others those from `first` are asked.
    """
    begin = read_page if paged else read_opening
    if item.kind in _MESSAGES:
        sample = read_sample(text, READ_LIMIT)
        opening = read_opening(text, sample, most) if item.kind is Kind.USER else Opening()
        return Choice(dialogue_levels(sample, opening, longest), None), sample.numbers[-1]
    value = parse_json(text)
    is_result = item.kind is Kind.RESULT
    if value is None:
        sample = read_sample(text)
        opening = begin(text, sample, most) if is_result else Opening()
        return text_levels(make_view(sample, subject, wording, opening), first), sample.numbers[-1]
    opening = Opening(encodable(f"{text[: most if paged else min(OPENING, most)]}…") if is_result else "")
    lines = text.count("\n") + 1
    if inner := wrapped_text(value, len(text)):
        return text_levels(make_view(read_sample(inner), subject, wording, opening), first), lines
    if foreigners():
        sample = read_sample(text)
        view = make_view(sample, subject, wording, begin(text, sample, most) if is_result else Opening())
        if choice := foreign_levels(view, first):
            return choice, lines
    return Choice(json_levels(value, opening.text, values_in(subject)), None), lines


def _lines_begun(text: str, most: int) -> int:
    """Return how many whole lines a page begins with; 0 if it is not known from which line to read on."""
    begun = text[: max(0, text.rfind("\n", 0, most))]
    if len(begun) < OPENING or parse_json(text) is not None or max(map(len, begun.split("\n"))) > LONGEST_LINE:
        return 0
    return begun.count("\n") + 1


def _shorten_call(item: Item, count: Count, wording: Mapping[str, str], tokens: int | None) -> Shorter:
    call = item.parts[0] if item.parts else None
    if not isinstance(call, Call):
        return Shorter(None, None)
    text = argument_text(call)
    original = count_tokens(text, count) if tokens is None else tokens
    if original < Kind.CALL.least:
        return Shorter(None, None)
    ratio = max(0.5, len(text) / original)
    limits = (TokenLimit(limit, ratio) for limit in _limits(original, CALL))
    summary, gist = (shorten_arguments(call, f"#{item.id}", count, limit, wording) for limit in limits)
    return _keep_smaller(summary, gist, original)


def _keep_smaller(summary: CountedText, gist: CountedText, original: int) -> Shorter:
    """Return both levels, each only if it exists and is smaller than the one above it."""
    above = summary.tokens if 0 < summary.tokens < original else original
    return Shorter(summary.text if above < original else None, gist.text if 0 < gist.tokens < above else None)


def unusual_value(text: str, chars: int = 60) -> str:
    """Return what a gist says first, for a line that only names an item; of a text without a gist, its beginning.

    Of a file that was read its functions, columns or keys; "" if the gist is only a label.
    """
    first, _, rest = text.partition("\n")
    if first.startswith("[#") and first.endswith("]"):
        first = rest.partition("\n")[0]
    elif first.startswith(tuple(wording["file read"] for wording in tables())):
        first = first.rpartition(")")[0].partition("(")[2].split(", ", 2)[-1]
    line = " ".join(first.split())
    return line if len(line) <= chars else cut_at_blank(line, chars)


def _media_labels(parts: Sequence[Part], wording: Mapping[str, str]) -> list[str]:
    """Return one label for every picture and file, those of results included."""
    out: list[str] = []
    for part in parts:
        if isinstance(part, Image):
            size = f"{part.width}×{part.height}" if part.width and part.height else ""
            out.append(_media_label(wording["image"], part.media_type, size or part.url[:120]))
        elif isinstance(part, File):
            named = _media_label(wording["file"], part.name or part.url[:120], part.media_type)
            bytes_ = len(part.data) * 3 // 4
            size = f"{bytes_} B" if bytes_ < 1024 else f"{bytes_ // 1024:,} KB"
            out.append(f"{named[:-1]}, {size}]" if part.data else named)
        elif isinstance(part, Result):
            out.extend(_media_labels(part.parts, wording))
    return out


def _media_label(*words: str) -> str:
    return f"[{' '.join(filter(None, words))}]"
