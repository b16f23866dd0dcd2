"""What would have been read again: what an answer used, an earlier message said, and the prompt did not show."""

import pytest

from sightline import Budget, MemoryStore, Session, Settings
from sightline.testing import WordCounter
from sightline.values.items import Call, Message, Result, Role, Text, Usage
from sightline.values.profiles import PROFILES
from sightline.view.costs import OUTPUT
from sightline.view.replay.formats import Recording
from sightline.view.replay.replay import Paid, Step, Totals, replay
from sightline.view.replay.rereads import ASKING, Reread, Rereads

PRICES = PROFILES["openai"].prices
FILE = "\n".join(f"def function_{number}(): return value_{number}" for number in range(60))


def user(text: str) -> Message:
    return Message(Role.USER, (Text(text),))


def said(text: str) -> Message:
    return Message(Role.ASSISTANT, (Text(text),))


def read(id_: str, text: str = FILE, path: str = "src/app.py") -> list[Message]:
    call = Message(Role.ASSISTANT, (Call(id_, "read_file", {"path": path}),))
    return [call, Message(Role.TOOL, (Result(id_, (Text(text),)),))]


def edit(id_: str, old: str) -> list[Message]:
    call = Call(id_, "edit_file", {"path": "src/app.py", "old_string": old, "new_string": "pass"})
    return [Message(Role.ASSISTANT, (call,)), Message(Role.TOOL, (Result(id_, (Text("done"),)),))]


def steps(*messages: Message, window: int = 100_000) -> list[Step]:
    session = Session(MemoryStore("x"), settings=Settings(strategy="sliding"), token_counter=WordCounter())
    return list(replay(session, Recording(messages), Budget(window, 10)))


TALK = [each for number in range(8) for each in (user(f"tell me more {'word ' * 30}{number}"), said("so it is " * 10))]
OLD = "def function_7(): return value_7"


@pytest.mark.parametrize(("window", "again"), [(100_000, 0), (500, 1)])
def test_what_is_not_shown_any_more_is_read_again(window: int, again: int) -> None:
    """An edit of a file that was read long ago: nothing while it is shown, the file once it is not."""
    done = steps(user("look"), *read("c1"), said("ok"), *TALK, user("edit src/app.py"), *edit("c2", OLD), window=window)
    lost = [step for step in done if step.reread.items]
    assert len(lost) == again
    for step in lost:
        assert step.reread.tokens >= 60
        assert step.reread_paid == Paid(step.tokens, step.reread.tokens, ASKING)
        cost = step.tokens * PRICES.read + step.reread.tokens * PRICES.write + ASKING * OUTPUT
        assert step.reread_cost == pytest.approx(cost)


def test_what_no_message_said_is_not_read_again() -> None:
    """The model made it up."""
    done = steps(
        user("look"),
        *read("c1"),
        said("ok"),
        *TALK,
        user("edit src/app.py"),
        *edit("c2", "x = made_up_9()"),
        window=500,
    )
    assert not any(step.reread.items for step in done)


def test_what_was_read_again_stays_for_a_while() -> None:
    """A second edit of the same text right after it costs nothing more."""
    edits = [*edit("c2", OLD), *edit("c3", "def function_8(): return value_8")]
    done = steps(user("look"), *read("c1"), said("ok"), *TALK, user("edit src/app.py"), *edits, window=500)
    assert sum(step.reread.items for step in done) == 1


def found(earlier: list[Message], answer: list[Message], *, shown: tuple[Message, ...] = ()) -> Reread:
    """What an answer needs of earlier messages, counted in words."""
    rereads = Rereads(WordCounter().count)
    for message in earlier:
        rereads.add(message)
    return rereads.find(answer[:1], shown, 1)


SEARCH = [Message(Role.ASSISTANT, (Call("c9", "grep", {"pattern": "ORDER-4711 ORDER-4712"}),))]


def test_the_smallest_item_that_has_a_value_is_read_again() -> None:
    """A number of a short message costs that message, though a long log has it too, before or after it."""
    log = [user(f"ORDER-4711 ORDER-4712 {'line ' * 500}")]
    short = [user("it is ORDER-4711"), user("or ORDER-4712")]
    assert found([*log, *short, *log], SEARCH) == Reread(2, 5)
    assert found([*log, *short[:1]], SEARCH) == Reread(1, 502), "the log has both"


def test_one_result_of_several_is_read_again() -> None:
    """Each result of a message has a handle of its own."""
    results = (Result("c1", (Text("ORDER-4711 and ORDER-4712"),)), Result("c2", (Text("line " * 500),)))
    assert found([Message(Role.USER, results)], SEARCH) == Reread(1, 3)


def test_the_lines_of_an_edit_are_read_together() -> None:
    """The smallest item that has all of them in order; where none has, the smallest for each line that is not shown."""
    lines = ["first_line()", "second_line()"]
    apart = [user(f"{line} {'word ' * 5}") for line in lines]
    together = [user("\n".join(lines) + " word" * 30)]
    answer = edit("c2", "\n".join(lines))
    known = (user("src/app.py pass"),)
    assert found([*apart, *together], answer, shown=known) == Reread(1, 32)
    assert found(apart, answer, shown=known) == Reread(2, 12)
    assert found(apart, answer, shown=(*known, apart[0])) == Reread(1, 6)


def test_totals_count_it_in() -> None:
    """The real cost and what is paid are those of the calls and of reading again."""
    done = steps(user("look"), *read("c1"), said("ok"), *TALK, user("edit src/app.py"), *edit("c2", OLD), window=500)
    totals = Totals()
    for step in done:
        totals = totals.plus(step)
    assert totals.rereads == 1
    assert totals.real_cost == pytest.approx(sum(step.cost + step.reread_cost for step in done))
    assert totals.paid.output == totals.full_paid.output + ASKING
    assert totals.full_paid.cached + totals.full_paid.written == sum(step.full_tokens for step in done)


@pytest.mark.parametrize("usage", [None, Usage(5, 77)])
def test_the_tokens_of_answers_are_those_that_the_provider_counted(usage: Usage | None) -> None:
    """Where it says so; else they are counted."""
    [step] = steps(user("look"), Message(Role.ASSISTANT, (Text("one two three"),), usage=usage))
    assert (step.paid.output == 77) is (usage is not None)
    assert step.paid.output > 0
