"""What can be typed in the chat, on a real session with a stub of a provider behind it."""

import asyncio
import json
import re
from io import StringIO
from pathlib import Path

import click
import pytest
from chat_place import configured, talked
from stub import Asked as Request
from stub import Stub, answer, cut, error

from sightline import Session
from sightline.agent.models.discovery import Listening
from sightline.cli.chat.command import ChatOptions
from sightline.cli.chat.commands import COMMANDS, NAMES, completions
from sightline.cli.chat.setup import prepare
from sightline.cli.options import DEBUG, Place
from sightline.cli.phrases import LANGUAGES, Phrases
from sightline.errors import BadInput, Conflict, NoModel
from sightline.log.stores.session_folder import Folder
from sightline.values.phrases import texts

Shown = pytest.CaptureFixture[str]
SUMMARY = "## Task\n" + "- The user sorts the shop's orders by hand and wants order 4711 to be first. " * 4


def folder(project: Path) -> Folder:
    return Folder(project, project.parent / "home")


def asked_first(project: Path) -> str:
    """The id of the first question of the newest session."""
    with Session.resume(folder(project).sessions()[0], project, root=project.parent / "home") as session:
        return next(item.id for item in session.items if item.kind.name == "USER")


def said_in(asked: Request) -> list[str]:
    """What a request says, the system's words aside."""
    messages = [message for message in asked.body["messages"] if message["role"] != "system"]
    return [message["content"] for message in messages]


