"""How much the model wants to see of something: an item, lines of it, a file, a window. See the tool `look`.

What it wants to see more of is new text at the end. What it wants to see less of gets a mark, which the next sweep
obeys, so that no cached prefix changes for it. Windows are behind the prefix: they change at the next call.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from sightline.apps.host import Host
from sightline.compose.turn import Composer
from sightline.errors import Conflict, Refused
from sightline.log import entries
from sightline.log.annotations import LOWERING, PinNote
from sightline.log.columns import NONE, pinned_rows
from sightline.log.journal import Journal, laid_down
from sightline.plan.strategy import Planner
from sightline.recall.file_text import FileText, Line, known_text
from sightline.recall.recall import Recall
from sightline.values.items import FULL, Call, File, Image, Kind, Lod, Text, ToolDefinition
from sightline.values.pattern import pattern
from sightline.values.phrases import say
from sightline.values.recall_tools import LEVELS, LOOK, RECALL_TOOLS

# Blanks are counted, so that the time grows no faster than the text.
_LINES = pattern(r"(.*\S)(?:\s{0,9}:|\s{1,9}lines?\s{1,9})(\d{1,9})(?:\s{0,9}[-–]\s{0,9}(\d{1,9}))?")
_LONGEST_NAME = 1_000  # characters; a longer one is no item, file or window
_NAME_SAID = 80  # characters of it in the answer
_OUT = -1  # below every level
_NAMED = 8  # items that an answer names
_MARK_OF = {Lod.GIST: "collapse", Lod.SUMMARY: "summary", Lod.FULL: "full", _OUT: "out"}


Attended = tuple[Text | Image | File, ...]


class _Target(NamedTuple):
    """What a call names, and the lines of it; 0: all."""

    name: str
    first: int = 0
    last: int = 0

    @property
    def lines(self) -> int | None:
        return self.last - self.first + 1 if self.first else None


def own_tools(strategy: Planner) -> tuple[ToolDefinition, ...]:
    """Return the tools of a session: without `look`, if its strategy shows items whole or not at all."""
    return tuple(tool for tool in RECALL_TOOLS if tool != LOOK or getattr(strategy, "lowers", False))


class Attention:
    """Answers the calls by which a model says what it wants to see of one journal's branch."""

    def __init__(self, journal: Journal, recall: Recall, host: Host, composer: Composer) -> None:
        self._journal, self._recall, self._host, self._composer = journal, recall, host, composer

    def answer(self, call: Call) -> Attended:
        """Answer a call of `expand`, `recall` or `look`. Mistakes of the model are answered with text, never raised.

        Only `look` writes anything: marks of the items of which less is wanted, and levels of windows.
        """
        if call.name != LOOK.name:
            return self._recall.answer(call, self._composer.free_room())
        name, level = (str(call.arguments.get(key) or "").strip() for key in ("target", "level"))
        if not name or level.lower() not in LEVELS:
            return (Text(self._say("look how")),)
        if len(name) > _LONGEST_NAME:
            return (Text(self._say("look unknown", target=f"{name[:_NAME_SAID]}…")),)
        return self._look(name, level.lower())

    def _look(self, name: str, level: str) -> Attended:
        for target in _readings(name):
            if (row := self._journal.row(target.name)) is not None:
                return self._look_at_item(row, target, level)
            if self._host.window(target.name) is not None:
                return (Text(self._look_at_window(target, level)),)
            if files := self._files(target.name):
                return (Text(self._look_at_file(files, target, level)),)
            if target.name in ("tools", *(tool.name for tool in self._journal.tools.definitions)):
                return (Text(self._kept(target.name, "keep tool")),)
        return (Text(self._say("look unknown", target=name)),)

    # ------------------------------------------------------------------ items

    def _look_at_item(self, row: int, target: _Target, level: str) -> Attended:
        timeline = self._journal.timeline
        if level == "out" and timeline.kind[row] == Kind.CALL and timeline.partner[row] != NONE:
            row = timeline.partner[row]  # they are in or out together
        item_id = f"#{timeline.id(row)}"
        window_id = next((name for name, rows in timeline.windows.items() if row in rows), "")
        if window_id and self._host.window(window_id) is not None:
            return (Text(self._look_at_window(target._replace(name=window_id), level)),)
        wanted = _OUT if level == "out" else Lod[level.upper()]
        if wanted is FULL and not target.first:
            row = self._shown_for(row)
            item_id = f"#{timeline.id(row)}"
        if target.first and wanted is not FULL:
            return (Text(self._kept(item_id, "keep lines")),)
        seen = self._seen(row)
        if wanted < seen:
            return (Text(self._lower([row], level, item_id)),)
        if wanted >= 0:  # a closed window is shown as it was
            wanted = FULL if timeline.kind[row] == Kind.WINDOW else timeline.level(row, Lod(wanted))
        if not target.first:
            self._lift([row], wanted if wanted == seen else FULL)  # what holds and is asked for again is to stay
        if wanted == seen and not target.first:
            return (Text(self._told("look same", item_id, wanted, self._size_seen(row))),)
        return self._show(row, target, item_id, wanted)

    def _show(self, row: int, target: _Target, item_id: str, lod: int) -> Attended:
        """Return an item at this level as new text, after what it costs."""
        reader, shown = self._journal.reader, Attended()
        if lod is FULL:
            page = {"id": item_id, "start": target.first or 1, "lines": target.lines}
            shown = self._recall.answer(Call("", "expand", page), self._composer.free_room())
        else:
            shown = (Text(reader.rendition(row, Lod(lod))),)
        told = self._told("look shown", item_id, lod, reader.full_tokens(shown), spends=True)
        return (Text(told), *shown)

    def _shown_for(self, row: int) -> int:
        """Return the earlier result that stands for one that only names it in the last payload; else the row itself."""
        sent = self._composer.last_payload()
        same = sent.plan.unchanged.get(row) if sent is not None else None
        return row if same is None else same.source

    def _seen(self, row: int) -> int:
        """The level at which the model sees an item in its place; below all levels, if it does not."""
        sent, timeline = self._composer.last_payload(), self._journal.timeline
        if timeline.kind[row] == Kind.WINDOW:
            return _OUT
        if sent is None or row >= sent.plan.rows or timeline.kind[row] == Kind.SYSTEM:
            return FULL
        return sent.plan.lod(row) if timeline.unit[row] in sent.plan else _OUT

    # ------------------------------------------------------------------ less

    def _lower(self, rows: Sequence[int], level: str, name: str) -> str:
        """Mark items so that the next sweep lowers them, unless something forbids it. Return what the model is told."""
        timeline = self._journal.timeline
        reasons = {row: self._why_kept(row, level) for row in rows}
        lowered = [row for row in rows if not reasons[row] and self._is_less(row, level)]
        if not lowered:
            return self._kept(name, next(filter(None, reasons.values()), "keep short"))
        what = _MARK_OF[Lod[level.upper()] if level != "out" else _OUT]
        self._journal.annotate(*((entries.PIN, PinNote(timeline.id(row), what, "model")) for row in lowered))
        beside = self._beside(lowered) if level == "out" else []
        waiting = {timeline.unit[row] for row in beside}
        gone = {timeline.unit[row] for row in lowered if level == "out"} - waiting
        stays = [row for row in lowered if timeline.unit[row] not in gone]
        after = sum(timeline.size(row, Lod.GIST if level == "out" else Lod[level.upper()]) for row in stays)
        before = sum(map(self._size_seen, [*stays, *(row for unit in gone for row in timeline.rows_of(unit))]))
        facts = {"tokens": after, "before": before, "left": self._composer.free_room().free}
        told = self._say("look later", target=name, level=level, **facts)
        return "\n".join([told, *([self._say("look beside", items=self._named(beside))] if beside else [])])

    def _why_kept(self, row: int, level: str) -> str:
        """Return why the model cannot lower an item; empty if it can. Program and user outrank it."""
        timeline, path, reductions = self._journal.timeline, self._journal.path, self._journal.settings.reductions
        unit, marks = timeline.unit[row], timeline.marked(path)
        rows = {row, *(timeline.rows_of(unit) if level == "out" else ())}  # a call and its results go out together
        if timeline.kind[row] == Kind.SYSTEM:
            return "keep system"
        if not rows.isdisjoint(pinned_rows(marks)):
            return "keep pin"
        if unit == timeline.last_user(path, len(timeline)):
            return "keep question"
        if any(not marks[one].by and marks[one].what in ("raise", "collapse") for one in rows & marks.keys()):
            return "keep asked"
        if timeline.kind[row] == Kind.SUMMARY:
            return "keep summary"
        if any(map(timeline.is_users_own, rows)) and any(
            said.row in rows and not said.revoked for said in laid_down(self._journal)
        ):
            return "keep laid down"
        if not getattr(self._composer.strategy, "lowers", False):
            return "keep whole"
        return "" if ("trim" if level == "out" else "gists") in reductions else "keep off"

    def _is_less(self, row: int, level: str) -> bool:
        """Whether this level of an item takes fewer tokens than it has now. What is out takes its calls with it."""
        timeline = self._journal.timeline
        if level == "out":
            return any(map(self._size_seen, timeline.rows_of(timeline.unit[row])))
        return timeline.size(row, Lod[level.upper()]) < self._size_seen(row)

    def _size_seen(self, row: int) -> int:
        seen = self._seen(row)
        return self._journal.timeline.size(row, Lod(seen)) if seen >= 0 else 0

    def _beside(self, rows: Sequence[int]) -> list[int]:
        """Return the results that stand with these and are not to go out: until they are, these become gists."""
        timeline, marks = self._journal.timeline, self._journal.timeline.marked(self._journal.path)
        units = dict.fromkeys(timeline.unit[row] for row in rows)
        results = [row for unit in units for row in timeline.rows_of(unit) if timeline.kind[row] == Kind.RESULT]
        return [row for row in results if row not in marks or marks[row].what != "out"]

    def _lift(self, rows: Iterable[int], lod: int = FULL) -> None:
        """Take back what the model itself asked for earlier, if it is another level than this one."""
        marks, timeline = self._journal.timeline.marked(self._journal.path), self._journal.timeline
        what = _MARK_OF[lod]
        own = [
            row for row in rows if row in marks and marks[row].by == "model" and marks[row].what in LOWERING - {what}
        ]
        if own:
            self._journal.annotate(*((entries.PIN, PinNote(timeline.id(row), what, "model")) for row in own))

    # ------------------------------------------------------------------ files

    def _files(self, name: str) -> list[int]:
        """Return the files of this name, by their number among the subjects: this path, or those that end so."""
        timeline, path = self._journal.timeline, self._journal.path
        same = [at for at, subject in enumerate(timeline.subjects) if subject == name]
        ends = [at for at, subject in enumerate(timeline.subjects) if subject.endswith(f"/{name.removeprefix('./')}")]
        return [at for at in same or ends if next(timeline.results_about(at, path), None) is not None]

    def _look_at_file(self, files: Sequence[int], target: _Target, level: str) -> str:
        timeline, path = self._journal.timeline, self._journal.path
        if len(files) > 1:
            return self._say("look several", names=", ".join(timeline.subjects[at] for at in files[:_NAMED]))
        name, text = timeline.subjects[files[0]], known_text(self._journal.reader, files[0], path)
        results = [row for row in timeline.results_about(files[0], path) if len(timeline.subjects_at(row)) == 1]
        if level != "full":
            if target.first:
                return self._kept(name, "keep lines")
            wanted = _OUT if level == "out" else Lod[level.upper()]
            seen = [row for row in results if self._seen(row) > wanted]
            return self._lower(seen, level, name) if seen else self._kept(name, "keep short")
        if not target.first:
            self._lift(results)
        return self._show_file(text, target) if text.lines else self._show_newest(files[0], target)

    def _show_newest(self, file: int, target: _Target) -> str:
        """Show the last result about something whose lines are not known by their numbers."""
        row = next(self._journal.timeline.results_about(file, self._journal.path))
        parts = self._look_at_item(row, target, "full")
        return "\n".join(part.text for part in parts if isinstance(part, Text))

    def _show_file(self, text: FileText, target: _Target) -> str:
        """Show the lines of a file as they are after all that was read and changed, as many as fit."""
        last = target.last or text.lines[-1].number
        wanted = [line for line in text.lines if target.first <= line.number <= last]
        if not wanted:
            return self._say("look no lines", target=text.path, last=text.lines[-1].number)
        if all(line.at and self._seen(line.row) == FULL for line in wanted):
            return self._say("look seen", target=text.path, items=self._named(sorted({line.row for line in wanted})))
        shown = self._fitting(wanted)
        body = "\n".join(["", *map(_with_gap, [None, *shown], shown)])
        more = shown[-1].number < wanted[-1].number
        head = self._say("look file more" if more else "look file", first=shown[0].number, last=shown[-1].number,
                         total=text.lines[-1].number, target=text.path, next=shown[-1].number + 1)  # fmt: skip
        tokens = self._journal.reader.counter.count(body)
        return self._told("look shown", text.path, FULL, tokens, spends=True) + "\n" + head + body

    def _fitting(self, lines: Sequence[Line]) -> Sequence[Line]:
        """Return all lines if they fit in what is free, else those of the first page; at least one."""
        count, room = self._journal.reader.counter.count, self._composer.free_room()
        sizes = [*accumulate(count(line.text) + 1 for line in lines)]
        most = room.free if sizes[-1] <= room.free else room.page
        return lines[: max(1, bisect_right(sizes, most))]

    # ------------------------------------------------------------------ windows

    def _look_at_window(self, target: _Target, level: str) -> str:
        if target.first:
            return self._kept(target.name, "keep lines")
        try:
            self._host.lod(target.name, level, by="model")
        except Refused as error:
            return str(error)
        except Conflict:
            return self._say("changed meanwhile")
        window = self._host.window(target.name)
        tokens = 0 if level == "out" or window is None else self._journal.reader.counter.count(window.render())
        return self._told("look window", target.name, _OUT if level == "out" else Lod[level.upper()], tokens)

    # ------------------------------------------------------------------ what the model is told

    def _told(self, key: str, name: str, lod: int, tokens: int, *, spends: bool = False) -> str:
        left = max(0, self._composer.free_room().free - (tokens if spends else 0))
        level = Lod(lod).name.lower() if lod >= 0 else "out"
        return self._say(key, target=name, level=level, tokens=tokens, left=left)

    def _kept(self, name: str, why: str) -> str:
        return self._say("look kept", target=name, why=self._say(why))

    def _named(self, rows: Sequence[int]) -> str:
        return ", ".join(f"#{self._journal.timeline.id(row)}" for row in rows[:_NAMED])

    def _say(self, key: str, **fields: str | int) -> str:
        return say(key, self._journal.settings.locale, **fields)


def _readings(name: str) -> list[_Target]:
    """Return what a name may mean: as it is, and with lines at its end."""
    match = _LINES.fullmatch(name)
    if match is None:
        return [_Target(name)]
    first = max(1, int(match[2]))
    return [_Target(name), _Target(match[1], first, max(first, int(match[3] or first)))]


def _with_gap(before: Line | None, line: Line) -> str:
    return line.text if before is None or line.number == before.number + 1 else f"…\n{line.text}"
