"""Conversations that go on without their beginning: the agent has summarised it, or the provider keeps it."""

import shutil
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from agent_recordings import COMPACTED, load, replay
from place import open_place
from through_proxy import LISTS, Talk, Through, asked_names, page, said, text_of
from upstream import Upstream
from upstream_script import Raw, answer, call

from sightline.follow.conversations import ConversationNames
from sightline.log.stores import Written
from sightline.log.stores.session_folder import Folder
from sightline.session.session import Session
from sightline.values.items import Kind

WIRES = ("anthropic", "chat", "responses")
SUMMARY = "Four files were read. The valves of b are still to be opened, one after the other."


class Agent(Talk):
    """An agent that names its session, and can replace its history by a summary."""

    sessions: tuple[str, ...] = ()  # in which the proxy has its requests

    def ask(self, **changed: Any) -> dict[str, Any]:
        """See `Talk.ask`."""
        response = self.through.post(self.wire, self.body(**changed), **{"x-session-id": "one session of an agent"})
        assert response.status_code == 200, response.text
        if name := response.headers.get("x-sightline-session"):  # else it goes up before that is known
            self.sessions += (name,)
        self.list += said(self.wire, response.json())
        return dict(response.json())

    def compact(self) -> None:
        """Ask for a summary, and begin anew with it, as coding agents do."""
        summary = self.say("Write a summary.").removeprefix("<summary>").removesuffix("</summary>")
        self.list = [{"role": "user", "content": f"This goes on from an earlier talk:\n\n{summary}\n\nGo on."}]


def script(wire: str) -> Any:
    """Reads a file, gives a summary when asked, and answers."""

    def respond(asked: Any) -> Any:
        last = str(asked.body[LISTS[wire]][-1])
        if "Write a summary" in last:
            return answer(f"<summary>{SUMMARY} {len(asked.raw)}</summary>")
        return answer(call("read", {"path": last[-20:]})) if "Read" in last else answer("Done.")

    return respond


def after_compaction(session: Session) -> list[str]:
    """The texts after the newest summary."""
    items = [(item.kind, session.items.text(item.id)) for item in session.items]
    newest = max(at for at, (kind, _) in enumerate(items) if kind is Kind.SUMMARY)
    return [text for _, text in items[newest + 1 :]]


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_the_agents_own_compaction_is_kept_as_one(wire: str, restart: bool, tmp_path: Path) -> None:
    """The history after it is a branch of the same session, in which a summary covers what was before."""
    with Through(tmp_path, script(wire)) as through:
        agent = Agent(through, wire)
        agent.say("Read the files.")
        for _ in range(2):
            agent.compact()
            before = agent.list[0]["content"]
            for words in ("", "More"):
                if restart:
                    through.restart()
                assert (agent.say(words) if words else text_of(wire, agent.ask())) == "Done."
            with through.session() as session:
                assert after_compaction(session) == [before, "Done.", "More", "Done."]
        assert through.upstream.invalid == []
        assert {*agent.sessions} == {*through.names}
        assert len(through.names) == 1
        with through.session() as session:
            assert len([*session.summaries]) == 2


