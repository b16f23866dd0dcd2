"""The session of the Agents SDK beside others: items that a program adds itself, owners that share a folder."""

import asyncio
import json
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents import function_tool
from agents.memory import SessionSettings
from agents.run_config import CallModelData, ModelInputData
from agents.testing import assistant_message, function_call
from agents.usage import Usage
from test_openai_agents import BUDGET, agent, config, run, shell

from sightline.adapters.openai_agents import SightlineSession, run_options
from sightline.errors import SessionClosed
from sightline.follow.conversations import Conversations
from sightline.log.stores.session_folder import Folder
from sightline.values.items import plain_text

Json = dict[str, Any]


def usages(folder: Path) -> list[int]:
    """The input tokens that replies in the log report, on all branches."""
    [path] = Folder(folder, None).path.glob("*.jsonl")
    lines = map(json.loads, path.read_text().splitlines())
    return [line["message"]["usage"]["input_tokens"] for line in lines if "usage" in (line.get("message") or {})]


def reply(number: int, *items: Any) -> Json:
    size = 1_000 + number
    usage = Usage(requests=1, input_tokens=size, output_tokens=10, total_tokens=size + 10)
    return {"output": list(items), "usage": usage}


def said(role: str, text: str) -> Any:
    return {"role": role, "content": text}


# ---------------------------------------------------------------------- usage


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_usage_is_logged_once_although_the_program_adds_items_itself(role: str, tmp_path: Path) -> None:
    """Each model call has its own, whatever a tool adds to the session in the middle of the run."""

    @function_tool
    async def remember(text: str) -> str:
        """Add a note to the session."""
        await options["session"].add_items([said(role, text)])
        return "noted"

    steps = [
        reply(1, function_call("remember", {"text": "one"}, call_id="a")),
        reply(2, function_call("shell", {"command": "ls"}, call_id="b")),
        reply(3, function_call("remember", {"text": "two"}, call_id="c")),
        reply(4, assistant_message("Done.")),
    ]
    made, _ = agent(steps, tools=[shell, remember])
    options = run_options("T", BUDGET, sessions=tmp_path, run_config=config())
    run(made, "Go.", options)
    assert usages(tmp_path) == [1_001, 1_002, 1_003, 1_004]
    kinds = [item.get("type", item.get("role")) for item in asyncio.run(options["session"].get_items())]
    assert kinds == [
        "user", role, "function_call", "function_call_output", "function_call", "function_call_output",
        role, "function_call", "function_call_output", "message",
    ]  # fmt: skip
    options["session"].close()


@pytest.mark.parametrize("changes", ["limit", "filter"])
def test_usage_is_logged_where_the_model_got_another_list(changes: str, tmp_path: Path) -> None:
    """The newest items only, or what a filter of the program made of them: each reply follows what it answers."""

    def add(data: CallModelData[Any]) -> ModelInputData:
        return ModelInputData([*data.model_data.input, said("user", "Be quick.")], data.model_data.instructions)

    steps = [reply(number, assistant_message(f"Answer {number}.")) for number in range(4)]
    made, _ = agent(steps)
    more: Json = {"call_model_input_filter": add} if changes == "filter" else {}
    for number in range(4):
        options = run_options("T", BUDGET, sessions=tmp_path, run_config=config(**more))
        options["session"].session_settings = SessionSettings(limit=2 if changes == "limit" else None)
        run(made, f"Question {number}?", options)
        options["session"].close()
    assert usages(tmp_path) == [1_000, 1_001, 1_002, 1_003]
    with closing(SightlineSession("T", sessions=tmp_path)) as session:
        assert len(asyncio.run(session.get_items())) == 8


# ---------------------------------------------------------------------- owners


def test_closing_one_session_leaves_the_others_of_the_folder_open(tmp_path: Path) -> None:
    """Of another id, and of another object with the same id. The last one closes it."""
    first, second, other = (SightlineSession(name, sessions=tmp_path) for name in ("A", "A", "B"))
    held = {each: each.session for each in (first, second, other)}
    first.close()
    assert [held[second].user("still open"), held[other].user("still open")]
    second.close()
    with pytest.raises(SessionClosed):
        held[second].user("late")
    assert held[other].user("still open")
    asyncio.run(first.add_items([said("user", "again")]))
    assert [plain_text(item.parts) for item in first.session.items][-1] == "again"
    for session in (first, other):
        session.close()


def test_a_session_that_is_in_use_is_closed_afterwards(tmp_path: Path) -> None:
    """Closing waits for the call that uses it, and a call that waits opens it again."""
    conversations = Conversations(tmp_path)
    inside, go_on, order = threading.Event(), threading.Event(), []

    def use() -> None:
        with conversations.use("A") as history:
            inside.set()
            go_on.wait(10)
            order.append(history.session.user("while it is to be closed"))

    def close() -> None:
        conversations.close()
        order.append("closed")

    threads = [threading.Thread(target=use), threading.Thread(target=close)]
    threads[0].start()
    assert inside.wait(10)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert len(order) == 2
    assert order[-1] == "closed"
    with conversations.use("A") as history:
        assert len(list(history.session.items)) == 1
    conversations.close()


def test_calls_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Adding, popping, reading with a limit, answering and closing in many threads: every item is popped once."""
    sessions = [SightlineSession("T", sessions=tmp_path) for _ in range(4)]

    async def work(session: SightlineSession, number: int) -> list[Any]:
        popped = []
        for at in range(6):
            await session.add_items([said("user", f"{number} {at}")])
            assert len(await session.get_items(limit=1)) <= 1
            await asyncio.to_thread(session.answer, "recall", {"query": "0"})
            popped.append(await session.pop_item())
            await asyncio.to_thread(session.close)
        return popped

    async def work_all() -> list[list[Any]]:
        return await asyncio.gather(*(work(session, number) for number, session in enumerate(sessions)))

    popped = [item["content"] for each in asyncio.run(work_all()) for item in each]
    assert sorted(popped) == sorted(f"{number} {at}" for number in range(4) for at in range(6))
    assert asyncio.run(sessions[0].get_items()) == []
    sessions[0].close()


def test_an_item_that_is_no_json_is_refused(tmp_path: Path) -> None:
    """As the SDK's own sessions do, instead of keeping something else; the session stays usable."""
    session = SightlineSession("T", sessions=tmp_path)
    with pytest.raises(TypeError, match="an item of a session is JSON"):
        asyncio.run(session.add_items([said("user", object())]))  # type: ignore[arg-type]
    asyncio.run(session.add_items([said("user", "after")]))
    assert asyncio.run(session.get_items()) == [said("user", "after")]
    session.close()
