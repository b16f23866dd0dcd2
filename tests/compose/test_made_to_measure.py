"""A new result that does not fit is shown as far as there is room, and says from where to read on."""

import re
from pathlib import Path

import pytest

from sightline.log import levels
from sightline.log.stores.jsonl import JsonlStore
from sightline.plan.plan import Line
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, numbered_ids
from sightline.values.items import Call, Kind, Lod
from sightline.values.settings import Settings
from sightline.wire.payload import Payload

PRICES = "".join(f"def price_{n}(order):\n    rate = rates[{n}]\n    return order.total * rate\n\n" for n in range(400))
TINY = "ok\n"


def fresh(store: MemoryStore | JsonlStore | None = None, locale: str = "en") -> Session:
    return Session(store or MemoryStore("t"), settings=Settings(locale=locale), clock=Ticking(), ids=numbered_ids())


def read(session: Session, *texts: str, tool: str = "read_file") -> None:
    """Let the model read files that hold these texts, at once."""
    at = len(session.items)
    session.assistant([Call(f"c{at}.{n}", tool, {"path": f"src/part{at}_{n}.py"}) for n in range(len(texts))])
    for n, text in enumerate(texts):
        session.tool_result(f"c{at}.{n}", text)


def results(payload: Payload) -> list[Line]:
    return [line for line in payload.plan.lines() if line.kind is Kind.RESULT]


def sent(window: int, *texts: str) -> Payload:
    session = fresh()
    session.user("Which order has the highest price?")
    read(session, *texts)
    return session.compose(Budget(window))


@pytest.mark.parametrize("window", [3_000, 5_000, 7_000])
def test_as_much_is_shown_as_there_is_room_for(window: int) -> None:
    """The larger the context window, the more: the first lines as they are, up to the share that a sweep leaves."""
    payload = sent(window, PRICES)
    (shown,) = results(payload)
    text = payload.openai()["messages"][-1]["content"]
    assert shown.full_tokens > window
    assert 0.75 * window < payload.tokens < window
    begun = text[: text.index("\n[read")]
    assert PRICES.startswith(begun)
    assert len(begun) > 1.8 * window  # characters, about half of the tokens


def test_what_fits_is_shown_in_full() -> None:
    assert results(sent(16_000, PRICES))[0].lod is Lod.FULL


@pytest.mark.slow
@pytest.mark.parametrize("window", [40_000, 60_000])
def test_a_page_has_an_end(window: int) -> None:
    """However large the window, a result that does not fit is shown as a page, because every later call pays for it."""
    (shown,) = results(sent(window, 10 * PRICES))
    assert 15_000 < shown.tokens <= 16_000


def test_parallel_results_share_the_room() -> None:
    """Each keeps its beginning; one that fits is not shortened for the others."""
    first, second, tiny = results(sent(7_000, PRICES, PRICES, TINY))
    assert abs(first.tokens - second.tokens) < 0.1 * first.tokens
    assert first.tokens > 2_000
    assert tiny.lod is Lod.FULL


@pytest.mark.parametrize(("locale", "says"), [("en", r"expand #\d+ from line (\d+) on\]"), ("zh", r"从第 (\d+) 行起")])
def test_it_says_from_which_line_to_read_on(locale: str, says: str) -> None:
    """`expand` from there gives the first line that was not shown. A model without the tool is told of none."""
    with_tools, without = fresh(locale=locale), fresh(locale=locale)
    with_tools.tools([])
    texts = []
    for session in (with_tools, without):
        session.user("Which order has the highest price?")
        read(session, PRICES)
        texts.append(session.compose(Budget(6_000)).openai()["messages"][-1]["content"])
    found = re.search(says, texts[0])
    assert found is not None
    assert not re.search(says, texts[1])
    begun = texts[0][: texts[0].index("\n[#")]
    assert begun.count("\n") + 2 == int(found[1])
    handle = texts[0].split("\n[#")[1].split()[0]
    page = with_tools.items.expand(handle, start=int(found[1]))
    assert page.split("\n")[1] == PRICES.split("\n")[int(found[1]) - 1]


def test_what_was_shown_before_is_not_shown_longer() -> None:
    """Only a new result is, and a file in work: an old output has its summary, however much room a sweep leaves."""
    session = fresh()
    session.user("Which order has the highest price?")
    part = PRICES[: len(PRICES) // 4]
    for n in range(6):
        session.assistant([Call(f"c{n}", "bash", {"command": f"make prices_{n}"})])
        session.tool_result(f"c{n}", part)
        payload = session.compose(Budget(9_000))
    short = [line for line in results(payload) if line.why == "swept"]
    assert short
    assert all(line.tokens <= 800 for line in short)


@pytest.mark.slow
def test_a_preview_leaves_no_trace(tmp_path: Path) -> None:
    """With another budget, before the session is closed or not: what is sent then is what would have been sent."""
    made = []
    for name, previewed, closed in (("a", False, False), ("b", True, False), ("c", True, True)):
        store = JsonlStore(tmp_path / f"{name}.jsonl")
        session = fresh(store)
        session.user("Which order has the highest price?")
        read(session, PRICES)
        if previewed:
            assert results(session.preview(Budget(7_000)))[0].tokens > 4_000
        if closed:
            session.close()
            session = fresh(JsonlStore(tmp_path / f"{name}.jsonl"))
        made.append(session.compose(Budget(3_000)))
    assert made[0].hash == made[1].hash == made[2].hash
    assert made[0].tokens == made[1].tokens == made[2].tokens


def test_a_page_stays_however_many_other_texts_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the tokens that were counted for it until it is sent: no cache may lose it."""
    monkeypatch.setattr(levels, "_CACHED_ITEMS", 1)
    session = fresh()
    read(session, PRICES, PRICES[:9_000])
    reader = session.log.reader
    first, second = (row for row in range(len(reader.timeline)) if reader.timeline.kind[row] == Kind.RESULT)
    assert reader.cut(first, 2_000)
    page = reader.rendition(first, Lod.SUMMARY)
    reader.rendition(second, Lod.GIST)
    assert reader.rendition(first, Lod.SUMMARY) == page
    reader.uncut()
    assert reader.counter.count(reader.rendition(first, Lod.SUMMARY)) <= 800


def test_what_was_sent_is_read_back(tmp_path: Path) -> None:
    """The next payload begins with it, also after a restart, and every receipt verifies."""
    session = fresh(JsonlStore(tmp_path / "s.jsonl"))
    session.user("Which order has the highest price?")
    read(session, PRICES)
    before = session.compose(Budget(7_000)).openai()["messages"]
    session.close()
    again = fresh(JsonlStore(tmp_path / "s.jsonl"))
    again.assistant("Order 12.")
    assert again.compose(Budget(7_000)).openai()["messages"][: len(before)] == before
    assert all(each.found == each.expected for each in again.receipts.verify())
