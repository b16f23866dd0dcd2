"""Windows within their share of the budget: who shows less first, and who gets its room back when."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.apps import App, Element, Lod, action
from sightline.apps.window_budget import hide
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids

EVERYTHING = 1 << 30


class Pile(App):
    """A pile of words."""

    name = "pile"
    height: int

    def __init__(self) -> None:
        self.height = 100
        self.built = 0

    def opened(self) -> None:
        self.height = int(self.target or 100)

    @action()
    def touch(self) -> str:
        return "touched"

    @action()
    def grow(self, to: int) -> None:
        self.height = to

    def view(self, lod: Lod) -> list[Element]:
        words = {Lod.FULL: self.height, Lod.SUMMARY: self.height // 10, Lod.GIST: 1}[lod]
        return [Element(text=" ".join(["word"] * words))]


def piles(*options: dict[str, Any]) -> Session:
    session = Session(MemoryStore("fit"), apps=[Pile], clock=Ticking(), ids=numbered_ids(), token_counter=WordCounter())
    for each in options:
        session.windows.open("pile", **each)
    return session


def words(_: str, text: str) -> int:
    return len(text.split())


def levels(session: Session) -> list[Lod]:
    return [window.document.lod for window in session.windows.all()]


def needed(session: Session) -> int:
    """Words of all windows in full."""
    return sum(words(*each) for each in session.windows.shown(EVERYTHING, words).items())


FULL, SUMMARY, GIST = Lod.FULL, Lod.SUMMARY, Lod.GIST


def test_with_room_for_all_nothing_is_lowered() -> None:
    """Exactly enough is enough."""
    session = piles({}, {}, {})
    session.windows.shown(needed(session), words)
    assert levels(session) == [FULL, FULL, FULL]


def test_unimportant_windows_show_less_first() -> None:
    """Though they changed last; then those that changed longest ago."""
    session = piles({}, {"important": False}, {})
    session.windows.act("pile_1", "touch")
    session.windows.act("pile_2", "touch")
    room = needed(session)
    session.windows.shown(room - 1, words)
    assert levels(session) == [FULL, SUMMARY, FULL]
    session.windows.shown(room - 100, words)
    assert levels(session) == [FULL, SUMMARY, SUMMARY]


def test_all_are_summaries_before_one_is_a_gist() -> None:
    """Everybody gives a little before anybody gives all."""
    session = piles({"important": False}, {}, {})
    room = needed(session)
    session.windows.shown(room - 3 * 89, words)  # of a hundred words ten stay, and the level is one more
    assert levels(session) == [SUMMARY, SUMMARY, SUMMARY]
    session.windows.shown(room - 3 * 89 - 1, words)
    assert levels(session) == [GIST, SUMMARY, SUMMARY]


def test_a_pinned_window_is_never_lowered_or_hidden() -> None:
    """It is shown in full whatever the room, and takes none from the others."""
    session = piles({"pinned": True, "important": False}, {})
    texts = session.windows.shown(0, words)
    assert levels(session) == [FULL, GIST]
    assert words("pile_1", texts["pile_1"]) > 100
    assert "hidden" not in texts["pile_1"]
    room = words("pile_2", session.windows.shown(EVERYTHING, words)["pile_2"])
    session.windows.shown(room, words)
    assert levels(session) == [FULL, FULL]


def test_what_does_not_fit_at_its_lowest_level_is_named() -> None:
    """One line names all that are not shown, and why; what can never be shown goes first, then in the order of loss."""
    texts = {"large": "word " * 300, "small": "word " * 20, "larger": "word " * 400, "late": "word " * 30}
    order = list(texts)
    shown = hide(texts, order, 390, words, "en")
    assert set(shown) == {"large", "small", "late", "larger"}
    assert shown["larger"].startswith('<Windows hidden="1">not shown for want of room: larger; they need 400')
    shown = hide(texts, order, 90, words, "en")
    assert set(shown) == {"small", "late", "large"}
    assert shown["large"].startswith('<Windows hidden="2">not shown for want of room: large, larger; they need 700')
    assert hide(texts, order, 750, words, "en") == texts
    assert hide({"tiny": "word"}, ["tiny"], 0, words, "en") == {"tiny": "word"}  # a line would be longer
    assert "空间不足" in hide(texts, order, 700, words, "zh")["large"]


def test_a_crowd_of_windows_costs_one_line() -> None:
    """Thirty windows that do not fit are named together, within their room."""
    texts = {f"w{number}": "word " * 60 for number in range(30)}
    shown = hide(texts, list(texts), 100, words, "en")
    assert sum(words(*each) for each in shown.items()) <= 100
    assert len(shown) == 2
    assert any("(+" in text and 'hidden="29"' in text for text in shown.values())


def test_a_lowered_window_says_so_and_rises_when_it_is_acted_on() -> None:
    """It stays down after the call that lowered it, also after a restart, until the model looks at it again."""
    session = piles({}, {})
    session.user("hello")
    small = Budget(window=600, windows=0.2)
    session.compose(small)
    assert levels(session) == [GIST, SUMMARY] or levels(session) == [SUMMARY, SUMMARY]
    lowered = levels(session)
    assert 'lod="summary"' in session.windows.window("pile_2").render()  # type: ignore[union-attr]
    session.compose(Budget(window=50_000))
    assert levels(session) == lowered
    again = Session(session.log.reopened(), apps=[Pile], clock=Ticking())
    assert levels(again) == lowered
    assert session.windows.act("pile_2", "touch").success
    assert levels(session) == [lowered[0], FULL]
    assert "lod=" not in session.windows.window("pile_2").render()  # type: ignore[union-attr]


def test_a_level_that_is_asked_for_is_the_one_it_goes_back_to() -> None:
    """Set to SUMMARY, a window says nothing of it and stays there when it is acted on; a GIST always says so."""
    session = piles({}, {"lod": Lod.SUMMARY})
    session.windows.shown(0, words)
    session.windows.note()
    assert levels(session) == [GIST, GIST]
    session.windows.lod("pile_1", Lod.GIST)
    assert 'lod="gist"' in session.windows.window("pile_1").render()  # type: ignore[union-attr]
    for window_id in ("pile_1", "pile_2"):
        session.windows.act(window_id, "touch")
    assert levels(session) == [GIST, SUMMARY]
    assert "lod=" not in session.windows.window("pile_2").render()  # type: ignore[union-attr]


def test_a_preview_with_less_room_decides_nothing() -> None:
    """It shows what a call would send, writes nothing, and the call after it is as if nobody had looked."""
    session = piles({}, {})
    session.user("hello")
    session.compose(Budget(window=50_000))
    before, written = levels(session), session.log.store.tips.seq
    told = str(session.preview(Budget(window=600, windows=0.2)).openai())
    assert 'lod="summary"' in told
    assert session.log.store.tips.seq == written
    payload = session.compose(Budget(window=50_000))
    assert levels(session) == before == [FULL, FULL]
    assert "lod=" not in str(payload.openai())


@pytest.mark.slow
@given(
    heights=st.lists(st.integers(0, 400), min_size=1, max_size=6),
    room=st.integers(0, 1500),
    data=st.data(),
)
def test_windows_keep_within_their_room(heights: list[int], room: int, data: st.DataObject) -> None:
    """What is not pinned fits, or is down to its gist or a line; every window is there; twice gives the same."""
    flags = st.fixed_dictionaries({"important": st.booleans(), "pinned": st.booleans()})
    chosen = [{"target": str(height), **data.draw(flags)} for height in heights]
    session = piles(*chosen)
    texts = session.windows.shown(room, words)
    session.windows.note()
    windows = {window.id: window for window in session.windows.all()}
    assert set(texts) <= set(windows)
    hiding = "".join(text for text in texts.values() if "<Windows hidden=" in text)
    assert all(window in texts or window in hiding for window in windows)
    free = [words(window, text) for window, text in texts.items() if not windows[window].options.pinned]
    lowest = all(window.document.lod is GIST or window.options.pinned for window in windows.values())
    assert sum(free) <= room or lowest
    assert session.windows.shown(room, words) == texts


@pytest.mark.parametrize("opened", [1, 5])
def test_an_unchanged_window_is_not_built_again(opened: int) -> None:
    """Ten calls build each window once; a change builds that one again, and no other."""
    built: list[str] = []

    class Counted(Pile):
        """Counts how often it is asked what it shows."""

        name = "counted"

        def view(self, lod: Lod) -> list[Element]:
            built.append(self.target)
            return super().view(lod)

    session = Session(MemoryStore(), apps=[Counted], clock=Ticking(), token_counter=WordCounter())
    for number in range(opened):
        session.windows.open("counted", str(number + 50))
    for number in range(10):
        session.user(f"turn {number}")
        session.compose(Budget(window=100_000))
        session.reply("ok")
    assert len(built) == opened
    session.windows.act("counted_1", "grow", to=70)
    session.user("and now")
    session.compose(Budget(window=100_000))
    assert built[opened:] == ["50"]
