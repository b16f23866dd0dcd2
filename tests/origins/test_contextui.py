"""The ContextUI document: items and their order, rendering, obsolescence, trimming, monitoring."""

import logging
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import BadInput
from sightline.log.journal import Journal
from sightline.log.stores.jsonl import JsonlStore
from sightline.origins.contextui import (
    ContextItem,
    ContextItemType,
    ContextManager,
    ContextRenderer,
    ContextStats,
    LlmMessage,
    RenderOptions,
    SeqClock,
    dump,
    trim,
)
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids

SYSTEM, USER, ASSISTANT, WINDOW = ContextItemType


class Pane:
    """A live window, as far as the context needs one."""

    def __init__(self, text: str) -> None:
        self.text = text

    def render(self) -> str:
        return self.text


def journal(path: Path | None = None) -> Journal:
    options = {"clock": Ticking(), "ids": numbered_ids(), "token_counter": WordCounter()}
    return Journal(JsonlStore(path) if path else MemoryStore("ui"), **options)


def filled(*items: ContextItem) -> ContextManager:
    manager = ContextManager(journal())
    for item in items:
        manager.add(item)
    return manager


def system(text: str = "be brief") -> ContextItem:
    return ContextItem("", SYSTEM, text)


def user(text: str = "hello") -> ContextItem:
    return ContextItem("", USER, text)


def assistant(text: str = "hi") -> ContextItem:
    return ContextItem("", ASSISTANT, text)


def window(window_id: str) -> ContextItem:
    return ContextItem("", WINDOW, window_id)


def contents(items: list[ContextItem]) -> list[str]:
    return [item.content for item in items]


# ------------------------------------------------------------------ data model (§1)


@pytest.mark.accepts(1)
def test_an_item_has_five_fields_and_begins_live() -> None:
    """Id, Type, Content, Seq and IsObsolete are all there is, and a new item is not obsolete."""
    item = ContextItem("u1", USER, "hello")
    assert msgspec.to_builtins(item) == {
        "Id": "u1", "Type": "User", "Content": "hello", "Seq": 0, "IsObsolete": False,
    }  # fmt: skip
    assert item.is_obsolete is False


@pytest.mark.accepts(2)
def test_an_id_names_one_item_only() -> None:
    """A second item of the same id is refused and changes nothing; items without an id get one of their own."""
    manager = filled(ContextItem("a", USER, "first"), user("second"), user("third"))
    with pytest.raises(BadInput, match="'a'"):
        manager.add(ContextItem("a", USER, "again"))
    ids = [item.id for item in manager.get_all()]
    assert ids[0] == "a"
    assert len(set(ids)) == 3
    assert contents(manager.get_all()) == ["first", "second", "third"]


@pytest.mark.accepts(3)
def test_there_are_exactly_four_types() -> None:
    """System, User, Assistant and Window, spelled so."""
    assert [kind.value for kind in ContextItemType] == ["System", "User", "Assistant", "Window"]


@pytest.mark.accepts(4, 6)
@given(texts=st.lists(st.text(), min_size=3, max_size=3))
def test_texts_are_kept_and_rendered_unchanged(texts: list[str]) -> None:
    """Whatever a System, User or Assistant item says is its content when read back and when rendered."""
    manager = filled(
        *(ContextItem("", kind, text) for kind, text in zip((SYSTEM, USER, ASSISTANT), texts, strict=True))
    )
    assert contents(manager.get_all()) == texts
    assert [message.content for message in ContextRenderer().render(manager.get_active(), {})] == texts


@pytest.mark.accepts(6)
def test_a_tool_call_in_assistant_text_stays_text() -> None:
    """Rendering leaves `<tool_call>` where the model wrote it."""
    said = '好的，我来帮你创建待办列表。\n<tool_call>{"name": "create", "arguments": {"name": "todo"}}</tool_call>'
    [message] = ContextRenderer().render(filled(assistant(said)).get_active(), {})
    assert message == LlmMessage("assistant", said)


