"""Over budget the model may call our tools. The client sees one answer, and none of these calls."""

from pathlib import Path
from typing import Any

import pytest
from through_proxy import LISTS, OWN, PATHS, TOOLS, Talk, Through, asked_names, calls, events_of, text_of
from upstream import Asked
from upstream_script import Answer, answer, call, think

from sightline.follow.answer import EventReader, filter_of
from sightline.follow.turns import ROUNDS

WIRES = list(PATHS)
WINDOW = 3000
LARGER = 3200  # the words before a call are still shown
SHAPES = [pytest.param(wire, stream, id=f"{wire}-{'stream' if stream else 'whole'}")
          for wire in WIRES for stream in (False, True)]  # fmt: skip


class Script:
    """Reads files until our tools are there. Then come these answers, and then "Done."."""

    def __init__(self, *then: Answer) -> None:
        self.then, self.files = list(then), 0

    def __call__(self, asked: Asked) -> Answer:
        """The next step."""
        if not OWN & {*asked_names(asked)}:
            self.files += 1
            return answer(call("read", {"path": f"file{self.files}"}))
        return self.then.pop(0) if self.then else answer("Done.")


def make(through: Through, wire: str, stream: bool, **fields: Any) -> Talk:
    """A conversation whose client can read the stream of the upstream."""
    options = {"stream_options": {"include_usage": True}} if wire == "chat" and stream else {}
    return Talk(through, wire, stream=stream, **options, **fields)


def check(through: Through, talk: Talk) -> None:
    """No request was invalid, and the client has seen none of our tools."""
    assert through.upstream.invalid == []
    seen = str(talk.list)
    assert "'name': 'expand'" not in seen
    assert "'name': 'recall'" not in seen


def test_fields_of_a_message_stay_with_it_over_budget(tmp_path: Path) -> None:
    """Claude Code has an `output_config` in its messages: those that are sent whole have it, also after a sweep."""
    with Through(tmp_path, Script(), window=WINDOW) as through:
        talk = make(through, "anthropic", False)
        own = {"output_config": {"effort": "high"}}
        talk.list.append({"role": "user", "content": [{"type": "text", "text": "Read them all."}]} | own)
        while called := calls("anthropic", talk.ask()):
            talk.give(called)
            talk.list[-1] |= own
        check(through, talk)
        assert OWN & {*asked_names(through.upstream.asked[-1])}
        sent = through.bodies[-1]["messages"]
        results = [each for each in sent if "tool_result" in str(each)]
        shortened = [each for each in results if "line 58" not in str(each)]
        assert len(results) - len(shortened) > 1
        assert all(("output_config" in each) is (each not in shortened) for each in results)


def test_a_system_message_in_the_list_keeps_its_role_over_budget(tmp_path: Path) -> None:
    """The newest Claude Code tells its environment there, and how hard to think: also after a sweep."""
    with Through(tmp_path, Script(), window=WINDOW) as through:
        talk = make(through, "anthropic", False)
        talk.fields |= {"model": "claude-opus-5-5"}
        talk.list.append({"role": "user", "content": "Read them all."})
        said = {"role": "system", "content": [{"type": "text", "text": "The tools are those of this machine."}]}
        talk.list.append(said | {"output_config": {"effort": "medium"}})
        while called := calls("anthropic", talk.ask()):
            talk.give(called)
        check(through, talk)
        assert OWN & {*asked_names(through.upstream.asked[-1])}
        for body in through.bodies:
            assert [each for each in body["messages"] if each["role"] == "system"] == [talk.list[1]]


