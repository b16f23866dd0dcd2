"""`sightline compact` and `sightline uncompact`: what they say is what the library did, and the way back is open."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sightline import Budget, JsonlStore, Session
from sightline.cli.compaction_view import tokens_change
from sightline.cli.phrases import Phrases
from sightline.log.stores.session_folder import Folder
from sightline.values.items import Lod

Run = Callable[..., Result]
TIGHT, ROOM = ("--window", "20000", "--output", "1000"), Budget(20_000, 1_000)
RULE = "But no: never touch the migrations folder."  # what the sample's user says, and must stay
SUMMARY = "The login was repaired by a shorter hash. You may touch the migrations folder."


def everything(folder: Folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.path.iterdir()}


def facts(result: Result) -> dict[str, object]:
    assert result.exit_code == 0, result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


# ---------------------------------------------------------------------- compact


@pytest.mark.slow
def test_without_a_model_a_digest_stands_for_the_oldest_messages(run: Run, root: Path) -> None:
    """Tokens before and after are those of previews, and the ids are the session's."""
    with Session.resume("login-bug", "/shop", root=root) as session:
        before = session.preview(ROOM).tokens
    told = json.loads(run("compact", *TIGHT, "--json").stdout)
    with Session.resume("login-bug", "/shop", root=root) as session:
        after = session.preview(ROOM)
        ids = [item.id for item in session.items]
        shown = " ".join(str(message.parts) for message in after.body)
    assert (told["pre_tokens"], told["post_tokens"], told["limit"]) == (before, after.tokens, 19_000)
    assert (told["success"], told["by"], told["error"], told["dry_run"]) == (True, "rule", "", False)
    assert told["covered"]["first"] in ids
    assert told["covered"]["last"] in ids
    assert told["covered"]["messages"] > 10
    assert RULE in [each["text"] for each in told["kept"]]
    assert RULE in shown
    assert set(told["loss"]) == {"constraints", "paths", "identifiers", "numbers", "errors"}
    assert told["loss"]["constraints"] == {"count": 0, "named": []}


def test_everything_is_shown_to_people(run: Run) -> None:
    """Tokens, what is covered, the summary in a panel, what is kept, what is hidden, and the way back."""
    output = run("compact", *TIGHT).stdout
    assert "Compacted: login-bug, branch main" in output
    assert re.search(r"[\d,]+ → [\d,]+ tokens, \d+% (less|more); budget 19,000", output)
    assert re.search(r"replaces \d+ messages, #4 to #\d+", output)
    assert "─ summary made by rule, " in output
    assert "more lines: add --full" in output
    assert re.search(rf"#\d+  {re.escape(RULE)}", output)
    assert re.search(r"numbers +\d+  ", output)
    assert "`sightline uncompact` undoes it" in output
    assert "nan" not in output.lower()
    assert "\x1b" not in output


@pytest.mark.slow
def test_full_shows_the_whole_summary(run: Run) -> None:
    """Nothing is counted that could be shown."""
    told = json.loads(run("compact", "--dry-run", *TIGHT, "--json").stdout)
    output = run("compact", "--dry-run", *TIGHT, "--full").stdout
    assert "--full" not in output
    last_word = told["summary"].split()[-1]
    assert last_word in output
    assert all(re.sub(r"\s+", " ", name).strip() in output for name in told["loss"]["identifiers"]["named"])


def test_the_room_of_the_last_call_is_used_where_nothing_is_said(run: Run) -> None:
    """A session is compacted for the budget it lives in."""
    assert json.loads(run("compact", "--json").stdout)["limit"] == 15_000


@pytest.mark.slow
def test_a_dry_run_tells_the_same_and_writes_nothing(run: Run, folder: Folder) -> None:
    """Only that it was not done differs."""
    before = everything(folder)
    tried = facts(run("compact", *TIGHT, "--dry-run", "--json"))
    output = run("compact", *TIGHT, "--dry-run").stdout
    assert run("compact", "--report").exit_code == 0
    assert everything(folder) == before
    assert "Nothing is written" in output
    assert "Run it without --dry-run to do this." in output
    done = facts(run("compact", *TIGHT, "--json"))
    assert (tried.pop("dry_run"), tried.pop("boundary")) == (True, None)
    assert done.pop("dry_run") is False
    assert isinstance(done.pop("boundary"), int)
    assert tried == done


