"""The texts that the engine adds to a payload: index lines for what is left out, and constraints that are not shown.

What only a sweep needs of `shorten` is named where it is used, so that a plain turn does not load it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import tee
from typing import NamedTuple, TypeAlias

from sightline import shorten
from sightline.log.columns import BY_RULE, replaced_rows
from sightline.log.journal import Journal, LaidDown, laid_down
from sightline.log.recall_frame import speaker
from sightline.plan.index_lines import FoundWords, IndexLines, on_one_line
from sightline.plan.view import LeftOut, Notices
from sightline.values.escape import escape
from sightline.values.excerpt import stands_alone
from sightline.values.found_mark import mark_found
from sightline.values.items import FULL, Kind, Lod
from sightline.values.phrases import say
from sightline.values.recall_tools import offered

# The user's constraints that are no longer shown in place may take this share of the limit, or so many tokens if that
# is more: in a small window they are worth more than anything else that is old.
_PREFACE_SHARE, _PREFACE_LEAST = 0.25, 400
_DASH_TOKENS, _HANDLE_TOKENS = 3, 8  # of a line besides its sentence: without and with the handle of its item
_MARK_TOKENS = 6  # that say that a constraint was revoked
_SPOKEN = (Kind.USER, Kind.ASSISTANT)
_MOST_LINES = 4096  # that stay in memory
_NAMED = 3  # how many items one line names whose constraints do not fit


class Quoted(NamedTuple):
    """A constraint as a line of the preface: word for word and shortened, with the tokens of both."""

    item_id: str
    revoked: bool
    whole: str
    whole_tokens: int
    short: str
    short_tokens: int


class MadeNotices:
    """What one sweep has made for its notices, because the next one most likely needs the same."""

    def __init__(self) -> None:
        self.words = FoundWords()
        self.constraints: dict[LaidDown, Quoted] = {}  # some thousands


Made: TypeAlias = dict[tuple[str, bool], MadeNotices]  # in a language, with or without handles


class EngineNotices(Notices):
    """The notices in the payloads of one journal; with `lists`, index lines for the units that are left out."""

    def __init__(self, journal: Journal, limit: int, *, lists: bool = True, made: Made | None = None) -> None:
        self._journal, self.locale, self._lists, self._limit = journal, journal.reader.locale, lists, limit
        self._made = {} if made is None else made
        (self._laid_down,) = tee(laid_down(journal), 1)  # however often copies are gone through, each is read once
        self._searched = copy(self._laid_down)
        self._revoked: set[tuple[int, str]] = set()

    @cached_property
    def preface_limit(self) -> int:  # type: ignore[override]
        """See `Notices.preface_limit`: no more than all constraints would take, word for word."""
        most = max(int(_PREFACE_SHARE * self._limit), _PREFACE_LEAST)
        beside = _HANDLE_TOKENS if self._expands else _DASH_TOKENS
        needed, last = 0, -1
        for row, _, revoked, _ in copy(self._laid_down):
            needed += self._journal.reader.constraint_tokens(row) if row != last else 0
            needed, last = needed + beside + _MARK_TOKENS * revoked, row
            if needed >= most:
                return most
        return min(most, needed + self._with_tokens(say("binding", self.locale))[1]) if needed else 0

    def _count(self, text: str) -> int:
        return self._journal.reader.counter.count(text)

    @cached_property
    def _expands(self) -> bool:
        """Whether the model has a tool that redeems a handle."""
        return "expand" in offered(self._journal.tools.definitions)

    @cached_property
    def _kept(self) -> MadeNotices:
        return self._made.setdefault((self.locale, self._expands), MadeNotices())

    def _line(self, item_id: str, text: str) -> str:
        return f"- #{item_id}: {text}" if self._expands else f"- {text}"

    def _with_tokens(self, text: str) -> tuple[str, int]:
        reader = self._journal.reader
        return text, reader.counter.count(text) + reader.profile.message_tokens

    def marker(
        self, left_out: LeftOut, units_shown: Collection[int] = (), index_limit: int = 0, preface: str = ""
    ) -> tuple[str, int]:
        timeline = self._journal.timeline
        line = say(
            "left out" if self._expands else "left out unnamed",
            self.locale,
            messages=left_out.messages,
            tokens=left_out.tokens,
            first=timeline.id(timeline.unit_row[left_out.first]),
            last=timeline.id(timeline.unit_row[left_out.last]),
            how=self._how_to_see(),
        )
        is_listed = self._lists and index_limit > 0
        lines = self._index_lines(left_out, units_shown, index_limit, preface) if is_listed else []
        return self._with_tokens("\n".join([line, *lines]))

    def _how_to_see(self) -> str:
        """How the model brings back what is left out, with the tools that it has."""
        tools = offered(self._journal.tools.definitions)
        tool_phrases = (("recall", "recall finds"), ("expand", "expand shows"))
        ways = [say(key, self.locale) for name, key in tool_phrases if name in tools]
        before, between = ("：", "，") if self.locale == "zh" else (": ", ", ")
        return before + between.join(ways) if ways else ""

    def _index_lines(self, left_out: LeftOut, units_shown: Collection[int], limit: int, preface: str) -> list[str]:
        """A line for each of the newest units that are left out, as many as fit in `limit` tokens, in seq order.

        It is in the model's and the user's words. Of a message with constraints it has those that still hold and that
        the preface does not show.
        """
        timeline, path = self._journal.timeline, self._journal.path
        replaced = {timeline.unit[row] for row in replaced_rows(timeline.marked(path))}

        def is_listed(unit: int) -> bool:
            row = timeline.unit_row[unit]
            return unit not in units_shown and unit not in replaced and path.holds(timeline.branch[row], row)

        def said(row: int) -> str:
            label = say(speaker(timeline, row), self.locale) if timeline.kind[row] in _SPOKEN else ""
            return self._what_was_said(row, label, preface) if label else ""

        newest_first = filter(is_listed, range(left_out.last, left_out.first - 1, -1))
        return IndexLines(self._journal, self._kept.words, said, handles=self._expands).within(limit, newest_first)

    def _what_was_said(self, row: int, label: str, preface: str) -> str:
        reader = self._journal.reader
        if not reader.has_constraints(row) or not reader.constraints(row):
            return label + on_one_line(reader.text(row))
        holding = [sentence for sentence in reader.constraints(row) if not self._is_revoked(row, sentence)]
        unseen = [sentence for sentence in holding if not _is_quoted(sentence, preface)]
        return label + on_one_line(" ".join(unseen)) if unseen else label.rstrip(" :：")

    def _is_revoked(self, row: int, sentence: str) -> bool:
        """Whether a constraint was revoked. Only newer messages are searched for what revokes it."""
        for constraint in self._searched:  # goes on where it stopped
            if constraint.revoked:
                self._revoked.add((constraint.row, constraint.sentence))
            if constraint.row < row:
                break
        return (row, sentence) in self._revoked

    def preface(
        self, units: Collection[int], lods: Mapping[int, Lod], says: str, most: int | None = None
    ) -> tuple[str, int]:
        """See `Notices.preface`. Quotes the user's constraints that the plan does not show."""
        limit = self.preface_limit
        if most is not None:
            limit = min(limit, most - (self._with_tokens(says)[1] if says else 0))
        limit -= self._journal.reader.profile.message_tokens
        lines = self._fit_lines(self._hidden_constraints(units, lods), limit) if limit > 0 else []
        text, tokens = self._with_tokens("\n".join(lines)) if lines else ("", 0)
        while len(lines) > 1 and tokens - self._journal.reader.profile.message_tokens > limit:
            del lines[1]  # counted together they may be more
            text, tokens = self._with_tokens("\n".join(lines))
        if not says:
            return text, tokens
        return self._with_tokens("\n\n".join(filter(None, (says, text))))

    def _hidden_constraints(self, units: Collection[int], lods: Mapping[int, Lod]) -> Iterator[LaidDown]:
        """The constraints that these units do not show, each once, the newest first."""
        timeline, reader = self._journal.timeline, self._journal.reader
        rows = [row for unit in units if reader.has_constraints(row := timeline.unit_row[unit])]
        whole = {row for row in rows if timeline.level(row, lods.get(row, FULL)) is FULL}
        seen = {sentence for row in whole for sentence in reader.constraints(row)}
        seen |= {constraint.quote for row in whole for constraint in reader.found(row)}
        shortened = "\n".join(self._shown_text(row, lods) for row in rows if row not in whole)
        digests, by_models = self._summaries(units, lods)
        for constraint in copy(self._laid_down):
            _, sentence, revoked, _ = constraint
            if sentence in seen:
                continue
            seen.add(sentence)
            if not shortened and not digests:
                yield constraint
                continue
            digested = say("revoked", self.locale, text=sentence) if revoked else sentence
            quoted = (bool(shortened) and stands_alone(sentence, shortened)) or (
                bool(digests) and stands_alone(digested, digests) and not stands_alone(sentence, by_models)
            )
            if not quoted:
                yield constraint

    def _summaries(self, units: Collection[int], lods: Mapping[int, Lod]) -> tuple[str, str]:
        """The text of the shown digests, which quote the user, and of all summaries by models, which may misquote.

        A digest takes over the summary before it, so it may contain what a model wrote.
        """
        timeline, reader, path = self._journal.timeline, self._journal.reader, self._journal.path
        summaries = [
            unit for compaction in timeline.compactions if path.knows(compaction) for unit in compaction.summaries
        ]
        rows = [(unit, timeline.unit_row[unit]) for unit in summaries]
        digests = [row for unit, row in rows if unit in units and timeline.state[row] & BY_RULE]
        models = [row for _, row in rows if not timeline.state[row] & BY_RULE] if digests else []
        return "\n".join(self._shown_text(row, lods) for row in digests), "\n".join(map(reader.text, models))

    def _shown_text(self, row: int, lods: Mapping[int, Lod]) -> str:
        reader, lod = self._journal.reader, self._journal.timeline.level(row, lods.get(row, FULL))
        return reader.text(row) if lod is FULL else reader.rendition(row, lod)

    def _fit_lines(self, hidden: Iterable[LaidDown], limit: int) -> list[str]:
        """A heading and a line for each constraint that fits in `limit` tokens, in order.

        All are quoted word for word if that fits. Else those that were revoked are left out and the others shortened,
        the newest last; and if that does not fit either, one line names the items of the oldest.
        """
        quoted: list[Quoted] = []  # the newest first
        beyond: list[str] = []  # items whose constraints do not fit
        free = limit - self._count(say("binding short", self.locale))
        for constraint in hidden:
            line = self._quote(constraint)
            if line.revoked or line.short_tokens <= free:
                quoted.append(line)
                free -= 0 if line.revoked else line.short_tokens
                continue
            beyond.append(line.item_id)
            if len(set(beyond)) > _NAMED:
                break
        heading = say("binding", self.locale)
        if not beyond and self._count(heading) + sum(line.whole_tokens for line in quoted) <= limit:
            return [heading, *(line.whole for line in reversed(quoted))] if quoted else []
        return self._shortened([line for line in quoted if not line.revoked], beyond, free)

    def _quote(self, hidden: LaidDown) -> Quoted:
        """The lines for a constraint. Kept for the next sweep, which most likely hides the same ones."""
        known = self._kept.constraints
        if (quoted := known.get(hidden)) is None:
            if len(known) >= _MOST_LINES:
                known.clear()
            quoted = known[hidden] = self._make_quote(hidden)
        return quoted

    def _make_quote(self, hidden: LaidDown) -> Quoted:
        """The lines for a constraint. What a model found is marked in both."""
        item_id, revoked = self._journal.timeline.id(hidden.row), hidden.revoked
        text = say("revoked", self.locale, text=hidden.sentence) if revoked else hidden.sentence
        whole = self._line(item_id, _indented(hidden.marked(text, self.locale)))
        shorter = shorten.short_form(hidden.sentence)
        short = f"- {_indented(mark_found(shorter, '', self.locale) if hidden.found else shorter)}"
        return Quoted(item_id, revoked, whole, self._count(whole) + 1, short, self._count(short) + 1)

    def _shortened(self, quoted: list[Quoted], beyond: list[str], free: int) -> list[str]:
        """The short lines, the newest word for word as far as the `free` tokens allow; a line that names the others."""
        more = self._more_line(beyond) if beyond and self._expands else ""
        while more and self._count(more) + 1 > free and quoted:
            free += quoted[-1].short_tokens
            beyond.insert(0, quoted.pop().item_id)
            more = self._more_line(beyond)
        free -= self._count(more) + 1 if more else 0
        lines = []
        for line in quoted:
            free -= line.whole_tokens - line.short_tokens
            lines.append(line.whole if free >= 0 else line.short)
        if not lines:
            return []
        return [say("binding short", self.locale), *filter(None, [more]), *reversed(lines)]

    def _more_line(self, items: Sequence[str]) -> str:
        ids = [f"#{item_id}" for item_id in dict.fromkeys(items)]
        return say("more binding", self.locale, ids=" ".join([*ids[:_NAMED], *(["…"] if len(ids) > _NAMED else [])]))


def _indented(sentence: str) -> str:
    """The user's words in a list: where something else than a newline ends a line, what follows is indented."""
    first, *others = sentence.splitlines() or [""]
    return "\n  ".join([first, *map(escape, others)])


def _is_quoted(sentence: str, preface: str) -> bool:
    """Whether the preface has this constraint, word for word or shortened."""
    return bool(preface) and (stands_alone(sentence, preface) or stands_alone(shorten.short_form(sentence), preface))
