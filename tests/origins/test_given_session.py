"""A session that is handed to the documents' classes: each sets it up for itself, and all five can share one."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from ba_agent_shop import CODE, block, structured

from sightline import AsyncSession, MemoryStores, Session, Settings
from sightline.apps.builtin.notebook import Notebook
from sightline.apps.builtin.todo import Todo
from sightline.errors import BadInput, SessionNotFound
from sightline.log.stores import Stores
from sightline.log.stores.session_folder import Folder
from sightline.origins import clawdcode, contextui, openstarry
from sightline.origins.ba_agent import BAAgentService, CodeStore
from sightline.plan.strategies import strategy
from sightline.testing import ScriptedModel, WordCounter

SOURCE = "def total(rows):\n" + "".join(f"    rows = rows[{n}:]  # step-{n}-of-counting\n" for n in range(90))
GIST = "[文件已读取] sales.py (python, 91行, 函数: total)"


def service(folder: Path, session: Any, lines: list[str], **options: Any) -> BAAgentService:
    """A service whose only conversation is this session."""
    model = ScriptedModel(lines)
    return BAAgentService(model, CodeStore(folder / "codes"), sessions=lambda _: session, project=folder, **options)


def asked(service: BAAgentService, call: int) -> list[dict[str, Any]]:
    return list(service.model.asked[call]["messages"])  # type: ignore[attr-defined]


def said(messages: list[dict[str, Any]]) -> str:
    return json.dumps(messages, ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_service_sets_a_session_up_for_its_document(tmp_path: Path, wrapped: bool) -> None:
    """Strategy, layout and locale are the document's; there is one system prompt, and files become gists."""
    (tmp_path / "sales.py").write_text(SOURCE)
    session = Session.new(tmp_path, stores=MemoryStores())
    call = {"tool_name": "file_reader", "arguments": {"path": "sales.py"}}
    lines = [structured([call], "tool_call"), structured("读过了。"), structured("好。")]

    async def run() -> None:
        talk = service(tmp_path, AsyncSession(session) if wrapped else session, lines)
        for message in ("读", "继续"):
            await talk.query(message, "s")
        settings = session.settings
        assert (settings.strategy, settings.layout, settings.locale) == ("rounds", "ba-agent", "zh")
        last = asked(talk, 2)
        assert [message["role"] for message in last].count("system") == 1
        assert GIST in said(last)
        await talk.close()

    asyncio.run(run())


def test_a_conversation_that_another_program_began_is_set_up_too(tmp_path: Path) -> None:
    """Also one in a file, which was begun with other settings."""
    with Session.new(tmp_path, root=tmp_path / "sessions", session_id="s") as session:
        session.user("早先的问题")
        session.assistant("早先的回答")

    async def run() -> None:
        talk = BAAgentService(ScriptedModel([structured("好。")]), sessions=tmp_path / "sessions", project=tmp_path)
        await talk.query("继续", "s")
        assert "早先的问题" in said(asked(talk, 0))
        await talk.close()

    asyncio.run(run())
    with Session.resume("s", tmp_path, root=tmp_path / "sessions") as session:
        assert (session.settings.strategy, session.settings.layout) == ("rounds", "ba-agent")


def test_a_session_with_its_own_strategy_object_is_refused(tmp_path: Path) -> None:
    """No setting changes it: the error says so, and the session stays usable."""
    session = Session.new(tmp_path, stores=MemoryStores(), strategy=strategy("sliding"))

    async def run() -> None:
        talk = service(tmp_path, session, [structured("好。")])
        with pytest.raises(BadInput, match="open it without"):
            await talk.query("你好", "s")

    asyncio.run(run())
    with pytest.raises(BadInput, match="open it without"):
        openstarry.SummarizationContextManager(session=Session.new(stores=MemoryStores(), strategy=strategy("sliding")))


def test_what_is_no_session_is_refused(tmp_path: Path) -> None:
    """By every document, with what is one."""
    nothing: Any = "s"
    for make in (
        lambda: openstarry.SlidingWindowContextManager(session=nothing),
        lambda: clawdcode.ContextManager(session=nothing),
        lambda: contextui.ContextManager(nothing),
        lambda: asyncio.run(service(tmp_path, nothing, []).query("x", "s")),
    ):
        with pytest.raises(BadInput, match=r"Session\.open"):
            make()


# ------------------------------------------------------------------ OpenStarry


def history(turns: int) -> list[dict[str, Any]]:
    pairs = [({"role": "user", "content": f"question {n}"}, {"role": "assistant", "content": f"answer {n}"})
             for n in range(turns)]  # fmt: skip
    return [message for pair in pairs for message in pair]


