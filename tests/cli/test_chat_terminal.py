"""The chat on a real terminal, as a person uses it."""

from pathlib import Path

import pytest
from chat_place import configured
from chat_terminal import SECONDS, Terminal
from stub import Stub, answer, hang

from sightline import Session
from sightline.log.stores.session_folder import Folder

READ = ("c1", "file_reader", {"path": "notes.txt"})


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Where the project's sessions are."""
    return Folder(tmp_path / "shop")


@pytest.mark.slow
@pytest.mark.accepts(242, 243)
def test_a_conversation_goes_on_after_the_plug_was_pulled(tmp_path: Path, folder: Folder) -> None:
    """A question with a tool call, commands, a stopped answer, SIGKILL; --continue has everything and goes on.

    An older session of the project stays as it was.
    """
    script = [
        answer("", [READ]),
        answer("It says **milk**.", usage=(100, 20, 80)),
        hang(answer("This one never ends"), after=4),
        answer("Now it ended."),
        answer("You asked about milk."),
    ]
    with Stub(script) as stub:
        project = configured(tmp_path / "shop", stub.url)
        (project / "notes.txt").write_text("buy milk\n")
        with Session.new(project, session_id="older") as session:
            session.user("An older question")
            session.reply("An older answer")
        before = folder.file("older").read_bytes()
        terminal = Terminal(project)
        terminal.prompt()
        terminal.type("What do the notes say?\r")
        terminal.until("✓ file_reader notes.txt")  # the call is one line
        # While it streams, the unfinished text may be seen as it is; what stays is drawn.
        assert "It says milk" in terminal.until("cost 0.0001")  # the line below counts what was spent
        terminal.type("/contxt\r")
        terminal.until("Did you mean /context")
        terminal.type("/context\r")
        terminal.until("What the model would see now")
        terminal.until("notes.txt")
        terminal.prompt()
        terminal.type("Tell me more\r")
        terminal.until("This one never")
        terminal.type("\x03")
        terminal.until("Stopped. The answer so far is kept")
        assert stub.left.wait(SECONDS)  # the model was stopped too
        terminal.prompt()
        terminal.type("/retry\r")
        terminal.until("Now it ended.")
        terminal.prompt()
        terminal.kill()

        [session_id] = set(folder.sessions()) - {"older"}
        terminal = Terminal(project, "--continue")
        terminal.until(f"Session {session_id} continues, branch main: 6 messages.")
        terminal.until("you: Tell me more")
        terminal.until("answer: Now it ended.")
        terminal.prompt()
        terminal.type("first line\nsecond line\r")  # Ctrl-J is a new line, Enter sends
        terminal.until("You asked about milk.")
        terminal.prompt()
        terminal.type("half a thought\x03")  # Ctrl-C clears what is typed
        terminal.type("/quit\r")
        assert terminal.end() == 0
        assert f"Session {session_id} is stored" in terminal.shown
        assert "Traceback" not in terminal.shown
    sent = [message["content"] for message in stub.asked[-1].body["messages"] if message["role"] == "user"]
    stopped = "[the answer above was stopped before its end]"
    assert sent == ["What do the notes say?", "Tell me more", stopped, "first line\nsecond line"]
    with Session.resume(session_id, project) as session:
        said = [session.items.text(item.id) for item in session.items if item.kind.name in ("USER", "ASSISTANT")]
    assert said[-2:] == ["first line\nsecond line", "You asked about milk."]
    assert "This one never" in said  # a stopped answer is kept as far as it had come
    assert folder.file("older").read_bytes() == before
    assert (folder.path / "chat_history").stat().st_mode & 0o077 == 0


@pytest.mark.slow
@pytest.mark.accepts(244)
def test_without_a_session_to_continue_a_new_one_begins(tmp_path: Path, folder: Folder) -> None:
    """With a notice, here in Chinese; text from the model cannot act on the terminal; Ctrl-C twice leaves."""
    with Stub([answer("\x1b]0;stolen\x07你好 &#27;[2Jx")]) as stub:
        project = configured(tmp_path / "shop", stub.url, '[chat]\nlocale = "zh"')
        terminal = Terminal(project, "--continue")
        terminal.until("本项目没有可继续的会话：开始一个新会话。")
        terminal.prompt()
        terminal.type("\x1b[200~第一行\r第二行\x1b[201~")  # what is pasted stays whole
        terminal.type("\r")
        terminal.until("你好")
        terminal.prompt()
        terminal.type("\x03")
        terminal.until("再按一次 Ctrl-C")
        terminal.type("\x03")
        assert terminal.end() == 0
        assert "\x1b]0;stolen" not in terminal.shown
        assert "\x1b[2Jx" not in terminal.shown
    [session_id] = folder.sessions()
    with Session.resume(session_id, project) as session:
        said = [session.items.text(item.id) for item in session.items if item.kind.name == "USER"]
    assert said == ["第一行\n第二行"]


