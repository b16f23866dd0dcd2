"""How an item looks when it is shortened: SUMMARY and GIST by rule, made once when the item is appended."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sightline.shorten.call_subject import subject_of
from sightline.shorten.dialogue import dialogue
from sightline.shorten.dispatch import levels_of
from sightline.shorten.file_reads import is_file_read, read_gist
from sightline.shorten.fill import NOTHING, Filled, Room, fill
from sightline.shorten.identifiers import identifiers, values_in
from sightline.shorten.json_values import document, held_text, parsed
from sightline.shorten.labels import words
from sightline.shorten.lines import Levels, view
from sightline.shorten.media import labels
from sightline.shorten.sample import BEGINNING, ROOM, Beginning, beginning, counted, legal, look
from sightline.shorten.tool_calls import arguments, shortened
from sightline.values.items import Call, Item, Kind, Result, plain_text

__all__ = ["FORMAT", "Shorter", "identifiers", "shorten", "subject_of"]

FORMAT = 5  # rises when the same input would give other bytes

SMALLEST = 80  # tokens below which there is no lower level than full: a handle and a label would eat the saving
SMALLEST_SAID = 200  # the same of what the user said: it is the task, and there is little of it
SUMMARY_TOKENS = 800
GIST_TOKENS = 120  # and more of a long text, since a value that is missed there costs reading all of it again:
GIST_MORE = 0.05  # this share of it,
GIST_MOST = 400  # up to here
SHARES = (0.6, 0.25)  # of the original: a summary that saves less than four tenths is not worth a level
SPOKEN_SHARES = (0.38, 0.12)  # what was said has more words to a name, and there is more of it that is never read again
ONE_LEVEL = 1000  # tokens of a reply below which it has no summary: it would be written twice on its way to a gist
HANDLE = 4  # tokens of a handle, at most
READ_SHARE = 0.5  # of a file that the line for it may take: the gist of a short file is that line
OPENING_SHARE = 0.35  # of a summary for the unchanged beginning; it is shorter than it should be only in a small one

_SPOKEN = {Kind.USER: "user", Kind.ASSISTANT: "assistant", Kind.SYSTEM: "system", Kind.SUMMARY: "summarised"}
_OTHERS = {Kind.WINDOW: "window", Kind.RECALL: "recall"}


class Shorter(NamedTuple):
    """The lower levels of an item. None: there is no such level, the next higher one is used."""

    summary: str | None
    gist: str | None


def shorten(
    item: Item,
    *,
    count: Callable[[str], int],
    name: str = "",
    subject: str = "",
    locale: str = "en",
    tokens: int | None = None,
) -> Shorter:
    """The summary and the gist of an item. Who gives the tokens of its text or arguments saves counting them.

    A summary has at most 800 tokens, a gist at most 120 and 5 % of the original, never more than 400 or a quarter of
    it; of what was said they have at most 38 % and 12 %, and a gist never more than 120. Each is smaller than the level
    above it or None, and a short reply has only a gist. For a call both are JSON objects with all its short arguments.
    Else they are plain text with a label that says handle, what it is and its size: a gist begins with it; the summary
    of a result or of what the user said begins as that does, and its label stands where the first gap is. The gist of a
    file that was read begins with the line for it, for which it may have half of a short file. Pure and total: the same
    item gives the same bytes, and no text makes it raise. Of a text beyond 44 KB only parts are read, except that a
    file's functions, rows and keys are looked for in more of it; beyond 128 KB its tokens are estimated from parts too.
    """
    wording = words(locale)
    if item.kind is Kind.CALL:
        return _of_call(item, count, wording, tokens)
    media = labels(item.parts, wording)
    text = plain_text(item.parts)
    original = _tokens_of(text, count) if tokens is None else tokens
    if original < (SMALLEST_SAID if item.kind is Kind.USER else SMALLEST):
        return _small(media, text)
    ratio = max(0.5, len(text) / original)
    most, least = _limits(original, SPOKEN_SHARES if item.kind in _SPOKEN else SHARES)
    levels, lines = _read(item, text, subject, wording, int(most * ratio * OPENING_SHARE))
    header = _Header(f"#{item.id}", _spoken(item, wording), legal(name[:80]), legal(subject[:2000]), original, lines)
    summary = NOTHING
    if item.kind is not Kind.ASSISTANT or original >= ONE_LEVEL:
        summary = fill(_joined(header.summary(wording), media), levels.summary, count, Room(most, ratio))
    label = header.gist(wording)
    if line := _of_file(item, name, text, subject, locale):
        label, least = f"{line} {header.handle}", max(least, min(count(line) + HANDLE, int(original * READ_SHARE)))
    gist = fill(_joined(label, media), levels.gist, count, Room(least, ratio))
    return _ordered(summary, gist, original)


def _of_file(item: Item, name: str, text: str, subject: str, locale: str) -> str | None:
    """The line for a file that was read; None for all else, failures among them."""
    result = item.parts[0] if item.kind is Kind.RESULT and item.parts else None
    if not isinstance(result, Result) or result.error or not is_file_read(result.id, name or result.name):
        return None
    return read_gist(text, locale, subject)


class _Header(NamedTuple):
    """The first line of a shortened item."""

    handle: str
    kind: tuple[str, str]  # said before and after the rest
    name: str
    subject: str
    tokens: int
    lines: int

    def summary(self, wording: Mapping[str, str]) -> str:
        size = wording["lines" if self.lines > 1 else "line"].format(lines=f"{self.lines:,}", tokens=f"{self.tokens:,}")
        return wording["summary"].format(handle=self.handle, what=self._what(160, 160), size=size)

    def gist(self, wording: Mapping[str, str]) -> str:
        return wording["gist"].format(handle=self.handle, what=self._what(40, 24), tokens=f"{self.tokens:,}")

    def _what(self, path: int, command: int) -> str:
        said = _said(self.subject, path, command) if self.subject else ""
        return "".join([f" {word}" for word in (self.kind[0], self.name, said, self.kind[1]) if word])


def _spoken(item: Item, wording: Mapping[str, str]) -> tuple[str, str]:
    """What the item is, and how it failed."""
    kind = _SPOKEN.get(item.kind) or _OTHERS.get(item.kind, "")
    failed = next((part.error for part in item.parts if isinstance(part, Result)), "")
    return wording.get(kind, ""), failed[:40]


def _said(subject: str, path: int, command: int) -> str:
    """The subject on one line: of a long path the end, of a long command its first word and the paths in it."""
    parts = subject.split()
    if len(parts) <= 1:
        return subject.strip() if len(subject) <= path else f"…{subject[-path:].strip()}"
    whole = " ".join(parts)
    if len(whole) <= command:
        return whole
    paths = [value for value in values_in(whole) if "/" in value.strip("/") and len(value) <= path]
    if not paths or paths[0] in whole[:command]:
        return f"{whole[:command]}…"
    return f"{paths[0]} …" if whole.startswith(paths[0]) else f"{parts[0][:command]} … {paths[0]} …"


def _tokens_of(text: str, count: Callable[[str], int]) -> int:
    stand_in, chars = counted(text)
    tokens = count(stand_in)
    return tokens if chars == len(text) else tokens * len(text) // chars


def _limits(original: int, shares: tuple[float, float]) -> tuple[int, int]:
    more = GIST_MORE * original if shares is SHARES else 0
    gist = min(GIST_MOST, GIST_TOKENS + more, original * shares[1])
    return min(SUMMARY_TOKENS, int(original * shares[0])), int(gist)


def _read(item: Item, text: str, subject: str, wording: Mapping[str, str], most: int) -> tuple[Levels, int]:
    """What the levels are chosen from, by kind and by what kind of text it is, and how many lines it has.

    So many characters as `most` says may open a summary.
    """
    if item.kind in _SPOKEN:
        sample = look(text, ROOM)
        opening = beginning(text, sample, most) if item.kind is Kind.USER else Beginning()
        return dialogue(sample, opening), sample.numbers[-1]
    value = parsed(text)
    opens = item.kind is Kind.RESULT
    if value is None:
        sample = look(text)
        opening = beginning(text, sample, most) if opens else Beginning()
        return levels_of(view(sample, subject, wording, opening)), sample.numbers[-1]
    opening = Beginning(legal(f"{text[: min(BEGINNING, most)]}…") if opens else "")
    held = held_text(value, len(text))
    levels = levels_of(view(look(held), subject, wording, opening)) if held else document(value, opening.text)
    return levels, text.count("\n") + 1


def _joined(header: str, media: list[str]) -> str:
    return "\n".join([header, *media[:8]])


def _small(media: list[str], text: str) -> Shorter:
    """An item too small to shorten. Labels stand for its pictures and files, and the caller weighs the two."""
    if not media:
        return Shorter(None, None)
    shown = legal("\n".join(filter(None, [*media[:8], text])))
    return Shorter(shown, shown)


def _of_call(item: Item, count: Callable[[str], int], wording: Mapping[str, str], tokens: int | None) -> Shorter:
    call = item.parts[0] if item.parts else None
    if not isinstance(call, Call):
        return Shorter(None, None)
    original = _tokens_of(arguments(call), count) if tokens is None else tokens
    if original < SMALLEST:
        return Shorter(None, None)
    ratio = max(0.5, len(arguments(call)) / original)
    summary, gist = (
        shortened(call, f"#{item.id}", count, Room(limit, ratio), wording) for limit in _limits(original, SHARES)
    )
    return _ordered(summary, gist, original)


def _ordered(summary: Filled, gist: Filled, original: int) -> Shorter:
    """Both levels, each only if it is there and smaller than the one above it."""
    above = summary.tokens if 0 < summary.tokens < original else original
    return Shorter(summary.text if above < original else None, gist.text if 0 < gist.tokens < above else None)
