"""What a digest continues: a previous digest, read back by section, or any other summary, read as lines."""

from collections.abc import Iterable
from typing import NamedTuple

from sightline.shorten.digest.file_trail import Touched
from sightline.shorten.digest.headings import SECTIONS, WORDS, heading
from sightline.shorten.digest.names import NameRow, read_names
from sightline.shorten.digest.outcomes import CommandRun, read_command
from sightline.shorten.digest.sections import Entry
from sightline.shorten.digest.trail_lines import read_files
from sightline.shorten.identifiers import WEIGHTS, values_in
from sightline.shorten.sample import encodable
from sightline.shorten.signals import states_rule

PLAIN, RULE = 0.3, 6.0  # worth of a line of a foreign summary: of any line, and of one that states a rule
LONGEST = 600  # characters of a line of a foreign summary


class Previous(NamedTuple):
    """What is known from before the run."""

    first: str
    words: list[str]
    open: list[str]
    decisions: list[str]
    files: list[Touched]
    errors: list[str]
    commands: list[CommandRun]
    names: list[NameRow]
    answers: list[str]
    programs: list[str]
    notes: list[str]


_HEADINGS = {heading(section, locale): section for section in SECTIONS for locale in ("en", "zh")}


def read_previous(texts: Iterable[str]) -> Previous:
    """Read digests and summaries. Lines outside the sections of a digest are notes."""
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for text in texts:
        for section, entry in _read_entries(encodable(text)):
            sections[section].append(entry)
    first, words = _read_task(sections["task"])
    lines = sections["commands"]
    runs = [read_command(line, i - len(lines)) for i, line in enumerate(lines)]
    notes = [*sections["notes"], *(line for line, run in zip(lines, runs, strict=True) if not run)]
    return Previous(
        first, [*sections["words"], *words], sections["open"], sections["decisions"], read_files(sections["files"]),
        sections["errors"], [run for run in runs if run], read_names(sections["names"]), sections["answers"],
        sections["programs"], list(dict.fromkeys(line[:LONGEST] for line in notes)),
    )  # fmt: skip


def as_notes(text: str) -> str:
    """Return a summary that a model wrote so that all of it is read as notes, whatever headings it has.

    Only a digest quotes the user.
    """
    return "\n".join(f" {line}" if line in _HEADINGS else line for line in encodable(text).splitlines())


def _read_entries(text: str) -> Iterable[tuple[str, str]]:
    """Yield every entry with its section. In a digest, entries begin with a dash and further lines are indented."""
    section = "notes"
    entry: list[str] = []
    for line in text.splitlines():
        new_section = _HEADINGS.get(line)
        if not new_section and section != "notes" and line.startswith("  ") and entry:
            entry.append(line[2:])
            continue
        if entry:
            yield section, "\n".join(entry)
            entry = []
        if new_section:
            section = new_section
        elif line.strip():
            ours = line.startswith("- ")
            section = section if ours else "notes"  # foreign text under a heading that is the same as ours
            entry = [line[2:] if ours else line.strip()]
    if entry:
        yield section, "\n".join(entry)


def _read_task(entries: list[str]) -> tuple[str, list[str]]:
    """Return the first request, and the others, which now belong to the user's words."""
    first, words = "", []
    for entry in entries:
        label, _, text = entry.partition(": ")
        if label in WORDS["first"]:
            first = text
        else:
            words.append(text if label in WORDS["current"] else entry)
    return first, words


def note_entries(notes: list[str]) -> list[Entry]:
    """Return the lines of a foreign summary. Those that state a rule and those with values are worth most."""
    entries = []
    for i, line in enumerate(notes):
        worth = PLAIN + sum(map(WEIGHTS.__getitem__, dict.fromkeys(values_in(line)))) + RULE * states_rule(line)
        entries.append(Entry(i, line, worth / (len(line) + 20) * 100))
    return entries