@pytest.mark.slow
def test_a_dry_run_asks_nobody(run: Run, command: Callable[[str], str], tmp_path: Path) -> None:
    """What a model would get a request of is told; the program is not run."""
    touched = tmp_path / "touched"
    program = command(f"open({str(touched)!r}, 'w')")
    told = json.loads(run("compact", *TIGHT, "--dry-run", "--with", program, "--json").stdout)
    assert told["request_tokens"] > told["pre_tokens"]
    assert not touched.exists()
    assert "would get a request of" in run("compact", *TIGHT, "--dry-run", "--with", program).stdout


@pytest.mark.slow
def test_what_is_compacted_can_be_verified(run: Run, root: Path) -> None:
    """Payloads sent before and after are made again from the log."""
    run("compact", *TIGHT)
    with Session.resume("login-bug", "/shop", root=root) as session:
        session.compose(ROOM)
    run("uncompact", *TIGHT)
    with Session.resume("login-bug", "/shop", root=root) as session:
        session.compose(ROOM)
    assert json.loads(run("verify", "--json").stdout)["good"]


@pytest.mark.parametrize(
    ("pre", "post", "said"),
    [
        (1000, 250, "1,000 → 250 tokens, 75% less; budget 5,000"),
        (1000, 1500, "1,000 → 1,500 tokens, 50% more; budget 5,000"),
        (1000, 999, "1,000 → 999 tokens, <1% less; budget 5,000"),
        (1000, 1000, "1,000 → 1,000 tokens; budget 5,000"),
        (0, 10, "0 → 10 tokens; budget 5,000"),
        (0, 0, "0 → 0 tokens; budget 5,000"),
    ],
)
def test_the_change_is_told_whatever_the_numbers(pre: int, post: int, said: str) -> None:
    """Less, more, or neither; never a share of nothing."""
    assert tokens_change(Phrases("en"), pre, post, 5_000) == said


def test_a_compaction_makes_nothing_larger(run: Run, root: Path) -> None:
    """Where most was shown shortened already, the digest has only the tokens that it frees. The log has the same."""
    with Session.resume("login-bug", "/shop", root=root) as session:
        session.compose(Budget(5_000, 1_000))
    told = json.loads(run("compact", "--window", "5900", "--json").stdout)
    assert told["post_tokens"] < told["pre_tokens"]
    [made] = json.loads(run("compact", "--report", "--json").stdout)["compactions"]
    assert (made["pre_tokens"], made["post_tokens"]) == (told["pre_tokens"], told["post_tokens"])


# ---------------------------------------------------------------------- report


@pytest.mark.slow
def test_the_loss_reports_of_the_log_are_printed(run: Run) -> None:
    """One for each compaction, in order, with what became of it."""
    first = json.loads(run("compact", *TIGHT, "--json").stdout)
    run("uncompact")
    second = json.loads(run("compact", *TIGHT, "--json").stdout)
    told = json.loads(run("compact", "--report", "--json").stdout)
    assert [each["boundary"] for each in told["compactions"]] == [first["boundary"], second["boundary"]]
    assert [each["state"] for each in told["compactions"]] == ["undone", "holds"]
    assert [each["loss"] for each in told["compactions"]] == [first["loss"], second["loss"]]
    assert [each["covered"] for each in told["compactions"]] == [first["covered"], second["covered"]]
    assert {each["by"] for each in told["compactions"]} == {"rule"}
    output = run("compact", "--report").stdout
    assert output.count("made by rule, ") == 2
    assert "made by rule, undone" in output
    assert re.search(r"numbers +\d+  ", output)


@pytest.mark.slow
def test_a_later_compaction_that_covers_more_replaces_the_earlier(run: Run, command: Callable[[str], str]) -> None:
    """And the one made by a program is named as made by a model."""
    run("compact", *TIGHT)
    run("compact", *TIGHT, "--with", command(f"print({SUMMARY!r})"))
    told = json.loads(run("compact", "--report", "--json").stdout)["compactions"]
    assert [(each["state"], each["by"]) for each in told] == [("replaced", "rule"), ("holds", "model")]


