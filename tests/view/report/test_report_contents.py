"""Where tokens went, and what was read twice."""

import pytest
from report_logs import FILE, Log

from sightline.view.report.contents import LARGE
from sightline.view.report.session_report import report_of
from sightline.view.report.values import SessionReport, Share


def report(log: Log) -> SessionReport:
    return report_of(log.conversation, economies=())


def share(shares: tuple[Share, ...], name: str) -> Share:
    return next(each for each in shares if each.name == name)


def test_a_result_is_sent_with_each_later_call() -> None:
    """Three calls after it: its tokens count three times. Its call counts for the tool and the file, too."""
    log = Log().user("fix it").read("c1").answer("One.").user("go on").answer("Two.").user("go on").answer("Three.")
    made = report(log)
    result, call = share(made.kinds, "result"), share(made.kinds, "call")
    assert result.sent == 3 * result.tokens
    assert (result.items, call.items) == (1, 1)
    for found in (share(made.tools, "Read"), share(made.files, "/w/shop.py")):
        assert (found.items, found.sent) == (2, 3 * (result.tokens + call.tokens))


def test_a_compaction_ends_what_is_sent() -> None:
    """From then on the summary is sent instead."""
    log = Log().user("fix it").read("c1").answer("One.").compact("The user wants it fixed.")
    log.user("go on").answer("Two.").user("go on").answer("Three.")
    made = report(log)
    result, summary = share(made.kinds, "result"), share(made.kinds, "summary")
    assert result.sent == result.tokens
    assert summary.sent == 2 * summary.tokens


def test_what_the_program_adds_is_not_the_users() -> None:
    """Reminders are a kind of their own."""
    log = Log().user("fix it").user("<system-reminder>be careful</system-reminder>").answer("Done.")
    made = report(log)
    assert (share(made.kinds, "user").items, share(made.kinds, "note").items) == (1, 1)
    assert made.turns == 1


def test_what_the_provider_counted_and_no_log_shows_is_told() -> None:
    """The system prompt and the tools: the rest of the reported input."""
    log = Log().user("fix it").answer("Which?", usage=(0, 20_000, 0, 5)).user("both")
    made = report(log.answer("Done.", usage=(0, 30, 20_000, 5)))
    unlogged = share(made.kinds, "unlogged")
    assert unlogged.sent == 40_030 - sum(each.sent for each in made.kinds if each.name != "unlogged")
    assert unlogged.sent > 39_000


@pytest.mark.parametrize(
    ("second", "again"),
    [
        (FILE, 1),
        ("\n".join(f"{at}→{line}" for at, line in enumerate(FILE.splitlines()[5:25])), 1),
        (FILE.replace("count", "amount"), 0),
    ],
    ids=["the same", "a part of it, numbered", "changed since"],
)
def test_a_reading_that_shows_nothing_new(second: str, again: int) -> None:
    """All of its lines stood in the context already."""
    made = report(Log().user("fix it").read("c1").read("c2", second).answer("Done."))
    assert sum(each.again for each in made.again) == again
    if again:
        [found] = made.again
        assert (found.file, found.reads, found.after_compaction) == ("/w/shop.py", 2, 0)
        assert found.sent == found.tokens


def test_a_file_of_another_name_is_another_file() -> None:
    """Although it says the same."""
    assert report(Log().user("fix it").read("c1").read("c2", file="/w/b.py").answer("Done.")).again == ()


def test_a_search_is_no_reading() -> None:
    """It shows lines of a file that were read: that is what it is for."""
    log = Log().user("fix it").read("c1")
    log.call("c2", "Grep", {"pattern": "total", "path": "/w/shop.py"}, FILE).answer("Done.")
    assert report(log).again == ()


def test_a_reading_after_a_compaction_is_its_cost() -> None:
    """The model could not know what the file says: not read twice for nothing, but because of the summary."""
    log = (
        Log()
        .user("fix it")
        .read("c1")
        .answer("One.")
        .compact("The user wants shop.py fixed.")
        .read("c2")
        .answer("Two.")
    )
    [found] = report(log).again
    assert (found.again, found.after_compaction) == (0, 1)
    assert found.after_cost > 0


def test_shell_commands_and_patches_are_about_files_too() -> None:
    """As Codex reads and changes them."""
    log = Log().user("fix it").call("c1", "exec_command", {"cmd": "sed -n '1,40p' shop.py"}, FILE)
    log.call("c2", "exec_command", {"cmd": "cat shop.py"}, FILE)
    log.call(
        "c3", "apply_patch", {"input": "*** Begin Patch\n*** Update File: shop.py\n@@\n-a\n+b\n*** End Patch"}, "ok"
    )
    made = report(log.answer("Done."))
    assert share(made.files, "shop.py").items == 6
    assert [each.again for each in made.again] == [1]


def test_only_what_is_above_the_limit_counts_as_large() -> None:
    """By tool, so that it can be said where to limit output."""
    log = Log().user("fix it").call("c1", "Bash", {"command": "make"}, "word " * 3_000).read("c2").answer("Done.")
    [large] = report(log).large
    assert (large.name, large.items) == ("Bash", 1)
    assert large.tokens == pytest.approx(3_000 - LARGE, abs=20)
    assert large.sent == 2 * large.tokens