@pytest.mark.accepts(5)
def test_a_window_item_holds_the_id_and_never_the_text() -> None:
    """Rendering and refreshing a window leaves its item, and everything in the log, without a word of what it shows."""
    manager, pane = filled(window("todo_12345")), Pane("买菜")
    before = manager.get_all()
    ContextRenderer().render(before, {"todo_12345": pane})
    pane.text = "写代码"
    ContextRenderer().render(before, {"todo_12345": pane})
    assert manager.get_all() == before == [ContextItem(before[0].id, WINDOW, "todo_12345", 1)]
    log = b"".join(line.data for line in manager.journal.store.scan())
    assert b"todo_12345" in log
    assert "买菜".encode() not in log
    assert "写代码".encode() not in log


@pytest.mark.accepts(7)
def test_the_context_of_the_document_keeps_its_order() -> None:
    """System, User 1, Assistant 1, Window, User 2, Assistant 2 come back in this order."""
    said = [system("prompt"), user("u1"), assistant("a1"), window("todo_list"), user("u2"), assistant("a2")]
    read = filled(*said).get_all()
    assert [item.type for item in read] == [SYSTEM, USER, ASSISTANT, WINDOW, USER, ASSISTANT]
    assert contents(read) == ["prompt", "u1", "a1", "todo_list", "u2", "a2"]


# ------------------------------------------------------------------ manager and seq (§2)


@pytest.mark.accepts(8)
def test_the_manager_offers_what_the_interface_lists() -> None:
    """CurrentSeq can be read and not set; Add, GetAll, GetActive and MarkWindowObsolete can be called."""
    manager = filled(user(), window("w"))
    assert manager.current_seq == 2
    with pytest.raises(AttributeError):
        manager.current_seq = 7  # type: ignore[misc]
    manager.mark_window_obsolete("w")
    assert len(manager.get_all()) == 2
    assert len(manager.get_active()) == 1


@pytest.mark.accepts(9, 10, 14)
def test_add_gives_the_item_the_clocks_next_number() -> None:
    """Add asks the clock, writes the number into the item over whatever stood there, appends it and returns nothing."""
    clock = SeqClock()
    manager = ContextManager(journal(), clock=clock)
    item = ContextItem("u", USER, "hello", seq=999)
    assert manager.add(item) is None
    assert item.seq == clock.current == manager.current_seq == 1
    assert manager.get_all() == [item]


@pytest.mark.accepts(11)
def test_a_clock_at_41_gives_42_and_43() -> None:
    """The document's sequence diagram."""
    manager = ContextManager(journal(), clock=SeqClock(41))
    first, second = user("item"), user("item2")
    manager.add(first)
    manager.add(second)
    assert (first.seq, second.seq) == (42, 43)
    assert [item.seq for item in manager.get_all()] == [42, 43]


@pytest.mark.accepts(12)
def test_numbers_are_unique_and_rise_under_threads() -> None:
    """Eight threads adding at once: every number once, none missing, and the log in their order."""
    manager = filled()

    def work(name: int) -> None:
        for index in range(25):
            manager.add(user(f"{name}-{index}"))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    items = manager.get_all()
    assert [item.seq for item in items] == list(range(1, 201))
    for name in range(8):
        own = [item.content for item in items if item.content.startswith(f"{name}-")]
        assert own == [f"{name}-{index}" for index in range(25)]
    assert contents(items) == [manager.journal.reader.text(row) for row in range(200)]


@pytest.mark.accepts(13, 14)
def test_a_fresh_context_counts_from_one() -> None:
    """CurrentSeq is 0 before the first item, which gets 1."""
    manager, item = filled(), user()
    assert manager.current_seq == 0
    manager.add(item)
    assert item.seq == manager.current_seq == 1


@pytest.mark.accepts(14, 15)
def test_others_may_take_numbers_from_the_same_clock() -> None:
    """Gaps that events and windows leave change nothing about the items' order."""
    clock = SeqClock()
    manager = ContextManager(journal(), clock=clock)
    manager.add(user("first"))
    clock.next()
    clock.next()
    manager.add(user("second"))
    assert [(item.content, item.seq) for item in manager.get_all()] == [("first", 1), ("second", 4)]
    clock.next()
    assert manager.current_seq == 5