def with_system(agent: Agent, text: str) -> dict[str, Any]:
    """A body with this system prompt in place of the agent's."""
    body = agent.body()
    field = {"anthropic": "system", "responses": "instructions"}.get(agent.wire)
    return body | ({field: text} if field else {"messages": [{"role": "system", "content": text}, *agent.list]})


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("program", ["opencode", "Qwen Code", "pi", "pi, whose question names no session"])
@pytest.mark.parametrize("wire", WIRES)
def test_the_compactions_of_other_agents_are_kept_as_theirs(
    wire: str, program: str, is_named: bool, tmp_path: Path
) -> None:
    """opencode asks under another system prompt and shows the summary as an answer; Qwen Code asks so, and begins its
    next list with it; pi asks in another conversation.

    All go on in the session that they had, and a summary covers what was before. Also if they name no session.
    """
    headers = {"x-session-id": "one session of an agent"} if is_named else {}
    own, other = "You are a careful programmer of pumps. " * 9, "You summarise what a programmer did. " * 9
    with Through(tmp_path, script(wire)) as through:
        agent = Agent(through, wire)
        agent.list.append({"role": "user", "content": "Look at the pumps."})
        for number in range(3):
            assert through.post(wire, with_system(agent, own), **headers).status_code == 200
            agent.list += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": f"More {number}"}]
        [name] = through.names
        history, words = agent.list, "Write a summary of what we did."
        agent.list = [*history, {"role": "user", "content": words}]
        if program.startswith("pi"):
            agent.list = [{"role": "user", "content": f"<conversation>{history}</conversation> {words}"}]
        asks = with_system(agent, other)
        if "names no" in program:
            asks.pop("tools", None)
        reply = through.post(wire, asks, **({} if "names no" in program else headers)).json()
        summary = text_of(wire, reply).removeprefix("<summary>").removesuffix("</summary>")
        around = "What was before was compacted. Take it as it is, and go on with what is left to do. " * 5
        agent.list = [{"role": "user", "content": f"{around}<summary>{summary}</summary>"}]
        if program == "opencode":
            agent.list = [
                {"role": "user", "content": "What did we do so far?"},
                {"role": "assistant", "content": summary},
            ]
            agent.list.append({"role": "user", "content": "Go on."})
        for _ in range(2):
            answered = through.post(wire, with_system(agent, own), **headers)
            assert answered.status_code == 200
            agent.list += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "And more."}]
        other_talk = [{"role": "user", "content": text} for text in ("Look at the pumps of b.", "Now.")]
        agent.list = other_talk  # says nothing of the summary
        assert through.post(wire, with_system(agent, own), **headers).status_code == 200
        assert name in through.names
        assert len(through.names) == (3 if program.startswith("pi") else 2)
        with through.session(name) as session:
            assert len([*session.summaries]) == 1
            assert after_compaction(session)[-1] == "Done."
            assert any(SUMMARY in text for text in after_compaction(session))


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_a_summary_that_was_asked_for_apart_and_is_shown_as_an_answer(wire: str, restart: bool, tmp_path: Path) -> None:
    """As opencode 1.18 does, twice: each list begins with the same question. All is one session, nothing is lost."""
    headers = {"x-session-id": "one session of an agent"}
    own, other = "You are a careful programmer of pumps. " * 9, "You summarise what a programmer did. " * 9
    with Through(tmp_path, script(wire)) as through:
        agent = Agent(through, wire)
        agent.list.append({"role": "user", "content": "Look at the pumps."})

        def ask(words: str) -> None:
            if restart:
                through.restart()
            assert through.post(wire, with_system(agent, own), **headers).status_code == 200
            agent.list += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": words}]

        ask("More of it")
        [name] = through.names
        for number in range(2):
            ask(f"More {number}")
            history = agent.list
            agent.list = [{"role": "user", "content": f"<conversation>{history}</conversation> Write a summary."}]
            asks = with_system(agent, other)
            asks.pop("tools", None)
            reply = through.post(wire, asks, **headers).json()
            summary = text_of(wire, reply).removeprefix("<summary>").removesuffix("</summary>")
            shown = {"role": "assistant", "content": f"<summary>{summary}</summary>"}
            agent.list = [{"role": "user", "content": "What did we do so far?"}, shown, *history[-1:]]
            ask(f"After {number}")
            with through.session(name) as session:
                assert len([*session.summaries]) == number + 1
                assert after_compaction(session)[0] == "What did we do so far?"
                assert summary in after_compaction(session)[1]
                assert after_compaction(session)[2:] == [f"More {number}", "Done."]
        assert len(through.names) == 3
        assert through.upstream.invalid == []


def test_a_compaction_that_only_the_provider_can_read_is_kept_as_one(tmp_path: Path) -> None:
    """As Codex has it done by OpenAI, twice: the next list begins with the sealed block, all in one session."""

    def respond(asked: Any) -> Any:
        if asked.body["input"][-1]["type"] != "compaction_trigger":
            return answer("Done.")
        return answer(Raw({"type": "compaction", "id": "cmp_1", "encrypted_content": f"sealed {len(asked.raw)}"}))

    def begin(number: int) -> list[Any]:
        told = {"internal_chat_message_metadata_passthrough": {"turn_id": f"turn {number}"}}
        content = [{"type": "input_text", "text": "Look at the pumps."}]
        return [{"type": "message", "role": "user", "content": content, **told}]

    headers = {"session-id": "one session of an agent"}
    with Through(tmp_path, respond) as through:
        agent = Agent(through, "responses")
        agent.list = begin(0)
        for number in range(3):
            agent.list += said("responses", through.post("responses", agent.body(), **headers).json())
            agent.list.append({"type": "message", "role": "user", "content": f"More {number}"})
            agent.list += said("responses", through.post("responses", agent.body(), **headers).json())
            with through.session() as session:
                assert len([*session.summaries]) == number
                assert session.items.text([*session.items][-2].id) == f"More {number}"
            agent.list.append({"type": "compaction_trigger"})
            sealed = said("responses", through.post("responses", agent.body(), **headers).json())
            agent.list = [*begin(number + 1), *sealed]
        assert len(through.names) == 1
        assert through.upstream.invalid == []


