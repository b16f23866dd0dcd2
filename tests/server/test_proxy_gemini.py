"""Gemini's own protocol through the proxy: what the tests of all four formats do not say."""

import json
from pathlib import Path

import pytest
from far_network import far_proxy
from in_process import InProcess
from through_proxy import HEADERS, OWN, STREAMS, TOOLS, Talk, Through, asked_names, events_of, page
from upstream import Asked
from upstream_contents import parts_of
from upstream_script import Answer, answer, break_off, call, think, unended

from sightline.follow.model_request import GEMINI, parse
from sightline.session.session import Session

WINDOW = 6_000
LIST_PATH = STREAMS["gemini"].partition("?")[0]
SYSTEM = {"parts": [{"text": "You look after pumps."}]}


def reader(asked: Asked) -> Answer:
    """Two files at once, then one, then words."""
    last = asked.body["contents"][-1]["parts"]
    spoken = [part["text"] for part in last if "text" in part]
    if any("Question" in text for text in spoken):
        number = spoken[-1].split()[1].rstrip(":")
        return answer(
            think("Two."), "I look.", call("read", {"path": f"a{number}"}), call("read", {"path": f"b{number}"})
        )
    results = sum("functionResponse" in part for part in last)
    return answer(think("One."), call("read", {"path": f"c{len(asked.raw)}"})) if results == 2 else answer("All read.")


