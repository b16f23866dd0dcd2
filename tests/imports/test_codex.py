"""Rollouts of Codex: only what the model saw is said, once, and nothing is lost."""

import json
from typing import Any

from sightline import Budget, MemoryStores, Session, Settings
from sightline.imports.detection import conversations
from sightline.imports.importer import Imported, import_into
from sightline.imports.originals import read_back
from sightline.imports.source import Source
from sightline.log.stores import Stores
from sightline.values.items import Usage, plain_text
from sightline.view.replay.formats import read_recording

Line = dict[str, Any]


def line(kind: str, **payload: Any) -> Line:
    return {"timestamp": "2026-11-01T10:00:00.000Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> Line:
    return line("response_item", type=kind, **payload)


def event(kind: str, **payload: Any) -> Line:
    return line("event_msg", type=kind, **payload)


def user(text: str, role: str = "user") -> Line:
    return item("message", role=role, content=[{"type": "input_text", "text": text}])


def said(text: str) -> Line:
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}])


def used(total: int, fresh: int, cached: int = 0, output: int = 7) -> Line:
    last = {
        "input_tokens": fresh,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "total_tokens": fresh + output,
    }
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": last, "model_context_window": 258_400}
    return event("token_count", info=info, rate_limits=None)


META = line(
    "session_meta", id="t1", session_id="t1", cwd="/w", cli_version="0.145.0", base_instructions={"text": "You code."},
    git={"branch": "main"},
)  # fmt: skip
CONTEXT = line("turn_context", turn_id="k1", cwd="/w", model="gpt-x", effort="medium")
RUN = [
    META,
    CONTEXT,
    user("# AGENTS.md instructions for /w\n\nBe brief."),
    user("<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"),
    user("fix it"),
    event("user_message", message="fix it", images=[]),
    item("reasoning", summary=[], encrypted_content="xyz"),
    item("function_call", name="exec_command", arguments='{"cmd":"pytest -q"}', call_id="c1"),
    used(107, 100, 80),
    item("function_call_output", call_id="c1", output="1 failed"),
    used(107, 100, 80),
    event("exec_command_end", call_id="c1", stdout="1 failed"),
    said("Fixed."),
    event("agent_message", message="Fixed."),
    used(317, 203, 100),
]


def source(lines: list[Line]) -> Source:
    return Source("rollout-x.jsonl", data="\n".join(map(json.dumps, lines)).encode())


def imported(lines: list[Line], stores: Stores) -> Imported:
    [found] = conversations(source(lines))
    return import_into(stores, found, settings=Settings())


def texts(stores: Stores) -> list[tuple[str, str, bool]]:
    with Session.resume("codex-t1", stores=stores) as session:
        return [(each.kind.name, plain_text(each.parts), each.by_program) for each in session.items]


def given_back(stores: Stores) -> list[Line]:
    store = stores.open("codex-t1")
    store.refresh()
    return [json.loads(each) for each in read_back(store)]


def spoken(lines: list[Line]) -> list[str]:
    return [plain_text(message.parts) for message in read_recording(source(lines)._data or b"").messages]


def test_what_the_screen_showed_is_not_said_again() -> None:
    """Response items are the conversation; events, which repeat them, are kept and counted."""
    stores = MemoryStores()
    done = imported(RUN, stores)
    assert [text for _, text, by_program in texts(stores) if not by_program] == [
        "You code.", "fix it", "", "", "1 failed", "Fixed.",
    ]  # fmt: skip
    assert done.types["event_msg/agent_message"] == 1
    assert sum(done.types.values()) == done.lines == len(RUN)
    assert given_back(stores) == RUN


def test_project_rules_and_environment_are_not_the_user_s_words() -> None:
    """They have the user's role in a rollout."""
    stores = MemoryStores()
    imported(RUN, stores)
    assert [text.split()[0] for _, text, by_program in texts(stores) if by_program] == ["#", "<environment_context>"]


def test_usage_that_is_reported_again_counts_once() -> None:
    """The total has not changed since; input includes what was cached."""
    assert imported(RUN, MemoryStores()).usage == Usage(303, 14, 180)