@pytest.mark.accepts(12, 16)
def test_a_context_goes_on_after_a_restart(tmp_path: Path) -> None:
    """Opened again, the log gives the same items, and numbers go on after the last; a clock behind them is refused."""
    path = tmp_path / "ui.jsonl"
    before = ContextManager(journal(path))
    for item in (system(), user(), window("w"), user("bye")):
        before.add(item)
    before.mark_window_obsolete("w")
    before.journal.close()
    after = ContextManager(journal(path))
    assert after.get_all() == before.get_all()
    assert after.current_seq == 4
    with closing(journal(path)) as again, pytest.raises(BadInput, match=r"SeqClock\(4\)"):
        ContextManager(again, clock=SeqClock(3))
    after.journal.close()


@pytest.mark.accepts(16, 17, 53)
def test_all_and_active_items_come_by_seq() -> None:
    """GetAll has the obsolete ones too, GetActive has not, both in ascending order."""
    manager = filled(user("1"), window("w"), assistant("3"), window("v"), user("5"))
    manager.mark_window_obsolete("w")
    assert [item.seq for item in manager.get_all()] == [1, 2, 3, 4, 5]
    assert [item.seq for item in manager.get_active()] == [1, 3, 4, 5]
    assert [item.is_obsolete for item in manager.get_all()] == [False, True, False, False, False]


@pytest.mark.accepts(18)
@pytest.mark.parametrize("read", [ContextManager.get_all, ContextManager.get_active])
def test_what_is_read_is_a_copy(read: Callable[[ContextManager], list[ContextItem]]) -> None:
    """Emptying a returned list, or changing its items, leaves the manager as it was."""
    manager = filled(user("said"), window("w"))
    items = read(manager)
    items[0].content, items[1].is_obsolete = "forged", True
    items.clear()
    assert contents(manager.get_all()) == ["said", "w"]
    assert len(manager.get_active()) == 2


def test_what_was_added_is_the_sessions_too() -> None:
    """A core session over the same log composes the items, live windows included: there is one store."""
    manager = filled(system("be brief"), user("what is there to do"), window("todo"))
    session = Session(manager.journal, windows={"todo": Pane("buy milk")}, clock=Ticking())
    payload = session.compose(Budget(window=1000))
    sent = str(payload.openai())
    assert all(text in sent for text in ("be brief", "what is there to do", "buy milk"))
    manager.mark_window_obsolete("todo")
    assert "buy milk" not in str(session.compose(Budget(window=1000)).openai())


# ------------------------------------------------------------------ rendering (§3, §6, §7)


@pytest.mark.accepts(19, 22)
def test_render_makes_messages_of_items() -> None:
    """Render(items, windows, options) gives one message per item, with the role of its type, as the options say."""
    items = filled(system("s"), user("u"), assistant("a")).get_active()
    messages = [LlmMessage("system", "s"), LlmMessage("user", "u"), LlmMessage("assistant", "a")]
    assert ContextRenderer().render(items, {}, RenderOptions()) == messages
    assert ContextRenderer().render(items, {}) == messages
    assert ContextRenderer().render(items, {}, RenderOptions(include_system_prompt=False)) == messages[1:]


@pytest.mark.accepts(20)
def test_the_options_have_the_documents_defaults() -> None:
    """MaxTokens is none, IncludeSystemPrompt true, IncludeObsolete false; there is no fourth."""
    assert msgspec.to_builtins(RenderOptions()) == {
        "MaxTokens": None, "IncludeSystemPrompt": True, "IncludeObsolete": False,
    }  # fmt: skip


@pytest.mark.accepts(21)
def test_a_message_is_role_and_content() -> None:
    """It has exactly these two fields, and a role is one of three."""
    assert msgspec.json.encode(LlmMessage("user", '<Window id="w"/>')) == (
        b'{"role":"user","content":"<Window id=\\"w\\"/>"}'
    )
    for role in ("system", "user", "assistant"):
        assert msgspec.convert({"role": role, "content": ""}, LlmMessage).role == role
    with pytest.raises(msgspec.ValidationError, match="tool"):
        msgspec.convert({"role": "tool", "content": ""}, LlmMessage)


