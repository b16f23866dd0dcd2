"""`sightline apps`: what there is, and using one: in a script, through a pipe, on a terminal."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cli_terminal import COMMAND, NOT_PRINTED, Terminal, environment

from sightline import Budget, Session, Settings
from sightline.apps import Parameter
from sightline.apps.registry import SHIPPED
from sightline.cli.app_shell import AppShell, BadLine, Word, arguments, open_session, open_window, parse_line
from sightline.cli.phrases import LANGUAGES, Phrases
from sightline.errors import BadInput
from sightline.testing import MemoryStore

Run = Callable[..., Result]

OFFERED = '''
import logging
from typing import Literal
from sightline.apps import App, Element, Outcome, Refused, action

class Lamp(App):
    """A lamp that \\x1b[31mshines."""
    name = "lamp"
    zh = "一盏灯"
    def __init__(self):
        self.colour, self.size = "white", 1
    @action(label="Paint it", zh="上色")
    def paint(self, colour: Literal["red", "green"], size: int = 1) -> str:
        self.colour, self.size = colour, size
        return f"painted {colour}"
    @action(label="Open a list")
    def more(self) -> None:
        self.host.open("todo")
    @action(label="Fail")
    def fail(self) -> None:
        self.colour = "broken"
        logging.getLogger("its.library").warning("\\x1b[2Jtoo hot")
        raise RuntimeError("burnt out")
    @action(label="Not ours to take")
    def level(self, to: str = "") -> Outcome:
        return Outcome(True, f"level of the lamp: {to}", data={1, 2})
    def view(self, lod):
        return [Element(id="bulb", text=f"{self.colour} {self.size} \\x1b[2J", actions=("tint",))]
    @action(label="Tint a part")
    def tint(self, part: str, shade: str, why: str = "") -> str:
        return f"{part}: {shade} ({why})"

class Shut(App):
    "Never opens."
    name = "shut"
    def opened(self):
        if self.target == "crash":
            raise RuntimeError("no hinge")
        raise Refused("locked")
    def view(self, lod):
        return []

class Odd(App):
    "Takes what no model could be told about."
    name = "odd"
    @action()
    def take(self, what: "Unknown") -> None: ...
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package with good apps, and some that cannot be loaded."""
    info = tmp_path / "site" / "offered-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 1.0\n")
    names = {"lamp": "Lamp", "shut": "Shut", "odd": "Odd", "lost": "Lost"}
    lines = "".join(f"{name} = offered_apps:{kind}\n" for name, kind in names.items())
    (info / "entry_points.txt").write_text(f"[sightline.apps]\n{lines}")
    (tmp_path / "site" / "offered_apps.py").write_text(OFFERED)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield tmp_path / "site"
    sys.modules.pop("offered_apps", None)


def desk(name: str = "todo", form: str = "xml", language: str = "en") -> AppShell:
    """This app, open."""
    session = open_session(name, ".", language, form)
    return AppShell(session, open_window(session, name, "", None), form, Phrases(language))


