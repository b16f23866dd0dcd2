"""One number for one thing: list, timeline, calls, Tokens page, context, report, chat and MCP of a session agree."""

import asyncio
import re
from itertools import pairwise
from pathlib import Path

import pytest
from log_samples import CLAUDE, CODEX, as_file
from test_cleared_results import page_tokens, reading

from sightline import Budget, Session, Settings, samples
from sightline.adapters.mcp_memory import SessionMemory
from sightline.agent import Agent, PayloadComposed
from sightline.cli.chat.status import meter
from sightline.imports.detection import conversations
from sightline.imports.importer import import_into
from sightline.log.stores.session_folder import Folder
from sightline.providers.prices import Price
from sightline.testing import ScriptedModel, calling, reply_of
from sightline.values.items import Kind
from sightline.values.tokens import counter
from sightline.view.call_contents import CallContents
from sightline.view.call_details import call_details
from sightline.view.call_rows import HIDDEN, call_page, call_rows
from sightline.view.catalog.log_count import Counted, LogCount
from sightline.view.catalog.places import Places
from sightline.view.context_facts import context_facts
from sightline.view.costs import cost_of
from sightline.view.inspection import compactions
from sightline.view.replay.formats import recorded
from sightline.view.replay.replay import Step, replay
from sightline.view.report.phrases import say
from sightline.view.report.session_report import report_of
from sightline.view.report.talk import Talk, conversation_of
from sightline.view.report.values import SessionReport
from sightline.view.token_tree import token_tree

SMALL = Budget(16_000, 1_000)


def listed(session: Session) -> Counted:
    """What the list of sessions shows."""
    log = LogCount()
    log.add(line.data for line in session.log.store.scan())
    return log.counted()


def by_kind(session: Session) -> dict[str, int]:
    """The kinds of the page of tokens."""
    return {node.name: node.tokens for node in token_tree(session, ("kind",)).root.children}


def reported(session: Session) -> SessionReport:
    """The report, with a price for every model."""
    return report_of(conversation_of(session.log.store), economies=(), price_of=price_of)


def price_of(_model: str) -> Price:
    return Price(3.0, 0.3, 3.75, 15.0)


def views_agree(session: Session) -> None:
    """Every number that two views show is the same in both."""
    _tokens_agree(session)
    _calls_agree(session)
    _rereads_agree(session)
    _compactions_agree(session)
    _meter_agrees(session)
    _memory_agrees(session)
    context = context_facts(session, SMALL)
    assert context.tokens == sum(kind["tokens"] for kind in context.kinds.values()) == session.preview(SMALL).tokens


def _tokens_agree(session: Session) -> None:
    kinds = {share.name: share.tokens for share in reported(session).kinds if share.name != "unlogged"}
    assert by_kind(session) == kinds
    assert listed(session).tokens == token_tree(session).total == sum(kinds.values())


def _calls_agree(session: Session) -> None:
    counted, report, (rows, total) = listed(session), reported(session), call_rows(session, 0, 1000, 1, price_of)
    answered = [row for row in rows if row.reply is not None]
    assert counted.calls == report.calls == len(answered)
    own = [item for item in session.items.table() if item.kind is Kind.USER and not item.by_program]
    assert counted.turns == len(own) == report.turns
    assert total == len(rows) == call_page(session, 0, 1000).total
    for row, facts in zip(rows, call_page(session, 0, 1000).calls, strict=True):
        details = call_details(session, row.number, price_of=price_of)
        lines = sum(line.framed for line in details.lines if line.kind != "window")
        assert row.total == facts.tokens == lines + sum(row.tokens.get("window", {}).values())
        tree = token_tree(session, ("kind",), row.number)
        assert row.total == tree.total
        sizes = {
            kind: sum(size for level, size in sizes.items() if level != HIDDEN) for kind, sizes in row.tokens.items()
        }
        assert {node.name: node.tokens for node in tree.root.children} == {
            kind: size for kind, size in sizes.items() if size
        }
        assert sum(part.cost or 0.0 for part in details.costs) == pytest.approx(row.cost)
    usages = [row.usage for row in rows if row.usage is not None]
    if usages:
        assert counted.usage is not None
        assert counted.usage.input_tokens == sum(usage.input_tokens for usage in usages) == report.spent.input
        assert counted.usage.output_tokens == sum(usage.output_tokens for usage in usages) == report.spent.output
        money = sum(row.cost or 0.0 for row in rows if row.usage is not None)
        assert cost_of(counted.usages, price_of) == pytest.approx(money) == pytest.approx(report.spent.money)