@pytest.mark.accepts(26)
@given(order=st.permutations(range(1, 7)))
def test_messages_come_by_seq_however_items_are_passed(order: list[int]) -> None:
    """The order of the list handed in does not matter."""
    items = [ContextItem(str(seq), USER, f"said {seq}", seq) for seq in order]
    rendered = ContextRenderer().render(items, {})
    assert [message.content for message in rendered] == [f"said {seq}" for seq in range(1, 7)]


@pytest.mark.accepts(27)
def test_system_messages_can_be_left_out() -> None:
    """IncludeSystemPrompt = false leaves out all of them, not only the first."""
    items = filled(system("one"), user("u"), system("two"), assistant("a")).get_active()
    rendered = ContextRenderer().render(items, {}, RenderOptions(include_system_prompt=False))
    assert [message.content for message in rendered] == ["u", "a"]


@pytest.mark.accepts(28)
def test_obsolete_items_are_rendered_only_when_asked_for() -> None:
    """The renderer drops them itself though they are passed in; asked for, those whose window still exists appear."""
    manager = filled(user("u"), window("kept"), window("closed"))
    manager.mark_window_obsolete("kept")
    manager.mark_window_obsolete("closed")
    panes = {"kept": Pane("still there")}
    render = ContextRenderer().render
    assert [m.content for m in render(manager.get_all(), panes)] == ["u"]
    shown = render(manager.get_all(), panes, RenderOptions(include_obsolete=True))
    assert [m.content for m in shown] == ["u", "still there"]


def test_trimming_keeps_the_order_of_items_that_were_never_added() -> None:
    """They all have the number 0: the order in which they are given stands, with a limit as without."""
    said = [("USER", "one"), ("ASSISTANT", "two"), ("SYSTEM", "sys"), ("USER", "three")]
    items = [ContextItem(id=str(n), type=ContextItemType[kind], content=text) for n, (kind, text) in enumerate(said)]
    renderer = ContextRenderer(WordCounter())
    for limit in (None, 100):
        assert [m.content for m in renderer.render(items, {}, RenderOptions(max_tokens=limit))] == [t for _, t in said]


@pytest.mark.accepts(29)
def test_max_tokens_trims_what_is_rendered() -> None:
    """None renders everything; n keeps the total within n, counting windows as they are shown."""
    manager = filled(system("s1 s2"), user("one two three"), window("w"), user("four five"), assistant("six"))
    panes = {"w": Pane("a b c d")}
    render = ContextRenderer(WordCounter()).render

    def words(max_tokens: int | None) -> list[str]:
        return [m.content for m in render(manager.get_active(), panes, RenderOptions(max_tokens=max_tokens))]

    everything = ["s1 s2", "one two three", "a b c d", "four five", "six"]
    assert words(None) == words(12) == everything
    assert words(11) == ["s1 s2", "one two three", "four five", "six"]  # the window's four words do not fit
    assert words(5) == ["s1 s2", "four five", "six"]
    assert words(2) == words(0) == ["s1 s2"]


@pytest.mark.accepts(29, 63)
def test_a_system_prompt_over_the_limit_is_rendered_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    """System is excepted from the limit: it is rendered alone, and the log says that it is too long."""
    items = filled(system("far too many words"), user("u")).get_active()
    with caplog.at_level(logging.WARNING, "sightline"):
        rendered = ContextRenderer(WordCounter()).render(items, {}, RenderOptions(max_tokens=3))
    assert rendered == [LlmMessage("system", "far too many words")]
    assert "3 tokens" in caplog.text


@pytest.mark.accepts(30)
def test_rendering_changes_no_item() -> None:
    """Trimmed or not, the items handed in are as they were."""
    manager = filled(system(), user("u " * 50), window("w"), assistant("a"))
    manager.mark_window_obsolete("w")
    items = manager.get_all()
    before = msgspec.json.encode(items)
    for limit in (None, 1, 20):
        ContextRenderer(WordCounter()).render(items, {"w": Pane("x")}, RenderOptions(max_tokens=limit))
    assert msgspec.json.encode(items) == before