def facts(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


# ---------------------------------------------------------------------- the list


@pytest.mark.slow
@pytest.mark.parametrize(("language", "about", "label"), [
    ("en", "Keep a to-do list: what is to be done, and what is done.", "Add an item"),
    ("zh", "待办事项管理应用", "添加条目"),
])  # fmt: skip
def test_every_app_is_listed_with_its_actions(run: Run, language: str, about: str, label: str) -> None:
    """Name and purpose, then each action with label and parameters, in the reader's language."""
    result = run("apps", "--lang", language)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    for name in SHIPPED:
        assert sum(line.startswith(f"{name} ") for line in lines) == 1
    assert any(line.startswith("todo ") and line.endswith(about) for line in lines)
    assert ["add", *label.split(), "text:string"] in [line.split() for line in lines]
    assert lines[-1] == Phrases(language)("try app")


def test_as_json_each_action_has_its_schema(run: Run) -> None:
    """Id, parameters, label in the reader's language, and what a tool definition would say."""
    todo = next(app for app in facts(run("apps", "--json", "--lang", "zh"))["apps"] if app["name"] == "todo")
    assert (todo["from"], todo["error"], todo["about"]) == ("sightline", "", "待办事项管理应用")
    assert [each["id"] for each in todo["actions"]] == ["add", "toggle", "delete", "clear"]
    add = todo["actions"][0]
    assert (add["params"], add["label"]) == ("text:string", "添加条目")
    assert add["schema"]["required"] == ["text"]


@pytest.mark.slow
@pytest.mark.usefixtures("package")
def test_apps_of_installed_packages_are_listed_too(run: Run) -> None:
    """In their own words, harmless on a terminal; those that cannot be loaded say why and hide no other."""
    result = run("apps")
    assert result.exit_code == 0
    assert "A lamp that �[31mshines." in result.stdout
    listed = {app["name"]: app for app in facts(run("apps", "--json"))["apps"]}
    assert list(listed)[-4:] == ["lamp", "lost", "odd", "shut"]
    assert listed["lamp"]["from"] == "offered_apps:Lamp"
    assert listed["lamp"]["actions"][0]["params"] == "colour:red|green, size:int?"
    assert listed["lamp"]["actions"][0]["schema"]["properties"]["colour"]["enum"] == ["red", "green"]
    for name, why in (("lost", "cannot be loaded"), ("odd", "Unknown")):
        assert why in listed[name]["error"]
        assert listed[name]["actions"] == []
        assert any(line.startswith(name) and why in line for line in result.stdout.splitlines())


# ---------------------------------------------------------------------- what a line means


@pytest.mark.parametrize(("line", "head", "words"), [
    ("add buy milk", "add", [("buy", ""), ("milk", "")]),
    ('add text="buy milk"', "add", [("buy milk", "text")]),
    ("add text='a \\n b'", "add", [("a \\n b", "text")]),
    ('  add   "two\\nlines\\t\\"x\\" \\\\"  ', "add", [('two\nlines\t"x" \\', "")]),
    ("add don't forget a=b", "add", [("don't", ""), ("forget", ""), ("b", "a")]),
    ('add "a=b" \\"c a\\ b', "add", [("a=b", ""), ('"c', ""), ("a b", "")]),
    ("edit text=", "edit", [("", "text")]),
    ("add https://x.y/?a=b", "add", [("https://x.y/?a=b", "")]),
    ("[button:toggle-1]", "[button:toggle-1]", []),
    (' [form:add text="a ] b"] now', '[form:add text="a ] b"]', [("now", "")]),
    ("[button:", "[button:", []),
    ("text=x", "text=x", []),
    ("标记 完成=是", "标记", [("是", "完成")]),
    ("   ", "", []),
])  # fmt: skip
def test_a_line_is_read_as_a_shell_would(line: str, head: str, words: list[tuple[str, str]]) -> None:
    """Phrases, quotes and names; a marker as it is shown; an apostrophe in a word is no quote."""
    assert parse_line(line) == (head, tuple(Word(*word) for word in words))


@pytest.mark.slow
@pytest.mark.parametrize(("line", "quote", "column"), [
    ('add "buy milk', '"', 5), ("add text='x", "'", 10), ('add "a"b', '"', 5), ('"', '"', 1), ('add "a\\"', '"', 5),
])  # fmt: skip
def test_a_quote_without_its_partner_is_refused(line: str, quote: str, column: int) -> None:
    """With the place where it stands, in the reader's language; nothing is done."""
    with pytest.raises(BadLine) as caught:
        parse_line(line)
    assert (caught.value.quote, caught.value.column) == (quote, column)
    for language in LANGUAGES:
        outcome = desk(language=language).run(line).outcome
        assert (outcome.success, outcome.reason) == (False, "bad line")
        assert outcome.message == Phrases(language)("bad quote", quote=quote, column=column)


@given(st.text(), st.text())
def test_any_text_can_be_written_in_quotes(text: str, other: str) -> None:
    """Whatever a parameter is to hold, there is a line for it."""
    quoted = [f'"{each.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34))}"' for each in (text, other)]
    assert parse_line(f"edit text={quoted[0]} {quoted[1]}") == ("edit", (Word(text, "text"), Word(other)))


def test_words_fill_parameters_in_order() -> None:
    """Named ones are left out of the count, and the last parameter takes the rest."""
    parameters = [Parameter("line", "int"), Parameter("text", "string")]
    plain = [Word("3"), Word("new"), Word("text")]
    assert arguments(parameters, plain) == {"line": "3", "text": "new text"}
    assert arguments(parameters, [Word("3", "line"), *plain[1:]]) == {"line": "3", "text": "new text"}
    assert arguments(parameters, [Word("x", "text"), Word("3")]) == {"line": "3", "text": "x"}
    assert arguments(parameters, [Word("3")]) == {"line": "3"}
    with pytest.raises(BadInput, match="now"):
        arguments([], [Word("now")])


LINES = (
    "level gist",
    "as markdown",
    "as json",
    "windows",
    "window",
    "help",
    "add x",
    "toggle 1",
    "close",
    '"',
    "[button:",
)


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples * 3 // 10)  # type: ignore[union-attr]  # each opens all apps
@given(st.lists(st.text(max_size=30) | st.sampled_from(LINES), max_size=6))
def test_no_line_is_an_error(lines: list[str]) -> None:
    """Whatever is typed, there is an answer and something to see."""
    used = desk()
    for line in lines:
        answer = used.run(line)
        assert answer.outcome.success or answer.outcome.message
        assert (used.view() is None) == (not used.window)


# ---------------------------------------------------------------------- in a script


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", ["xml", "markdown"])
def test_what_is_shown_is_what_a_model_is_sent(run: Run, form: str, language: str) -> None:
    """Standard output is the window's part of the payload, to the byte, whatever the tasks say."""
    tasks = ["buy milk", "<b>&[button:x]", "引号 \u202e 与\u0007"]
    session = Session(MemoryStore(), apps=["todo"], settings=Settings(locale=language, windows=form))
    session.windows.open("todo")
    session.user("hello")
    for task in tasks:
        session.windows.act("todo_1", "add", text=task)
    sent = session.compose(Budget(16_000, 1_000)).shown_windows["todo_1"]
    lines = [part for task in tasks for part in ("--do", f'add "{task}"')]
    result = run("apps", "run", "todo", *lines, "--as", form, "--lang", language)
    assert result.exit_code == 0
    assert result.stdout == sent + "\n"
    assert f"{session.count(sent):,}" in result.stderr.splitlines()[-1]


def test_as_json_everything_is_said(run: Run) -> None:
    """The window, what came of each line, its context, its text and its tokens."""
    found = facts(run("apps", "run", "todo", "--do", "add buy milk", "--do", "toggle-1", "--json"))
    assert list(found) == ["window", "outcomes", "context", "text", "tokens"]
    assert found["window"] == "todo_1"
    assert [(each["do"], each["success"], each["message"]) for each in found["outcomes"]] == [
        ("add buy milk", True, "added item 1"),
        ("toggle-1", True, "item 1 is done"),
    ]
    assert found["context"]["anchors"]["toggle-1"]["type"] == "Button"
    assert '<item id="1" tags="done" actions="toggle, delete">buy milk</item>' in found["text"]
    assert found["tokens"] > 100


def test_json_alone_shows_it_as_it_opens(run: Run) -> None:
    """Nothing is done and nothing read; as JSON too, the text is the context on the wire."""
    found = facts(run("apps", "run", "todo", "--json", "--as", "json", "--level", "gist", input="add x\n"))
    assert found["outcomes"] == []
    assert json.loads(found["text"]) == found["context"]
    assert found["context"]["state"]["currentLod"] == "Gist"


@pytest.mark.slow
@pytest.mark.parametrize("line", [
    "toggle 9", "toggle x", "tog", "add", 'add "x', "clear now", "level huge", "as rtf", "window todo_9", "window",
    "add text=x more=y", "[button:delete-7]", "1", "add milk --extra=1 again=x",
])  # fmt: skip
def test_what_fails_is_said_and_ends_the_script(run: Run, line: str) -> None:
    """Exit code 1, the reason on standard error, the view as it was; what stands after it is not done."""
    result = run("apps", "run", "todo", "--do", "add milk", "--do", line, "--do", "add more")
    assert result.exit_code == 1
    assert "failed: " in result.stderr
    assert ">milk</item>" in result.stdout
    assert "more" not in result.stdout
    found = facts(run("apps", "run", "todo", "--do", "add milk", "--do", line, "--do", "add more", "--json"))
    assert [each["success"] for each in found["outcomes"]] == [True, False]
    assert found["outcomes"][1]["reason"]


@pytest.mark.slow
def test_a_failure_offers_ways_on(run: Run) -> None:
    """Each on a line of its own."""
    result = run("apps", "run", "todo", "--do", "togle 1")
    assert "  → toggle(index:int)\n" in result.stderr
    result = run("apps", "run", "todo", "--do", "window nowhere", "--lang", "zh")
    assert "失败：请写作 `window todo_1`" in result.stderr


@pytest.mark.slow
def test_levels_and_forms_can_be_switched_on_the_way(run: Run) -> None:
    """The prompt's own words work in scripts too."""
    result = run("apps", "run", "todo", "--do", "add milk", "--do", "level gist", "--do", "as markdown")
    assert "- 1 open of 1" in result.stdout
    assert result.stdout.startswith("[window todo_1]\n# To do\n")
    assert "level of detail gist, format markdown" in result.stderr
    assert "<count>" in run("apps", "run", "todo", "--level", "summary").stdout


def test_each_window_says_its_own_form(run: Run) -> None:
    """Where one is written in Markdown, the others are not."""
    lines = ["open notebook", "window notebook", "as markdown", "window launcher"]
    result = run("apps", "run", "launcher", *(word for line in lines for word in ("--do", line)))
    assert result.stdout.startswith('<Window id="launcher">')
    assert "launcher, level of detail full, format xml" in result.stderr


def test_markers_are_pressed_as_they_are_shown(run: Run) -> None:
    """Alone, filled in, or with what they need behind them."""
    lines = ["add a", "[form:add text=b]", "[form:add text=] c d", "[button:toggle] 2", "[button:delete-1]"]
    result = run("apps", "run", "todo", *(part for line in lines for part in ("--do", line)))
    assert result.exit_code == 0
    assert '<item id="2" tags="done" actions="toggle, delete">b</item>' in result.stdout
    assert ">c d</item>" in result.stdout


@pytest.mark.slow
def test_a_closed_app_shows_nothing(run: Run) -> None:
    """That is no failure; anything after it is."""
    result = run("apps", "run", "todo", "--do", "close done with it")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "closed window todo_1\nNo window is open any more.\n"
    found = facts(run("apps", "run", "todo", "--do", "close", "--do", "add x", "--json"))
    assert (found["window"], found["context"], found["text"], found["tokens"]) == ("", None, "", 0)
    assert [each["success"] for each in found["outcomes"]] == [True, False]


def test_an_app_that_is_not_there_is_one_red_line(run: Run) -> None:
    """With what may have been meant."""
    result = run("apps", "run", "tood")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no app 'tood'; is it one of todo" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(("args", "why"), [
    (["lost"], "cannot be loaded"), (["odd"], "Unknown"), (["shut"], "locked"), (["shut", "crash"], "no hinge"),
])  # fmt: skip
def test_an_app_that_does_not_open_says_why(run: Run, args: list[str], why: str) -> None:
    """One line, exit code 1, nothing to see."""
    result = run("apps", "run", *args)
    assert (result.exit_code, result.stdout) == (1, "")
    assert why in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("package")