def _rereads_agree(session: Session) -> None:
    tree, again = token_tree(session), reported(session).again
    assert listed(session).rereads == tree.rereads.results == sum(file.again + file.after_compaction for file in again)
    tokens = sum(file.tokens + file.after_tokens for file in again)
    assert tree.rereads.tokens == tree.root.reread_tokens == sum(file.tokens for file in tree.rereads.files) == tokens
    assert listed(session).faults == tree.rereads.faults == len(session.items.faults)


def _compactions_agree(session: Session) -> None:
    made, report = compactions(session), reported(session)
    assert listed(session).compactions == len(made) == len(report.compactions)
    for facts, lost in zip(made, report.compactions, strict=True):
        if facts.loss is not None:
            found = {kind: each.count for kind, each in facts.loss.kinds().items()}
            assert found == {kind: getattr(lost, kind) for kind in found}


def _meter_agrees(session: Session) -> None:
    """The line below the chat's prompt shows the last call that was composed."""
    status = meter(Agent(session, ScriptedModel([]), tools=None, budget=SMALL), None)
    composed = [row for row in call_rows(session, 0, 1000)[0] if row.composed]
    last = composed[-1] if composed else None
    assert status.tokens == (last.total if last else None)
    assert status.limit == (last.limit if last else context_facts(session, SMALL).limit)


def _memory_agrees(session: Session) -> None:
    """What the MCP server tells a model is what the report says."""
    stores = Folder.at(Path(session.log.store.path).parent)
    text = SessionMemory(Places(stores.path, root=stores.path, stores=stores)).report(session.id)
    report = reported(session)
    assert f"{report.turns:,} turns, {report.calls:,} calls" in text
    assert f"input {report.spent.input:,} tokens: {report.spent.cached:,} from the cache" in text
    by_kind_text = text.partition("by kind")[2].partition("by tool")[0]
    told = {name: int(sent.replace(",", "")) for sent, name in re.findall(r"- ([0-9,]+).*items: (.+)", by_kind_text)}
    assert told == {say(f"kind {kind.name}"): kind.sent for kind in report.kinds[: len(told)]}
    assert told
    again = sum(file.again + file.after_compaction for file in report.again)
    assert (f"{again:,} readings of files" in text) == bool(again)
    assert (f"{len(report.compactions):,} compactions" in text) == bool(report.compactions)


@pytest.mark.slow("long_chat")
@pytest.mark.parametrize("name", samples.names())
def test_all_views_of_a_sample_agree(name: str, tmp_path: Path) -> None:
    """In tokens by kind, with thinking and what was recalled; in calls, files that were read again, and prices."""
    sample = samples.load(name)
    recording = recorded({"system": sample.system, "tools": sample.tools, "messages": sample.messages})
    with Session.new(tmp_path, stores=Folder.at(tmp_path / "logs")) as session:
        steps = [*replay(session, recording, SMALL)]
        views_agree(session)
        _cache_agrees(session, steps)


def _cache_agrees(session: Session, steps: list[Step]) -> None:
    """What the provider should have had of each prompt is the same in a replay, the timeline and the list's savings."""
    rows, minimum = call_rows(session, 0, 1000)[0], session.log.reader.profile.cache_minimum
    assert [row.cached for row in rows] == [step.reused if step.reused >= minimum else 0 for step in steps]
    assert [row.relative_cost for row in rows] == [pytest.approx(step.cost, abs=0.1) for step in steps]
    answered = sum(row.relative_cost for row in rows if row.reply is not None)
    assert sum(saved.cost for saved in listed(session).saved.values()) == pytest.approx(answered, abs=0.1 * len(rows))


def test_the_forecast_of_the_cache_agrees_after_a_sweep_and_with_windows(tmp_path: Path) -> None:
    """A sweep keeps the beginning of a prompt: its index line stands in the middle. A window is never kept."""
    with Session.new(tmp_path, stores=Folder.at(tmp_path / "logs"), apps=["todo"]) as session:
        session.system("You are careful. " * 500)
        session.windows.open("todo")
        for turn in range(8):
            session.user(f"Question {turn}: " + "what does the log say? " * 80)
            session.compose(Budget(5_500, 1_000))
            session.reply("It says nothing. " * 80)
        rows, pages = call_rows(session, 0, 100)[0], [CallContents(session, number) for number in range(1, 9)]
        changes = [page.change_since(before, "openai") for before, page in pairwise(pages)]
        assert sum(change is not None and change.block > 1 for change in changes) > 1
        for (before, row), change in zip(pairwise(rows), changes, strict=True):
            assert row.cached == (
                change.kept_tokens if change else before.total - sum(before.tokens["window"].values())
            )
        saved = sum(each.cost for each in listed(session).saved.values())
        assert saved == pytest.approx(sum(row.relative_cost for row in rows), abs=0.1 * len(rows))