# ------------------------------------------------------------------ obsolescence (§4)


@pytest.mark.accepts(50, 51, 53)
def test_closing_marks_every_reference_and_nothing_else() -> None:
    """Each Window item of the id is obsolete; texts that equal the id and other windows are untouched."""
    manager = filled(window("todo"), user("todo"), assistant("todo"), system("todo"), window("todo"), window("todo2"))
    manager.mark_window_obsolete("todo")
    assert [item.is_obsolete for item in manager.get_all()] == [True, False, False, False, True, False]
    assert [item.seq for item in manager.get_active()] == [2, 3, 4, 6]


@pytest.mark.accepts(52)
def test_closing_an_unknown_window_or_twice_does_nothing() -> None:
    """No error, no effect, and nothing more is written."""
    manager = filled(user(), window("w"))
    manager.mark_window_obsolete("nobody")
    assert len(manager.get_active()) == 2
    manager.mark_window_obsolete("w")
    once, written = manager.get_all(), manager.journal.store.tips.seq
    manager.mark_window_obsolete("w")
    assert manager.get_all() == once
    assert manager.journal.store.tips.seq == written


def test_a_window_opened_again_is_live_again() -> None:
    """Only the references that stood when it was closed are obsolete."""
    manager = filled(window("w"))
    manager.mark_window_obsolete("w")
    manager.add(window("w"))
    assert [item.is_obsolete for item in manager.get_all()] == [True, False]


# ------------------------------------------------------------------ trimming (§5)

Sized = tuple[list[ContextItem], Callable[[ContextItem], int]]


def sized(*rows: tuple[str, int]) -> Sized:
    """Items named like the vectors, S1, U2, A3, W4, with a cost each; X is an obsolete window."""
    kinds = {"S": SYSTEM, "U": USER, "A": ASSISTANT, "W": WINDOW, "X": WINDOW}
    items = [ContextItem(name, kinds[name[0]], name, int(name[1:]), name[0] == "X") for name, _ in rows]
    costs = dict(rows)
    return items, lambda item: costs[item.id]


def kept(sized: Sized, max_tokens: int) -> list[str]:
    items, tokens = sized
    return [item.id for item in trim(items, max_tokens, tokens)]


C_000_1 = sized(
    ("S1", 5), ("U2", 10), ("A3", 10), ("W4", 20), ("U5", 10), ("A6", 10), ("U7", 10), ("A8", 10), ("U9", 10),
    ("A10", 10), ("X11", 5),
)  # fmt: skip


@pytest.mark.accepts(54, 56, 57, 59, 65)
@pytest.mark.parametrize(
    ("max_tokens", "dropped"),
    [
        (110, []),
        (105, ["X11"]),
        (95, ["U2", "X11"]),
        (85, ["U2", "A3", "X11"]),
        (65, ["U2", "A3", "W4", "X11"]),
    ],
)
def test_the_vector_of_all_classes(max_tokens: int, dropped: list[str]) -> None:
    """Obsolete windows go first, then old dialogue from the oldest, then active windows; the last three rounds stay."""
    everything = [item.id for item in C_000_1[0]]
    assert kept(C_000_1, max_tokens) == [name for name in everything if name not in dropped]


@pytest.mark.accepts(66, 60)
def test_the_vector_of_pure_dialogue() -> None:
    """System 5 and five messages of 10 within 35: the system and the newest three."""
    dialogue = sized(("S1", 5), ("U2", 10), ("A3", 10), ("U4", 10), ("A5", 10), ("U6", 10))
    assert kept(dialogue, 35) == ["S1", "U4", "A5", "U6"]


@pytest.mark.accepts(55)
def test_every_system_item_stays() -> None:
    """Not only the first, and whatever comes after it."""
    several = sized(("S1", 5), ("U2", 10), ("S3", 5), ("A4", 10), ("S5", 5))
    assert kept(several, 15) == ["S1", "S3", "S5"]
    assert kept(several, 25) == ["S1", "S3", "A4", "S5"]


