"""How an item looks when it is shortened: SUMMARY and GIST by rule, made once when the item is appended."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sightline.items import Call, Item, Kind, Result, plain_text
from sightline.renditions.calls import arguments, shortened
from sightline.renditions.classes import levels_of
from sightline.renditions.dialogue import dialogue
from sightline.renditions.lines import Levels, view
from sightline.renditions.media import labels
from sightline.renditions.objects import document, held_text, parsed
from sightline.renditions.pack import Filled, Room, fill
from sightline.renditions.sample import BEGINNING, ROOM, Beginning, beginning, counted, legal, look
from sightline.renditions.subjects import subject_of
from sightline.renditions.values import identifiers, values_in
from sightline.renditions.words import words

__all__ = ["FORMAT", "Shorter", "identifiers", "shorten", "subject_of"]

FORMAT = 1  # rises when the same input would give other bytes

SMALLEST = 200  # tokens below which there is no lower level than full: a handle and a label would eat the saving
SUMMARY_TOKENS = 800
SUMMARY_SHARE = 0.6  # a summary that saves less than four tenths is not worth a level
GIST_TOKENS = 120
GIST_SHARE = 0.25
OPENING_SHARE = 0.35  # of a summary for the unchanged beginning; it is shorter than it should be only in a small one

_SPOKEN = {Kind.USER: "user", Kind.ASSISTANT: "assistant", Kind.SYSTEM: "system", Kind.SUMMARY: "summarised"}
_OTHERS = {Kind.WINDOW: "window", Kind.RECALL: "recall"}


class Shorter(NamedTuple):
    """The lower levels of an item. None: there is no such level, the next higher one is used."""

    summary: str | None
    gist: str | None


def shorten(
    item: Item, *, count: Callable[[str], int], name: str = "", subject: str = "", locale: str = "en"
) -> Shorter:
    """The summary and the gist of an item.

    A summary has at most 800 tokens, a gist at most 120 and a quarter of the original; each is smaller than the level
    above it or None. For a call both are JSON objects with all its short arguments. Else they are plain text with a
    label that says handle, what it is and its size: a gist begins with it; the summary of a result begins as the
    result does, and its label stands where the first gap is. Pure and total: the same item gives the same bytes, and no
    text makes it raise. Of a text beyond 44 KB only parts are read; beyond 128 KB its tokens are estimated from parts
    too.
    """
    wording = words(locale)
    if item.kind is Kind.CALL:
        return _of_call(item, count, wording)
    media = labels(item.parts, wording)
    text = plain_text(item.parts)
    original = _tokens_of(text, count)
    if original < SMALLEST:
        return _small(media, text)
    ratio = max(0.5, len(text) / original)
    most, least = _limits(original)
    levels, lines = _read(item, text, subject, wording, int(most * ratio * OPENING_SHARE))
    header = _Header(item, name, subject, original, lines, wording)
    summary = fill(_joined(header.summary(), media), levels.summary, count, Room(most, ratio))
    gist = fill(_joined(header.gist(), media), levels.gist, count, Room(least, ratio))
    return _ordered(summary, gist, original)


class _Header(NamedTuple):
    """The first line of a shortened item."""

    item: Item
    name: str
    subject: str
    tokens: int
    lines: int
    wording: Mapping[str, str]

    def summary(self) -> str:
        size = self.wording["lines" if self.lines > 1 else "line"].format(
            lines=f"{self.lines:,}", tokens=f"{self.tokens:,}"
        )
        return self.wording["summary"].format(handle=f"#{self.item.id}", what=self._what(160, 160), size=size)

    def gist(self) -> str:
        return self.wording["gist"].format(
            handle=f"#{self.item.id}", what=self._what(40, 24), tokens=f"{self.tokens:,}"
        )

    def _what(self, path: int, command: int) -> str:
        kind = _SPOKEN.get(self.item.kind) or _OTHERS.get(self.item.kind, "")
        failed = next((part.error for part in self.item.parts if isinstance(part, Result)), "")
        said = _said(legal(self.subject[:2000]), path, command)
        return "".join(
            f" {word}" for word in (self.wording.get(kind, ""), legal(self.name[:80]), said, failed[:40]) if word
        )


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


def _limits(original: int) -> tuple[int, int]:
    return min(SUMMARY_TOKENS, int(original * SUMMARY_SHARE)), min(GIST_TOKENS, int(original * GIST_SHARE))


def _read(item: Item, text: str, subject: str, wording: Mapping[str, str], most: int) -> tuple[Levels, int]:
    """What the levels are chosen from, by kind and by what kind of text it is, and how many lines it has.

    So many characters as `most` says may open a summary.
    """
    if item.kind in _SPOKEN:
        sample = look(text, ROOM)
        return dialogue(sample), sample.numbers[-1]
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


def _of_call(item: Item, count: Callable[[str], int], wording: Mapping[str, str]) -> Shorter:
    call = item.parts[0] if item.parts else None
    if not isinstance(call, Call):
        return Shorter(None, None)
    original = _tokens_of(arguments(call), count)
    if original < SMALLEST:
        return Shorter(None, None)
    ratio = max(0.5, len(arguments(call)) / original)
    summary, gist = (shortened(call, f"#{item.id}", count, Room(limit, ratio), wording) for limit in _limits(original))
    return _ordered(summary, gist, original)


def _ordered(summary: Filled, gist: Filled, original: int) -> Shorter:
    """Both levels, each only if it is there and smaller than the one above it."""
    above = summary.tokens if 0 < summary.tokens < original else original
    return Shorter(summary.text if above < original else None, gist.text if 0 < gist.tokens < above else None)