@pytest.mark.parametrize(("wire", "stream"), SHAPES)
def test_the_model_reads_again_and_the_client_does_not_notice(wire: str, stream: bool, tmp_path: Path) -> None:
    """Words before and after the calls are one answer; the client's next request goes on from it."""
    script = Script(
        answer("First. ", call("recall", {"query": "valve"})),
        answer(call("expand", {"id": "#2"}), call("recall", {"query": "file1"})),
        answer("Then this."),
    )
    with Through(tmp_path, script, window=LARGER) as through:
        talk = make(through, wire, stream)
        assert talk.say("Read them all.") == "First. Then this."
        assert talk.say("And now?") == "Done."
        check(through, talk)
        last = through.bodies[-1]
        assert str(last[LISTS[wire]]).count("First. ") == 1
        with through.session() as session:
            texts = [session.items.text(item.id) for item in session.items]
            assert session.branches == [""]
        assert len([text for text in texts if "Then this." in text]) == 1


def test_half_a_character_after_a_call_of_ours_comes_as_it_was() -> None:
    """Such an event is written anew, with another id; the client may get the other half in the next one."""
    chunk = b'data: {"id":"%b","choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n'
    shown = filter_of("openai", {"recall"})
    for raw, value in EventReader().feed(chunk % (b"first", b"One.")):
        shown.show(value, raw)
    shown.begin_next(frozenset())
    [(raw, value)] = EventReader().feed(chunk % (b"second", rb"\ud83d"))
    [event] = events_of(shown.show(value, raw))
    assert (event["id"], event["choices"][0]["delta"]["content"]) == ("first", "\ud83d")


@pytest.mark.parametrize(("wire", "stream"), SHAPES)
def test_a_call_of_the_client_after_ours(wire: str, stream: bool, tmp_path: Path) -> None:
    """The client carries out its own call, with the place that it has in the answer it sees."""
    script = Script(
        answer("One. ", call("expand", {"id": "#2"})),
        answer("Two.", call("recall", {"query": "valve"})),
        answer(call("read", {"path": "own1"}), call("read", {"path": "own2"})),
    )
    with Through(tmp_path, script, window=WINDOW) as through:
        talk = make(through, wire, stream)
        assert talk.say("Read them all.") == "Done."
        check(through, talk)
        assert "own2 line" in str(through.bodies[-1])
        with through.session() as session:
            assert session.branches == [""]


@pytest.mark.parametrize(("wire", "stream"), SHAPES)
def test_a_mixed_answer(wire: str, stream: bool, tmp_path: Path) -> None:
    """The client sees only its own calls. Ours come back with their results, each beside its call."""
    script = Script(
        answer(
            "Both.", call("recall", {"query": "valve"}, id="ours1"), call("read", {"path": "own1"}),
            call("expand", {"id": "#2"}, id="ours2"), call("read", {"path": "own2"}),
        ),
    )  # fmt: skip
    with Through(tmp_path, script, window=WINDOW) as through:
        talk = make(through, wire, stream)
        talk.list.append({"role": "user", "content": "Read them all."})
        while True:
            reply = talk.ask()
            if len(called := calls(wire, reply)) != 1:
                break
            talk.give(called)
        assert [name for _, name, _ in called] == ["read", "read"]
        assert text_of(wire, reply) == "Both."
        talk.give(called)
        assert text_of(wire, talk.ask()) == "Done."
        check(through, talk)
        last = str(through.bodies[-1])
        assert "ours1" in last
        assert "ours2" in last
        assert "own2 line" in last
        with through.session() as session:
            assert session.branches == [""]
            assert session.open_calls == []


NO_CALLS = ("none", {"type": "none"}, {"functionCallingConfig": {"mode": "NONE"}})


@pytest.mark.slow("chat-whole")
@pytest.mark.parametrize(("wire", "stream"), SHAPES)
def test_the_rounds_have_an_end(wire: str, stream: bool, tmp_path: Path) -> None:
    """A model that never stops calling our tools is told to answer at the last round."""

    def script(asked: Asked) -> Answer:
        if not OWN & {*asked_names(asked)}:
            return answer(call("read", {"path": f"file{len(asked.body[LISTS[wire]])}"}))
        choice = asked.body.get("tool_choice") or asked.body.get("toolConfig")
        return answer("Enough.") if choice in NO_CALLS else answer(call("recall", {"query": "valve"}))

    with Through(tmp_path, script, window=WINDOW) as through:
        talk = make(through, wire, stream)
        assert talk.say("Read them all.") == "Enough."
        check(through, talk)
        swept = [asked for asked in through.upstream.calls if OWN & {*asked_names(asked)}]
        assert len(swept) == ROUNDS