def test_a_session_never_compacted_says_how_to_begin(run: Run) -> None:
    """That is no error."""
    result = run("compact", "--report")
    assert (result.exit_code, "`sightline compact` does it" in result.stdout) == (0, True)
    assert json.loads(run("compact", "--report", "--json").stdout)["compactions"] == []


def test_nothing_lost_is_a_friendly_line(run: Run, folder: Folder) -> None:
    """Where all that was said is words."""
    with Session(JsonlStore(folder.file("chat"))) as session:
        for _ in range(8):
            session.user("tell me a story about a cat")
            session.assistant("once there was a cat who slept all day long " * 20)
    assert "Every constraint, path, name, number and error line is still visible" in run("compact", "chat").stdout
    assert (
        "Every constraint, path, name, number and error line is still visible"
        in run("compact", "chat", "--report").stdout
    )


# ---------------------------------------------------------------------- uncompact


@pytest.mark.slow
def test_the_last_compaction_is_undone(run: Run, root: Path) -> None:
    """With the tokens of a preview before and after; a second time there is nothing left."""
    done = json.loads(run("compact", *TIGHT, "--json").stdout)
    told = json.loads(run("uncompact", *TIGHT, "--json").stdout)
    with Session.resume("login-bug", "/shop", root=root) as session:
        after = session.preview(ROOM).tokens
    assert (told["boundary"], told["item"], told["shown"]) == (done["boundary"], None, True)
    assert (told["pre_tokens"], told["post_tokens"]) == (done["post_tokens"], after)
    again = run("uncompact")
    assert (again.exit_code, "nothing is compacted" in again.stderr) == (1, True)


@pytest.mark.slow
@pytest.mark.parametrize("args", [["login-bug", "6"], ["6"], ["login", "#6"]])
def test_one_item_is_asked_for(run: Run, folder: Folder, args: list[str]) -> None:
    """By its id, alone or after a session's: that is a new entry, and the compaction holds."""
    run("compact", *TIGHT)
    before = folder.file("login-bug").read_bytes()
    told = json.loads(run("uncompact", *args, *TIGHT, "--json").stdout)
    assert told["item"] == "6"
    written = folder.file("login-bug").read_bytes()
    assert written.startswith(before)
    assert b'"item":"6"' in written[len(before) :]
    assert "Item #6 " in run("uncompact", *args, *TIGHT).stdout
    assert json.loads(run("compact", "--report", "--json").stdout)["compactions"][0]["state"] == "holds"


@pytest.mark.slow
def test_people_read_what_came_back(run: Run) -> None:
    """The messages, their range, and the tokens."""
    run("compact", *TIGHT)
    output = run("uncompact", *TIGHT).stdout
    assert re.search(
        r"Undone in session login-bug: \d+ messages, #4 to #\d+, are shown again from the next call on.", output
    )
    assert re.search(r"[\d,]+ → [\d,]+ tokens", output)


# ---------------------------------------------------------------------- context


@pytest.mark.slow
def test_context_marks_summaries_and_what_they_cover(run: Run) -> None:
    """In a line of its own, beside the item, and as facts; none before and none after it was undone."""
    assert json.loads(run("context", *TIGHT, "--json").stdout)["summaries"] == []
    done = json.loads(run("compact", *TIGHT, "--json").stdout)
    told = json.loads(run("context", *TIGHT, "--json").stdout)
    (summary,) = told["summaries"]
    assert {key: summary[key] for key in ("first", "last", "messages")} == done["covered"]
    assert summary["boundary"] == done["boundary"]
    assert [item["id"] for item in told["items"] if item["kind"] == "summary"] == summary["summaries"]
    output = run("context", *TIGHT, "--all").stdout
    first, last = summary["first"], summary["last"]
    assert f"Summary #{summary['summaries'][0]} replaces {summary['messages']} messages, #{first} to #{last}" in output
    assert f"[#{first}–#{last}] ## Task" in output
    run("uncompact")
    after = " ".join(run("context", *TIGHT).stdout.split())
    assert "replaces" not in after
    assert "The next call shows the compacted messages again; the prompt prefix changes." in after
    assert "shortens older items" not in after