@pytest.mark.slow
def test_one_ctrl_c_leaves_a_question_of_ours(tmp_path: Path) -> None:
    """Whether the project's file may be obeyed; nothing is allowed by that."""
    project = configured(tmp_path / "shop", "http://127.0.0.1:9", "[tools]\nrun_python = true\n")
    terminal = Terminal(project)
    terminal.until("[y/N]: ")
    terminal.type("\x03")
    assert terminal.end() == 130
    assert not list(tmp_path.rglob("trusted.json"))


@pytest.mark.slow
def test_lines_typed_before_the_prompt_are_separate(tmp_path: Path) -> None:
    """Two commands typed while it starts are two; a line that has not ended stands in the prompt."""
    with Stub([]) as stub:
        terminal = Terminal(configured(tmp_path / "shop", stub.url))
        terminal.type("/version\r/strategy\r/co")
        terminal.until("❯ /version")
        terminal.until("sightline ")
        terminal.until("❯ /strategy")
        terminal.until("The strategy is focus.")
        terminal.prompt()
        terminal.type("st\r")
        terminal.until("calls in this run: 0")
        terminal.prompt()
        terminal.type("/quit\r")
        assert terminal.end() == 0


@pytest.mark.slow
def test_what_is_typed_while_an_answer_comes_is_not_lost_when_it_is_stopped(tmp_path: Path) -> None:
    """It stands in the next prompt, and is not echoed into the answer."""
    with Stub([hang(answer("This one never ends"), after=4)]) as stub:
        terminal = Terminal(configured(tmp_path / "shop", stub.url))
        terminal.prompt()
        terminal.type("Tell me\r")
        terminal.until("This one never")
        terminal.type("/ver")
        terminal.type("\x03")
        assert "/ver" not in terminal.until("Stopped.")
        terminal.prompt()
        terminal.type("sion\r")
        terminal.until("sightline ")
        terminal.prompt()
        terminal.type("/quit\r")
        assert terminal.end() == 0


@pytest.mark.slow
def test_a_call_that_is_stopped_in_its_middle_is_not_kept(tmp_path: Path, folder: Folder) -> None:
    """The text before it is, and the model sees that text and no call, so that it waits for no result."""
    with Stub([hang(answer("I will look", [READ]), after=6), answer("Gladly.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        terminal = Terminal(project)
        terminal.prompt()
        terminal.type("Read the notes\r")
        terminal.until("I will look")
        assert stub.hanging.wait(SECONDS)  # half of the arguments has come
        terminal.type("\x03")
        terminal.until("Stopped. The answer so far is kept")
        terminal.prompt()
        terminal.type("Go on\r")
        terminal.until("Gladly.")
        terminal.prompt()
        terminal.type("/quit\r")
        assert terminal.end() == 0
    sent = stub.asked[1].body["messages"]
    assert [each for each in sent if each["role"] == "tool" or each.get("tool_calls")] == []
    assert any(each["role"] == "assistant" and "I will look" in each["content"] for each in sent)
    [session_id] = folder.sessions()
    with Session.resume(session_id, project) as session:
        assert {item.kind.name for item in session.items} == {"SYSTEM", "USER", "ASSISTANT"}


@pytest.mark.slow
def test_the_last_line_names_the_session_used_last_and_how_to_go_on_with_it(tmp_path: Path, folder: Folder) -> None:
    """After /sessions ID nothing newer was said there, so --continue would take another one: --resume is named.

    After /clear without a word it is the session before, which --continue takes.
    """
    with Stub([answer("Gladly."), answer("Again.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        with Session.new(project, session_id="older") as session:
            session.user("An older question")
            session.reply("An older answer")
        terminal = Terminal(project, "A new question")
        terminal.until("Gladly.")
        terminal.prompt()
        terminal.type("/sessions older\r")
        terminal.until("Session older continues")
        terminal.prompt()
        terminal.type("/quit\r")
        assert terminal.end() == 0
        assert "Session older is stored: `sightline chat --resume older` goes on" in " ".join(terminal.shown.split())
        terminal = Terminal(project, "--resume", "older", "More")
        terminal.until("Again.")
        terminal.prompt()
        terminal.type("/clear\r")
        terminal.until("New session")
        terminal.prompt()
        terminal.type("/quit\r")
        assert terminal.end() == 0
        assert "Session older is stored: `sightline chat --continue` goes on" in " ".join(terminal.shown.split())
    assert folder.sessions()[0] == "older"
