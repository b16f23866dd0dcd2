"""What git ignores in a folder: `.gitignore` there and above it, and `.git/info/exclude`. Git itself is not needed.

The patterns are read once for each folder of a walk, and compiled once for the same text. They only hide names from
listings and searches: whoever names a file or folder exactly may have it. The library `pathspec` (extra `code`) does
the matching. Without it nothing is hidden here, and only the fixed list `SKIPPED` applies, which always does.
"""

import os
import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sightline.files.project import git_folder, read_beginning

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# Made by tools: nobody asks for it, and it would hide the rest.
SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox"}
    | {".mypy_cache", ".ruff_cache", ".pytest_cache", ".idea", ".gradle", ".terraform"}
)

FILE = ".gitignore"
MOST_BYTES = 1 << 16  # of one file of patterns; what follows is not used
MOST_PATTERNS = 1000  # of one file: each is tried for each name
LONGEST = 300  # characters of a pattern
_STARS = re.compile(r"\*+")
# A pattern becomes a regular expression, and one with many stars could take for ever on a long name.
_MOST_STARS, _MOST_IN_NAME = 4, 2


class _Level(NamedTuple):
    """The patterns of one folder, and the way from there to the folder that is looked at, such as `src/lib/`."""

    patterns: "GitIgnoreSpec"
    way: str


class IgnoreRules(NamedTuple):
    """What git ignores in one folder. The patterns of the deepest folder come last, and are asked first."""

    levels: tuple[_Level, ...] = ()
    is_off: bool = False  # a folder that is ignored itself was named, so everything in it is shown

    def hide(self, name: str, *, is_folder: bool) -> bool:
        """Whether a file or folder of this name is left out of listings."""
        if is_folder and name in SKIPPED:
            return True
        for patterns, way in reversed(self.levels):
            ignored = patterns.check_file(f"{way}{name}{'/' if is_folder else ''}").include
            if ignored is not None:  # None: no pattern of this folder is about it
                return ignored
        return False

    def enter(self, name: str) -> "IgnoreRules":
        """Return the rules of the folders above for a folder in this one."""
        return IgnoreRules(tuple(_Level(patterns, f"{way}{name}/") for patterns, way in self.levels), self.is_off)

    def add(self, folder: Path, names: Collection[str]) -> "IgnoreRules":
        """Return these rules and those of the folder itself, in which there are these names.

        A repository inside another has rules of its own only, as git has it.
        """
        if self.is_off:
            return self
        levels = self.levels
        if ".git" in names:
            levels = _excluded(folder)
        if FILE in names:
            levels += _levels(folder / FILE)
        return self if levels is self.levels else IgnoreRules(levels)


def rules_above(folder: Path, top: Path) -> IgnoreRules:
    """Return the rules for a folder that are in the folders above it: from its repository on, else from `top` on.

    If the folder is ignored itself, somebody has named it, and nothing in it is hidden.
    """
    above = [folder, *folder.parents]
    first = next((place for place in above if os.path.lexists(place / ".git")), top)
    rules = IgnoreRules()
    for place in reversed(above):
        if place == folder or not place.is_relative_to(first):
            continue
        rules = rules.add(place, [name for name in (".git", FILE) if os.path.lexists(place / name)])
        name = folder.relative_to(place).parts[0]
        if rules.hide(name, is_folder=True) and (place / name).is_relative_to(top):
            return IgnoreRules(is_off=True)
        rules = rules.enter(name)
    return rules


def rules_of(folder: Path, top: Path) -> IgnoreRules:
    """Return the rules for what is in a folder: those in the folders above it, as far as they count, and its own."""
    return rules_above(folder, top).add(folder, [name for name in (".git", FILE) if os.path.lexists(folder / name)])


def _levels(file: Path) -> tuple[_Level, ...]:
    """Return the patterns of a file as one level; none if it has none or cannot be read. A link is not followed."""
    try:
        text = read_beginning(file, MOST_BYTES, flags=getattr(os, "O_NOFOLLOW", 0))[:MOST_BYTES]
    except (OSError, ValueError):
        return ()
    patterns = _compiled(text)
    return () if patterns is None else (_Level(patterns, ""),)


@lru_cache(maxsize=64)
def _compiled(text: bytes) -> "GitIgnoreSpec | None":
    """Return the patterns of a text; None if it has none, or if the library is missing."""
    try:
        from pathspec import GitIgnoreSpec
        from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern
    except ImportError:
        return None
    patterns = []
    for line in text.decode("utf-8-sig", "replace").split("\n")[:MOST_PATTERNS]:
        if _is_usable(line := line.removesuffix("\r")):
            try:
                patterns.append(GitIgnoreSpecPattern(line))
            except ValueError:  # no pattern: git ignores such a line too
                continue
    return GitIgnoreSpec(patterns) if patterns else None


def _is_usable(line: str) -> bool:
    if not line.strip() or line.startswith("#") or len(line) > LONGEST:
        return False
    stars = [len(_STARS.findall(name)) for name in line.split("/")]
    return sum(stars) <= _MOST_STARS and max(stars) <= _MOST_IN_NAME


def _excluded(folder: Path) -> tuple[_Level, ...]:
    """Return the patterns of `.git/info/exclude` at the top of a repository. Worktrees share one such file."""
    try:
        git = git_folder(folder)
        common = "." if git is None or not (git / "commondir").exists() else read_beginning(git / "commondir", 4096)
        return () if git is None else _levels(git / os.fsdecode(common).strip() / "info" / "exclude")
    except (OSError, ValueError):  # not as git writes it
        return ()
