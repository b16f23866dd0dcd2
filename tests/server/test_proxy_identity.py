"""Which conversation a request belongs to: its list decides, however it comes, and nothing is logged twice."""

import json
import threading
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from through_proxy import LISTS, OWN, PATHS, TALKERS, Talk, Through, asked_names, calls, page, text_of, without_markers
from upstream import Asked
from upstream_script import Answer, answer, call, think

from sightline.follow.model_request import FORMATS, parse
from sightline.server.recent_requests import RecentRequests

WIRES = list(PATHS)
WINDOW = 3000


def reader(asked: Asked) -> Answer:
    """Reads files until our tools are there, and then says something."""
    said = asked.body[LISTS[asked.wire]]
    if not OWN & {*asked_names(asked)}:
        return answer(call("read", {"path": f"file{len(said)}"}))
    return answer(f"Answer {len(asked.raw)}.")


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_sent_again_is_answered_from_the_same_payload(wire: str, tmp_path: Path) -> None:
    """After an answer that was lost, and after a restart: the same bytes go up, and nothing is logged twice."""
    with Through(tmp_path, reader, window=WINDOW) as through:
        talk = Talk(through, wire)
        talk.say("Read them all.")
        talk.list.append({"role": "user", "content": "And now?"})
        for _ in range(2):
            assert through.post(wire, talk.body()).status_code == 200
        through.restart()
        assert through.post(wire, talk.body()).status_code == 200
        sent = [without_markers(body) for body in through.bodies[-3:]]
        assert sent[0] == sent[1] == sent[2]
        assert through.texts().count("And now?") == 1
        assert through.upstream.invalid == []
        assert len(through.names) == 1


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_a_restart_changes_nothing(wire: str, tmp_path: Path) -> None:
    """The requests of a conversation with a restart before each of them are those of one without."""
    lists = []
    for restarts in (False, True):
        folder = tmp_path / str(restarts)
        folder.mkdir()
        with Through(folder, reader, window=WINDOW) as through:
            talk = Talk(through, wire)
            for number in range(3):
                talk.say(f"Question {number}: what is there?")
                if restarts:
                    through.restart()
            assert through.upstream.invalid == []
            with through.session() as session:
                assert session.branches == [""]
            lists.append([same_ids(without_markers(body[LISTS[wire]])) for body in through.bodies])
    assert lists[0] == lists[1]


def same_ids(value: Any) -> str:
    """The JSON of messages with ids and texts of the upstream that differ from run to run made equal."""
    import re

    text = json.dumps(value)
    for at, found in enumerate(dict.fromkeys(re.findall(r"[a-z]+_[0-9a-f]{16,}", text))):
        text = text.replace(found, f"id{at}")
    text = re.sub(r"[\d,]+ tokens", "some tokens", text)  # such an id has a token more or less
    return re.sub(r"Answer \d+", "Answer", text)


