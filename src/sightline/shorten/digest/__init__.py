"""Digests: one text for a run of conversation that is compacted without a model, made from the items by rule."""

from collections.abc import Callable, Iterable

from sightline.shorten.digest.file_trail import Touched, extend_trail, trail
from sightline.shorten.digest.headings import heading
from sightline.shorten.digest.names import collect_names, name_lines
from sightline.shorten.digest.outcomes import command_entries, command_runs, error_entries, open_entries
from sightline.shorten.digest.previous import Previous, as_notes, note_entries, read_previous
from sightline.shorten.digest.sections import Costs, Section, Write, list_writer, write_page
from sightline.shorten.digest.speech import (
    continuation_summaries,
    decision_entries,
    first_request,
    mark_revoked,
    task_lines,
    text_lines,
    unshown_texts,
    user_texts,
)
from sightline.shorten.digest.steps import Run, read_run
from sightline.shorten.digest.trail_lines import file_lines
from sightline.values.items import Item, Kind

__all__ = ["Touched", "as_notes", "digest", "trail"]

# Of the token budget, in the order of the page. The remaining tenth is for names and values. What a section does not
# need goes to the next. The user's words have the largest share, because everything else can be found out again.
SHARES = {
    "task": 0.12, "words": 0.32, "open": 0.05, "decisions": 0.04, "files": 0.22, "errors": 0.04, "commands": 0.06,
    "notes": 0.05,
}  # fmt: skip
TASK = 80  # tokens for the task even in a small budget, because what is wanted matters more than what was done


def digest(
    items: Iterable[Item],
    *,
    tokens: int,
    count: Callable[[str], int],
    locale: str = "en",
    before: str = "",
    ends: bool = True,
    then: Kind | None = None,
) -> str:
    """Return the items as one text of at most `tokens` tokens, in sections; "" if not even one line fits.

    The sections are task, user's words, open items, decisions, files and what was done to each, errors and their fixes,
    commands, names and values, and in the tokens that are left the assistant's words and what programs said. Only the
    user's own words are tasks and requests. What the user
    revoked is marked, or left out of a text that is cut. A section without content is left out. `before` is the digest
    or summary that this one continues: its content is included, and so is that of summaries among the items. `ends`:
    the user's last text among them is the current request. `then`: who speaks first after the items, and so answers a
    question at their end. Pure: the same arguments give the same bytes.
    """
    run = read_run(items)
    previous = read_previous([before, *map(as_notes, continuation_summaries(run.users)), *run.summaries])
    costs = Costs(count)
    writers = _writers(run, previous, tokens, costs, locale, ends, then)
    sections = [
        Section(heading(name, locale), writers[name], share, TASK if name == "task" else 0)
        for name, share in SHARES.items()
    ]
    endings = [Section(heading(name, locale), writers[name]) for name in ("names", "answers", "programs")]
    return write_page(sections, endings, tokens, costs)


def _writers(
    run: Run, previous: Previous, tokens: int, costs: Costs, locale: str, ends: bool, then: Kind | None
) -> dict[str, Write]:
    """Return what writes each section. The last three show what no other section shows."""
    texts = user_texts(run.users, previous.words)
    first = previous.first or next(iter(previous.words), "") or first_request(run.users)
    current = texts[-1] if texts and ends else ""
    marked = mark_revoked(list(dict.fromkeys([first, *texts])), locale)
    others = [marked[text] for text in texts if text not in (first, current)]
    files = extend_trail(run.steps, previous.files)
    runs = command_runs(run.steps, previous.commands)
    names = collect_names(run, locale, tokens, previous.names)
    return {
        "task": lambda budget, _: task_lines(marked[first], marked.get(current, current), budget, costs, locale),
        "words": lambda budget, _: text_lines(others, budget, costs),
        "open": list_writer(open_entries(run, previous.open, locale, then), costs),
        "decisions": list_writer(decision_entries(run.assistant, previous.decisions, run.length), costs),
        "files": lambda budget, _: file_lines(files, run.length, budget, costs, locale),
        "errors": list_writer(error_entries(run.steps, previous.errors, locale), costs),
        "commands": list_writer(command_entries(runs, run.length, locale), costs),
        "notes": list_writer(note_entries(previous.notes), costs),
        "names": lambda budget, page: name_lines(names, page, run.length, budget, costs),
        "answers": lambda budget, page: text_lines(unshown_texts(run.assistant, page, previous.answers), budget, costs),
        "programs": lambda budget, page: text_lines(
            unshown_texts(run.programs, page, previous.programs), budget, costs
        ),
    }