def test_a_list_that_begins_with_the_providers_compaction_goes_on(tmp_path: Path) -> None:
    """The provider has put it before its answer, and the client leaves out what was before."""
    block = Raw({"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"})
    with Through(tmp_path, [answer("One."), answer(block, "Two."), answer("Three.")]) as through:
        agent = Agent(through, "responses")
        agent.say("First.")
        before = len(agent.list)
        agent.say("Second.")
        agent.list = agent.list[before + 1 :]
        assert agent.say("Third.") == "Three."
        assert len(through.names) == 1
        with through.session() as session:
            assert len([*session.summaries]) == 1
        assert through.upstream.invalid == []


@pytest.mark.parametrize("wire", ["anthropic", "responses"])
def test_what_the_provider_has_compacted_is_never_left_out(wire: str, tmp_path: Path) -> None:
    """However often the history after it is shortened: nobody else knows what was before. Of two the newest stays."""
    kept = {
        "anthropic": {"role": "assistant", "content": [{"type": "compaction", "content": "Sealed."}]},
        "responses": {"type": "compaction", "id": "cmp_1", "encrypted_content": "Sealed."},
    }[wire]
    script = [answer(call("read", {"path": str(number)})) for number in range(14)] + [answer("Done.")]
    with Through(tmp_path, script, window=9000) as through:
        agent = Agent(through, wire, read=lambda path: page(path, 80))
        agent.list = [{"role": "user", "content": "Look at the pumps."}, kept]
        assert agent.say("Go on.") == "Done."
        calls = through.upstream.calls
        assert len(calls) == 15
        assert all("Sealed." in call.raw.decode() for call in calls)
        assert len([call for call in calls if "expand" in asked_names(call)]) > 4
        assert through.upstream.invalid == []


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_what_was_before_the_agents_compaction_can_be_brought_back(wire: str, tmp_path: Path) -> None:
    """In a conversation that was shortened before, our tools stay, and the new history is sent in full."""
    with Through(tmp_path, script(wire), window=12_000) as through:
        agent = Agent(through, wire, read=lambda path: page(path, 150))
        for number in range(3):
            agent.say(f"Read file {number}.")
        agent.compact()
        agent.ask()
        last = through.upstream.calls[-1]
        assert agent.list[0]["content"] in str(last.body[LISTS[wire]][-1]).replace("\\n", "\n")
        assert {"expand", "recall"} <= {*asked_names(last)}
        assert len(last.raw) < 9000  # what was read before is 20 times as long
        assert through.upstream.invalid == []
        with through.session() as session:
            assert session.items.tokens() > 5 * session.items.tokens(session.items.table()[-3].id)


@pytest.mark.parametrize("wire", WIRES)
def test_side_requests_of_one_session_are_conversations_of_their_own(wire: str, tmp_path: Path) -> None:
    """A title, or a sub-agent, has the session's id, and says nothing of a summary."""
    with Through(tmp_path, script(wire)) as through:
        agent = Agent(through, wire)
        agent.say("Read the files.")
        agent.compact()
        title = Agent(through, wire)
        title.fields.pop("tools")
        title.say(f"Make a title of: {SUMMARY}")
        Agent(through, wire).say("You are a sub-agent.")
        assert len(through.names) == 3


@pytest.mark.slow
def test_claude_codes_compaction_is_kept_as_one(tmp_path: Path) -> None:
    """Its recorded requests are one session: the ones after its summary are a branch."""
    steps = load(COMPACTED)
    with (
        Upstream(replay(COMPACTED)) as upstream,
        open_place("proxied", upstream, tmp_path) as url,
        httpx2.Client(base_url=url, timeout=60) as client,
    ):
        told = []
        for step in steps:
            response = client.post(step.path, content=step.raw, headers={**step.headers, "x-api-key": "any"})
            told.append(response.headers.get("x-sightline-session"))
    assert len({*told} - {None}) == 1
    assert told.count(None) <= 2  # the first one, and the first after the summary