def test_openstarry_goes_on_in_a_session_that_was_resumed(tmp_path: Path) -> None:
    """What it has is not added again; a history that changed goes on a branch; nothing is lost."""

    async def turn(session: Session, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        manager = openstarry.SlidingWindowContextManager(session=session, task_goal="win")
        payload = await manager.compose_payload("be kind", messages, [], rag_context="a fact")
        manager.close()
        return payload.messages

    with Session.new(tmp_path, root=tmp_path / "logs", session_id="s") as session:
        first = asyncio.run(turn(session, history(2)))
        assert session.settings.layout == "openstarry"
        assert session.settings.strategy == "sliding"
    with Session.resume("s", tmp_path, root=tmp_path / "logs") as session:
        second = asyncio.run(turn(session, history(3)))
        assert len([item for item in session.items if item.kind.name == "USER"]) == 3
    assert first[0] == second[0] == {"role": "system", "content": "be kind"}
    assert [message["content"] for message in second].count("question 0") == 1
    assert "a fact" in said(second)
    assert "win" in said(second)
    with Session.resume("s", tmp_path, root=tmp_path / "logs") as session:
        changed = asyncio.run(turn(session, [*history(2), {"role": "user", "content": "another"}]))
        assert [message["content"] for message in changed][-1] == "another"
        assert "question 2" not in said(changed)
        assert len(session.branches) == 2
        assert "question 2" in said(session.transcript().openai()["messages"])


def test_openstarry_begins_anew_on_a_branch_of_the_given_session() -> None:
    """Another history is another branch, after what others had said before."""
    session = Session.new(stores=MemoryStores())
    session.user("of another document")

    async def run() -> None:
        manager = openstarry.SlidingWindowContextManager(session=session)
        await manager.compose_payload("s", history(1), [])
        payload = await manager.compose_payload("s", [{"role": "user", "content": "something else"}], [])
        assert "of another document" in said(payload.messages)
        assert "question 0" not in said(payload.messages)
        assert "something else" in said(payload.messages)
        manager.close()

    asyncio.run(run())
    assert "question 0" in said(session.transcript().openai()["messages"])


def test_openstarry_refuses_what_the_session_decides() -> None:
    """A counter, and a strategy object that is not the session's own; its own is taken."""
    own = strategy("sliding")
    with pytest.raises(BadInput, match="when it is opened"):
        openstarry.SlidingWindowContextManager(session=Session.new(stores=MemoryStores()), token_counter=WordCounter())
    with pytest.raises(BadInput, match="this same object"):
        openstarry.StrategyContextManager(own, session=Session.new(stores=MemoryStores()))
    openstarry.StrategyContextManager(own, session=Session.new(stores=MemoryStores(), strategy=own))


# ------------------------------------------------------------------ ClawdCode and ContextUI


def test_clawdcode_keeps_its_messages_in_the_given_session(tmp_path: Path) -> None:
    """They read back equal, user and preferences too; there is no other session, and the owner closes it."""
    with Session.new(tmp_path, root=tmp_path / "logs", session_id="s") as session:
        session.user("said before")
        manager = clawdcode.ContextManager(session=session)
        assert manager.create_session("ann", {"tea": True}) == "s"
        manager.add_message("assistant", "said by the document")
        manager.close()
        session.user("said after")
        with pytest.raises(SessionNotFound):
            manager.load_session("another")
    with Session.resume("s", tmp_path, root=tmp_path / "logs") as session:
        manager = clawdcode.ContextManager(session=session)
        context = manager.get_context()
        assert context is not None
        said_there = [message.content for message in context.layers.conversation.messages]
        assert said_there == ["said before", "said by the document", "said after"]
        assert (context.layers.session.user_id, context.layers.session.preferences) == ("ann", {"tea": True})
        assert manager.persistent.list_sessions() == ["s"]
        manager.close()
    assert not list(tmp_path.rglob("*.session"))


def test_contextui_shows_its_windows_in_the_given_session() -> None:
    """Items and windows that its names add are in the session's prompt, each window as it is now."""
    from sightline import Budget

    session = Session.new(stores=MemoryStores())
    context = contextui.ContextManager(session)
    windows = contextui.WindowManager(context)
    windows.register(Todo)
    todo = windows.open("todo")
    context.add(contextui.ContextItem("", contextui.ContextItemType.USER, "count the boxes"))
    windows.act(todo, "add", text="buy tea")
    prompt = said(session.compose(Budget(8_000, 500)).openai()["messages"])
    assert "count the boxes" in prompt
    assert "buy tea" in prompt


@pytest.fixture(params=["files", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    """Where sessions are kept: in files, or in a database."""
    if request.param == "files":
        return Folder(tmp_path, tmp_path / "logs")
    database: Stores = request.getfixturevalue("stores")
    return database


@pytest.mark.slow("postgres")
def test_five_documents_stand_on_one_session(tmp_path: Path, places: Stores) -> None:
    """One log, one prompt: windows, a document, a manager's messages, a strategy, saved code and a gist."""
    (tmp_path / "sales.py").write_text(SOURCE)
    session = Session.new(tmp_path, stores=places, session_id="s", settings=Settings(strategy="focus"))
    windows = contextui.WindowManager(contextui.ContextManager(session))
    windows.register(Todo, Notebook)
    windows.act(windows.open("todo"), "add", text="buy tea")
    windows.act(windows.open("notebook"), "add", entry_id="region", title="Best region", content="It was the north.")
    manager = clawdcode.ContextManager(session=session)
    manager.add_message("user", "remember order A-4711")
    manager.add_message("assistant", "noted")
    manager.close()
    read = {"tool_name": "file_reader", "arguments": {"path": "sales.py"}}
    lines = [structured([read], "tool_call"), structured("读过了。", code_blocks=[block()]), structured("好。")]

    async def run() -> None:
        talk = service(tmp_path, session, lines)
        await talk.query("读 sales.py", "s")
        await talk.query("继续", "s")
        prompt = said(asked(talk, 2))
        for text in ("buy tea", "It was the north.", "A-4711", GIST, "code_sales_analysis (python)"):
            assert text in prompt, text
        assert CODE not in prompt
        strategist = openstarry.SlidingWindowContextManager(session=session, task_goal="sell more tea")
        payload = await strategist.compose_payload("be kind", [{"role": "user", "content": "and now?"}], [])
        composed = said(payload.messages)
        for text in ("buy tea", "It was the north.", "A-4711", "sell more tea", "and now?"):
            assert text in composed, text
        strategist.close()
        await talk.close()  # closes the session, which the service opened for its conversation

    asyncio.run(run())
    with Session.resume("s", tmp_path, stores=places, apps=[Todo, Notebook]) as resumed:
        assert all(verified.good for verified in resumed.receipts.verify())
