"""Numbers of subjects: one for each file."""

import pytest

from sightline.log.fold import SubjectNumbers


@pytest.mark.parametrize(("spelled", "numbers"), [
    (["src/a.py", "/w/src/a.py", "a.py"], [0, 0, 0]),
    (["/w/src/a.py", "src/a.py", "a.py"], [0, 0, 0]),
    (["a.py", "src/a.py"], [0, 1]),
    (["a.py", "/w/a.py", "/v/a.py", "a.py"], [0, 0, 1, 0]),
    (["/w/a.py", "/v/a.py", "a.py"], [0, 1, 0]),
    (["rc/a.py", "/w/src/a.py"], [0, 1]),
    (["make a.py", "/bin/make /w/a.py", "a.py"], [0, 1, 2]),
    (["", "a.py", ""], [-1, 0, -1]),
])  # fmt: skip
def test_a_file_has_one_number_however_its_path_is_written(spelled: list[str], numbers: list[int]) -> None:
    """A relative path is the same as an absolute one that ends with it. A command is no path."""
    given = SubjectNumbers([], {})
    assert [given.number(subject) for subject in spelled] == numbers


def test_the_numbers_go_on_from_what_was_saved() -> None:
    """What is known says all: the next subject gets the number that it would have got without a break."""
    spelled = ["b.py", "/w/a.py", "src/b.py", "/v/a.py", "a.py", "/v/src/b.py", "/w/src/b.py", "/u/b.py", "src/b.py"]
    whole = SubjectNumbers([], {})
    expected = [whole.number(subject) for subject in spelled]
    for at in range(len(spelled)):
        subjects: list[str] = []
        spellings: dict[str, int] = {}
        before = SubjectNumbers(subjects, spellings)
        first = [before.number(subject) for subject in spelled[:at]]
        after = SubjectNumbers(subjects, dict(sorted(spellings.items())))
        assert first + [after.number(subject) for subject in spelled[at:]] == expected


def test_of_a_deep_path_only_the_last_parts_are_known_again() -> None:
    """So that a path of any depth takes little memory."""
    given = SubjectNumbers([], {})
    given.number("/a" * 1000)
    assert len(given._ends) <= 12
