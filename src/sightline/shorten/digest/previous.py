"""What a digest goes on from: an earlier digest, read back section by section, or any other summary, as lines."""

from collections.abc import Iterable
from typing import NamedTuple

from sightline.shorten.digest.file_trail import Touched
from sightline.shorten.digest.headings import SECTIONS, heading, spellings
from sightline.shorten.digest.names import Row, read_names
from sightline.shorten.digest.outcomes import Ran, read_command
from sightline.shorten.digest.sections import Entry
from sightline.shorten.digest.trail_lines import read_files
from sightline.shorten.identifiers import WEIGHTS, values_in
from sightline.shorten.sample import encodable
from sightline.shorten.signals import states_rule

PLAIN, RULE = 0.3, 6.0  # worth of a line of a foreign summary: of any, and of one that binds
LONGEST = 600  # characters of a line of a foreign summary


class Earlier(NamedTuple):
    """What is known from before the run."""

    first: str
    words: list[str]
    open: list[str]
    decisions: list[str]
    files: list[Touched]
    errors: list[str]
    commands: list[Ran]
    names: list[Row]
    answers: list[str]
    notes: list[str]


_HEADINGS = {heading(section, locale): section for section in SECTIONS for locale in ("en", "zh")}


def read_earlier(texts: Iterable[str]) -> Earlier:
    """All of it; lines that stand in no section of ours are notes."""
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for text in texts:
        for section, entry in _entries(encodable(text)):
            sections[section].append(entry)
    first, words = _task(sections["task"])
    lines = sections["commands"]
    ran = [read_command(line, i - len(lines)) for i, line in enumerate(lines)]
    return Earlier(
        first, [*sections["words"], *words], sections["open"], sections["decisions"], read_files(sections["files"]),
        sections["errors"], [one for one in ran if one], read_names(sections["names"]), sections["answers"],
        _once([*sections["notes"], *(line for line, one in zip(lines, ran, strict=True) if not one)]),
    )  # fmt: skip


def _entries(text: str) -> Iterable[tuple[str, str]]:
    """Every entry with its section. In those of ours an entry begins with a dash, its further lines are indented."""
    section = "notes"
    entry: list[str] = []
    for line in text.splitlines():
        found = _HEADINGS.get(line)
        if not found and section != "notes" and line.startswith("  ") and entry:
            entry.append(line[2:])
            continue
        if entry:
            yield section, "\n".join(entry)
            entry = []
        if found:
            section = found
        elif line.startswith("#"):
            section = "notes"
            entry = [line.strip()]
        elif line.strip():
            ours = line.startswith("- ")
            section = section if ours else "notes"  # another's words under a heading that happens to be ours
            entry = [line[2:] if ours else line.strip()]
    if entry:
        yield section, "\n".join(entry)


def _task(entries: list[str]) -> tuple[str, list[str]]:
    """The first request, and what was the current one, now one of the user's words."""
    first, words = "", []
    for entry in entries:
        label, _, text = entry.partition(": ")
        if label in spellings("first"):
            first = text
        else:
            words.append(text if label in spellings("current") else entry)
    return first, words


def _once(lines: list[str]) -> list[str]:
    return list(dict.fromkeys(line[:LONGEST] for line in lines))


def note_entries(notes: list[str]) -> list[Entry]:
    """The lines of a foreign summary, those that bind and those with values first."""
    entries = []
    for i, line in enumerate(notes):
        worth = PLAIN + sum(map(WEIGHTS.__getitem__, dict.fromkeys(values_in(line)))) + RULE * states_rule(line)
        entries.append(Entry(i, line, worth / (len(line) + 20) * 100))
    return entries