def test_a_compaction_leaves_the_head_of_calls_that_were_not_composed_in_the_cache(tmp_path: Path) -> None:
    """The others find all of the call before there."""
    with Session.new(tmp_path, stores=Folder.at(tmp_path / "logs")) as session:
        session.system("You are careful. " * 500)
        for turn in range(5):
            if turn == 4:
                session.summaries.compact(SMALL)
            session.user(f"Question {turn}: " + "what does the log say? " * 80)
            session.reply("It says nothing. " * 80)
        rows = call_rows(session, 0, 100)[0]
        head = sum(rows[-1].tokens[kind]["full"] for kind in ("system", "request"))
        assert [row.cached for row in rows] == [0, *(row.total for row in rows[:3]), head]


@pytest.mark.parametrize("lines", [CLAUDE, CODEX], ids=["Claude Code", "Codex"])
def test_all_views_of_an_imported_log_agree(lines: list[object], tmp_path: Path) -> None:
    """A log with a compaction: its summary counts too."""
    file = tmp_path / "log.jsonl"
    file.write_bytes(as_file(lines))
    stores = Folder.at(tmp_path / "logs")
    (conversation,) = conversations(file)
    done = import_into(stores, conversation, tmp_path)
    with Session.resume(done.session, tmp_path, stores=stores) as session:
        views_agree(session)


@pytest.mark.parametrize("model", ["gpt-4", "llama-3", "deepseek-v3", "claude-sonnet-5"])
def test_all_views_count_with_the_encoding_of_the_session_whichever_model_answered(model: str, tmp_path: Path) -> None:
    """A count that followed the model's name would differ in the report, and change with the model."""
    with Session.new(
        tmp_path, stores=Folder.at(tmp_path / "logs"), settings=Settings(encoding="deepseek_v3")
    ) as session:
        for turn in range(2):
            session.user(f"{turn} {'Das ist ein längerer Text über 数据库 und Ports. ' * 3}")
            session.compose(SMALL)
            session.reply(reply_of("Die Ports der 数据库 sind frei. " * 3) | {"model": model})
        views_agree(session)
        framing = session.log.reader.profile.message_tokens
        texts = (session.items.text(item.id) for item in session.items.table())
        assert listed(session).tokens == sum(counter("deepseek_v3").count(text) + framing for text in texts)


def test_all_views_of_a_session_whose_compaction_was_undone_agree(tmp_path: Path) -> None:
    """What was undone was made, and its summary was sent until then; a later compaction is one more."""
    with Session.new(tmp_path, stores=Folder.at(tmp_path / "logs")) as session:
        for turn in range(4):
            session.user(f"Question {turn}: never touch port {8000 + turn}. " + "The log says more. " * 60)
            session.compose(SMALL)
            session.reply(reply_of("Understood. " * 60))
        session.summaries.compact(SMALL)
        session.user("And now?")
        session.compose(SMALL)
        session.reply(reply_of("Now."))
        session.summaries.undo()
        session.user("And again?")
        session.compose(SMALL)
        session.reply(reply_of("Again."))
        _tokens_agree(session)
        _compactions_agree(session)
        talk = Talk(conversation_of(session.log.store))
        assert [*talk.summaries_sent.values()] == [1]  # of the two calls since
        assert [talk.sent_with(index) for index in (0, 9)] == [5, 1]  # the first message: not with that call
        [row] = [row for row in call_rows(session, 0, 100)[0] if row.number == 6]
        assert "summary" not in row.tokens
        session.summaries.compact(SMALL)
        session.user("And at last?")
        session.compose(SMALL)
        session.reply(reply_of("The end."))
        _tokens_agree(session)
        _compactions_agree(session)
        assert listed(session).compactions == 2


def test_all_views_of_a_session_that_was_compacted_agree(tmp_path: Path) -> None:
    """What a compaction hid is counted once, when it is made; the report finds the same by itself."""
    with Session.new(tmp_path, stores=Folder.at(tmp_path / "logs")) as session:
        session.system("You are careful.")
        for turn in range(1, 9):
            if turn == 6:
                session.summaries.compact(SMALL)
            session.user(f"Question {turn}: never touch port {8000 + turn}. What is in part_{turn % 5}.py?")
            session.compose(SMALL)
            session.reply(calling(("read_file", {"path": f"src/part_{turn % 5}.py"})))
            text = "\n".join(f"def step_{turn % 5}_{line}(): return {line * (turn % 5)}" for line in range(110))
            session.tool_result(session.open_calls[0].id, text)
            session.compose(SMALL)
            session.reply(f"part_{turn % 5}.py defines 110 steps.")
        assert compactions(session)[0].loss is not None
        views_agree(session)


