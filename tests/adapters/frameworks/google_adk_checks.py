"""Google's ADK with Sightline. Run by `test_frameworks.py` in an environment that has ADK."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event, EventActions
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

import sightline as sl
from sightline.adapters import google_adk_messages
from sightline.adapters.google_adk import SightlinePlugin, SightlineSessionService
from sightline.values.items import Kind, plain_text
from sightline.values.tokens import counter

BUDGET = sl.Budget(window=12_000, output=1_000)
SYSTEM = "You look after the servers of a small company. " * 40
TURNS = 60
Json = dict[str, Any]
Reply = list[types.Part] | Callable[[LlmRequest], list[types.Part]] | Exception
ME = {"app_name": "app", "user_id": "ann"}


def shell(command: str) -> str:
    """Run a command."""
    return f"$ {command}\n" + "\n".join(f"{command} line {number}: all is well here" for number in range(60))


class ScriptedModel(BaseLlm):  # type: ignore[misc]
    """Says what it is told, and refuses what Gemini would refuse."""

    replies: Any
    calls: list[Json]

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncIterator[LlmResponse]:
        check(llm_request.contents)
        config = llm_request.config
        self.calls.append({
            "contents": [each.model_dump(mode="json", exclude_none=True) for each in llm_request.contents],
            "system": config.system_instruction,
            "tools": [each.model_dump(mode="json", exclude_none=True) for each in config.tools or []],
        })  # fmt: skip
        reply = next(self.replies)
        if isinstance(reply, Exception):
            raise reply
        parts = reply(llm_request) if callable(reply) else reply
        given = count(self.calls[-1])
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=given, candidates_token_count=20)
        content = types.Content(role="model", parts=parts)
        if stream:
            yield LlmResponse(content=content, partial=True)
        yield LlmResponse(content=content, usage_metadata=usage, partial=False if stream else None)


def check(contents: list[types.Content]) -> None:
    """Fail as the provider does: the user begins, every call is answered in the next content."""
    assert contents
    assert contents[0].role == "user"
    waiting: list[Any] = []
    for content in contents:
        assert content.parts
        answered = [part.function_response for part in content.parts if part.function_response]
        assert [(each.id, each.name) for each in answered] == [(each.id, each.name) for each in waiting]
        waiting = [part.function_call for part in content.parts if part.function_call]
    assert not waiting


def count(call: Json) -> int:
    """The tokens of a request: instructions, texts, calls and declarations of the tools."""
    texts = [call["system"] or "", json.dumps(call["tools"])]
    for content in call["contents"]:
        for part in content["parts"]:
            texts += [part.get("text", "")]
            texts += [json.dumps(part["function_call"].get("args"))] if "function_call" in part else []
            texts += map(str, part.get("function_response", {}).get("response", {}).values())
    return sum(map(counter("o200k_base").count, texts))


def use(name: str, *, call_id: str | None = None, **given: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=given))


def text(said: str) -> list[types.Part]:
    return [types.Part(text=said)]


def turns(number: int = TURNS, start: int = 0, *, ids: bool = False) -> list[Reply]:
    """Rounds of two calls at once, without ids as Gemini makes them or with ids, and an answer."""
    rounds = []
    for at in range(start, start + number):
        one, other = (f"a{at}", f"b{at}") if ids else (None, None)
        rounds.append([use("shell", call_id=one, command=f"df {at}"), use("shell", call_id=other, command="top")])
    return [*rounds, text("All is well.")]


class Talk:
    """An app with one agent, a plug-in of ours and a session."""

    def __init__(self, replies: list[Reply], plugin: Any = None, service: Any = None, **options: Any) -> None:
        self.plugin = plugin or SightlinePlugin(BUDGET, sessions=sl.MemoryStores())
        self.service = service or self.plugin.session_service
        self.model = ScriptedModel(model="scripted", replies=iter(replies), calls=[])
        options = {"name": "keeper", "instruction": SYSTEM, "tools": [shell], "model": self.model, **options}
        plugins = [self.plugin] if isinstance(self.plugin, SightlinePlugin) else []
        self.app = App(name="app", root_agent=LlmAgent(**options), plugins=plugins)

    def ask(self, said: str, session_id: str = "s", *, streaming: bool = False) -> list[Event]:
        async def run() -> list[Event]:
            if await self.service.get_session(**ME, session_id=session_id) is None:
                await self.service.create_session(**ME, session_id=session_id)
            runner = Runner(app=self.app, session_service=self.service)
            mode = (
                RunConfig(streaming_mode=StreamingMode.SSE, max_llm_calls=0)
                if streaming
                else RunConfig(max_llm_calls=0)
            )
            message = types.Content(role="user", parts=text(said))
            found = runner.run_async(user_id="ann", session_id=session_id, new_message=message, run_config=mode)
            return [event async for event in found]

        return asyncio.run(run())

    @property
    def session(self) -> sl.Session:
        return self.plugin.session_of("app", "ann", "s")

    def events(self, **config: Any) -> list[Event]:
        chosen = GetSessionConfig(**config) if config else None
        return asyncio.run(self.service.get_session(**ME, session_id="s", config=chosen)).events


def texts(session: sl.Session) -> list[str]:
    return [found for item in session.items if (found := plain_text(item.parts)) and SYSTEM not in found]


# ---------------------------------------------------------------------- runs


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("ids", [False, True])
def test_a_long_run_never_exceeds_the_budget_and_loses_nothing(streaming: bool, ids: bool) -> None:
    """Sixty rounds of two calls: each request is valid and fits; the session and the log have every event."""
    talk = Talk(turns(ids=ids))
    talk.ask("Look at the disks.", streaming=streaming)
    calls = talk.model.calls
    assert len(calls) == TURNS + 1
    assert max(map(count, calls)) <= BUDGET.window - BUDGET.output
    events = talk.events()
    assert len(events) == 2 + 2 * TURNS
    outputs = [each.response["result"] for event in events for each in event.get_function_responses()]
    assert len(outputs) == 2 * TURNS
    assert sum(map(counter("o200k_base").count, outputs)) > 3 * BUDGET.window
    assert texts(talk.session) == ["Look at the disks.", *outputs, "All is well."]
    assert sum(item.kind is Kind.CALL for item in talk.session.items) == 2 * TURNS
    assert talk.session.branches == [""]


def test_nothing_is_shortened_while_it_fits() -> None:
    """The model gets the very request that it would get without us: contents, instruction and tools."""
    plain = Talk(turns(3), plugin=object(), service=InMemorySessionService())
    plain.ask("Look at the disks.")
    ours = Talk(turns(3), SightlinePlugin(sl.Budget(100_000), sessions=sl.MemoryStores()))
    ours.ask("Look at the disks.")
    assert ours.model.calls == plain.model.calls


def test_our_tools_join_with_the_first_call_that_shows_less_and_stay() -> None:
    """Also for the calls after an answer."""
    talk = Talk([*turns(20), text("Yes.")])
    talk.ask("Look at the disks.")
    talk.ask("And now?")
    offers = ['"expand"' in json.dumps(call["tools"]) for call in talk.model.calls]
    shows_less = ["#" in json.dumps(call["contents"]) for call in talk.model.calls]
    assert offers == sorted(offers)
    assert offers == shows_less
    assert not offers[0]


@pytest.mark.parametrize(("strategy", "looks"), [("focus", True), ("sliding", False)])
def test_where_a_strategy_lowers_nothing_there_is_no_look(strategy: str, looks: bool) -> None:
    """The tools join when something was shortened; of them only what can do something."""
    talk = Talk(turns(20), SightlinePlugin(BUDGET, sessions=sl.MemoryStores(), settings=sl.Settings(strategy=strategy)))
    talk.ask("Look at the disks.")
    offered = json.dumps(talk.model.calls[-1]["tools"])
    assert [f'"{name}"' in offered for name in ("expand", "recall", "look")] == [True, True, looks]


def test_the_model_sees_again_what_was_shortened() -> None:
    """`expand` and `recall` come with the plug-in; ADK runs them, and they answer from the log."""

    def bring_back(request: LlmRequest) -> list[types.Part]:
        handle = re.search(r"#\d+", str(request.contents))
        assert handle
        return [use("expand", id=handle[0]), use("recall", query="df 0 line 33")]

    talk = Talk([*turns(30)[:-1], bring_back, text("Seen.")])
    talk.ask("Look.")
    expanded, recalled = (
        part["function_response"]["response"] for part in talk.model.calls[-1]["contents"][-1]["parts"]
    )
    assert re.match(r"\[#\d+ lines 1–", expanded["result"])
    assert "df 0 line 33: all is well here" in recalled["result"]
    assert count(talk.model.calls[-1]) <= BUDGET.window - BUDGET.output


def test_a_name_that_the_model_invented_is_sent_as_providers_accept_it() -> None:
    """The response has the same name. The events keep the name as the model said it."""

    async def answer(**_: Any) -> Json:
        return {"error": "there is no such tool"}

    talk = Talk([[use("functions.look up")], text("Done.")], on_tool_error_callback=answer)
    talk.ask("Look at the disks.")
    parts = [part for content in talk.model.calls[-1]["contents"] for part in content["parts"] if "text" not in part]
    assert [each["name"] for part in parts for each in part.values() if each] == ["functions_look_up"] * 2
    assert [call.name for event in talk.events() for call in event.get_function_calls()] == ["functions.look up"]


def test_an_agent_without_tools_is_told_of_none() -> None:
    """Its requests get none of ours, and nothing speaks of them."""
    talk = Talk([text("Yes. " * 300)] * 40, tools=[])
    for number in range(40):
        talk.ask(f"Question {number}? " * 100)
    assert all(not call["tools"] for call in talk.model.calls)
    assert max(map(count, talk.model.calls)) <= BUDGET.window - BUDGET.output
    assert "expand" not in str(talk.model.calls[-1]["contents"])


def test_a_refused_call_is_made_smaller_and_called_again() -> None:
    """On an overflow; the events stay whole."""
    refusal = ValueError("400 The input token count (14000) exceeds the maximum number of tokens allowed (12000).")
    rounds = turns(30)
    talk = Talk([*rounds[:20], refusal, refusal, *rounds[20:]])
    talk.ask("Look.")
    sizes = [*map(count, talk.model.calls)]
    assert sizes[20] > sizes[21] > sizes[22]
    assert len(talk.events()) == 2 + 2 * 30
    assert talk.session.branches == [""]


def test_other_errors_and_calls_that_cannot_be_smaller_are_raised() -> None:
    """As they are."""
    with pytest.raises(ValueError, match="no such model"):
        Talk([ValueError("no such model")]).ask("Look.")
    talk = Talk([ValueError("400 The input token count (14000) exceeds the maximum number of tokens allowed (1).")] * 9)
    with pytest.raises(ValueError, match="exceeds the maximum"):
        talk.ask("Look.")
    assert len(talk.model.calls) < 6


def test_a_new_process_goes_on_with_the_same_next_payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events, state and what was shortened come back from the log."""
    home = tmp_path / "home"
    monkeypatch.setenv("SIGHTLINE_HOME", str(home))
    talk = Talk([*turns(30), text("Still well.")], SightlinePlugin(BUDGET, sessions=tmp_path))
    talk.ask("Look at the disks.")
    asyncio.run(talk.plugin.close())
    there = shutil.copytree(home, tmp_path / "copy")
    command = [sys.executable, __file__, str(tmp_path)]
    done = subprocess.run(command, env={**os.environ, "SIGHTLINE_HOME": str(there)}, stdout=subprocess.PIPE, check=True)
    talk.ask("And now?")
    assert json.loads(done.stdout) == talk.model.calls[-1]
    assert talk.session.branches == [""]