@pytest.mark.accepts(56)
def test_an_obsolete_window_never_outlives_a_live_item() -> None:
    """Even one that costs nothing goes when anything else had to go; when nothing had, the newest that fit stay."""
    assert kept(sized(("S1", 5), ("U2", 10), ("X3", 0), ("U4", 10)), 15) == ["S1", "U4"]
    assert kept(sized(("S1", 5), ("X2", 1), ("X3", 4), ("X4", 3), ("U5", 10)), 19) == ["S1", "X2", "X4", "U5"]


@pytest.mark.accepts(58)
def test_a_round_begins_at_a_user_item_and_windows_are_no_dialogue() -> None:
    """Three rounds reach back to the third last User item with all its answers; the windows among them rank below."""
    rounds = sized(
        ("S1", 1), ("A2", 1), ("U3", 1), ("U4", 1), ("A5", 1), ("A6", 1), ("W7", 1), ("U8", 1), ("W9", 1), ("U10", 1),
        ("A11", 1),
    )  # fmt: skip
    assert kept(rounds, 7) == ["S1", "U4", "A5", "A6", "U8", "U10", "A11"]
    assert kept(rounds, 8) == ["S1", "U4", "A5", "A6", "U8", "W9", "U10", "A11"]
    assert kept(rounds, 9) == ["S1", "U4", "A5", "A6", "W7", "U8", "W9", "U10", "A11"]
    assert kept(rounds, 10) == ["S1", "U3", "U4", "A5", "A6", "W7", "U8", "W9", "U10", "A11"]


@pytest.mark.accepts(60)
def test_what_does_not_fit_is_passed_over_and_equality_admits() -> None:
    """A large item is skipped, smaller older ones still get in, and a total of exactly the limit is allowed."""
    mixed = sized(("S1", 5), ("U2", 10), ("A3", 50), ("U4", 10))
    assert kept(mixed, 25) == ["S1", "U2", "U4"]
    assert kept(mixed, 24) == ["S1", "U4"]


@pytest.mark.accepts(63)
def test_a_system_over_the_limit_stays_alone_and_says_so() -> None:
    """Only the System items come back, marked as over budget; within the limit nothing is marked."""
    items, tokens = sized(("S1", 8), ("U2", 1), ("S3", 4), ("W4", 0), ("X5", 0))
    over = trim(items, 11, tokens)
    assert [item.id for item in over] == ["S1", "S3"]
    assert over.over_budget
    assert not trim(items, 12, tokens).over_budget


@pytest.mark.accepts(64)
def test_a_window_costs_what_it_shows() -> None:
    """Its rendered text is charged, not its id; a window that is gone costs nothing."""
    manager = ContextManager(journal(), windows={"a_rather_long_id": Pane("one two three four")})
    manager.add(window("a_rather_long_id"))
    assert manager.get_stats().estimated_tokens == 4
    manager.add(window("gone"))
    assert manager.get_stats().estimated_tokens == 4
    render = ContextRenderer(WordCounter()).render
    manager.add(user("five"))
    panes = {"a_rather_long_id": Pane("one two three four")}
    assert len(render(manager.get_active(), panes, RenderOptions(max_tokens=5))) == 2
    assert [m.content for m in render(manager.get_active(), panes, RenderOptions(max_tokens=4))] == ["five"]
    assert [m.content for m in render(manager.get_active(), {}, RenderOptions(max_tokens=1))] == ["five"]


RANDOM_ITEMS = st.lists(st.tuples(st.sampled_from("SUAWX"), st.integers(0, 30)), max_size=20).map(
    lambda rows: sized(*((f"{letter}{seq}", cost) for seq, (letter, cost) in enumerate(rows, start=1)))
)