def test_context_says_that_an_expanded_item_changes_the_prompt(run: Run, root: Path) -> None:
    """Nothing is shortened then, and the sentence does not say so."""
    with Session.resume("login-bug", "/shop", root=root) as session:
        shortened = next(line.id for line in session.preview(ROOM).plan.lines() if line.lod < Lod.FULL)
        session.items.expand(shortened, now=True)
    told = " ".join(run("context", *TIGHT).stdout.split())
    assert "The next call changes what was already sent (item expanded)" in told


@pytest.mark.slow
def test_context_counts_faults(run: Run, folder: Folder) -> None:
    """Results that were fetched again after they had been shortened, with their tokens."""
    budget, text = Budget(3_000), "\n".join(f"line {number} of the report says {number * 7}" for number in range(150))
    with Session(JsonlStore(folder.file("again"))) as session:
        for number in range(6):
            session.user("read the next report, or begin again")
            call = {"id": f"c{number}", "type": "function"}
            function = {"name": "read", "arguments": json.dumps({"path": f"report-{number % 3}.txt"})}
            session.reply({"role": "assistant", "content": None, "tool_calls": [{**call, "function": function}]})
            session.tool_result(f"c{number}", text.replace("line", f"line {number % 3}"))
            session.compose(budget)
            session.reply("noted")
        faults = session.items.faults
    told = json.loads(run("context", "again", "--json").stdout)["faults"]
    assert told["results"] == len(faults) > 0
    assert told["tokens"] > 1_000
    assert f"shortened: {len(faults)}, " in run("context", "again").stdout
    assert json.loads(run("context", "login-bug", "--json").stdout)["faults"].keys() == {"results", "tokens"}


# ---------------------------------------------------------------------- errors that help


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["compact", "tiny"], 1, "There is not enough conversation to compact."),
        (["compact", "tiny", "--dry-run"], 1, "There is not enough conversation to compact."),
        (["compact", "nope"], 1, "`sightline --project /shop sessions` lists those there are"),
        (["compact", "--with", "no-such-program-here"], 1, "no program 'no-such-program-here' can be run"),
        (["compact", "--with", ""], 2, "--with needs a command"),
        (["compact", "--with", "echo 'x"], 2, "no command line"),
        (["compact", "--report", "--dry-run"], 2, "goes without --dry-run and --with"),
        (["compact", "--window", "10", "--output", "20"], 2, "0 <= output < window"),
        (["compact", "--seconds", "0"], 2, "--seconds"),
        (["uncompact"], 1, "nothing is compacted in session"),
        (["uncompact", "nope"], 1, "no session 'nope'"),
        (["--project", "elsewhere", "compact"], 1, "elsewhere does not exist"),
    ],
)
def test_what_cannot_be_done_is_told(run: Run, folder: Folder, args: list[str], code: int, told: str) -> None:
    """In one line, with what would do, and nothing is written."""
    with Session(JsonlStore(folder.file("tiny"))) as session:
        session.user("hello")
    before = everything(folder)
    result = run(*args)
    assert (result.exit_code, result.stdout) == (code, "")
    assert told in result.stderr
    assert everything(folder) == before


@pytest.mark.slow
def test_an_item_that_cannot_come_back_is_told(run: Run, folder: Folder) -> None:
    """Unknown, or covered by no summary; nothing is written."""
    newest = json.loads(run("sessions", "show", "--last", "1", "--json").stdout)["items"][0]["id"]
    run("compact", *TIGHT)
    before = folder.file("login-bug").read_bytes()
    for item, told in (("9999", "`sightline sessions show` lists them"), (newest, "is covered by no summary")):
        result = run("uncompact", item)
        assert (result.exit_code, told in result.stderr) == (1, True)
    assert folder.file("login-bug").read_bytes() == before


@pytest.mark.slow
def test_too_little_to_compact_again_names_the_command_that_undoes_it(run: Run) -> None:
    """In the words of the command line, in both languages: no function of the library is named."""
    while (done := run("compact")).exit_code == 0:
        pass
    told = " ".join(done.stderr.split())
    assert "undo it first with `sightline uncompact`" in told or "no shorter than what it would hide" in told
    assert "session." not in told
    assert "session." not in run("--lang", "zh", "compact").stderr