def go_on(folder: str) -> None:
    """The other process: print what the model gets."""
    talk = Talk([text("Still well.")], SightlinePlugin(BUDGET, sessions=Path(folder)))
    talk.ask("And now?")
    print(json.dumps(talk.model.calls[0]))


def test_the_plug_in_works_with_any_session_service() -> None:
    """With ADK's own in memory; sessions do not mix."""
    talk = Talk([*turns(20), text("Who?")], service=InMemorySessionService())
    talk.ask("Look.")
    talk.ask("Hello.", "other")
    assert len(talk.model.calls[-1]["contents"]) == 1
    assert max(map(count, talk.model.calls)) <= BUDGET.window - BUDGET.output


def test_agents_that_hand_over_have_branches_of_one_session() -> None:
    """Each sees the others in ADK's words; every request is valid and fits."""
    other = LlmAgent(name="other", instruction="You answer.", tools=[shell], model="scripted")
    hand_over = [use("transfer_to_agent", agent_name="other")]
    talk = Talk([*turns(20)[:-1], hand_over, *turns(20)], sub_agents=[other])
    other.model = talk.model
    talk.ask("Look.")
    assert len(talk.model.calls) == 42
    assert max(map(count, talk.model.calls)) <= BUDGET.window - BUDGET.output


def test_what_one_agent_tells_another_is_not_the_users() -> None:
    """After a transfer the question is the user's, an early fact is found for it, and ADK's words lay nothing down."""
    other = LlmAgent(name="other", instruction="You answer.", tools=[shell], model="scripted")
    hand_over = [use("transfer_to_agent", agent_name="other")]
    fact = "The gateway of the Kestrel project listens on port 8437."
    rest = [text(f"Round {number} of the disks, which are fine. " * 40) for number in range(40)]
    talk = Talk([*rest[:1], *turns(20), *rest, hand_over, text("8437."), text("8437.")], sub_agents=[other])
    other.model = talk.model
    for said in (fact, "Look at the disks.", *(f"Go on with disk {number}." for number in range(40))):
        talk.ask(said)
    talk.ask("Which port does the gateway of the Kestrel project listen on?")
    last = talk.model.calls[-1]
    assert last["system"].startswith("You answer.")
    assert "8437" in json.dumps(last["contents"])
    assert [quote.text for quote in talk.session.items.constraints() if "marker" in quote.text] == []
    own = [info.id for info in talk.session.items.table() if info.kind is Kind.USER and not info.by_program]
    assert not any(talk.session.items.text(item).startswith("For context:") for item in own)
    assert talk.session.items.text(own[-1]).startswith("Which port")
    assert max(map(count, talk.model.calls)) <= BUDGET.window - BUDGET.output


