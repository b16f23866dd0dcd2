"""What the engine itself says in a payload: one line for what is left out, and the rules that would not be read."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from sightline.log.columns import BY_RULE
from sightline.log.journal import Journal
from sightline.plan.view import LeftOut, Notices
from sightline.shorten import subject_of
from sightline.values.excerpt import stands_alone
from sightline.values.items import Call, Kind, Lod
from sightline.values.phrases import plain_label, say

_PREFACE = 0.05  # of the limit: what the user laid down holds so much when it is no longer shown in place
_LINE = 120  # characters of what a left-out unit was about
_NAMED = 3  # items of rules that have no room, which one line names


class EngineNotices(Notices):
    """What is said in the payloads of one journal; with `lists`, a line for each unit that is left out."""

    def __init__(self, journal: Journal, limit: int, *, lists: bool = True) -> None:
        self._journal, self.locale, self._lists = journal, journal.reader.locale, lists
        self.room = int(_PREFACE * limit) if journal.timeline.constraints else 0

    def _counted(self, text: str) -> tuple[str, int]:
        reader = self._journal.reader
        return text, reader.counter.count(text) + reader.profile.message_tokens

    def marker(self, left_out: LeftOut, shown: Collection[int] = (), room: int = 0) -> tuple[str, int]:
        """See `Notices.marker`."""
        lines = self._index(left_out, shown, room) if self._lists else []
        return self._counted("\n".join([self._summed_up(left_out), *lines]))

    def _summed_up(self, left_out: LeftOut) -> str:
        timeline = self._journal.timeline
        return say(
            "left out",
            self.locale,
            messages=left_out.messages,
            tokens=left_out.tokens,
            first=timeline.id(timeline.unit_row[left_out.first]),
            last=timeline.id(timeline.unit_row[left_out.last]),
        )

    def _index(self, left_out: LeftOut, shown: Collection[int], room: int) -> list[str]:
        """A line for each unit that is left out, the newest first to be taken: what it was about, and its handles."""
        timeline, path, count = self._journal.timeline, self._journal.path, self._journal.reader.counter.count
        lines: list[str] = []
        for unit in range(left_out.last, left_out.first - 1, -1):
            row = timeline.unit_row[unit]
            if unit in shown or not path.holds(timeline.branch[row], row):
                continue
            line = self._about(unit)
            room -= count(line) + 1 if line else 0
            if room < 0:
                break
            lines += [line] if line else []
        return lines[::-1]

    def _about(self, unit: int) -> str:
        """What a unit was about, in the words of the model and the user: nothing of what a tool answered."""
        timeline, reader = self._journal.timeline, self._journal.reader
        rows = timeline.rows_of(unit)
        calls = [row for row in rows if timeline.kind[row] == Kind.CALL]
        if calls:
            return f"#{timeline.id(rows[0])} {'; '.join(map(self._called, calls))}"
        speaker = {Kind.ASSISTANT: "assistant", Kind.USER: "user"}.get(Kind(timeline.kind[rows[0]]), "")
        if not speaker or self._binds(rows[0]):
            return f"#{timeline.id(rows[0])} {speaker}" if speaker else ""
        return f"#{timeline.id(rows[0])} {speaker}: {_on_one_line(reader.text(rows[0]))}"

    def _binds(self, row: int) -> bool:
        """Whether an item lays down something: that stands word for word in the preface, and only there."""
        constraints = self._journal.timeline.constraints
        at = bisect_left(constraints, row)
        return at < len(constraints) and constraints[at] == row

    def _called(self, row: int) -> str:
        timeline = self._journal.timeline
        call = self._journal.reader.item(row).parts[0]
        assert isinstance(call, Call)
        result = timeline.partner[row]
        answer = f"→ #{timeline.id(result)}" if result >= 0 else ""
        return " ".join(filter(None, (call.name, _on_one_line(subject_of(call)), answer)))

    def preface(
        self, units: Collection[int], lods: Mapping[int, Lod], says: str, most: int | None = None
    ) -> tuple[str, int]:
        """See `Notices.preface`: what the user laid down, word for word, as far as it would no longer be read."""
        framing = self._journal.reader.profile.message_tokens
        room = self.room if most is None else min(self.room, most - (self._counted(says)[1] if says else 0))
        kept = "\n".join(self._fitting(self._hidden(units, lods), room - framing)) if room > framing else ""
        texts = [text for text in (says, kept) if text]
        return self._counted("\n\n".join(texts)) if texts else ("", 0)

    def _hidden(self, units: Collection[int], lods: Mapping[int, Lod]) -> Iterator[tuple[str, str]]:
        """The rules and tasks that these units do not show, each once, the newest first, with the item it is from."""
        timeline, reader, path = self._journal.timeline, self._journal.reader, self._journal.path
        rows = [row for row in reversed(timeline.constraints) if path.holds(timeline.branch[row], row)]
        shown = [row for row in rows if timeline.unit[row] in units]
        whole = {row for row in shown if timeline.level(row, lods.get(row, Lod.FULL)) is Lod.FULL}
        met = {sentence for row in whole for sentence in reader.constraints(row)}
        shortened = "\n".join(self._shown_text(row, lods) for row in shown if row not in whole)
        digests, retold = self._summaries(units, lods)
        for row in rows:
            for sentence in reversed(reader.constraints(row)):
                told = stands_alone(sentence, shortened) or (
                    stands_alone(sentence, digests) and not stands_alone(sentence, retold)
                )
                if sentence not in met and not told:
                    yield timeline.id(row), sentence
                met.add(sentence)

    def _summaries(self, units: Collection[int], lods: Mapping[int, Lod]) -> tuple[str, str]:
        """What digests show of the user's words, which they quote; and what models ever said, who may twist a quote.

        A digest goes on from the summary before it: what a model has said may stand in it.
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

    def _fitting(self, hidden: Iterable[tuple[str, str]], room: int) -> list[str]:
        """As many lines as the room allows, the newest first to be taken; one line names the items of the others."""
        count, heading = self._journal.reader.counter.count, say("binding", self.locale)
        lines: list[tuple[str, str]] = []  # the newest first, each with its item
        room -= count(heading)
        beyond: list[str] = []
        for item_id, sentence in hidden:
            line = f"- #{item_id}: {sentence}"
            if count(line) + 1 > room:
                beyond.append(item_id)
                if len(set(beyond)) > _NAMED:
                    break
            else:
                lines.append((item_id, line))
                room -= count(line) + 1
        while beyond and count(more := self._others(beyond)) + 1 > room and lines:
            item_id, line = lines.pop()
            beyond.insert(0, item_id)
            room += count(line) + 1
        told = [line for _, line in reversed(lines)]
        if beyond and count(more) + 1 <= room:
            told.insert(0, more)
        return [heading, *told] if told else []

    def _others(self, items: Sequence[str]) -> str:
        ids = [f"#{item_id}" for item_id in dict.fromkeys(items)]
        return say("more binding", self.locale, ids=" ".join([*ids[:_NAMED], *(["…"] if len(ids) > _NAMED else [])]))


def _on_one_line(text: str) -> str:
    """The beginning of a text, in which no line, handle or label of ours can begin."""
    line = " ".join(text[: 4 * _LINE].split())
    return plain_label(line if len(line) <= _LINE else f"{line[:_LINE]}…")
