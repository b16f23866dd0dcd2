"""A digest that goes on from another: what it said is folded in and not lost."""

import pytest
from conversations import Conversation, section, words

from sightline.shorten.digest import digest

ROOMY = 100_000


def chapter(n: int) -> Conversation:
    """One stretch of work with names of its own."""
    talk = Conversation().user(f"Chapter {n}: rename module_{n} and never touch legacy_{n}.")
    talk.call(
        "Read",
        {"file_path": f"/srv/app/chapter_{n}.py"},
        f"def handler_{n}(): ...",
        says=f"Reading chapter {n} to see who calls it.",
    )
    talk.call("Edit", {"file_path": "/srv/app/main.py", "old_string": "", "new_string": f"from app import helper_{n}"})
    talk.bash(f"pytest tests/test_{n}.py", f"Exit code 1\nValueError: bad port 80{n}0")
    talk.call(
        "Write", {"file_path": f"/srv/app/new_{n}.py", "content": f"limit_{n} = {n}"}, "File created successfully"
    )
    talk.bash(f"pytest tests/test_{n}.py", "1 passed")
    return talk.says(f"I decided to keep handler_{n} instead of inlining it.")


@pytest.mark.parametrize("locale", ["en", "zh"])
def test_five_compactions_in_a_row_lose_nothing_that_fits(locale: str) -> None:
    """User's words, files with their counts, commands, errors, decisions and names of every chapter are still there."""
    text = ""
    for n in range(1, 6):
        text = digest(chapter(n).items, tokens=ROOMY, count=words, locale=locale, before=text)
    for n in range(1, 6):
        for said in (
            f"Chapter {n}: rename module_{n} and never touch legacy_{n}.", f"/srv/app/chapter_{n}.py: ",
            f"/srv/app/new_{n}.py: ", f"`pytest tests/test_{n}.py`", f"ValueError: bad port 80{n}0", f"limit_{n}",
            f"I decided to keep handler_{n} instead of inlining it.", f"helper_{n}",
        ):  # fmt: skip
            assert said in text, said
    changed = {"en": "changed 5×", "zh": "修改 5×"}[locale]
    assert any(line.startswith(f"- /srv/app/main.py: {changed}") for line in text.split("\n"))


def test_the_task_stays_the_first_one() -> None:
    """However often it is compacted, the first request is the first; the last one is the current."""
    text = ""
    for n in range(1, 6):
        text = digest(chapter(n).items, tokens=ROOMY, count=words, before=text)
    first, current = section(text, "Task")
    assert first.startswith("- First request: Chapter 1:")
    assert current.startswith("- Current request: Chapter 5:")
    assert len(section(text, "The user's words")) == 3


def test_a_digest_with_nothing_new_says_the_same() -> None:
    """Going on without items keeps every line."""
    text = digest(chapter(1).items + chapter(2).items, tokens=ROOMY, count=words)
    again = digest([], tokens=ROOMY, count=words, before=text)
    assert sorted(again.split("\n")) == sorted(text.split("\n"))


def test_a_digest_goes_on_in_another_language() -> None:
    """Sections of the one language are read and written in the other."""
    english = digest(chapter(1).items, tokens=ROOMY, count=words)
    chinese = digest(chapter(2).items, tokens=ROOMY, count=words, locale="zh", before=english)
    assert any(line.startswith("- /srv/app/main.py: 修改 2×") for line in section(chinese, "文件"))
    assert "- `pytest tests/test_1.py` 成功 2×" in section(chinese, "命令")


def test_files_told_by_folder_are_read_again() -> None:
    """A trail that fits only by folder is the same trail in the next digest."""
    talk = Conversation().user("Read them.")
    for n in range(40):
        talk.call("Read", {"file_path": f"/srv/app/module_{n}.py"}, "pass")
    text = digest(talk.items, tokens=90, count=words)
    assert any(line.startswith("- read in /srv/app: ") for line in section(text, "Files"))
    again = section(digest([], tokens=ROOMY, count=words, before=text), "Files")
    assert all(f"- /srv/app/module_{n}.py: read" in again for n in range(40))


def test_a_plan_goes_on_until_there_is_a_new_one() -> None:
    """Open items of the digest before stay open where the run says nothing of them; a new plan takes their place."""
    plan = Conversation().user("Do all.").call("TodoWrite", {"todos": [{"content": "write docs", "status": "pending"}]})
    text = digest(plan.says("Started.").items, tokens=ROOMY, count=words)
    assert "- [ ] write docs" in section(digest(chapter(1).items, tokens=ROOMY, count=words, before=text), "Open")
    done = (
        Conversation()
        .call("TodoWrite", {"todos": [{"content": "write docs", "status": "completed"}]})
        .says("All done.")
    )
    assert section(digest(done.items, tokens=ROOMY, count=words, before=text), "Open") == ["- [x] 1 done"]


def test_any_other_summary_is_kept_as_its_lines() -> None:
    """A model's summary has no sections of ours: its lines stand under a heading of their own, rules first."""
    before = "# Summary\nWe talked about a lot.\nNever restart the gateway on port 8443.\nThe fix is in src/pool.py."
    text = digest(chapter(1).items, tokens=ROOMY, count=words, before=before)
    assert section(text, "From the summary before") == [
        "- # Summary", "- We talked about a lot.", "- Never restart the gateway on port 8443.",
        "- The fix is in src/pool.py.",
    ]  # fmt: skip
    small = digest([], tokens=15, count=words, before=before)
    assert section(small, "From the summary before") == ["- Never restart the gateway on port 8443."]


def test_a_summary_among_the_items_is_folded_in() -> None:
    """It counts as what went before, whether it is an item of its own or the first message of an agent that went on."""
    earlier = digest(chapter(1).items, tokens=ROOMY, count=words)
    as_item = digest(Conversation().summary(earlier).user("Now chapter two, please.").items, tokens=ROOMY, count=words)
    assert section(as_item, "Files") == section(earlier, "Files")
    continued = "This session is being continued from a previous conversation.\nThe port is 8443."
    text = digest(Conversation().user(continued).user("Now chapter two, please.").items, tokens=ROOMY, count=words)
    assert "- The port is 8443." in section(text, "From the summary before")
    assert section(text, "Task") == ["- First request: Now chapter two, please."]


def test_a_digest_that_cannot_be_encoded_is_still_folded_in() -> None:
    """Half a character in the text before is replaced, wherever it stands."""
    before = digest(chapter(1).items, tokens=ROOMY, count=words).replace("legacy", "\ud800")
    digest(chapter(2).items, tokens=ROOMY, count=words, before=before).encode()
