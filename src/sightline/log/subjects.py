"""Numbers for what calls are about. A file has one number, however its path is written."""

from collections.abc import Iterator

from sightline.log.columns import NONE

_DEEPEST = 12  # parts of a relative path that is known again in an absolute one


class SubjectNumbers:
    """The numbers of subjects. They follow from the subjects and spellings that are known, not from their order.

    A relative path and an absolute one that ends with it are the same file. If several absolute ones do, it is the one
    with the lowest number.
    """

    def __init__(self, subjects: list[str], spellings: dict[str, int]) -> None:
        """Both are extended: the subjects by number, and other spellings of them."""
        self._subjects, self._spellings = subjects, spellings
        self._numbers = {subject: number for number, subject in enumerate(subjects)} | spellings
        self._ends: dict[str, int] = {}  # how absolute paths end → the lowest of their numbers
        self._absolute: set[int] = set()  # numbers that have an absolute path
        for subject, number in self._numbers.items():
            self._note_path(subject, number)

    def number(self, subject: str) -> int:
        """The number of a subject, a new one if it is not known; -1 for an empty one."""
        if not subject:
            return NONE
        if (known := self._numbers.get(subject)) is not None:
            return known
        if (same := self._same_file(subject)) is not None:
            self._spellings[subject] = number = same
        else:
            number = len(self._subjects)
            self._subjects.append(subject)
        self._numbers[subject] = number
        self._note_path(subject, number)
        return number

    def _same_file(self, subject: str) -> int | None:
        """The number of the file that this path is another spelling of."""
        if not subject.startswith("/"):
            return self._ends.get(subject)
        for end in _ends(subject):
            number = self._numbers.get(end)
            if number is not None and number not in self._absolute:
                return number
        return None

    def _note_path(self, subject: str, number: int) -> None:
        if subject.startswith("/"):
            self._absolute.add(number)
            for end in _ends(subject):
                self._ends[end] = min(number, self._ends.get(end, number))


def _ends(path: str) -> Iterator[str]:
    """Yield the relative paths that an absolute one ends with, the longest first; none of a text that is no path."""
    if " " in path or "\n" in path:
        return
    parts = path.strip("/").rsplit("/", _DEEPEST)[-_DEEPEST:]
    yield from ("/".join(parts[at:]) for at in range(len(parts)))