# ---------------------------------------------------------------------- the session service


def do(work: Any) -> Any:
    return asyncio.run(work)


def test_state_has_its_scopes() -> None:
    """App and user state are shared, session state is not, temporary state is for one invocation."""

    async def work() -> None:
        service = SightlineSessionService(sl.MemoryStores())
        first = await service.create_session(
            **ME, session_id="1", state={"own": 1, "app:a": 2, "user:u": 3, "temp:t": 4}
        )
        assert first.state == {"own": 1, "app:a": 2, "user:u": 3}
        delta = {"own": 5, "app:a": 6, "user:u": 7, "temp:t": 8}
        await service.append_event(first, Event(author="ann", actions=EventActions(state_delta=delta)))
        assert first.state == delta
        mine = await service.create_session(**ME, session_id="2")
        others = await service.create_session(app_name="app", user_id="bob", session_id="1")
        elsewhere = await service.create_session(app_name="other", user_id="ann", session_id="1")
        assert mine.state == {"app:a": 6, "user:u": 7}
        assert others.state == {"app:a": 6}
        assert elsewhere.state == {}
        again = await service.get_session(**ME, session_id="1")
        assert again.state == {"own": 5, "app:a": 6, "user:u": 7}
        assert "temp:t" not in again.events[0].actions.state_delta
        assert await service.get_user_state(**ME) == {"u": 7}
        assert await service.get_user_state(app_name="app", user_id="nobody") == {}

    do(work())


