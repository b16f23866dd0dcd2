"""What must survive a compaction of another program: found by the engine's rules, given back within a limit."""

import msgspec
import pytest

from sightline.compaction.reminder import Reminder
from sightline.testing import WordCounter
from sightline.values.items import Call, Message, Part, Result, Role, Text

COUNT = WordCounter().count


def user(text: str) -> tuple[Message, bool]:
    return Message(Role.USER, (Text(text),)), False


def model(*parts: Part) -> tuple[Message, bool]:
    return Message(Role.ASSISTANT, parts), False


def result(call: str, text: str) -> tuple[Message, bool]:
    return Message(Role.TOOL, (Result(call, (Text(text),)),)), False


def reminder(*messages: tuple[Message, bool]) -> Reminder:
    found = Reminder()
    found.add(messages)
    return found


def test_what_the_user_laid_down_is_given_back_word_for_word() -> None:
    """With the first and the current request, in the order in which it was said."""
    found = reminder(
        user("Fix the login page. Never touch the tests."),
        model(Text("Done.")),
        user("Always use tabs for indentation. Now do the logout page."),
    )
    assert found.text(tokens=500, count=COUNT) == (
        "[what the user laid down earlier, word for word; where two differ, the later holds]\n"
        "- Never touch the tests.\n"
        "- Always use tabs for indentation.\n\n"
        "## Task\n"
        "- First request: Fix the login page. Never touch the tests.\n"
        "- Current request: Always use tabs for indentation. Now do the logout page."
    )


def test_what_was_revoked_is_not_given_back() -> None:
    """A permission lifts the prohibition before it."""
    found = reminder(user("Never touch the migrations."), user("You may touch the migrations now."))
    assert "Never touch the migrations." not in found.in_force()


def test_forget_that_speaks_of_the_message_before_it() -> None:
    """Messages without a rule count too: what was laid down long ago stays."""
    found = reminder(user("Never touch the tests."), user("How are you?"), user("Show me a.py"), user("Forget that."))
    assert "Never touch the tests." in found.in_force()


def test_what_programs_say_lays_nothing_down() -> None:
    """Neither a text in the user's place nor a tool's result."""
    message = Message(Role.USER, (Text("Always use spaces."),))
    found = reminder((message, True), result("c1", "Never use tabs."))
    assert found == Reminder()
    assert found.text(tokens=500, count=COUNT) == ""


def test_what_is_shown_already_is_not_said_again() -> None:
    """Each constraint, request and task for itself; if all are shown, nothing is left."""
    found = reminder(user("Never touch the tests. Always use tabs."))
    left = found.text(tokens=500, count=COUNT, visible="Summary: Never touch the tests.")
    assert "- Always use tabs." in left
    assert "- Never touch the tests." not in left
    assert found.text(tokens=500, count=COUNT, visible="Never touch the tests. Always use tabs.") == ""


def test_a_short_form_with_every_name_and_negation_is_shown_too() -> None:
    """A summary may leave out "please"."""
    found = reminder(user("Please never touch the tests."))
    assert "laid down" not in found.text(tokens=500, count=COUNT, visible="- never touch tests")


def test_what_is_to_be_done_is_given_back() -> None:
    """From the planning tool's last state; what is done is not."""
    todos = [
        {"content": "write the parser", "status": "completed"},
        {"content": "write the tests", "status": "pending"},
    ]
    found = reminder(user("Go"), model(Call("c1", "TodoWrite", {"todos": todos})), result("c1", "ok"))
    text = found.text(tokens=500, count=COUNT)
    assert "## Open\n- [ ] write the tests" in text
    assert "parser" not in text


def test_tasks_are_followed_by_their_numbers() -> None:
    """A task is created, another one is completed; the state goes on in a later part of the log."""
    found = reminder(
        model(Call("c1", "TaskCreate", {"subject": "first"}), Call("c2", "TaskCreate", {"subject": "second"})),
        result("c1", "Task #1 created"),
        result("c2", "Task #2 created"),
    )
    found.add([model(Call("c3", "TaskUpdate", {"taskId": "1", "status": "completed"})), result("c3", "ok")])
    assert found.text(tokens=100, count=COUNT) == "## Open\n- [ ] second"


@pytest.mark.parametrize("tokens", [5, 20, 60, 200, 1000])
def test_it_is_never_longer_than_allowed(tokens: int) -> None:
    """However much was laid down; the newest comes before older ones, and it is said that there are more."""
    many = [user(f"Never touch the file part_{number}.py in the project please.") for number in range(60)]
    text = reminder(*many).text(tokens=tokens, count=COUNT)
    assert COUNT(text) <= tokens
    if tokens >= 60:
        assert "part_59.py" in text
        assert ("older ones" in text) == (tokens < 1000)


def test_a_user_who_writes_chinese_is_answered_in_chinese() -> None:
    """By most of the messages."""
    found = reminder(user("不要修改测试目录下的文件。"), user("继续"), user("ok"))
    assert found.locale == "zh"
    assert found.text(tokens=500, count=len).startswith("[用户早先的要求")


def test_it_can_be_stored_and_continued() -> None:
    """Read in two parts with a file between, it is the same as read at once."""
    first = [user("Never touch the tests."), model(Text("- [ ] one\n- [x] two"))]
    then = [user("You may touch the tests now. Use tabs only.")]
    stored = msgspec.json.decode(msgspec.json.encode(reminder(*first)), type=Reminder)
    stored.add(then)
    assert stored == reminder(*first, *then)
    assert "Use tabs only." in stored.in_force()