@pytest.mark.slow("whole-ids", "whole-no ids", "stream-ids")
@pytest.mark.parametrize("call_ids", [True, False], ids=["ids", "no ids"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_long_conversation_stays_valid(stream: bool, call_ids: bool, tmp_path: Path) -> None:
    """Order, pairs and signatures hold over several sweeps; before the first one every body is the client's own."""
    with Through(tmp_path, reader, window=WINDOW, call_ids=call_ids) as through:
        talk = Talk(through, "gemini", stream=stream, systemInstruction=SYSTEM)
        for number in range(8):
            assert talk.say(f"Question {number}: what is there?") == "All read."
        assert through.upstream.invalid == []
        assert through.totals.sweeps >= 2
        assert through.totals.unlogged == 0
        assert max(asked.bill.given for asked in through.upstream.calls if asked.bill) <= WINDOW
        assert all(asked.body["systemInstruction"] == SYSTEM for asked in through.upstream.calls)
        assert len(through.names) == 1
        with through.session() as session:
            assert (session.branches, session.open_calls) == ([""], [])
            assert session.settings.profile == "gemini"
            assert session.items.system() == "You look after pumps."
        swept = [bool(OWN & {*asked_names(asked)}) for asked in through.upstream.calls]
        assert swept == sorted(swept)
        own = json.dumps(talk.body()["contents"]).encode()
        assert all(json.dumps(asked.body["contents"]).encode()[:-1] in own for asked in through.upstream.calls[:2])
        texts = "\n".join(through.texts())
        assert all(f"{letter}{number} line 59" in texts for letter in "ab" for number in range(8))


def test_a_request_with_underscores_is_read_and_passes_byte_for_byte(tmp_path: Path) -> None:
    """As many examples for curl spell it, with the key in the address: the log has it all the same."""
    body = b"""{ "system_instruction": {"parts": {"text": "Be brief."}},
      "contents" : [ {"role":"user","parts":[{"text":"Gr\\u00fc\\u00dfe"}]} ],
      "generation_config": {"max_output_tokens": 77} }"""
    reply = {"candidates": [{"content": {"parts": [{"text": "Ja."}]}, "finishReason": "STOP"}]}
    with far_proxy(tmp_path, reply) as (proxy, network):
        path = "/v1beta/models/gemini-3-pro:generateContent?key=AIza-x"
        response = proxy.request("POST", path, {"content-type": "application/json"}, body)
        assert response.json() == reply
        assert [request.content for request in network.sent] == [body]
    [log] = (tmp_path / "logs").rglob("proxy-*.jsonl")
    with Session.inspect(log.stem, tmp_path, root=tmp_path / "logs") as session:
        assert {"Grüße", "Ja."} <= {session.items.text(item.id) for item in session.items}
        assert session.items.system() == "Be brief."
    request = parse(GEMINI, body, {})
    assert (request.output, request.takes_tools, request.opening_text) == (77, False, "Grüße")


def test_a_list_of_chunks_is_a_reply(tmp_path: Path) -> None:
    """Without `alt=sse` a stream is one list: the client gets its bytes, the log one answer, and our tools work."""
    then = [answer("First. ", call("recall", {"query": "valve"})), answer("Then this, in words.")]

    def script(asked: Asked) -> Answer:
        is_ours = bool(OWN & {*asked_names(asked)})
        return then.pop(0) if is_ours and then else answer(f"Words of {len(asked.raw)} bytes.")

    with Through(tmp_path, script, window=WINDOW) as through:
        talk = Talk(through, "gemini")
        talk.list.append({"role": "user", "content": "Hello"})
        response = through.post("gemini", talk.body(), path=LIST_PATH)
        chunks = response.json()
        assert len(chunks) > 1
        said = "".join(part["text"] for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"])
        assert said.startswith("Words of")
        assert through.texts() == ["Hello", said]
        talk.list += [{"role": "model", "parts": [{"text": said}]}]
        while then:
            talk.list.append({"role": "user", "content": page(f"file{len(talk.list)}", 100)})
            chunks = through.post("gemini", talk.body(), path=LIST_PATH).json()
            parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
            talk.list.append({"role": "model", "parts": [part for part in parts if part.get("text")]})
        assert "".join(part.get("text", "") for part in parts) == "First. Then this, in words."
        assert "functionCall" not in str(parts)
        assert through.upstream.invalid == []


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_one_that_is_too_long_is_made_shorter_and_sent_again(stream: bool, tmp_path: Path) -> None:
    """The limit in Google's words is learned, and the client notices nothing."""
    with Through(tmp_path, lambda _: answer("Yes."), window=None) as through:
        through.upstream._window = 5_000
        talk = Talk(through, "gemini", stream=stream)
        for number in range(12):
            assert talk.say(f"{number} " + "the valve opens at noon. " * 100) == "Yes."
        refused = [asked for asked in through.upstream.asked if asked.overflow]
        assert 1 <= len(refused) <= 3
        assert len(through.upstream.invalid) == len(refused)
        assert through.totals.failed == 0


def test_calls_that_nothing_tells_apart_pass_as_they_came(tmp_path: Path) -> None:
    """A streamed chat of Google's SDK gives each chunk back as a content: two calls of a function without ids pair only
    by where they stand. Such a request is sent whole, and nothing of it is logged.
    """
    with Through(tmp_path, lambda _: answer("Yes."), window=WINDOW, call_ids=False) as through:
        talk = Talk(through, "gemini")
        signed = parts_of(answer(call("read", {"path": "a"})), with_ids=False)
        calls = [signed[0], {"functionCall": {"name": "read", "args": {"path": "b"}}}]
        talk.list = [{"role": "user", "content": "Read both."}, *({"role": "model", "parts": [one]} for one in calls)]
        talk.give([("|read", "read", {"path": path}) for path in ("a" * 400, "b" * 400)])
        assert len(json.dumps(talk.body())) > 4 * WINDOW
        talk.ask()
        assert through.upstream.invalid == []
        assert [asked.body["contents"] for asked in through.upstream.calls] == [talk.body()["contents"][:-1]]
        assert through.names == []


def test_tokens_are_counted_by_the_provider_and_nothing_is_logged(tmp_path: Path) -> None:
    """`countTokens` passes as it is."""
    with Through(tmp_path, []) as through:
        talk = Talk(through, "gemini")
        talk.list.append({"role": "user", "content": "Hello"})
        counted = through.post("gemini", talk.body(), path="/gemini/v1beta/models/gemini-3-pro:countTokens")
        assert counted.json()["totalTokens"] > 0
        assert through.names == []


def test_a_cache_of_the_client_stays_in_its_requests(tmp_path: Path) -> None:
    """Such a request may have no tools, so none of ours join; its contents are made shorter all the same."""
    with Through(tmp_path, lambda _: answer("Yes."), window=WINDOW) as through:
        talk = Talk(through, "gemini", cachedContent="cachedContents/x")
        del talk.fields["tools"]
        for number in range(8):
            assert talk.say(f"Part {number}: " + "all valves open at noon. " * 200) == "Yes."
        assert through.upstream.invalid == []
        assert through.totals.sweeps >= 1
        assert {asked.body["cachedContent"] for asked in through.upstream.calls} == {"cachedContents/x"}
        assert not any("tools" in body for body in through.bodies)


def test_tools_that_the_provider_runs_are_not_mixed_with_ours(tmp_path: Path) -> None:
    """Its models refuse both at once."""
    with Through(tmp_path, lambda _: answer("Yes."), window=WINDOW) as through:
        talk = Talk(through, "gemini", tools=[{"googleSearch": {}}])
        for number in range(8):
            assert talk.say(f"Part {number}: " + "all valves open at noon. " * 200) == "Yes."
        assert through.upstream.invalid == []
        assert {json.dumps(body["tools"]) for body in through.bodies} == {'[{"googleSearch": {}}]'}


@pytest.mark.parametrize("broken", ["unended", "error"])
def test_a_stream_that_stops_is_logged_as_stopped(broken: str, tmp_path: Path) -> None:
    """The client has seen it; the log says that it did not end."""
    step = answer("The valve opens at noon, and closes in the evening.")
    told = {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}
    step = unended(step, 3) if broken == "unended" else break_off(step, 3, told)
    with Through(tmp_path, [step, answer("Now.")]) as through:
        talk = Talk(through, "gemini", stream=True)
        talk.list.append({"role": "user", "content": "Hello"})
        seen = events_of(through.post("gemini", talk.body()).content)
        assert ("error" in seen[-1]) == (broken == "error")
        text = "".join(part["text"] for event in seen[:3] for part in event["candidates"][0]["content"]["parts"])
        assert through.texts()[1].startswith(text.strip()[:10])
        with through.session() as session:
            assert session.items[[item.id for item in session.items][-1]].id
        assert talk.ask()["candidates"][0]["finishReason"] == "STOP"


def test_an_error_of_ours_has_googles_shape(tmp_path: Path) -> None:
    """Its clients read nothing else."""
    with Through(tmp_path, []) as through:
        assert isinstance(through.server, InProcess)
        path = "/gemini/v1beta1/projects/p/locations/l/publishers/google/models/x:generateContent"
        response = through.server.request("POST", path, HEADERS["gemini"], b"{}")
        assert response.status_code == 400
        error = response.json()["error"]
        assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
        assert "GEMINI_API_KEY" in error["message"]


def test_our_tools_join_the_agents_list_of_functions(tmp_path: Path) -> None:
    """At the first sweep, in one list, and stay."""
    with Through(tmp_path, reader, window=WINDOW) as through:
        talk = Talk(through, "gemini")
        for number in range(5):
            talk.say(f"Question {number}: what is there?")
        tools = through.bodies[-1]["tools"]
        assert len(tools) == 1
        assert tools[0]["functionDeclarations"][0] == TOOLS["gemini"]["functionDeclarations"][0]
        assert asked_names(through.upstream.calls[-1]) == ["read", "expand", "recall", "look"]
