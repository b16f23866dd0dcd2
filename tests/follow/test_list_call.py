"""What a program that holds its list gives to the model: its own messages where they are whole, roles in turn."""

from itertools import pairwise
from typing import Any

from sightline.adapters import strands_messages as form
from sightline.follow.conversations import Conversations
from sightline.follow.history import History
from sightline.follow.list_call import OPENING, ListCall, writer_of
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore

Json = dict[str, Any]


def said(role: str, *texts: str) -> Json:
    return {"role": role, "content": [{"text": text} for text in texts]}


def rounds(count: int) -> list[Json]:
    """A question, and rounds of two calls whose results come in one message."""
    messages = [said("user", "Look.")]
    for at in range(count):
        ids = (f"a{at}", f"b{at}")
        uses = [{"toolUse": {"toolUseId": each, "name": "look", "input": {"at": at}}} for each in ids]
        output = "\n".join(f"{at}: line {line} of what was found there" for line in range(60))
        found = [
            {"toolResult": {"toolUseId": each, "status": "success", "content": [{"text": f"{each}\n{output}"}]}}
            for each in ids
        ]
        messages += [{"role": "assistant", "content": uses}, {"role": "user", "content": found}]
    return messages


def history() -> History:
    return History(Session(MemoryStore("s")), wire=form)


def list_call(messages: list[Json], system: str = "") -> ListCall:
    conversations = Conversations(Session(MemoryStore("s")), wire=form)
    return ListCall(conversations, "", messages, writer_of(form), system=system)


def test_the_programs_own_objects_are_sent_while_all_fits() -> None:
    """Also a message that has the results of several calls, which is several messages of ours."""
    messages = rounds(3)
    written = list_call(messages, system="Be brief.").compose(Budget(100_000))
    assert [*map(id, written)] == [*map(id, messages)]


def test_only_what_was_shortened_is_made_anew() -> None:
    """The others are the program's own, the roles take turns, and calls and results stay together."""
    messages = rounds(30)
    call = list_call(messages)
    written = call.compose(Budget(12_000, 1_000))
    assert call.payload.tokens <= 11_000
    own = {*map(id, messages)}
    assert 0 < sum(id(each) in own for each in written) < len(written)
    assert all(one["role"] != other["role"] for one, other in pairwise(written))
    assert written[-1] is messages[-1]
    waiting: set[str] = set()
    for message in written:
        results = {block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block}
        assert results == waiting
        waiting = {block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block}


def test_a_list_that_would_begin_with_the_model_is_opened() -> None:
    """By a line of the user, unless the program's own list begins so."""
    messages = [said("assistant", "Hello."), said("user", "Hi.")]
    call = list_call(messages)
    written = call.compose(Budget(8_000))
    assert written == messages
    assert writer_of(form)(history(), call.payload) == [
        said("user", OPENING),
        said("assistant", "Hello."),
        said("user", "Hi."),
    ]


def test_neighbours_of_one_role_are_one_message_if_one_of_them_is_made() -> None:
    """Two of the program's own stay two."""
    messages = [said("user", "One."), said("user", "Two.")]
    call = list_call(messages)
    written = call.compose(Budget(8_000))
    assert written == messages
    assert writer_of(form)(history(), call.payload) == [said("user", "One.", "Two.")]


def test_a_refused_call_is_made_shorter_until_it_cannot_be() -> None:
    """A provider counts more than we do: what is sent instead has fewer tokens, and the end is told."""
    call = list_call(rounds(30))
    call.compose(Budget(12_000, 1_000))
    sizes = [call.payload.tokens]
    while call.refused(2 * sizes[-1]) is not None:
        sizes.append(call.payload.tokens)
    assert len(sizes) > 1
    assert sizes == sorted(sizes, reverse=True)


def test_a_reply_joins_the_list_and_is_known_when_it_comes_back() -> None:
    """It is in the log at once, and nothing is appended again."""
    conversations = Conversations(Session(MemoryStore("s")), wire=form)
    messages = [said("user", "Hi.")]
    call = ListCall(conversations, "", messages, writer_of(form))
    call.compose(Budget(8_000))
    call.reply(said("assistant", "Hello."))
    size = len([*conversations.session_of("").items])
    again = ListCall(conversations, "", [*messages, said("assistant", "Hello.")], writer_of(form))
    assert again.compose(Budget(8_000)) == [*messages, said("assistant", "Hello.")]
    assert len([*conversations.session_of("").items]) == size == 2