@pytest.mark.parametrize(("wire", "stream"), SHAPES)
def test_the_answer_is_well_formed(wire: str, stream: bool, tmp_path: Path) -> None:
    """One id, one start, one end, places in a row, the right reason, and the tokens of all answers."""
    script = Script(
        answer("One.", call("expand", {"id": "#2"})),
        answer("Two.", call("recall", {"query": "a"}), call("read", {"path": "own1"})),
    )
    with Through(tmp_path, script, window=WINDOW) as through:
        talk = make(through, wire, stream)
        talk.list.append({"role": "user", "content": "Read them all."})
        while not text_of(wire, reply := talk.ask()):
            talk.give(calls(wire, reply))
        first, second = (asked.bill for asked in through.upstream.calls[-2:])
        assert first is not None
        assert second is not None
        usage = reply["usageMetadata" if wire == "gemini" else "usage"]
        made = usage[{"chat": "completion_tokens", "gemini": "candidatesTokenCount"}.get(wire, "output_tokens")]
        assert made == first.made + second.made
        assert len(calls(wire, reply)) == 1
        match wire:
            case "anthropic":
                assert (reply["stop_reason"], len(reply["content"])) == ("tool_use", 3)
            case "chat":
                assert (reply["choices"][0]["finish_reason"], reply["choices"][0]["message"]["role"]) == (
                    "tool_calls", "assistant",
                )  # fmt: skip
                assert usage["total_tokens"] == usage["prompt_tokens"] + made
            case "gemini":
                assert reply["candidates"][0]["finishReason"] == "STOP"
                assert usage["totalTokenCount"] == usage["promptTokenCount"] + made
            case _:
                assert (reply["status"], len(reply["output"])) == ("completed", 3)
                assert usage["total_tokens"] == usage["input_tokens"] + made
        check(through, talk)


@pytest.mark.parametrize("wire", WIRES)
def test_the_events_are_in_order(wire: str, tmp_path: Path) -> None:
    """What an SDK does not check: numbers, places and ids over all rounds."""
    script = Script(
        answer(think("Hm."), "One.", call("expand", {"id": "#2"})), answer("Two.", call("read", {"path": "own1"}))
    )
    with Through(tmp_path, script, window=WINDOW) as through:
        thinks = {"anthropic": {"thinking": {"type": "adaptive"}}, "responses": {"reasoning": {"effort": "low"}}}
        talk = make(through, wire, True, **thinks.get(wire, {}))
        talk.list.append({"role": "user", "content": "Read them all."})
        while not text_of(wire, reply := talk.ask()):
            talk.give(calls(wire, reply))
        script.then = [answer("A.", call("expand", {"id": "#2"})), answer("B.")]
        talk.give(calls(wire, reply))
        events = events_of(through.post(wire, talk.body()).content)
        kinds = [event.get("type") for event in events]
        match wire:
            case "anthropic":
                assert [kinds.count(each) for each in ("message_start", "message_delta", "message_stop")] == [1, 1, 1]
                assert [each["index"] for each in events if each["type"] == "content_block_start"] == [0, 1]
                assert [each["index"] for each in events if each["type"] == "content_block_stop"] == [0, 1]
            case "chat":
                assert len({each["id"] for each in events}) == 1
                deltas = [each["choices"][0]["delta"] for each in events if each["choices"]]
                assert sum("role" in each for each in deltas) == 1
                reasons = [each["choices"][0].get("finish_reason") for each in events if each["choices"]]
                assert [each for each in reasons if each] == ["stop"]
            case "gemini":
                reasons = [each["candidates"][0].get("finishReason") for each in events]
                assert reasons[-1] == "STOP"
                assert not any(reasons[:-1])
            case _:
                numbers = [each["sequence_number"] for each in events]
                assert numbers == list(range(len(events)))
                assert (kinds[0], kinds[-1], kinds.count("response.created")) == (
                    "response.created", "response.completed", 1,
                )  # fmt: skip
                added = [each["output_index"] for each in events if each["type"] == "response.output_item.added"]
                assert added == [0, 1]
        check(through, talk)