def test_events_come_back_as_they_were(tmp_path: Path) -> None:
    """Calls, signatures, blobs, artifacts, long-running tools, confirmations and fields that nobody reads."""
    event = Event(
        id="e1", invocation_id="i", author="keeper", branch="a.b", long_running_tool_ids={"c1", "c2"}, timestamp=12.5,
        content=types.Content(role="model", parts=[
            types.Part(text="Hm.", thought=True, thought_signature=b"\xff\x00sig"),
            types.Part(function_call=types.FunctionCall(id="c1", name="f", args={"x": [None]}), thought_signature=b"s"),
            types.Part(inline_data=types.Blob(data=b"\x00\xfb\xff", mime_type="image/png", display_name="p")),
            types.Part(file_data=types.FileData(file_uri="gs://b/f", mime_type="text/plain")),
            types.Part(function_response=types.FunctionResponse(id="c0", name="g", response={"a": {"b": "ß"}})),
            types.Part(executable_code=types.ExecutableCode(code="1", language="PYTHON")),
        ]),
        actions=EventActions(artifact_delta={"f.txt": 3}, transfer_to_agent="other", escalate=True),
        usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=5), custom_metadata={"k": "v"},
        grounding_metadata=types.GroundingMetadata(web_search_queries=["q"]), error_code="X", turn_complete=True,
    )  # fmt: skip

    async def work() -> None:
        service = SightlineSessionService(tmp_path)
        session = await service.create_session(**ME, session_id="s")
        session.last_update_time = 0
        stored = await service.create_session(**ME, session_id="t")
        await service.append_event(stored, event)
        service.close()
        again = await SightlineSessionService(tmp_path).get_session(**ME, session_id="t")
        assert again.events == [event]
        assert again == stored

    do(work())


