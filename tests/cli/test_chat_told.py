"""What a chat tells its user: what was not shown, what went wrong, in its own words and not the library's."""

import json
import re
from pathlib import Path

import pytest
from chat_place import allow, configured, talked
from click.testing import CliRunner, Result
from stub import Stub, answer, error

from sightline.cli.chat.screen import error_text
from sightline.cli.main import app
from sightline.cli.phrases import LANGUAGES, Phrases
from sightline.errors import (
    BadCodeId,
    NothingCompacted,
    PinnedOverflow,
    SightlineError,
    ToolFailed,
    UnknownApp,
    UnknownCode,
    UnknownItem,
)
from sightline.log.stores.session_folder import Folder

Shown = pytest.CaptureFixture[str]
LONG = "\n".join(f"line {number}: the shop sorted order {number * 7} by hand" for number in range(4000))


def asked(project: Path, *args: str, **options: str) -> Result:
    places = ["--project", str(project), "--root", str(project.parent / "home")]
    return CliRunner().invoke(app, [*places, "chat", *args], **options)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_script_learns_that_its_question_was_cut(tmp_path: Path) -> None:
    """On standard error how much the model was shown and what helps; in JSON the two numbers; else nothing."""
    with Stub([answer("Long."), answer("Long."), answer("Short.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        done = asked(project, "-p", "Sum up", input=LONG)
        facts = json.loads(asked(project, "-p", "Sum up", "--json", input=LONG).stdout)
        short = asked(project, "-p", "Sum up", "--json", input="one line\n")
    assert done.stdout == "Long.\n"
    found = re.search(r"Your message has ([\d,]+) tokens, and the model was shown ([\d,]+) of them", done.stderr)
    assert found is not None
    question, seen = (int(number.replace(",", "")) for number in found.groups())
    assert facts["shown"] == {"question": question, "seen": seen}
    assert 0 < seen < 16_000 < question
    assert all(way in done.stderr for way in ("`expand`", "--window", "file"))
    assert (short.stderr, "shown" in json.loads(short.stdout)) == ("", False)


@pytest.mark.slow
@pytest.mark.parametrize(("language", "said"), [("en", "Your message has"), ("zh", "你的消息有")])
def test_a_pasted_message_that_does_not_fit_is_warned_of_once(
    tmp_path: Path, capsys: Shown, language: str, said: str
) -> None:
    """Above the answer, however often the model is asked for it."""
    read = ("c1", "file_reader", {"path": "none.txt"})
    with Stub([answer("", [read]), answer("Long."), answer("Short.")]) as stub:
        talked(configured(tmp_path / "shop", stub.url), [LONG, "And?"], language=language)
    shown = capsys.readouterr().out
    assert shown.count(said) == 1
    assert shown.index(said) < shown.index("Long.")


@pytest.mark.slow
def test_a_model_without_tools_is_not_said_to_look_further(tmp_path: Path) -> None:
    """It has no way to see the rest."""
    with Stub([answer("Long.")]) as stub:
        done = asked(configured(tmp_path / "shop", stub.url), "-p", "Sum up", "--no-tools", input=LONG)
    assert "--window" in done.stderr
    assert "expand" not in done.stderr


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("raised", "names"),
    [
        (UnknownItem("7"), ["#7", "/context all"]),
        (NothingCompacted(), []),
        (UnknownApp("nope", ["todo"]), ["nope", "todo", "/apps"]),
        (UnknownCode("code_x", ["code_y"]), ["code_x", "code_y"]),
        (BadCodeId("x"), ["x", "/code"]),
        (PinnedOverflow(["#3"], 1200), ["#3", "1,200", "/unpin", "--window"]),
    ],
)
def test_errors_name_what_can_be_typed_here(language: str, raised: SightlineError, names: list[str]) -> None:
    """Commands and options, never a function of the library, in the reader's language."""
    said = error_text(raised, Phrases(language, "chat"))
    assert all(name in said for name in names)
    assert "session." not in said
    assert said.isascii() == (language == "en")
    assert error_text(ToolFailed("as it is"), Phrases(language, "chat")) == "as it is"


@pytest.mark.slow
def test_no_command_speaks_of_the_library(tmp_path: Path, capsys: Shown) -> None:
    """Nor English to who reads Chinese, where the words are the chat's own."""
    lines = ["/uncompact", "/uncompact 99", "/expand 99", "/pin 99", "/code nope", "/apps open nope",
             "/strategy nope", "/sessions nope", "/model nope", "/export no/such/folder/x.json"]  # fmt: skip
    with Stub([answer("One.")]) as stub:
        talked(configured(tmp_path / "shop", stub.url), ["/compact", "first", *lines], language="zh")
    shown = capsys.readouterr().out
    assert not re.search(r"session\.|host\.|compose", shown)
    answers = [line for part in shown.split("One.") for line in part.strip().splitlines()]
    assert len(answers) == 1 + len(lines)
    assert all(re.search("[一-鿿]", line) for line in answers)


@pytest.mark.slow
def test_the_whole_summary_is_shown_without_compacting_again(tmp_path: Path, capsys: Shown) -> None:
    """/compact full says where there is none; afterwards it shows every line of it, and the model is not asked."""
    summary = "## Task\n" + "\n".join(f"- point {number}: the user sorts orders by hand" for number in range(40))
    talk = [answer(f"Sorted {number}. " + "The shop keeps its orders by hand. " * 60) for number in range(4)]
    lines = [f"Sort the orders of day {number}." for number in range(4)]
    with Stub([*talk, answer(summary)]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, [*lines, "/compact full", "/compact", "/compact all"])
        before = capsys.readouterr().out
        talked(project, ["/compact full"], continue_=True)
        after = capsys.readouterr().out
        assert len(stub.asked) == 5
    assert "Nothing is compacted on this branch: /compact does it." in before
    assert "more lines: /compact full" in before
    assert "Write /compact [full]" in before
    assert "point 39" not in before
    assert "point 39" in after
    assert re.search(r"Summary #\d+ replaces", after)


@pytest.mark.slow
def test_branches_say_what_is_in_them(tmp_path: Path, capsys: Shown) -> None:
    """How many items, and what the user said last on each."""
    with Stub([answer("One."), answer("Two."), answer("Other.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, ["/branch", "first", "second", "/rewind", "second, otherwise", "/branch"])
    shown = capsys.readouterr().out
    assert "On branch main." in shown
    assert re.search(r"(?m)^ +main +\d+ +second$", shown)
    assert re.search(r"(?m)^\* +\S+ +\d+ +second, otherwise$", shown)


@pytest.mark.slow
def test_the_line_below_knows_the_tokens_of_an_earlier_run(tmp_path: Path) -> None:
    """After --continue, /fork and /branch they are those of the branch's last call; a new session has none."""
    with Stub([answer("One.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        sent = talked(project, ["first"]).status
        again = talked(project, [], continue_=True).status
        forked = talked(project, ["/fork"], continue_=True).status
        back = talked(project, ["/branch main"], continue_=True).status
        new = talked(project, ["/clear"], continue_=True).status
    assert sent.tokens is not None
    assert [status.tokens for status in (again, forked, back, new)] == [sent.tokens] * 3 + [None]
    assert [status.reused for status in (again, forked, back, new)] == [None] * 4


@pytest.mark.parametrize(
    "line", ["/clear extra", "/cost x", "/fork 1 2", "/context some", "/quit now", "/pin 1 2", "/rewind 0"]
)
def test_what_a_command_does_not_take_is_refused(tmp_path: Path, capsys: Shown, line: str) -> None:
    """With how to write it, and nothing is done."""
    with Stub([answer("One.")]) as stub:
        chat = talked(configured(tmp_path / "shop", stub.url), ["first", line])
    assert f"Write {line.split(maxsplit=1)[0]}" in capsys.readouterr().out
    assert not chat.over
    assert len(Folder(tmp_path / "shop", tmp_path / "home").sessions()) == 1
    assert chat.session.id in Folder(tmp_path / "shop", tmp_path / "home").sessions()


def test_the_name_of_a_file_says_how_it_is_written(
    tmp_path: Path, capsys: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A .jsonl is the log; a form that is named counts more."""
    monkeypatch.chdir(tmp_path)
    with Stub([answer("One.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, ["first", "/export log.jsonl", "/export other.jsonl openai", "/export a.json"])
    folder = Folder(project, tmp_path / "home")
    assert Path("log.jsonl").read_bytes() == folder.file(folder.sessions()[0]).read_bytes()
    assert "messages" in json.loads(Path("other.jsonl").read_text())
    assert "messages" in json.loads(Path("a.json").read_text())


@pytest.mark.slow
def test_saved_code_is_told_with_the_whole_path_of_its_file(tmp_path: Path, capsys: Shown) -> None:
    """While it is saved, by /code and in JSON."""
    call = {"code_id": "code_sum", "language": "python", "description": "Sums", "code": "1 + 2\n"}
    script = [answer("", [("c1", "write_code", call)]), answer("Done.")]
    with Stub([*script, *script]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, ["Write it.", "/code code_sum"])
        facts = json.loads(asked(project, "-p", "Write it.", "--json").stdout)
    file = Folder(project, tmp_path / "home").path / "code" / "data" / "code_sum.py"
    assert file.read_text() == "1 + 2\n"
    assert capsys.readouterr().out.count(str(file)) == 2
    assert facts["saved"][0]["file"] == str(file)


def test_a_script_is_told_when_it_is_tried_again(tmp_path: Path) -> None:
    """Each attempt with its number and how long it waits, to a tenth of a second."""
    with Stub([error(503, headers={"retry-after": "0.0123"}), answer("One.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        file = project / "sightline.toml"
        file.write_text(file.read_text().replace("attempts = 1", "attempts = 2"))
        done = asked(project, "--trust", "-p", "Hello")
    assert done.stdout == "One.\n"
    assert re.search(r"again in \d(\.\d)? s \(attempt 2 of \d\)\n", done.stderr)


@pytest.mark.slow
def test_what_began_as_before_is_known_on_every_branch(tmp_path: Path) -> None:
    """After /rewind it is most of the request; of a run before this one nothing is known."""
    with Stub([answer("One."), answer("Two."), answer("Two."), answer("Three.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        first = talked(project, ["first"]).status
        rewound = talked(project, ["second", "/rewind", "otherwise"], continue_=True).status
        again = talked(project, ["third"], continue_=True).status
    assert first.reused == 0
    assert rewound.reused is not None
    assert rewound.tokens is not None
    assert rewound.reused > rewound.tokens * 0.9
    assert again.tokens is not None
    assert again.reused is None


@pytest.mark.slow
def test_a_session_goes_on_in_its_own_language(tmp_path: Path) -> None:
    """The model is told once how to work, also by who now reads Chinese."""
    with Stub([answer("One."), answer("Two.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, ["first"])
        talked(project, ["second"], language="zh", continue_=True)
    before, after = ([each for each in asked.body["messages"] if each["role"] == "system"] for asked in stub.asked)
    assert before == after


@pytest.mark.slow
def test_a_budget_is_the_window_where_none_is_known(tmp_path: Path, capsys: Shown) -> None:
    """Of a model that takes less, its user is told."""
    with Stub([]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        with (project / "sightline.toml").open("a") as file:
            file.write(f'[models.fake]\nname = "fake"\nbase_url = "{stub.url}/v1"\n')
        allow(project)
        unknown = talked(project, [], model="fake", window=32_000)
        smaller = talked(project, [], model="fake", window=4_000)
        assert capsys.readouterr().err == ""
        known = talked(project, [], window=32_000)
    assert "stub has a context window of 16,000 tokens: --window 32000 is larger." in capsys.readouterr().err
    assert [chat.agent.budget.window for chat in (unknown, smaller, known)] == [32_000, 4_000, 16_000]
    assert unknown.agent.budget.output == 8_000


@pytest.mark.slow
def test_one_message_is_one(tmp_path: Path, capsys: Shown) -> None:
    """Where the model could not answer, there is only the question."""
    with Stub([error(400)]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, ["first"])
        talked(project, [], continue_=True)
    assert "branch main: one message." in capsys.readouterr().out


@pytest.mark.slow
def test_a_wrong_app_is_answered_with_those_that_are_listed(tmp_path: Path, capsys: Shown) -> None:
    """The list of code opens by itself."""
    with Stub([]) as stub:
        talked(configured(tmp_path / "shop", stub.url), ["/apps open nope", "/apps open code_list"])
    wrong, own = capsys.readouterr().out.splitlines()
    assert "todo" in wrong
    assert "code_list" not in wrong
    assert own.startswith("There is no app code_list; the apps are:")


@pytest.mark.slow
def test_one_window_can_have_the_form_of_docui(tmp_path: Path, capsys: Shown) -> None:
    """In chat too: what the user sees then is what the model gets; another form is refused with the choices."""
    with Stub([answer("Seen.")]) as stub:
        lines = ["/apps open todo", "/windows todo_1 form markdown", "/windows todo_1 form docx", "hello"]
        talked(configured(tmp_path / "shop", stub.url), lines)
        sent = json.dumps(stub.asked[-1].body["messages"][-1])
    told = capsys.readouterr().out
    assert "- Add an item [form:add text=] (text:string)" in told
    assert "parameter form must be xml|markdown, not 'docx'" in told
    assert "[form:close summary=] (summary:string?)" in sent


def test_a_message_of_several_lines_keeps_them(tmp_path: Path) -> None:
    """What a file reaches for is a list, also where nobody can be asked."""
    project = configured(tmp_path / "shop", "http://127.0.0.1:9", "[tools]\nrun_python = true\n")
    lines = asked(project, "-p", "Hello").stderr.splitlines()
    assert lines[0].endswith("affects more than this project. It")
    assert any(line.startswith("  ") and "run_python" in line for line in lines[1:])
    assert "--trust" in lines[-1]


@pytest.mark.parametrize("way", ["option", "file"])
def test_a_model_that_only_asks_for_tools_is_stopped_and_the_chat_says_how_to_go_on(
    tmp_path: Path, capsys: Shown, way: str
) -> None:
    """After as many calls as --rounds or [chat] rounds allow; /retry lets it go on for as many again."""
    script = [answer("", [(f"c{number}", "list_files", {})]) for number in range(3)]
    with Stub([*script, answer("Done.")]) as stub:
        project = configured(tmp_path / "shop", stub.url, "" if way == "option" else "[chat]\nrounds = 2\n")
        talked(project, ["Look", "/retry"], **({"rounds": 2} if way == "option" else {}))
        shown = " ".join(capsys.readouterr().out.split())
    assert "The answer failed: the model was called 2 times for this question and has not finished" in shown
    assert "/retry lets it go on. --rounds, or `rounds` under [chat] in sightline.toml, allows more." in shown
    assert shown.endswith("Done.")


@pytest.mark.slow
def test_a_turn_that_failed_after_a_tool_call_shows_no_empty_answer(tmp_path: Path, capsys: Shown) -> None:
    """--continue shows the question and that it has no answer yet, and no line without words."""
    with Stub([answer("", [("c1", "list_files", {})]), error(400, "no")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        talked(project, ["Look"])
        capsys.readouterr()
        talked(project, [], continue_=True)
    shown = capsys.readouterr().out
    assert "you: Look" in shown
    assert "answer:" not in shown
    assert "/retry asks for it" in shown