@pytest.mark.parametrize("wire", TALKERS)
def test_an_edited_last_message_and_a_rewound_list_are_branches(wire: str, tmp_path: Path) -> None:
    """Each keeps what it shares, and no words of the other one."""
    with Through(tmp_path, reader, window=WINDOW) as through:
        talk = Talk(through, wire)
        talk.say("Read them all.")
        begun = deepcopy(talk.list)
        talk.say("The blue question?")
        talk.list = deepcopy(begun)
        talk.say("The green question?")
        assert "blue" not in str(through.bodies[-1])
        talk.list = deepcopy(begun[: len(begun) // 2 + (wire == "chat")])
        while talk.list[-1].get("role") == "assistant" or talk.list[-1].get("type") == "function_call":
            talk.list.pop()
        talk.list.append({"role": "user", "content": "The red question?"}) if wire != "anthropic" else None
        talk.ask()
        assert "green" not in str(through.bodies[-1])
        assert through.upstream.invalid == []
        assert len(through.names) == 1
        with through.session() as session:
            assert len(session.branches) == 3


@pytest.mark.parametrize("wire", WIRES)
def test_another_first_message_is_another_conversation(wire: str, tmp_path: Path) -> None:
    """Also under the same session id: sub-agents share it."""
    with Through(tmp_path, reader, window=WINDOW) as through:
        for words in ("Find the pump.", "Find the valve."):
            Talk(through, wire, **({"metadata": {"user_id": "one"}} if wire == "anthropic" else {})).say(words)
        assert len(through.names) == 2
        assert through.upstream.invalid == []


@pytest.mark.parametrize("wire", TALKERS)
def test_clients_that_begin_alike_do_not_hear_each_other(wire: str, tmp_path: Path) -> None:
    """The same request twice at once, with different answers: each goes on from its own."""
    gate = threading.Barrier(2, timeout=60)
    taken = iter(range(100))

    def script(asked: Asked) -> Answer:
        number = next(taken)
        return answer(call("read", {"path": f"mine{number}"})) if number < 2 else answer(f"Words {number}.")

    errors: list[BaseException] = []

    def talk_to(through: Through) -> None:
        try:
            talk = Talk(through, wire)
            talk.list.append({"role": "user", "content": "Begin."})
            gate.wait()
            first = talk.ask()
            gate.wait()
            talk.give(calls(wire, first))
            talk.ask()
            talk.say("Go on.")
            others = {"mine0", "mine1"} - {calls(wire, first)[0][2]["path"]}
            sent = [body for body in through.bodies if calls(wire, first)[0][0] in str(body)]
            assert len(sent) == 2
            assert not any(other in str(body) for other in others for body in sent)
        except BaseException as error:
            errors.append(error)

    with Through(tmp_path, script, window=100_000, sockets=True) as through:
        threads = [threading.Thread(target=talk_to, args=[through]) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert through.upstream.invalid == []
        for name in branches(through):
            texts = " ".join(through.texts(branch=name))
            assert ("mine0" in texts) + ("mine1" in texts) <= 1


def branches(through: Through) -> list[str]:
    """The names of the branches of the one session."""
    with through.session() as session:
        return session.branches


@pytest.mark.parametrize("wire", ["anthropic", "responses"])
def test_a_client_that_drops_thinking_and_blanks_goes_on(wire: str, tmp_path: Path) -> None:
    """Its answer is known by its words and calls, so the log keeps the thinking and no branch begins."""
    steps = iter([answer(think("Secret thoughts."), "Yes, \n well. ", call("read", {"path": "a"})), answer("Done.")])
    thinks = {"anthropic": {"thinking": {"type": "adaptive"}}, "responses": {"reasoning": {"effort": "low"}}}
    with Through(tmp_path, lambda _: next(steps)) as through:
        talk = Talk(through, wire, **thinks[wire])
        talk.list.append({"role": "user", "content": "Hello"})
        called = calls(wire, talk.ask())
        if wire == "anthropic":
            blocks = [each for each in talk.list[-1]["content"] if each["type"] != "thinking"]
            talk.list[-1]["content"] = [
                each | {"text": each["text"].strip()} if each["type"] == "text" else each for each in blocks
            ]
        else:
            talk.list = [each for each in talk.list if each.get("type") != "reasoning"]
        talk.give(called)
        through.post(wire, talk.body())
        with through.session() as session:
            assert session.branches == [""]
            assert len([item for item in session.items if "well" in str(item)]) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_a_list_that_comes_first_over_budget(wire: str, tmp_path: Path) -> None:
    """A long history of another day is made shorter at first sight, with calls that this server never saw."""
    with Through(tmp_path / "a", reader, window=None) as before:
        (tmp_path / "a").mkdir(exist_ok=True)
        talk = Talk(before, wire)
        talk.list.append({"role": "user", "content": "Read them all."})
        for _ in range(5):
            talk.give(calls(wire, talk.ask()))
    with Through(tmp_path, reader, window=WINDOW) as through:
        talk.through = through
        assert text_of(wire, talk.ask()).startswith("Answer")
        assert through.upstream.invalid == []
        assert page("file1", 3)[:10] in str(through.texts())


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_requests_of_a_system_prompt_alone_are_conversations_of_their_own(wire: str, tmp_path: Path) -> None:
    """Each by what it says: no request gets the answers to others, and one that comes again is a branch."""
    long = "The valve of the second pump opens at noon. " * 40
    with Through(tmp_path, lambda asked: answer(f"{len(asked.raw)} {long}"), window=3_000) as through:
        for number in (*range(8), 0):
            talk = Talk(through, wire)
            talk.list.append({"role": "system", "content": f"Write poem number {number}."})
            body = json.dumps(talk.body()).encode()
            assert through.post(wire, body).status_code == 200
            assert through.upstream.asked[-1].raw == body
        assert sorted(through.texts(name)[0] for name in through.names) == [
            f"Write poem number {number}." for number in range(8)
        ]
        assert {len(through.texts(name)) for name in through.names} == {2}


def test_a_system_prompt_alone_is_another_opening_than_one_with_an_answer() -> None:
    """So that a request has the same name whether it was compared with the last one or read anew."""
    format, recent = FORMATS["/v1/chat/completions"], RecentRequests()  # noqa: A001
    first = {"messages": [{"role": "system", "content": "Greet."}]}
    recent.keep(parse(format, json.dumps(first).encode(), {}), 9)
    first["messages"] += [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Hi."}]
    body = json.dumps(first).encode()
    matched, read = recent.match(format, body, {}), parse(format, body, {})
    assert (matched or read).name == read.name


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_the_same_run_again_is_one_branch(wire: str, tmp_path: Path) -> None:
    """Two runs that say the same from the first word to the last are a conversation of two branches."""
    with Through(tmp_path, same_run(wire)) as through:
        for _ in range(3):
            Talk(through, wire).say("Read everything.")
        assert len(through.names) == 1
        assert through.upstream.invalid == []
        with through.session() as session:
            assert len(session.branches) == 3
            counts = {branch: len(through.texts(branch=branch)) for branch in session.branches}
        assert len({*counts.values()}) == 1


def same_run(wire: str) -> Any:
    """Read five files, with the same ids in every run."""

    def respond(asked: Any) -> Any:
        read = str(asked.body[LISTS[wire]]).count("opens.\\n") // 60
        return answer(call("read", {"path": f"part_{read}.py"}, id=f"call_{read:020}")) if read < 5 else answer("Done.")

    return respond