def test_stale_missing_deleted_and_listed_sessions() -> None:
    """The errors of ADK; a deleted session is gone, and can be created anew; an event that is given again is one."""

    async def work() -> None:
        stores = sl.MemoryStores()
        service, elsewhere = SightlineSessionService(stores), SightlineSessionService(stores)
        session = await service.create_session(**ME, session_id=" s ")
        assert session.id == "s"
        with pytest.raises(AlreadyExistsError):
            await elsewhere.create_session(**ME, session_id="s")
        stale = await elsewhere.get_session(**ME, session_id="s")
        event = Event(author="ann")
        await service.append_event(session, event)
        await service.append_event(session, event)
        assert len(session.events) == 1
        with pytest.raises(StaleSessionError):
            await elsewhere.append_event(stale, Event(author="bob"))
        await service.append_event(session, Event(author="ann", partial=True))
        assert len((await elsewhere.get_session(**ME, session_id="s")).events) == 1
        await service.create_session(app_name="app", user_id="bob", session_id="x.y/z")
        listed = await elsewhere.list_sessions(app_name="app")
        assert [(each.user_id, each.id, each.events) for each in listed.sessions] == [
            ("ann", "s", []),
            ("bob", "x.y/z", []),
        ]
        assert len((await service.list_sessions(app_name="app", user_id="ann")).sessions) == 1
        await elsewhere.delete_session(**ME, session_id="s")
        await elsewhere.delete_session(**ME, session_id="never")
        assert await service.get_session(**ME, session_id="s") is None
        with pytest.raises(SessionNotFoundError):
            await service.append_event(session, Event(author="ann"))
        assert (await service.create_session(**ME, session_id="s")).events == []
        assert await service.get_session(app_name="none", user_id="n", session_id="s") is None

    do(work())


def test_recent_events_are_chosen() -> None:
    """By number, by time, by both."""

    async def work() -> None:
        service = SightlineSessionService(sl.MemoryStores())
        session = await service.create_session(**ME, session_id="s")
        start = session.last_update_time
        for at in range(6):
            await service.append_event(session, Event(id=str(at), author="ann", timestamp=start + at))

        async def ids(**config: Any) -> str:
            found = await service.get_session(**ME, session_id="s", config=GetSessionConfig(**config))
            return "".join(event.id for event in found.events)

        assert await ids(num_recent_events=2) == "45"
        assert await ids(num_recent_events=0) == ""
        assert await ids(after_timestamp=start + 3) == "345"
        assert await ids(num_recent_events=5, after_timestamp=start + 4) == "45"

    do(work())


# ---------------------------------------------------------------------- contents


def test_every_kind_of_part_comes_back_as_it_was() -> None:
    """From the neutral messages that the log has."""
    parts = types.Part
    contents = [
        types.Content(role="user", parts=[
            parts(text="Look."), parts(inline_data=types.Blob(data=b"\x89PNG\xfb\xff", mime_type="image/png")),
            parts(inline_data=types.Blob(data=b"%PDF", mime_type="application/pdf", display_name="d")),
            parts(file_data=types.FileData(file_uri="gs://b/f"), video_metadata=types.VideoMetadata(fps=1)),
        ]),
        types.Content(role="model", parts=[
            parts(text="Hm.", thought=True, thought_signature=b"\xff\xfe"), parts(text="So.", thought_signature=b"t"),
            parts(function_call=types.FunctionCall(name="f", args={"x": [1, {"y": "z"}]}), thought_signature=b"\xfbs"),
            parts(function_call=types.FunctionCall(name="f", args={})),
            parts(function_call=types.FunctionCall(id="c", name="g", args={})),
            parts(executable_code=types.ExecutableCode(code="1", language="PYTHON")),
        ]),
        types.Content(role="user", parts=[
            parts(function_response=types.FunctionResponse(name="f", response={"result": "one"})),
            parts(function_response=types.FunctionResponse(name="f", response={"error": "no"})),
            parts(function_response=types.FunctionResponse(id="c", name="g", response={"a": [1]}, will_continue=True)),
            parts(text="And this."),
        ]),
    ]  # fmt: skip
    dumped = [each.model_dump(mode="json", exclude_unset=True, by_alias=True) for each in contents]
    read = google_adk_messages.read(dumped)
    written = google_adk_messages.write(read)
    assert [each.model_dump(exclude_none=True) for each in written] == [
        each.model_dump(exclude_none=True) for each in contents
    ]


if __name__ == "__main__":
    go_on(sys.argv[1])