@pytest.mark.slow
def test_every_command_has_its_help_in_both_languages(tmp_path: Path, capsys: Shown) -> None:
    """/help lists all of them; /help COMMAND explains one, also by another name; a wrong one gets suggestions."""
    assert {command.name for command in COMMANDS} <= set(texts("chat"))
    with Stub([]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        for language in LANGUAGES:
            talked(project, ["/help", "/help exit", "/help contxt"], language=language)
            shown = capsys.readouterr().out
            assert all(command.name in shown for command in COMMANDS)
            assert texts("chat")["/quit"][LANGUAGES.index(language)] in shown
            assert re.search(r"(Did you mean|是否想输入) /context", shown)


def test_help_fits_a_terminal(tmp_path: Path, capsys: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two columns that are folded between words."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if it were one
    with Stub([]) as stub:
        talked(configured(tmp_path / "shop", stub.url), ["/help"])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 60
    assert "                              whole present summary." in lines


def test_a_mistyped_command_is_not_sent_to_the_model(tmp_path: Path, capsys: Shown) -> None:
    """It is answered with what may have been meant; a space before the slash makes it a message."""
    with Stub([answer("A path.")]) as stub:
        talked(configured(tmp_path / "shop", stub.url), ["/comapct", "/zzz", " /etc/hosts is what?"])
    shown = capsys.readouterr().out
    assert "Did you mean /compact" in shown
    assert shown.count("There is no command") == 2
    [asked] = stub.asked
    assert asked.body["messages"][-1]["content"] == "/etc/hosts is what?"


@pytest.mark.slow
def test_before_anything_is_said_the_commands_say_so(tmp_path: Path, capsys: Shown) -> None:
    """One line each, never a traceback, and no file is made."""
    lines = ["/context", "/compact", "/uncompact", "/fork", "/rewind", "/retry", "/expand", "/expand 7", "/pin x",
             "/unpin", "/recall", "/code", "/code code_x", "/windows close", "/apps open nope", "/apps shut",
             "/branch nope", "/sessions nope", "/model nope", "/strategy nope", "/export a b c",
             "/rewind x"]  # fmt: skip
    with Stub([]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, lines)
    shown = capsys.readouterr().out
    assert shown.count("Nothing has been said in this session yet.") >= 4
    assert "There is no session nope" in shown
    assert "There is no branch nope; the branches are: main. /fork nope begins one." in " ".join(shown.split())
    assert "choose one of focus" in shown
    assert shown.count("Write /") >= 5
    assert "Traceback" not in shown
    assert not folder(project).sessions()


@pytest.mark.slow
def test_a_swept_session_shows_why_each_item_is_short(
    tmp_path: Path, capsys: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`/context all` names the reason of every shortened item, in words and not as a template."""
    monkeypatch.setenv("COLUMNS", "160")  # on a narrow screen the column is left out
    asked = [f"Order {n}: " + f"apples and pears {n}, " * 300 for n in range(6)]
    with Stub([answer(f"Noted {n}.") for n in range(6)]) as stub:
        project = configured(tmp_path / "shop", stub.url)  # the model `other` writes no summaries
        chat = talked(project, [*asked, "/context all"], model="other", window=7000, output=500)
    shown = capsys.readouterr().out
    assert any(receipt.plan is not None and "sweep" in receipt.reason for receipt in chat.session.receipts)
    assert re.search(r"#\d+ +user +(summary|gist) .* shortened ", shown)
    assert "{reason}" not in shown
    assert "KeyError" not in shown


@pytest.mark.slow
def test_looking_shows_what_the_other_commands_show(tmp_path: Path, capsys: Shown) -> None:
    """The tables of `sightline context`, `sessions` and `apps`, with this chat's own words where they point on."""
    with Stub([answer("Done.", usage=(1000, 100, 500))]) as stub:
        chat = talked(
            configured(tmp_path / "shop", stub.url),
            [
                "Sort the orders.",
                "/context",
                "/context all",
                "/sessions",
                "/apps",
                "/cost",
                "/version",
                "/model",
                "/strategy",
            ],
        )
    shown = capsys.readouterr().out
    assert f"What the model would see now: {chat.session.id}, branch main" in shown
    assert "Sort the orders." in shown
    assert "Keep a to-do list" in shown
    assert "code_list" not in shown  # that one opens by itself
    assert "1,000 input tokens, 500 of them from the provider's cache; 100 output tokens" in shown
    assert "cost 0.0008," in shown  # 500 fresh and 500 cached in, 100 out
    assert "The model is stub: context window 16,000 tokens" in shown
    assert "The strategy is focus. To choose from: focus," in shown


@pytest.mark.slow
def test_items_are_brought_back_and_held(tmp_path: Path, capsys: Shown) -> None:
    """/expand, /recall and /pin work on ids as they are shown; the next request has what was brought back."""
    with Stub([answer("Order 4711 is first."), answer("Yes.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, ["Which order is first?"])
        at = asked_first(project)
        lines = [f"/pin #{at}", "/pin", f"/unpin {at}", "/pin", "/recall order 4711", f"/expand {at}", "And now?"]
        talked(project, lines, continue_=True)
    shown = capsys.readouterr().out
    assert f"Pinned: #{at}" in shown
    assert "Nothing is pinned." in shown
    assert "The model sees these passages with your next message:" in shown
    assert f"The model sees #{at} in full at the end" in shown
    assert "recalled from earlier" in json.dumps(stub.asked[-1].body["messages"])


@pytest.mark.slow
@pytest.mark.parametrize(("part", "shown"), [
    ("200-202", ["line 200", "line 201", "line 202"]),
    ("299-", ["line 299", "line 300"]),
    ("7", ["line 7"]),
    ("grep LINE 29 of", ["29: line 29"]),
])  # fmt: skip
def test_a_part_of_an_item_is_brought_back(tmp_path: Path, capsys: Shown, part: str, shown: list[str]) -> None:
    """A range of lines, or those that have some words: the user is shown them, and the next request has them."""
    text = "\n".join(f"line {number} of the list" for number in range(1, 301))
    with Stub([answer("Long."), answer("Yes.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, [text])
        capsys.readouterr()
        talked(project, [f"/expand #{asked_first(project)} {part}", "And now?"], continue_=True)
    printed = capsys.readouterr().out
    found = re.findall(r"^((?:[0-9]+: )?line [0-9]+) of the list$", printed, re.M)
    assert found == shown
    assert "The model sees these lines of #" in printed
    assert json.dumps(stub.asked[-1].body["messages"]).count(f"{shown[0].split(': ')[-1]} of the list") == 2


@pytest.mark.slow
@pytest.mark.parametrize(("language", "goes_on"), [("en", "goes on"), ("zh", "继续")])
def test_a_page_says_how_to_read_on_in_the_chat(tmp_path: Path, capsys: Shown, language: str, goes_on: str) -> None:
    """With the chat's own command, which shows the next lines; an item of several pages is not said to be whole."""
    text = "\n".join(f"line {number} of the list says {'so ' * 9}" for number in range(1, 1201))
    with Stub([answer("Long.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, [text], language=language)
        capsys.readouterr()
        at = asked_first(project)
        talked(project, [f"/expand #{at}"], continue_=True, language=language)
        first = capsys.readouterr().out
        command = re.search(rf"/expand {at} ([0-9]+)- {goes_on}\]", first)
        assert command is not None
        assert not re.search(r"start=|in full at the end|全文显示在", first)
        talked(project, [f"/expand {at} {command[1]}-"], continue_=True, language=language)
    assert re.search(rf"^line {command[1]} of the list", capsys.readouterr().out, re.M)


@pytest.mark.slow
@pytest.mark.parametrize(("language", "said"), [("en", "names no lines. Write for example"), ("zh", "不是行的范围")])
def test_lines_that_make_no_sense_are_refused(tmp_path: Path, capsys: Shown, language: str, said: str) -> None:
    """In both languages, and nothing is brought back; lines that an item does not have are said to be none."""
    parts = ["9-2", "0-3", "some", "2-x", "grep", "200 61", "-5"]
    with Stub([answer("First."), answer("Yes.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, ["Which order is first?"], language=language)
        at = asked_first(project)
        lines = [*(f"/expand {at} {part}" for part in parts), f"/expand {at} 90-99", f"/expand {at} grep nothing"]
        talked(project, [*lines, "And now?"], continue_=True, language=language)
    printed = "".join(capsys.readouterr().out.split())
    assert printed.count("".join(said.split())) == len(parts)
    assert not re.search("Themodelsees|显示在对话末尾", printed)
    assert "recalled" not in json.dumps(said_in(stub.asked[-1]))


@pytest.mark.slow
def test_compacting_asks_the_model_and_can_be_undone(tmp_path: Path, capsys: Shown) -> None:
    """A capable model writes the summary; a small one is not asked, the digest is made by rule."""
    talk = [answer(f"Sorted {number}. " + "The shop keeps its orders by hand. " * 30) for number in range(4)]
    lines = [f"Sort the orders of day {number}, 4711 first." for number in range(4)]
    with Stub([*talk, answer(SUMMARY), answer("Going on.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, [*lines, "/compact", "/uncompact", "/model other", "/c"])
        asked, at = len(stub.asked), asked_first(project)
        talked(project, [f"/uncompact {at}", "/uncompact 999", "Go on."], continue_=True)
    shown = capsys.readouterr().out
    assert "Compacted.\n\nTokens: " in shown
    assert "wants order 4711 to be first" in shown
    assert "The messages that the last compaction replaced are shown again" in shown
    assert asked == 5  # the other model was not asked
    assert "other is too small to summarise, so the summary is made by rule." in shown
    assert "summary made by rule" in shown
    assert f"#{at} is shown in full again as soon as it fits the budget." in shown
    assert "no item #999" in shown


@pytest.mark.slow
def test_going_back_keeps_both_ways(tmp_path: Path, capsys: Shown) -> None:
    """/rewind and /fork make branches and say how to return; the message taken back is the next draft."""
    with Stub([answer("One."), answer("Two."), answer("Another two."), answer("Two again.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        chat = talked(project, ["first", "second", "/rewind"])
        assert chat.draft == "second"
        talked(project, ["second, otherwise", "/branch", "/branch main", "third", "/fork", "/rewind 9"], continue_=True)
    shown = capsys.readouterr().out
    assert "Back to before: second" in shown
    assert "/branch main returns" in shown
    assert re.search(r"(?m)^\* (?!main)", shown)  # the branch that it is on, marked
    assert "On branch main." in shown
    assert "New branch" in shown
    assert "/rewind cannot go back further" in shown
    assert said_in(stub.asked[2]) == ["first", "One.", "second, otherwise"]
    assert said_in(stub.asked[3]) == ["first", "One.", "second", "Two.", "third"]
    assert len(folder(project).sessions()) == 1


def test_a_session_that_begins_with_the_message_cannot_go_back_before_it(tmp_path: Path, capsys: Shown) -> None:
    """It says what to do instead, and nothing happens."""
    with Stub([answer("One.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        chat = talked(project, ["first", "/rewind"], no_tools=True)  # nor does it begin with how to use them
    assert "/clear begins a new session" in capsys.readouterr().out
    assert chat.session.branch == ""


@pytest.mark.slow
def test_a_cleared_session_is_kept(tmp_path: Path, capsys: Shown) -> None:
    """/clear begins anew, /sessions goes back with a recap; what was spent is still counted."""
    with Stub([answer("One."), answer("Two.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        chat = talked(project, ["first", "/clear", "second"])
        [newest, oldest] = folder(project).sessions()
        assert chat.session.id == newest
        assert chat.agent.spent.calls == 2
        talked(project, [f"/sessions {oldest[:8]}"], continue_=True)
    shown = capsys.readouterr().out
    assert f"Session {newest} continues, branch main: 2 messages." in shown
    assert f"Session {oldest} continues, branch main: 2 messages." in shown
    assert "  you: first\n  answer: One.\n" in shown
    assert said_in(stub.asked[1]) == ["second"]


@pytest.mark.slow
def test_windows_are_opened_listed_shown_and_closed(tmp_path: Path, capsys: Shown) -> None:
    """The model sees an open window with the next message; after a restart it is still open."""
    with Stub([answer("I see it."), answer("Still.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, ["/windows", "/apps open todo", "/windows", "/windows todo_1", "What do you see?"])
        talked(project, ["And now?", "/windows close todo_1", "/windows", "/windows todo_1"], continue_=True)
    shown = capsys.readouterr().out
    assert shown.count("No window is open.") == 2
    assert "Window todo_1 is open" in shown
    assert '<Window id="todo_1">' in shown
    assert "There is no window todo_1" in shown
    assert all('id=\\"todo_1\\"' in json.dumps(asked.body) for asked in stub.asked)


@pytest.mark.slow
def test_saved_code_is_listed_shown_and_resolved(tmp_path: Path, capsys: Shown) -> None:
    """A call of write_code is one line with the id; a reference in an answer shows the code itself."""
    call = {"code_id": "code_sum", "language": "python", "description": "Sums", "code": "total = 1 + 2\n"}
    with Stub([answer("", [("c1", "write_code", call)]), answer("Here: <code_ref>code_sum</code_ref>")]) as stub:
        talked(configured(tmp_path / "shop", stub.url), ["Write it.", "/code", "/code code_sum", "/code code_none"])
    shown = capsys.readouterr().out
    assert "✓ write_code code_sum" in shown
    assert "<code_ref>" not in shown
    assert shown.count("total = 1 + 2") == 2  # in the answer, and by /code
    assert "There is no code code_none" in shown


@pytest.mark.slow
def test_another_model_and_another_strategy(tmp_path: Path, capsys: Shown) -> None:
    """Both act from the next message on; a name that means nothing changes nothing."""
    with Stub([answer("One."), answer("Two.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        chat = talked(project, ["first", "/model other", "/model nope", "/strategy rounds,sliding", "second"])
    shown = capsys.readouterr().out
    assert [asked.body["model"] for asked in stub.asked] == ["stub", "other"]
    assert "other is a small model" in shown
    assert "no model 'nope'" in shown
    assert "The strategy is rounds → sliding from the next message on." in shown
    assert chat.session.settings.strategy == ("rounds", "sliding")


def test_a_conversation_is_exported_once(tmp_path: Path, capsys: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a file that is not there yet, in any form that `sightline sessions export` knows."""
    monkeypatch.chdir(tmp_path)
    with Stub([answer("One.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, ["first", "/export out.json anthropic", "/export out.json", "/export log.jsonl jsonl"])
    assert [message["role"] for message in json.loads(Path("out.json").read_text())["messages"]] == [
        "user",
        "assistant",
    ]
    assert "out.json exists already" in capsys.readouterr().out
    [session_id] = folder(project).sessions()
    assert Path("log.jsonl").read_bytes() == folder(project).file(session_id).read_bytes()


@pytest.mark.slow
def test_a_failed_answer_is_gone_on_with(tmp_path: Path, capsys: Shown) -> None:
    """A cut stream leaves the question in the log and no half answer; /retry asks again; then there is nothing left."""
    with Stub([cut(answer("half of it is said"), after=3), answer("All of it.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, ["first"])
        assert "The answer failed:" in (shown := capsys.readouterr().out)
        assert "/retry" in shown
        talked(project, ["/retry", "/retry"], continue_=True)
    shown = capsys.readouterr().out
    assert "The last message has no answer yet" in shown
    assert "All of it." in shown
    assert "There is nothing to continue" in shown
    assert said_in(stub.asked[1]) == ["first"]


def test_a_refusal_of_the_provider_is_one_line(tmp_path: Path, capsys: Shown) -> None:
    """It says why, without colours where nobody sees them."""
    with Stub([error(404, body={"error": {"message": "no such model\nhere"}})]) as stub:
        talked(configured(tmp_path / "shop", stub.url), ["first"])
    [line] = [line for line in capsys.readouterr().out.splitlines() if "The answer failed" in line]
    assert "no such model here" in line


@pytest.mark.slow
def test_how_a_session_begins_is_what_was_asked_for(tmp_path: Path) -> None:
    """Strategy, window and language as the command line or the project say; --resume by the beginning of an id."""
    with Stub([answer("One."), answer("Two.")]) as stub:
        project = configured(tmp_path / "shop", stub.url, '[chat]\nlocale = "zh"\nstrategy = "sliding"')
        first = talked(project, ["first"], window=4000, output=500)
        assert (first.session.settings.locale, first.session.settings.strategy) == ("zh", "sliding")
        assert (first.agent.budget.window, first.agent.budget.output) == (4000, 500)
        again = talked(project, ["second"], resume=first.session.id[:6], strategy="focus")
        assert (again.session.id, again.session.settings.strategy) == (first.session.id, "focus")
        none = talked(project, [], no_tools=True)
        assert none.agent.tools == ()


def test_without_any_model_the_ways_are_told(tmp_path: Path) -> None:
    """Where nobody can be asked whether to fetch one, the error says them all."""
    here = Place(str(tmp_path), str(tmp_path / "home"), Phrases("en"))
    with pytest.raises(NoModel, match="sightline model get"):
        asyncio.run(prepare(here, ChatOptions(), {}, none_there))


async def none_there(_: object) -> list[Listening]:
    """No server on this machine."""
    return []


class Typed(StringIO):
    """A terminal, as far as a question goes."""

    def isatty(self) -> bool:
        return True


def test_the_tiny_model_is_fetched_only_after_a_yes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal it is offered, with its size and what it is good for; a no ends with exit code 1."""
    here, screen = Place(str(tmp_path), str(tmp_path / "home"), Phrases("zh")), Typed()
    monkeypatch.setattr("sys.stdin", Typed("n\n"))
    monkeypatch.setattr("sys.stdout", screen)
    with pytest.raises(click.exceptions.Exit) as ended:
        asyncio.run(prepare(here, ChatOptions(language_given=True), {}, none_there))
    assert ended.value.exit_code == 1
    assert "93 MB" in screen.getvalue()
    assert not list(tmp_path.rglob("*.gguf"))


def test_a_question_that_is_not_answered_ends_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C or Ctrl-D at it: the shell's prompt comes on a line of its own."""
    here, screen = Place(str(tmp_path), str(tmp_path / "home"), Phrases("en")), Typed()
    monkeypatch.setattr("sys.stdin", Typed())
    monkeypatch.setattr("sys.stdout", screen)
    with pytest.raises(click.Abort):
        asyncio.run(prepare(here, ChatOptions(language_given=True), {}, none_there))
    assert screen.getvalue().endswith("\n")


def test_a_script_is_asked_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for a model nor for trust, also where it is run in a terminal."""
    here, screen = Place(str(tmp_path), str(tmp_path / "home"), Phrases("en")), Typed()
    monkeypatch.setattr("sys.stdin", Typed("y\n"))
    monkeypatch.setattr("sys.stdout", screen)
    with pytest.raises(NoModel):
        asyncio.run(prepare(here, ChatOptions(question="Hello?"), {}, none_there))
    configured(tmp_path, "http://127.0.0.1:9", "[tools]\nrun_python = true\n")
    with pytest.raises(BadInput, match="--trust"):
        asyncio.run(prepare(here, ChatOptions(question="Hello?"), {}, none_there))
    assert screen.getvalue() == ""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/com", [("/compact", 4)]),
        ("/c", [("/compact", 2), ("/c", 2), ("/context", 2), ("/code", 2), ("/cost", 2), ("/clear", 2)]),
        ("/strategy s", [("sliding", 1)]),
        ("/strategy sliding ", [("focus", 0)]),
        ("/nothing ", []),
        ("hello /c", []),
    ],
)
def test_commands_and_what_they_take_are_completed(line: str, words: list[tuple[str, int]]) -> None:
    """Only in a line that is a command, and nothing that stands in it already."""
    assert completions(line, lambda name: ["sliding", "focus"] if name == "/strategy" else []) == words


@pytest.mark.slow
def test_chat_leaves_a_session_that_verifies(tmp_path: Path) -> None:
    """Every payload that was sent can be made again from the log."""
    from sightline.compose.verify import verify

    with Stub([answer("One."), answer("Two."), answer("Three.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, ["first", "/apps open todo", "second", "/rewind", "third"])
    [session_id] = folder(project).sessions()
    with Session.resume(session_id, project, root=tmp_path / "home") as session:
        assert not [found for found in verify(session.log) if not found.good]


@pytest.mark.slow
def test_nothing_that_goes_wrong_ends_the_chat(tmp_path: Path, capsys: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command or a turn that fails in a way nobody thought of is one line with its class, and the next is asked."""

    async def broken(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    def unread(*_: object) -> None:
        raise RuntimeError("odd")

    with Stub([answer("One."), answer("Two.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        monkeypatch.setitem(NAMES, "/version", NAMES["/version"]._replace(run=broken))
        with monkeypatch.context() as patched:
            patched.setattr(Session, "compose", unread)
            talked(project, ["Hello", "/version"])
        talked(project, ["Again"])
    shown = capsys.readouterr().out
    assert "RuntimeError: odd" in shown
    assert "ZeroDivisionError: division by zero" in shown
    assert "Traceback" not in shown
    assert "One." in shown


@pytest.mark.slow
def test_a_question_that_could_not_be_written_is_typed_already(
    tmp_path: Path, capsys: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next prompt begins with it; one that is in the log is not typed twice."""

    def taken(*_: object) -> None:
        raise Conflict("", "a", "b")

    with Stub([answer("One.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        with monkeypatch.context() as patched:
            patched.setattr(Session, "user", taken)
            assert talked(project, ["What is it?"]).draft == "What is it?"
        assert talked(project, ["What is it?"]).draft == ""
    assert "another writer" in capsys.readouterr().out


@pytest.mark.parametrize(("stop", "said"), [("length", "was cut off"), ("content_filter", "refuses to say more")])
def test_an_answer_that_ended_early_is_warned_of(tmp_path: Path, capsys: Shown, stop: str, said: str) -> None:
    """What there is of it is shown, and below it why there is no more."""
    with Stub([answer("The result is", stop=stop)]) as stub:
        talked(configured(tmp_path / "shop", stub.url), ["What is it?"])
    shown = capsys.readouterr().out
    assert shown.index("The result is") < shown.index(said)


def test_with_debug_the_traceback_is_shown(tmp_path: Path, capsys: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the line that says what went wrong."""

    async def broken(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setitem(NAMES, "/version", NAMES["/version"]._replace(run=broken))
    with Stub([]) as stub, click.Context(click.Command("chat")) as context:
        context.meta[DEBUG] = True
        talked(configured(tmp_path / "shop", stub.url), ["/version"])
    assert "Traceback" in capsys.readouterr().out