def test_an_answer_has_the_model_of_its_turn() -> None:
    """It may change between turns; by it a price and a context window are known."""
    other = line("turn_context", turn_id="k2", cwd="/w", model="gpt-y")
    [found] = conversations(source([*RUN, other, user("thanks"), said("Welcome.")]))
    messages = [turn.message for step in found.steps() for turn in step.turns]
    assert [message.model for message in messages if message.role == "assistant"] == ["gpt-x", "gpt-x", "gpt-y"]


def test_turns_that_were_rolled_back_are_not_said() -> None:
    """Each with everything up to the rollback; the lines are kept."""
    lines = [META, user("one"), said("1"), user("two"), said("2"), user("three"), said("3")]
    lines += [event("thread_rolled_back", num_turns=2), user("four"), said("4")]
    assert spoken(lines) == ["You code.", "one", "1", "four", "4"]
    stores = MemoryStores()
    imported(lines, stores)
    assert given_back(stores) == lines


def test_a_rollback_after_an_import_begins_a_branch() -> None:
    """What had been imported stays on its own."""
    stores = MemoryStores()
    lines = [META, user("one"), said("1"), user("two"), said("2")]
    imported(lines, stores)
    lines += [event("thread_rolled_back", num_turns=1), user("three"), said("3")]
    imported(lines, stores)
    assert [text for _, text, _ in texts(stores)] == ["You code.", "one", "1", "three", "3"]
    assert given_back(stores) == lines


def compacted(**payload: Any) -> list[Line]:
    return [META, user("one"), said("a long story"), line("compacted", **payload), user("two"), said("2")]


def shown(lines: list[Line]) -> str:
    stores = MemoryStores()
    imported(lines, stores)
    assert given_back(stores) == lines
    with Session.resume("codex-t1", stores=stores) as session:
        return json.dumps(session.compose(Budget(8_000)).openai())


def test_a_compaction_replaces_the_history_before_it() -> None:
    """By the history that the line has, or by its summary; where that is encrypted, the history stays."""
    history = [user("one")["payload"], user("They told a story.")["payload"]]
    for payload in ({"message": "", "replacement_history": history}, {"message": "They told a story."}):
        model_sees = shown(compacted(**payload))
        assert "They told a story." in model_sees
        assert "a long story" not in model_sees
    secret = [user("one")["payload"], {"type": "compaction", "encrypted_content": "xyz"}]
    assert "a long story" in shown(compacted(message="", replacement_history=secret))


def test_a_replay_is_of_what_was_said_not_of_its_summary() -> None:
    """Sightline would have composed the messages themselves."""
    assert spoken(compacted(message="They told a story.")) == ["You code.", "one", "a long story", "two", "2"]


def test_the_oldest_rollouts_have_bare_items() -> None:
    """Their first line has the instructions, and records of the program's state stand between."""
    lines = [
        {"id": "t1", "timestamp": "2025-05-01T10:00:00.000Z", "instructions": "You code."},
        {"record_type": "state"},
        user("fix it")["payload"],
        {"type": "local_shell_call", "call_id": "c1", "status": "completed", "action": {"command": ["ls"]}},
        {"type": "function_call_output", "call_id": "c1", "output": {"content": "a.py", "success": True}},
        said("Done.")["payload"],
    ]
    stores = MemoryStores()
    imported(lines, stores)
    assert [kind for kind, *_ in texts(stores)] == ["SYSTEM", "USER", "ASSISTANT", "CALL", "RESULT", "ASSISTANT"]
    assert given_back(stores) == lines


def test_unknown_lines_and_items_are_kept() -> None:
    """Of every type, also without one."""
    lines = [META, user("fix it"), item("tomorrow", x=1), line("later", y=[2]), {"z": 3}, said("Done.")]
    stores = MemoryStores()
    done = imported(lines, stores)
    assert spoken(lines) == ["You code.", "fix it", "Done."]
    assert given_back(stores) == lines
    assert done.types["response_item/tomorrow"] == done.types["later"] == done.types["unknown"] == 1