# ------------------------------------------------------------------ kept by the provider


def post(through: Through, listed: Any, **fields: Any) -> Any:
    body = {"model": "gpt-5.2", "input": listed, "store": True} | fields
    response = through.post("responses", body)
    assert response.status_code == 200, response.text
    return response.json()


def test_what_the_provider_keeps_is_logged_where_it_goes_on(tmp_path: Path) -> None:
    """Requests with the id of an earlier response pass as they are, and are in the session of that response."""
    with Through(tmp_path, lambda asked: answer(f"Answer to {asked.body['input']}.")) as through:
        first = post(through, "One")
        second = post(through, "Two", previous_response_id=first["id"])
        post(through, "Three", previous_response_id=second["id"])
        post(through, "Another two", previous_response_id=first["id"])
        assert [asked.body["input"] for asked in through.upstream.calls] == ["One", "Two", "Three", "Another two"]
        assert len(through.names) == 1
        with through.session() as session:
            assert len(session.branches) == 2
        assert through.texts(branch="")[::2] == ["One", "Two", "Three"]
        assert through.texts()[::2] == ["One", "Another two"]


def test_what_the_provider_keeps_is_logged_after_a_restart(tmp_path: Path) -> None:
    """The response is found in the logs by its id. One that is nowhere begins a session, and nothing is lost."""
    with Through(tmp_path, lambda asked: answer(f"Answer to {asked.body['input']}.")) as through:
        first = post(through, "One")
        through.restart()
        second = post(through, "Two", previous_response_id=first["id"])
        post(through, "Three", previous_response_id=second["id"])
        assert [through.texts(name)[::2] for name in through.names] == [["One", "Two", "Three"]]
        shutil.rmtree(tmp_path / "logs")
        through.restart()
        post(through, "Four", previous_response_id=second["id"])
        assert [through.texts(name)[::2] for name in through.names] == [["Four"]]


def test_logs_are_searched_for_one_request_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ask for what the provider keeps, one thread is busy with it, and each finds its session."""
    search, running, two = Folder.containing, list[int](), threading.Event()

    def searched(*given: Any) -> str:
        running.append(1)
        if len(running) > 1:
            two.set()
        two.wait(0.1)
        found = search(*given)
        running.pop()
        return found

    with Through(tmp_path, lambda asked: answer(f"Answer to {asked.body['input']}."), sockets=True) as through:
        kept = [post(through, f"One of {at}")["id"] for at in range(3)]
        through.restart()
        monkeypatch.setattr(Folder, "containing", searched)
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda each: post(through, f"Two of {each}", previous_response_id=each), kept))
        assert len(through.names) == 3
    assert not two.is_set()


def test_only_so_many_bytes_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all logs together, those that were written to last first; one that is too long is left out."""
    monkeypatch.setattr("sightline.follow.conversations._MOST_BYTES", 100)

    class Logs:
        asked: Sequence[str] = ()

        def written(self, _prefix: str) -> list[Written]:
            return [Written(name, size, 0.0) for name, size in (("a", 60), ("b", 50), ("c", 40), ("d", 1))]

        def containing(self, session_ids: Sequence[str], _text: bytes) -> str:
            self.asked = session_ids
            return ""

    logs: Any = Logs()
    assert ConversationNames(logs, {})._find_replied("resp_1", "openai") == ""
    assert logs.asked == ["a", "c"]


def test_a_conversation_of_the_provider_is_one_session(tmp_path: Path) -> None:
    """All requests with the id of a conversation belong together, also after a restart."""
    sent: list[Any] = []

    def respond(asked: Any) -> Any:
        sent.append(asked.body["input"])
        return answer(f"Answer {len(sent)}.")

    with Through(tmp_path, respond) as through:
        for number, told in enumerate(["conv_1", {"id": "conv_1"}, "conv_1"]):
            response = through.post("responses", {"model": "gpt-5.2", "input": f"Say {number}", "conversation": told})
            if response.status_code != 200:  # the scripted upstream may know no conversations
                pytest.fail(response.text)
            through.restart()
        assert through.texts() == ["Say 0", "Answer 1.", "Say 1", "Answer 2.", "Say 2", "Answer 3."]