def test_all_views_of_a_log_whose_agent_cleared_results_agree() -> None:
    size = page_tokens(reading(1))
    session = reading(12, less={7: 2 * size, 10: 4 * size})
    assert [row.cleared for row in call_rows(session, 0, 100)[0]][-1] == 4
    _tokens_agree(session)
    _calls_agree(session)
    _rereads_agree(session)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_the_chats_meter_keeps_the_margin_of_the_profile_before_the_first_payload(name: str, tmp_path: Path) -> None:
    """Of a new session, and of one that goes on."""
    settings = Settings(profile=name)
    with Session.new(tmp_path, stores=Folder.at(tmp_path / "logs"), settings=settings) as session:
        _meter_agrees(session)
        session.user("Which port?")
        session.compose(SMALL)
        session.reply("Port 8001.")
        _meter_agrees(session)


def test_the_chats_meter_agrees_with_the_calls_that_it_makes(tmp_path: Path) -> None:
    """After each payload of a conversation the line shows the tokens, the limit and the price of the newest call."""
    replies = [reply_of(f"Answer {turn}") for turn in range(4)]

    async def talk(session: Session) -> None:
        agent = Agent(session, ScriptedModel(replies, price=price_of("")), tools=None, budget=SMALL)
        for turn in range(4):
            sent = [event async for event in agent.stream(f"Question {turn}") if isinstance(event, PayloadComposed)]
            status, (rows, _) = meter(agent, sent[-1]), call_rows(session, 0, 1000, 1, price_of)
            assert (status.tokens, status.limit) == (rows[-1].total, rows[-1].limit)
            assert status.cost == pytest.approx(sum(row.cost or 0.0 for row in rows))
            assert agent.spent.usage.input_tokens == sum(row.reported or 0 for row in rows)
        await agent.close()

    with Session.new(tmp_path, stores=Folder.at(tmp_path / "logs")) as session:
        asyncio.run(talk(session))
        views_agree(session)


def test_system_messages_after_the_first_call_have_one_kind_in_all_views(tmp_path: Path) -> None:
    """One that a program noted is a note, as among the user's; one that joins the system prompt is of the system."""
    with Session.new(tmp_path, stores=Folder.at(tmp_path / "logs")) as session:
        session.extend([{"role": "system", "content": "You help."}, {"role": "user", "content": "Which port?"}])
        session.compose(SMALL)
        session.reply(reply_of("Port 8001."))
        session.note("The harness has changed a file.", system=True)
        session.system("You may also write.")
        later = [{"role": "system", "content": "The tests were run."}, {"role": "user", "content": "And now?"}]
        session.extend(later, in_place=True)
        session.compose(SMALL)
        session.reply(reply_of("Now too."))
        views_agree(session)
        assert {"note", "system"} <= by_kind(session).keys()


def test_an_answer_without_input_tokens_counts_in_all_views(tmp_path: Path) -> None:
    """A provider may report only what the model wrote."""
    with Session.new(tmp_path, stores=Folder.at(tmp_path / "logs")) as session:
        for tokens in (0, 50):
            session.user("Which port?")
            session.compose(SMALL)
            session.reply(reply_of("8001.") | {"usage": {"prompt_tokens": tokens, "completion_tokens": 7}})
        views_agree(session)
        assert reported(session).spent.output == 14


def test_context_names_the_same_kinds_as_the_call_that_follows(tmp_path: Path) -> None:
    """What a program wrote is a note in `context` too, and thinking is apart from the answer."""
    thinking = {"type": "thinking", "thinking": "The test is named after the port. " * 20, "signature": "sig"}
    with Session.new(tmp_path, stores=Folder.at(tmp_path / "logs")) as session:
        session.user("Why does the login test fail?")
        session.compose(SMALL)
        session.reply({"role": "assistant", "content": [thinking, {"type": "text", "text": "It needs port 8001."}]})
        session.note("The file has changed.")
        session.user("Then use that port.")
        context = context_facts(session, SMALL)
        session.compose(SMALL)
        row = call_rows(session, 0, 1000)[0][-1]
    assert {kind: counts["tokens"] for kind, counts in context.kinds.items()} == {
        kind: sum(levels.values()) for kind, levels in row.tokens.items()
    }
    assert {"note", "thinking"} <= context.kinds.keys()