@pytest.mark.accepts(54, 55, 56, 61, 62, 67)
@given(rows=RANDOM_ITEMS, max_tokens=st.integers(0, 300), shuffled=st.randoms(use_true_random=False))
def test_what_holds_for_every_trim(rows: Sized, max_tokens: int, shuffled: object) -> None:
    """Order by seq, all of System, the limit, obsolete first, all if all fits, and the items handed in untouched."""
    items, tokens = rows
    before = msgspec.json.encode(items)
    passed = list(items)
    shuffled.shuffle(passed)  # type: ignore[attr-defined]
    result = trim(passed, max_tokens, tokens)
    assert [item.seq for item in result] == sorted(item.seq for item in result)
    assert {item.id for item in items if item.type is SYSTEM} <= {item.id for item in result}
    system_tokens = sum(tokens(item) for item in items if item.type is SYSTEM)
    assert result.over_budget == (system_tokens > max_tokens)
    assert result.over_budget or sum(map(tokens, result)) <= max_tokens
    if any(item not in result for item in items if not item.is_obsolete):
        assert not any(item.is_obsolete for item in result)
    if sum(map(tokens, items)) <= max_tokens:
        assert result == items
    assert msgspec.json.encode(items) == before


@pytest.mark.accepts(59, 60, 66)
@given(costs=st.lists(st.integers(1, 20), max_size=15), max_tokens=st.integers(0, 150))
def test_pure_dialogue_is_trimmed_as_the_documents_code_does(costs: list[int], max_tokens: int) -> None:
    """Without windows the result is that of the document's sample: newest first, what does not fit passed over."""
    rows = [("S1", 5), *((f"{'UA'[index % 2]}{index + 2}", cost) for index, cost in enumerate(costs))]
    used, expected = 5, ["S1"]
    for name, cost in reversed(rows[1:]):
        if used + cost <= max_tokens:
            expected.insert(1, name)
            used += cost
    assert kept(sized(*rows), max_tokens) == expected


# ------------------------------------------------------------------ monitoring (§8)


@pytest.mark.accepts(68, 69)
def test_statistics_count_every_item() -> None:
    """Total, active, obsolete and window items, and the tokens of all of them, obsolete ones included."""
    manager = ContextManager(journal(), windows={"w": Pane("four words are shown"), "old": Pane("two more")})
    for item in (system("one two"), user("three"), window("w"), window("old"), assistant("four five six")):
        manager.add(item)
    manager.mark_window_obsolete("old")
    stats = manager.get_stats()
    assert stats == ContextStats(
        total_items=5, active_items=4, obsolete_items=1, window_items=2, estimated_tokens=2 + 1 + 4 + 2 + 3
    )
    assert stats.total_items == len(manager.get_all()) == stats.active_items + stats.obsolete_items
    assert list(msgspec.to_builtins(stats)) == [
        "TotalItems", "ActiveItems", "ObsoleteItems", "WindowItems", "EstimatedTokens",
    ]  # fmt: skip


@pytest.mark.accepts(70, 71)
def test_the_debug_output_of_the_document() -> None:
    """The sample lines, character for character."""
    manager = filled(
        system("你是 ContextUI 助手..."),
        user("创建一个待办列表"),
        assistant("好的，我来帮你创建..."),
        window("todo_12345"),
        window("temp_67890"),
    )
    manager.mark_window_obsolete("temp_67890")
    assert dump(manager.get_all()).splitlines() == [
        "[✓] [0001] System: 你是 ContextUI 助手...",
        "[✓] [0002] User: 创建一个待办列表",
        "[✓] [0003] Assistant: 好的，我来帮你创建...",
        "[✓] [0004] Window: todo_12345",
        "[X] [0005] Window: temp_67890",
    ]


@pytest.mark.accepts(70, 72)
def test_long_content_is_cut_and_long_numbers_are_not() -> None:
    """50 characters stay as they are, the 51st becomes `...`; a seq above 9999 is printed in full."""
    fifty, items = "字" * 50, []
    for seq, content in ((7, fifty), (9999, fifty + "多"), (12345, "short"), (12346, "two\nlines")):
        items.append(ContextItem(str(seq), USER, content, seq))
    assert dump(items).split("\n") == [
        f"[✓] [0007] User: {fifty}",
        f"[✓] [9999] User: {fifty}...",
        "[✓] [12345] User: short",
        "[✓] [12346] User: two lines",
    ]
