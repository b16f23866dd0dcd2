"""What stands for a run of conversation when it is compacted without any model: made from the items, by rule."""

from collections.abc import Callable, Iterable

from sightline.shorten.digest.file_trail import Touched, trail, trail_of
from sightline.shorten.digest.headings import heading
from sightline.shorten.digest.names import name_lines, names_of
from sightline.shorten.digest.outcomes import command_entries, commands, error_entries, open_entries
from sightline.shorten.digest.previous import Earlier, note_entries, read_earlier
from sightline.shorten.digest.sections import Costs, Section, Write, fill_page, listed
from sightline.shorten.digest.speech import (
    answers_of,
    current_of,
    decision_entries,
    said_by_user,
    summaries_among,
    task_lines,
    word_lines,
)
from sightline.shorten.digest.steps import Run, read
from sightline.shorten.digest.trail_lines import file_lines
from sightline.values.items import Item

__all__ = ["Touched", "digest", "trail"]

# Of the room, in the order of the page; the tenth that is left over is for names and values, and what a section does
# not need goes to the next. The user's words come first: everything else can be found out again, they cannot.
SHARES = {
    "task": 0.12, "words": 0.28, "open": 0.05, "decisions": 0.06, "files": 0.22, "errors": 0.04, "commands": 0.08,
    "notes": 0.05,
}  # fmt: skip
TASK = 80  # tokens for the task also in a small room: what is wanted, before what was done


def digest(
    items: Iterable[Item], *, tokens: int, count: Callable[[str], int], locale: str = "en", before: str = ""
) -> str:
    """The items as one text of at most so many tokens, in sections; "" where not even one line fits.

    Task, user's words, open items, decisions, files and what was done to each, errors and their fixes, commands, names
    and values, and in what room is left the assistant's words; a section without content is not there. `before` is the
    digest or summary that this one goes on from: what it says is folded in, and so is what summaries among the items
    say. Pure: the same arguments give the same bytes.
    """
    run = read(items)
    earlier = read_earlier([before, *summaries_among(run.users), *run.summaries])
    costs = Costs(count, {})
    writers = _said(run, earlier, costs, locale) | _done(run, earlier, costs, locale)
    sections = [Section(heading(name, locale), writers[name], share) for name, share in SHARES.items()]
    sections[0] = sections[0]._replace(least=TASK)
    return fill_page(sections, _endings(run, earlier, tokens, costs, locale), tokens, costs)


def _said(run: Run, earlier: Earlier, costs: Costs, locale: str) -> dict[str, Write]:
    """What writes the sections of what was said."""
    said = said_by_user(run.users, earlier.words)
    first = earlier.first or next(iter(said), "")
    current = current_of(said)
    others = [text for text in said if text not in (first, current)]
    return {
        "task": lambda room, _: task_lines(first, current, room, costs, locale),
        "words": lambda room, _: word_lines(others, room, costs),
        "open": listed(open_entries(run, earlier.open, locale), costs),
        "decisions": listed(decision_entries(run.assistant, earlier.decisions, run.length), costs),
        "notes": listed(note_entries(earlier.notes), costs),
    }


def _done(run: Run, earlier: Earlier, costs: Costs, locale: str) -> dict[str, Write]:
    """What writes the sections of what was done."""
    files = trail_of(run.steps, earlier.files)
    ran = commands(run.steps, earlier.commands)
    return {
        "files": lambda room, _: file_lines(files, run.length, room, costs, locale),
        "errors": listed(error_entries(run.steps, earlier.errors, locale), costs),
        "commands": listed(command_entries(ran, run.length, locale), costs),
    }


def _endings(run: Run, earlier: Earlier, tokens: int, costs: Costs, locale: str) -> list[Section]:
    """Names and values that stand nowhere else, then what the assistant said, which is most of a talk without tools."""
    names = names_of(run, locale, tokens, earlier.names)
    writers: dict[str, Write] = {
        "names": lambda room, shown: name_lines(names, shown, run.length, room, costs),
        "answers": lambda room, shown: word_lines(answers_of(run.assistant, shown, earlier.answers), room, costs),
    }
    return [Section(heading(name, locale), write) for name, write in writers.items()]