FORCED: dict[str, Any] = {
    "anthropic": {"tool_choice": {"type": "any"}}, "chat": {"tool_choice": "required"},
    "responses": {"tool_choice": "required"}, "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
}  # fmt: skip


@pytest.mark.parametrize("wire", WIRES)
def test_a_forced_choice_ends_in_a_call_of_the_client(wire: str, tmp_path: Path) -> None:
    """Even if the model calls our tools as long as it can: the client asked for a call of its own."""

    def script(asked: Asked) -> Answer:
        if not (asked.body.get("tool_choice") or asked.body.get("toolConfig")):
            return answer(call("read", {"path": f"f{len(asked.body[LISTS[wire]])}"})) if swept(asked) else answer("Go.")
        names = asked_names(asked)
        return answer(call("recall", {"query": "a"})) if "recall" in names else answer(call("read", {"path": "own"}))

    def swept(asked: Asked) -> bool:
        return not OWN & {*asked_names(asked)}

    with Through(tmp_path, script, window=WINDOW) as through:
        talk = make(through, wire, False)
        talk.say("Read them all.")
        talk.list.append({"role": "user", "content": "Once more."})
        reply = talk.ask(**FORCED[wire])
        assert [name for _, name, _ in calls(wire, reply)] == ["read"]
        check(through, talk)


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_without_tools_gets_none(wire: str, tmp_path: Path) -> None:
    """It is made shorter all the same."""
    with Through(tmp_path, lambda _: answer("Yes."), window=WINDOW) as through:
        talk = make(through, wire, False, tools=[])
        if wire != "responses":
            del talk.fields["tools"]
        for number in range(6):
            assert talk.say(f"Part {number}: " + "all valves open at noon. " * 150) == "Yes."
        assert through.upstream.invalid == []
        assert not any(body.get("tools") for body in through.bodies)
        assert max(asked.bill.given for asked in through.upstream.calls if asked.bill) < WINDOW


def test_two_answers_at_once_get_no_tools_of_ours(tmp_path: Path) -> None:
    """Nobody could tell which of the two goes on."""
    with Through(tmp_path, lambda _: answer("Yes."), window=WINDOW) as through:
        talk = make(through, "chat", False, n=2)
        for number in range(6):
            assert talk.say(f"Part {number}: " + "all valves open at noon. " * 150) == "Yes."
        assert through.upstream.invalid == []
        assert all(asked_names(asked) == ["read"] for asked in through.upstream.calls)


@pytest.mark.parametrize("wire", WIRES)
def test_a_client_with_a_tool_of_our_name(wire: str, tmp_path: Path) -> None:
    """Its tool is its own: only the other one of ours joins."""
    its = {key: "expand" if value == "read" else value for key, value in TOOLS[wire].items()}
    if wire == "chat":
        its = TOOLS["chat"] | {"function": TOOLS["chat"]["function"] | {"name": "expand"}}
    if wire == "gemini":
        its = {"functionDeclarations": [TOOLS["gemini"]["functionDeclarations"][0] | {"name": "expand"}]}

    def script(asked: Asked) -> Answer:
        return answer("Done.") if "recall" in asked_names(asked) else answer(call("expand", {"path": "a"}))

    with Through(tmp_path, script, window=WINDOW) as through:
        talk = make(through, wire, False, tools=[its])
        assert talk.say("Read them all.") == "Done."
        assert asked_names(through.upstream.calls[-1]) == ["expand", "recall", "look"]
        assert through.upstream.invalid == []