def test_an_action_may_open_windows_to_go_to(run: Run) -> None:
    """It is said which; the beginning of the id is enough; closing one goes back to the other."""
    opened = run("apps", "run", "lamp", "--do", "more")
    assert "Opened: todo_1. `window todo_1` goes there." in opened.stderr
    assert '<Window id="lamp_1">' in opened.stdout
    lines = ["more", "window todo", "add milk", "windows"]
    gone = run("apps", "run", "lamp", *(part for line in lines for part in ("--do", line)))
    assert ">milk</item>" in gone.stdout
    assert "  lamp_1\n* todo_1\n" in gone.stderr
    back = run("apps", "run", "lamp", "--do", "more", "--do", "window todo_1", "--do", "close")
    assert (back.exit_code, '<Window id="lamp_1">' in back.stdout) == (0, True)


@pytest.mark.slow
@pytest.mark.usefixtures("package")
def test_an_action_named_like_a_word_of_the_prompt_can_be_reached(run: Run) -> None:
    """Written as a marker; data that is no JSON does not keep the rest from being printed."""
    found = facts(run("apps", "run", "lamp", "--do", "[button:level] high up", "--json"))
    assert found["outcomes"][0]["message"] == "level of the lamp: high up"
    assert sorted(found["outcomes"][0]["data"]) == [1, 2]
    assert run("apps", "run", "lamp", "--do", "level high").exit_code == 1


