"""The list of messages of another program is followed in a session: nothing twice, edits are branches."""

from pathlib import Path
from typing import Any

import pytest

from sightline import wire
from sightline.errors import BadInput
from sightline.follow.history import History
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore
from sightline.values.items import Kind, Role, Usage, plain_text

ROOM = Budget(8_000)
User = dict[str, Any]


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def called(*ids: str) -> dict[str, Any]:
    calls = [{"id": each, "type": "function", "function": {"name": "look", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


TALK = [
    said("user", "first question"),
    said("assistant", "first answer"),
    said("user", "second question"),
    called("a", "b"),
    result("a", "result a"),
    result("b", "result b"),
    said("assistant", "second answer"),
]


def texts(session: Session) -> list[str]:
    """What was said on the branch, without the calls."""
    return [text for item in session.items if (text := plain_text(item.parts))]


def history() -> History:
    return History(Session(MemoryStore("s")))


def test_what_is_new_is_appended_and_nothing_twice() -> None:
    """The list grows by one message at a time; the log has each once, and the payload is that of the list."""
    follows = history()
    for end in range(1, len(TALK) + 1):
        session = follows.follow(TALK[:end])
    assert texts(session) == [text for each in TALK if (text := each["content"])]
    assert session.branches == [""]
    assert session.compose(ROOM).openai()["messages"] == TALK


def test_a_list_is_known_again_after_a_restart(tmp_path: Path) -> None:
    """In a new process the digests in the log say what is there; only what is new is appended."""
    with Session.new(tmp_path, session_id="s") as session:
        History(session).follow(TALK[:5])
    with Session.resume("s", tmp_path) as session:
        followed = History(session).follow(TALK)
        assert followed is session
        assert texts(session) == [text for each in TALK if (text := each["content"])]


def test_messages_and_their_digests_are_written_together() -> None:
    """One batch: a crash cannot leave messages in the log that would not be known again."""
    follows = history()
    session = follows.follow(TALK[:3])
    [note] = session.annotations("history")
    assert [count for _, count in note.value["links"]] == [1, 1, 1]
    assert next(iter(session.items)).id == str(note.seq + 1)


@pytest.mark.parametrize(
    ("at", "shared"),
    [(0, 0), (1, 1), (2, 2), (4, 3), (5, 3), (6, 6)],
)
def test_an_edited_message_begins_a_branch_after_the_last_common_one(at: int, shared: int) -> None:
    """Calls and their results are not separated: where a result was edited, the branch begins before the calls."""
    follows = history()
    first = follows.follow(TALK)
    edited = [dict(each) for each in TALK]
    edited[at]["content"] = "edited"
    session = follows.follow(edited)
    assert texts(session) == [text for each in edited if (text := each["content"])]
    assert len(session.branches) == 2
    assert texts(first) == [text for each in TALK if (text := each["content"])]  # the first branch is as it was
    own, old = [item.id for item in session.items], {item.id for item in first.items}
    calls = sum(item.kind is Kind.CALL for item in session.items if item.id in old)
    assert sum(each in old for each in own) - calls == shared
    assert session.compose(ROOM).openai()["messages"] == edited


def test_a_list_that_was_taken_back_goes_on_as_a_branch_and_back_again() -> None:
    """Time travel: each list has its branch, and one that was there before is found again."""
    follows = history()
    follows.follow(TALK)
    other = [*TALK[:2], said("user", "another question")]
    branch = follows.follow(other).branch
    assert branch
    back = [*TALK, said("user", "third question")]
    assert follows.follow(back).branch == ""
    again = follows.follow([*other, said("assistant", "another answer")])
    assert again.branch == branch
    assert texts(again) == ["first question", "first answer", "another question", "another answer"]
    assert len(again.branches) == 2


LEFT = [  # its first call has no result
    said("user", "one"),
    called("a"),
    said("user", "two"),
    called("b"),
    result("b", "result b"),
    said("assistant", "done"),
    said("user", "three"),
]


def missing(call_id: str) -> dict[str, Any]:
    return result(call_id, "[error] [interrupted: no result]") | {"name": "look"}


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(
    ("shared", "new"),
    [(6, [said("user", "new")]), (3, [said("user", "new")]), (5, [called("c"), result("c", "result c")])],
)
def test_what_was_taken_back_after_a_call_without_result_is_gone(
    tmp_path: Path, shared: int, new: list[User], restarts: bool
) -> None:
    """The branch has the list that was given and the missing result, also after a restart: nothing of the old end."""
    session = Session.new(tmp_path, session_id="s")
    follows = History(session)
    follows.follow(LEFT).compose(ROOM)
    if restarts:
        follows.close()
        follows = History(Session.resume("s", tmp_path))
    payload = follows.follow([*LEFT[:shared], *new]).compose(ROOM)
    assert payload.openai()["messages"] == [*LEFT[:2], missing("a"), *LEFT[2:shared], *new]
    assert all(follows.original(message) is not None for message in payload.body if message.role is Role.USER)
    follows.close()


LATE = [  # the result of its call comes after other messages
    said("user", "one"),
    called("a"),
    said("assistant", "meanwhile"),
    said("user", "two"),
    result("a", "result a"),
]


@pytest.mark.parametrize("first", [2, 3, 5])
@pytest.mark.parametrize("shared", [3, 4])
def test_what_was_taken_back_before_a_late_result_is_gone(first: int, shared: int) -> None:
    """A branch shares no call whose result in the log was taken back: what was said between would come with it."""
    follows = history()
    follows.follow(LATE[:first], in_place=True)
    old = follows.follow(LATE, in_place=True)
    branch = follows.follow([*LATE[:shared], said("user", "new")], in_place=True)
    missing = "[interrupted: no result]"
    between = [each["content"] for each in LATE[2:shared]]
    assert [text for text in texts(branch) if text != missing] == ["one", *between, "new"]
    assert texts(old)[-1].endswith("result a")  # the first branch is as it was


def test_a_call_that_a_shorter_list_ends_with_is_sent_once() -> None:
    """Its result was taken back: the call is there with one that says so, and not a second time."""
    follows = history()
    follows.follow(LEFT).compose(ROOM)
    sent = follows.follow(LEFT[:4]).compose(ROOM).openai()["messages"]
    assert sent == [*LEFT[:2], missing("a"), *LEFT[2:4], missing("b")]


def test_a_branch_is_found_after_a_restart(tmp_path: Path) -> None:
    """The digests of all branches are in the log."""
    other = [*TALK[:2], said("user", "another question")]
    with Session.new(tmp_path, session_id="s") as session:
        follows = History(session)
        follows.follow(TALK)
        branch = follows.follow(other).branch
        follows.follow([*TALK, said("user", "third question")])
        follows.close()
    with Session.resume("s", tmp_path) as session:
        follows = History(session)
        assert follows.follow([*other, said("assistant", "more")]).branch == branch
        assert len(follows.session.branches) == 2
        follows.close()


@pytest.mark.slow
def test_a_program_that_writes_the_replies_in_its_own_words_keeps_what_was_shown() -> None:
    """Each call is a branch then. It goes on from the payload before: not each is a sweep, and one prompt is enough."""
    follows, talk = history(), list[User]()
    for number in range(12):
        talk.append(said("user", f"Observation {number}: pump {number} of hall {number * 7} is dry. " * 8))
        session = follows.follow(talk)
        session.system("You watch pumps.")  # logged again only if the branch has none
        session.compose(Budget(1_000, 100))
        swept = [bool(receipt.reason) for receipt in session.receipts]
        assert len(swept) == number + 1  # those of the branches before are its own
        follows.follow([*talk, called(f"c{number}")], replies=1)
        talk.append(said("assistant", f"Calling tools: c{number}"))
    assert len(session.branches) == 12
    assert 0 < sum(swept) < 8
    assert sum(item.kind is Kind.SYSTEM for item in session.items) == 1


@pytest.mark.parametrize("in_place", [True, False])
def test_a_system_message_that_the_list_no_longer_has_is_on_no_branch_of_it(in_place: bool) -> None:
    """A program that ends each request with how to answer takes that away in the next: what is sent has it once."""
    follows = history()
    ending = said("system", "Answer in JSON.")
    talk = [said("user", "Which pump?")]
    for number in range(3):
        session = follows.follow([*talk, ending], in_place=in_place)
        session.compose(Budget(100_000))
        talk += [said("assistant", f"In its own words {number}."), said("user", f"And {number}?")]
    assert texts(session).count("Answer in JSON.") == 1


def test_nothing_in_common_is_a_branch_that_shares_nothing() -> None:
    """Also where the whole list was replaced; what was in the session before the list is shared."""
    follows = history()
    follows.follow([said("user", "alice: a secret")])
    session = follows.follow([said("user", "bob: hello")])
    assert texts(session) == ["bob: hello"]
    assert "secret" not in str(session.compose(ROOM).openai())
    with_past = Session(MemoryStore("t"))
    with_past.user("from before")
    follows = History(with_past)
    follows.follow(TALK[:1])
    assert texts(follows.follow([said("user", "other")])) == ["from before", "other"]


def test_a_message_that_changed_in_place_is_noticed() -> None:
    """The same object with another text is another message."""
    follows = history()
    talk = [dict(each) for each in TALK[:3]]
    follows.follow(talk)
    talk[1]["content"] = "changed"
    assert texts(follows.follow(talk)) == ["first question", "changed", "second question"]


def test_only_what_is_new_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the list is: one message more is one message read, also where all objects are new."""
    read: list[int] = []
    known = wire._read_plain
    monkeypatch.setattr(wire, "_read_plain", lambda given, *more: read.append(len(given)) or known(given, *more))
    follows = history()
    talk: list[dict[str, Any]] = []
    for number in range(200):
        talk = [dict(each) for each in talk]
        talk += [said("user", f"question {number}"), said("assistant", f"answer {number}")]
        read.clear()
        follows.follow(talk)
        assert sum(read) == 2


def test_other_writers_of_the_session_are_read_and_not_repeated() -> None:
    """Two processes follow the list of one thread: the second finds what the first has appended."""
    store = MemoryStore("s")
    one, other = History(Session(store)), History(Session(store.reopened()))
    one.follow(TALK[:2])
    session = other.follow(TALK[:3])
    assert texts(session) == ["first question", "first answer", "second question"]
    assert texts(one.follow(TALK)) == [text for each in TALK if (text := each["content"])]


def test_the_original_of_a_message_is_the_object_that_was_given() -> None:
    """While it is shown unchanged; a shortened one has no original."""
    follows = history()
    talk = [*TALK[:4], result("a", "word " * 4_000), result("b", "b")]
    payload = follows.follow(talk).compose(Budget(2_000))
    originals = [follows.original(message) for message in payload.body]
    assert originals[0] is talk[0]
    assert any(each is None for each in originals)
    assert talk[4] not in originals


def test_a_reply_corrects_how_tokens_are_counted() -> None:
    """The usage that it reports counts as in `Session.reply`, and the reply names the payload that it answers."""
    follows = history()
    asked = said("user", "question " * 3_000)
    session = follows.follow([asked])
    tokens = session.compose(ROOM).tokens
    reply = {
        "type": "ai", "content": "yes", "additional_kwargs": {}, "response_metadata": {},
        "usage_metadata": {"input_tokens": 2 * tokens, "output_tokens": 1},
    }  # fmt: skip
    follows.follow([asked, reply], replies=1)
    session = follows.follow([asked, reply, said("user", "more")])
    session.compose(Budget(20_000))
    assert session.receipt is not None
    assert session.receipt.factor == 2


def test_a_list_that_cannot_be_read_names_the_message_and_changes_nothing() -> None:
    """By its index in the whole list."""
    follows = history()
    follows.follow(TALK[:2])
    with pytest.raises(BadInput, match=r"messages\[2\]"):
        follows.follow([*TALK[:2], {"role": "user", "content": 7}])
    assert texts(follows.session) == ["first question", "first answer"]


def test_several_results_in_one_message_are_one_message_of_the_list() -> None:
    """Anthropic's form: results and words in one message; an edit there begins a branch before the calls."""
    follows = History(Session(MemoryStore("s")), wire="anthropic")
    uses = [{"type": "tool_use", "id": each, "name": "look", "input": {}} for each in "ab"]
    results = [{"type": "tool_result", "tool_use_id": each, "content": f"result {each}"} for each in "ab"]
    talk = [said("user", "q"), {"role": "assistant", "content": uses}, {"role": "user", "content": results}]
    follows.follow(talk)
    assert follows.follow([*talk, said("assistant", "done")]).branches == [""]
    other = [*talk[:2], {"role": "user", "content": [*results[:1], {**results[1], "content": "edited"}]}]
    assert texts(follows.follow(other)) == ["q", "result a", "edited"]


def test_items_that_are_one_message_are_given_together() -> None:
    """Calls of one reply stay together, though the other program holds them one by one; the items come back."""
    calls: list[Any] = [
        {"type": "function_call", "call_id": each, "name": "look", "arguments": "{}"} for each in ("a", "b")
    ]
    results: list[Any] = [{"type": "function_call_output", "call_id": each, "output": each} for each in ("a", "b")]
    follows = history()
    for end in (1, 2, 4):
        session = follows.follow([said("user", "look"), calls, *results][:end])
    payload = session.compose(ROOM)
    assert [item for each in payload.body if isinstance(item := follows.original(each), list)] == [calls]
    assert payload.responses()["input"][1:] == [*calls, *results]
    assert session.branches == [""]
    calls[1] = calls[1] | {"arguments": '{"at": 2}'}
    assert len(follows.follow([said("user", "look"), calls, *results]).branches) == 2


@pytest.mark.parametrize("factor", [1, 3])
def test_the_usage_of_a_reply_may_be_given_beside_it(factor: int) -> None:
    """Where the messages do not have it: the next payload is counted by it."""
    follows, talk = history(), [said("user", f"question {number} " * 300) for number in range(6)]
    payload = follows.follow(talk).compose(Budget(20_000))
    talk.append(said("assistant", "answer"))
    follows.follow(talk, replies=1, usage=Usage(payload.tokens * factor, 5))
    session = follows.follow([*talk, said("user", "another question")])
    session.compose(Budget(20_000))
    assert session.receipt is not None
    assert session.receipt.factor == factor


def test_annotations_are_read_from_where_one_knows_them(tmp_path: Path) -> None:
    """`length` is where the next ones begin, also those of another writer."""
    with Session.new(tmp_path, session_id="s") as session:
        session.annotate("mine", 1)
        known = session.length
        other = Session.resume("s", tmp_path)
        other.annotate("mine", 2)
        other.close()
        session.refresh()
        assert [value for _, _, value in session.annotations("mine", known)] == [2]
        assert [value for _, _, value in session.annotations("mine")] == [1, 2]


def test_a_list_that_was_made_from_the_log_is_not_appended_again(tmp_path: Path) -> None:
    """Also after a restart, and also where another program has gone on with the session."""
    with Session.new(tmp_path, session_id="s") as session:
        History(session).follow(TALK[:2])
        session.user("from elsewhere")
        made = [*TALK[:2], said("user", "from elsewhere"), said("assistant", "there")]
        session.reply("there")
        History(session).adopt(made)
    with Session.resume("s", tmp_path) as session:
        followed = History(session)
        followed.follow([*made, said("user", "and now?")])
        assert texts(followed.session) == ["first question", "first answer", "from elsewhere", "there", "and now?"]
        assert followed.session.branches == [""]
