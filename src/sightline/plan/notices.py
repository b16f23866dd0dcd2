"""The texts that the engine adds to a payload: index lines for what is left out, and constraints that are not shown."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from sightline.log.columns import BY_RULE
from sightline.log.journal import Journal
from sightline.plan.view import LeftOut, Notices
from sightline.shorten import subject_of
from sightline.values.excerpt import stands_alone
from sightline.values.items import Call, Kind, Lod
from sightline.values.phrases import plain_label, say
from sightline.values.recall_tools import offered

_PREFACE_SHARE = 0.05  # of the limit: tokens for the user's constraints that are no longer shown in place
_LINE = 120  # characters of an index line that say what the unit was about
_NAMED = 3  # how many items one line names whose constraints do not fit


class EngineNotices(Notices):
    """The notices in the payloads of one journal; with `lists`, index lines for the units that are left out."""

    def __init__(self, journal: Journal, limit: int, *, lists: bool = True) -> None:
        self._journal, self.locale, self._lists = journal, journal.reader.locale, lists
        self.preface_limit = int(_PREFACE_SHARE * limit) if journal.timeline.constraints else 0

    def _with_tokens(self, text: str) -> tuple[str, int]:
        reader = self._journal.reader
        return text, reader.counter.count(text) + reader.profile.message_tokens

    def marker(self, left_out: LeftOut, shown: Collection[int] = (), index_limit: int = 0) -> tuple[str, int]:
        timeline = self._journal.timeline
        line = say(
            "left out",
            self.locale,
            messages=left_out.messages,
            tokens=left_out.tokens,
            first=timeline.id(timeline.unit_row[left_out.first]),
            last=timeline.id(timeline.unit_row[left_out.last]),
            how=self._how_to_see(),
        )
        lines = self._index_lines(left_out, shown, index_limit) if self._lists else []
        return self._with_tokens("\n".join([line, *lines]))

    def _how_to_see(self) -> str:
        """How the model brings back what is left out, with the tools that it has."""
        tools = offered(self._journal.tools.definitions)
        known = (("recall", "recall finds"), ("expand", "expand shows"))
        ways = [say(key, self.locale) for name, key in known if name in tools]
        before, between = ("：", "，") if self.locale == "zh" else (": ", ", ")
        return before + between.join(ways) if ways else ""

    def _index_lines(self, left_out: LeftOut, shown: Collection[int], limit: int) -> list[str]:
        """A line for each of the newest units that are left out, as many as fit in `limit` tokens, in seq order."""
        timeline, path, count = self._journal.timeline, self._journal.path, self._journal.reader.counter.count
        lines: list[str] = []
        for unit in range(left_out.last, left_out.first - 1, -1):
            row = timeline.unit_row[unit]
            if unit in shown or not path.holds(timeline.branch[row], row):
                continue
            line = self._index_line(unit)
            limit -= count(line) + 1 if line else 0
            if limit < 0:
                break
            lines += [line] if line else []
        return lines[::-1]

    def _index_line(self, unit: int) -> str:
        """What a unit was about, with its handles: in the model's and the user's words, nothing of a tool's answer."""
        timeline, reader = self._journal.timeline, self._journal.reader
        rows = timeline.rows_of(unit)
        if calls := [row for row in rows if timeline.kind[row] == Kind.CALL]:
            return f"#{timeline.id(rows[0])} {'; '.join(map(self._describe_call, calls))}"
        speaker = {Kind.ASSISTANT: "assistant", Kind.USER: "user"}.get(Kind(timeline.kind[rows[0]]), "")
        at = bisect_left(timeline.constraints, rows[0])
        is_constraint = at < len(timeline.constraints) and timeline.constraints[at] == rows[0]
        if not speaker or is_constraint:  # the preface has the constraint word for word
            return f"#{timeline.id(rows[0])} {speaker}" if speaker else ""
        return f"#{timeline.id(rows[0])} {speaker}: {_on_one_line(reader.text(rows[0]))}"

    def _describe_call(self, row: int) -> str:
        timeline = self._journal.timeline
        call = self._journal.reader.item(row).parts[0]
        assert isinstance(call, Call)
        result = timeline.partner[row]
        answer = f"→ #{timeline.id(result)}" if result >= 0 else ""
        return " ".join(filter(None, (_on_one_line(call.name), _on_one_line(subject_of(call)), answer)))

    def preface(
        self, units: Collection[int], lods: Mapping[int, Lod], says: str, most: int | None = None
    ) -> tuple[str, int]:
        """See `Notices.preface`. Quotes the user's constraints that the plan does not show, word for word."""
        limit = self.preface_limit
        if most is not None:
            limit = min(limit, most - (self._with_tokens(says)[1] if says else 0))
        limit -= self._journal.reader.profile.message_tokens
        lines = self._fit_lines(self._hidden_constraints(units, lods), limit) if limit > 0 else []
        texts = [text for text in (says, "\n".join(lines)) if text]
        return self._with_tokens("\n\n".join(texts)) if texts else ("", 0)

    def _hidden_constraints(self, units: Collection[int], lods: Mapping[int, Lod]) -> Iterator[tuple[str, str]]:
        """The constraints and tasks that these units do not show, each once, the newest first, with the item's id."""
        timeline, reader = self._journal.timeline, self._journal.reader
        rows = list(timeline.rows_on(self._journal.path, reversed(timeline.constraints)))
        shown = [row for row in rows if timeline.unit[row] in units]
        whole = {row for row in shown if timeline.level(row, lods.get(row, Lod.FULL)) is Lod.FULL}
        seen = {sentence for row in whole for sentence in reader.constraints(row)}
        shortened = "\n".join(self._shown_text(row, lods) for row in shown if row not in whole)
        digests, by_models = self._summaries(units, lods)
        for row in rows:
            for sentence in reversed(reader.constraints(row)):
                quoted = stands_alone(sentence, shortened) or (
                    stands_alone(sentence, digests) and not stands_alone(sentence, by_models)
                )
                if sentence not in seen and not quoted:
                    yield timeline.id(row), sentence
                seen.add(sentence)

    def _summaries(self, units: Collection[int], lods: Mapping[int, Lod]) -> tuple[str, str]:
        """The text of the shown digests, which quote the user, and of all summaries by models, which may misquote.

        A digest takes over the summary before it, so it may contain what a model wrote.
        """
        timeline, reader, path = self._journal.timeline, self._journal.reader, self._journal.path
        known = [unit for each in timeline.compactions if path.knows(each) for unit in each.summaries]
        rows = [(unit, timeline.unit_row[unit]) for unit in known]
        digests = [row for unit, row in rows if unit in units and timeline.state[row] & BY_RULE]
        models = [row for _, row in rows if not timeline.state[row] & BY_RULE] if digests else []
        return "\n".join(self._shown_text(row, lods) for row in digests), "\n".join(map(reader.text, models))

    def _shown_text(self, row: int, lods: Mapping[int, Lod]) -> str:
        reader, lod = self._journal.reader, self._journal.timeline.level(row, lods.get(row, Lod.FULL))
        return reader.text(row) if lod is Lod.FULL else reader.rendition(row, lod)

    def _fit_lines(self, hidden: Iterable[tuple[str, str]], limit: int) -> list[str]:
        """A line for each of the newest constraints that fit in `limit` tokens; one names the items of the others."""
        count, heading = self._journal.reader.counter.count, say("binding", self.locale)
        lines: list[tuple[str, str]] = []  # the newest first, each with its item's id
        limit -= count(heading)
        beyond: list[str] = []  # ids of the items whose constraints do not fit
        for item_id, sentence in hidden:
            line = f"- #{item_id}: {sentence}"
            if count(line) + 1 > limit:
                beyond.append(item_id)
                if len(set(beyond)) > _NAMED:
                    break
            else:
                lines.append((item_id, line))
                limit -= count(line) + 1
        while beyond and count(more := self._more_line(beyond)) + 1 > limit and lines:
            item_id, line = lines.pop()
            beyond.insert(0, item_id)
            limit += count(line) + 1
        fitting = [line for _, line in reversed(lines)]
        if beyond and count(more) + 1 <= limit:
            fitting.insert(0, more)
        return [heading, *fitting] if fitting else []

    def _more_line(self, items: Sequence[str]) -> str:
        ids = [f"#{item_id}" for item_id in dict.fromkeys(items)]
        return say("more binding", self.locale, ids=" ".join([*ids[:_NAMED], *(["…"] if len(ids) > _NAMED else [])]))


def _on_one_line(text: str) -> str:
    """The beginning of a text on one line, escaped so that it cannot look like a handle or label of ours."""
    line = " ".join(text[: 4 * _LINE].split())
    return plain_label(line if len(line) <= _LINE else f"{line[:_LINE]}…")