@pytest.mark.slow
@pytest.mark.usefixtures("package")
def test_a_button_on_a_thing_takes_what_else_is_needed(run: Run) -> None:
    """The thing is the first parameter; words fill the others."""
    found = facts(run("apps", "run", "lamp", "--do", 'tint-bulb dark "for a" while', "--json"))
    assert found["outcomes"][0]["message"] == "bulb: dark (for a while)"


def test_an_app_works_in_the_project(tmp_path: Path) -> None:
    """Its host knows the directory that --project names."""
    session = open_session("todo", str(tmp_path), "en", "xml")
    assert session.windows.project == tmp_path
    assert "todo" in session.windows.apps


@pytest.mark.slow
def test_an_app_is_held_to_the_folders_of_the_project_s_tools(run: Run, tmp_path: Path) -> None:
    """A person sees what a model would see; a file that does not say which they are is told of."""
    for folder in ("open", "closed"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text("a\n")
    (tmp_path / "sightline.toml").write_text('[tools]\nfolders = ["open"]')
    there = ("--project", str(tmp_path), "apps", "run")
    shown = run(*there, "files", "--do", "expand open").stdout
    assert "a.txt" in shown
    assert "closed" not in shown
    assert run(*there, "editor", "open/a.txt", "--json").exit_code == 0
    assert "outside the folders" in run(*there, "editor", "closed/a.txt", "--json").output
    (tmp_path / "sightline.toml").write_text("[tools")
    assert "does not say which folders may be read; correct it" in run(*there, "files", "--json").stderr


# ---------------------------------------------------------------------- through a pipe


@pytest.mark.slow
def test_lines_may_come_from_a_pipe(run: Run) -> None:
    """Each is shown, answered and followed by the view where that is new; failures go on and are told at the end."""
    result = run("apps", "run", "todo", input="add milk\nnonsense\n\ntoggle-1\nquit\nadd more\n")
    assert result.exit_code == 1
    said = [line for line in result.stdout.splitlines() if line.startswith(("todo_1> ", "failed", "added", "item"))]
    assert said == [
        "todo_1> add milk", "added item 1", "todo_1> nonsense",
        "failed: window todo_1 has no action or button nonsense", "todo_1> ", "todo_1> toggle-1", "item 1 is done",
        "todo_1> quit",
    ]  # fmt: skip
    assert result.stdout.count('<Window id="todo_1">') == 4  # opened, added, asked for, toggled
    assert result.stdout.count("unchanged") == 1
    assert run("apps", "run", "todo", input="add milk").exit_code == 0
    assert run("apps", "run", "todo", input="").exit_code == 0


@pytest.mark.slow
def test_a_program_can_talk_to_it_line_by_line() -> None:
    """Every answer is out before the next line is read; bytes that are no text are no error."""
    talk = subprocess.Popen(
        [*COMMAND, "apps", "run", "todo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    )
    assert talk.stdin is not None
    assert talk.stdout is not None

    def until(text: bytes) -> None:
        for line in talk.stdout or ():  # ends with the program, so that the test fails instead of waiting for ever
            if text in line:
                return
        raise AssertionError(f"the program ended without {text!r}")

    until(b"level of detail full, format xml")
    talk.stdin.write(b"add caf\xe9\n")
    talk.stdin.flush()
    until("caf�</item>".encode())
    talk.stdin.write(b"level gist\n")
    talk.stdin.flush()
    until(b"level of detail gist, format xml")
    talk.stdin.close()
    talk.stdout.close()
    assert talk.wait() == 0


# ---------------------------------------------------------------------- on a terminal


class Person(Terminal):
    """Somebody who waits for the prompt before the next key: what is typed earlier, a terminal reads otherwise."""

    def __init__(self, *args: str, **env: str) -> None:
        super().__init__(*args, **env)
        self.until("_1> ")

    def says(self, keys: str) -> str:
        """Press keys, a line in the end; what is shown up to the next prompt, without colours."""
        self.shown = ""
        self.type(keys + "\n")
        self.until("_1> ")
        return NOT_PRINTED.sub("", self.shown).replace("\r", "")

    def leaves(self) -> str:
        """Press Ctrl-D; all that was shown since the last line."""
        self.type("\x04")
        assert self.end() == 0
        return self.shown


@pytest.fixture
def person() -> Person:
    """Somebody who has opened a to-do list."""
    return Person("apps", "run", "todo")


@pytest.mark.slow
def test_a_person_presses_buttons(person: Person) -> None:
    """The app as it opens, how to get help, then each outcome in green with the new view and its tokens."""
    assert '<Window id="todo_1">' in person.shown
    assert Phrases("en")("try help") in person.shown
    seen = person.says("add buy milk")
    assert "added item 1" in seen
    assert '<item id="1" actions="toggle, delete">buy milk</item>' in seen
    assert "todo_1, level of detail full, format xml: " in seen
    assert "\x1b[32madded item 1\x1b[0m" in person.shown
    assert 'tags="done"' in person.says("[button:toggle-1]")
    seen = person.says("level gist")
    assert "0 open of 1" in seen
    assert "level of detail gist, format xml" in seen
    assert "# To do" in person.says("as markdown")
    assert '"currentLod": "Gist"' in person.says("as json")
    assert "toggle index:int" in person.says("help")
    person.type("quit\n")
    assert person.end() == 0


@pytest.mark.slow
def test_a_failure_is_red_with_ways_on_and_no_end(person: Person) -> None:
    """Nothing new to see, so nothing is shown again; the exit code is that of a person who is done."""
    seen = person.says("togle 1")
    assert "\x1b[31mfailed: " in person.shown
    assert "→ toggle(index:int)" in seen
    assert "unchanged" in seen
    assert "<Window" not in seen
    assert "is not closed" in person.says('add "x')
    assert "Traceback" not in person.leaves()


@pytest.mark.slow
def test_ctrl_c_clears_the_line_and_ctrl_d_ends(person: Person) -> None:
    """What was half typed is not done."""
    person.type("add half")
    person.until("add half")
    person.shown = ""
    shown: list[tuple[int, int]] = []
    while not shown:  # a signal that comes right before readline waits for a key is seen at the next one
        os.killpg(person.process.pid, signal.SIGINT)  # what a terminal does when Ctrl-C is pressed
        shown = person.poll.poll(1_000)
    person.until("todo_1> ")
    seen = person.says("add whole")
    assert ">whole</item>" in seen
    assert "half</item>" not in seen
    assert "Traceback" not in person.leaves()


@pytest.mark.slow
def test_the_tab_key_completes(person: Person) -> None:
    """Actions, their parameters, buttons and the prompt's own words."""
    assert ">milk</item>" in person.says("ad\tte\tmilk")
    assert 'tags="done"' in person.says("toggle-\t")
    assert "level summary" in person.says("lev\tsu\t")
    person.type("q\t\n")
    assert person.end() == 0


@pytest.mark.slow
def test_closing_the_last_window_ends_it(person: Person) -> None:
    """There is nothing left to press."""
    person.type("close\n")
    assert person.end() == 0
    assert Phrases("en")("all closed") in person.shown


@pytest.mark.slow
def test_what_an_app_shows_cannot_act_on_the_terminal(package: Path) -> None:
    """Its control characters are shown; its mistakes are outcomes, with a traceback only where --debug asks for it.

    Nor can what it or a library logs: that is shown with --debug, too.
    """
    someone = Person("apps", "run", "lamp", "--as", "markdown", PYTHONPATH=str(package))
    assert "\x1b[2J" not in someone.shown
    assert "white 1 �[2J" in someone.shown
    assert "RuntimeError: burnt out" in someone.says("fail")
    assert "painted red" in someone.says("paint r\t")
    assert someone.says("more").endswith("lamp_1> ")
    assert someone.says("window t\t").endswith("todo_1> ")
    assert "Traceback" not in someone.leaves()
    assert "too hot" not in someone.shown
    loud = Terminal("apps", "run", "lamp", "--do", "fail", "--debug", PYTHONPATH=str(package))
    assert loud.end() == 1
    assert "Traceback" in loud.shown
    assert "\x1b[2J" not in loud.shown
    assert "\ufffd[2Jtoo hot" in loud.shown


@pytest.mark.slow
def test_it_works_without_readline(tmp_path: Path) -> None:
    """Only completion is missing where Python was built without it."""
    (tmp_path / "readline.py").write_text("raise ImportError")
    someone = Person("apps", "run", "todo", PYTHONPATH=str(tmp_path))
    assert ">milk</item>" in someone.says("add milk")
    someone.leaves()


@pytest.mark.slow
@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(("before", "word", "found"), [
    ("", "pa", ["paint "]),
    ("", "tint-", ["tint-bulb "]),
    ("", "[button:tint-", ["[button:tint-bulb] "]),
    ("", "w", ["windows", "window"]),
    ("as ", "", ["xml", "markdown", "brief", "json"]),
    ("window ", "l", ["lamp_1 "]),
    ("help ", "", []),
    ("paint ", "", ["red", "green", "colour=red", "colour=green", "size="]),
    ("paint ", "s", ["size="]),
    ("tint-bulb ", "s", ["shade="]),
    ("nothing ", "", []),
])  # fmt: skip
def test_completions(before: str, word: str, found: list[str]) -> None:
    """What may come here, a space after the only one."""
    assert desk("lamp").completions(before, word) == found


@pytest.mark.parametrize("language", LANGUAGES)
def test_help_lists_what_can_be_done_now(language: str) -> None:
    """The window's actions with their labels, the buttons of what is shown, and the prompt's own words."""
    used = desk(language=language)
    used.run("add milk")
    said = used.run("help").outcome.message
    assert "toggle-1, delete-1" in said
    assert "level gist|summary|full" in said
    assert ("添加条目" if language == "zh" else "Add an item") in said


def test_an_app_in_a_file_of_ones_own_can_be_tried(run: Run, tmp_path: Path) -> None:
    """Without packaging it; what is wrong with the file is said in one line."""
    file = tmp_path / "kanban.py"
    file.write_text(
        "from sightline.apps import App, Element, action\n"
        "class Kanban(App):\n"
        "    '''Cards in columns.'''\n"
        "    name = 'kanban'\n"
        "    cards: list[str]\n"
        "    def __init__(self):\n        self.cards = []\n"
        "    @action\n    def add(self, title: str) -> str:\n        self.cards.append(title)\n        return 'added'\n"
        "    def view(self, lod):\n        return [Element(text=card) for card in self.cards]\n"
    )
    result = run("apps", "run", str(file), "--do", "add a first card")
    assert result.exit_code == 0
    assert "<item>a first card</item>" in result.stdout
    for text, why in (("x = 1\n", "defines no app"), ("raise ValueError('no')\n", "cannot be loaded")):
        file.write_text(text)
        result = run("apps", "run", str(file))
        assert result.exit_code == 1
        assert why in result.stderr
    assert "no file" in run("apps", "run", str(tmp_path / "nothing.py")).stderr
