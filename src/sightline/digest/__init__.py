"""What stands for a run of conversation when it is compacted without any model: made from the items, by rule."""

from collections.abc import Callable, Iterable
from functools import partial

from sightline.digest.earlier import Earlier, note_entries, read_earlier
from sightline.digest.files import file_lines
from sightline.digest.headings import heading
from sightline.digest.names import name_lines, names
from sightline.digest.outcomes import command_entries, commands, error_entries, open_entries
from sightline.digest.page import Costs, Entry, Filled, Section, page, taken
from sightline.digest.speech import current_of, decision_entries, said_by_user, summaries_among, task_lines, word_lines
from sightline.digest.steps import Run, read
from sightline.digest.trail import Touched, trail, trail_of
from sightline.items import Item

__all__ = ["Touched", "digest", "trail"]

# Of the room, in the order of the page; the tenth that is left over is for names and values, and what a section does
# not need goes to the next. The user's words come first: everything else can be found out again, they cannot.
SHARES = {
    "task": 0.12, "words": 0.28, "open": 0.05, "decisions": 0.06, "files": 0.22, "errors": 0.04, "commands": 0.08,
    "notes": 0.05,
}  # fmt: skip


def digest(
    items: Iterable[Item], *, tokens: int, count: Callable[[str], int], locale: str = "en", before: str = ""
) -> str:
    """The items as one text of at most so many tokens, in sections; "" where not even one line fits.

    Task, user's words, open items, decisions, files and what was done to each, errors and their fixes, commands, names
    and values; a section without content is not there. `before` is the digest or summary that this one goes on from:
    what it says is folded in, and so is what summaries among the items say. Pure: the same arguments give the same
    bytes.
    """
    run = read(items)
    earlier = read_earlier([before, *summaries_among(run.users), *run.summaries])
    costs = Costs(count, {})
    found = names(run, locale, earlier.names)

    def last(shown: str) -> Section:
        return Section(heading("names", locale), 1.0, lambda room: name_lines(found, shown, run.length, room, costs))

    return page(_sections(run, earlier, costs, locale), last, tokens, costs)


def _sections(run: Run, earlier: Earlier, costs: Costs, locale: str) -> list[Section]:
    said = said_by_user(run.users, earlier.words)
    first = earlier.first or next(iter(said), "")
    current = current_of(said)
    others = [text for text in said if text not in (first, current)]
    files = trail_of(run.steps, earlier.files)
    writers: dict[str, Callable[[int], Filled]] = {
        "task": lambda room: task_lines(first, current, room, costs, locale),
        "words": lambda room: word_lines(others, room, costs),
        "files": lambda room: file_lines(files, run.length, room, costs, locale),
        **{name: partial(taken, entries, costs=costs) for name, entries in _entries(run, earlier, locale).items()},
    }
    return [Section(heading(name, locale), share, writers[name]) for name, share in SHARES.items()]


def _entries(run: Run, earlier: Earlier, locale: str) -> dict[str, list[Entry]]:
    """What the sections that are plain lists may say."""
    return {
        "open": open_entries(run, earlier.open, locale),
        "decisions": decision_entries(run.assistant, earlier.decisions, run.length),
        "errors": error_entries(run.steps, earlier.errors, locale),
        "commands": command_entries(commands(run.steps, earlier.commands), run.length, locale),
        "notes": note_entries(earlier.notes),
    }
