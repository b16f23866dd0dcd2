"""Shorteners of other packages: found by entry point, asked before ours, and never able to break anything."""

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.errors import BadInput
from sightline.log import column_cache
from sightline.shorten import dispatch, levels_format, register, shorten
from sightline.testing import WordCounter
from sightline.values import foreign_code
from sightline.values.items import Item, Kind, Result, Text
from sightline.values.tokens import estimate_tokens

PLANS = "\n".join(f"  ->  Seq Scan on orders_{n}  (cost=0.00..{n}.50 rows={n} width=244)" for n in range(120))
OTHER = "\n".join(f"The crane on quay {n} lifts again." for n in range(120))

PACKAGE = """
from sightline.shorten.lines import Levels, line_levels

class Plans:
    name = "query plans"
    asked = 0
    def accepts(self, view):
        Plans.asked += 1
        return any("Seq Scan" in line for line in view.sample.lines)
    def levels(self, view):
        costly = {len(view.sample.lines) - 1: 9.0}
        return line_levels(view, costly, costly)

class Raising(Plans):
    def accepts(self, view):
        raise RuntimeError("first " + view.sample.lines[0])

class Nonsense(Plans):
    def levels(self, view):
        return "short"

class Half(Plans):
    def levels(self, view):
        return Levels(None, None)

class Late(Plans):
    def levels(self, view):
        both = super().levels(view)
        def render(*_):
            raise RuntimeError("late")
        return Levels(both.summary, both.gist._replace(render=render))

class Unlabelled(Plans):
    def levels(self, view):
        both = super().levels(view)
        return Levels(both.summary._replace(render=lambda *_: "it is short"), both.gist)

class Numbers(Plans):
    def levels(self, view):
        both = super().levels(view)
        return Levels(both.summary._replace(render=lambda *_: 5), both.gist)

class Huge(Plans):
    def levels(self, view):
        both = super().levels(view)
        return Levels(*(level._replace(render=lambda label, *_: label + " word" * 5000) for level in both))

class Listed(Plans):
    name = ["x"]

class Mute(Exception):
    def __repr__(self):
        raise RuntimeError("no repr")

class Nameless(Plans):
    @property
    def name(self):
        if Plans.asked:
            raise RuntimeError("no name")
        return "nameless"
    def levels(self, view):
        raise Mute

class Unequal(Nonsense):
    __hash__ = None
    def __eq__(self, other):
        raise RuntimeError("not comparable")

nothing = dict
"""
BROKEN = (
    "Raising", "Nonsense", "Half", "Late", "Unlabelled", "Numbers", "nothing", "missing", "Listed", "Nameless",
    "Unequal",
)  # fmt: skip


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Install a package that offers these shorteners, as if they had been there when Python started."""
    info = tmp_path / "site" / "plans-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plans\nVersion: 1.0\n")
    (tmp_path / "site" / "plans.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    def offer(*names: str) -> None:
        lines = [f"{number}-{name} = plans:{name}" for number, name in enumerate(names)]
        (info / "entry_points.txt").write_text("\n".join([f"[{dispatch.GROUP}]", *lines, ""]))
        forget()

    yield offer
    forget()
    sys.modules.pop("plans", None)


def forget() -> None:
    """As in a fresh process."""
    dispatch.installed.cache_clear()
    dispatch._offers.cache_clear()
    foreign_code._warned.clear()
    dispatch.REGISTERED.clear()


def both(text: str) -> tuple[str | None, str | None]:
    item = Item("8", Kind.RESULT, (Result("c", (Text(text),)),))
    return shorten(item, count=estimate_tokens, name="psql")


def test_an_installed_shortener_is_asked_first(install) -> None:  # type: ignore[no-untyped-def]
    """It takes the text it knows, before ours, and leaves the others to ours."""
    before, other = both(PLANS), both(OTHER)
    install("Plans")
    summary, gist = both(PLANS)
    assert (summary, gist) != before
    assert gist is not None
    assert "orders_119" in gist
    assert both(PLANS) == (summary, gist)
    assert both(OTHER) == other


def test_an_installed_shortener_is_asked_about_json(install) -> None:  # type: ignore[no-untyped-def]
    """As about any other text, and it leaves what it does not know to ours."""
    plans, other = (json.dumps([{"step": line} for line in text.splitlines()], indent=1) for text in (PLANS, OTHER))
    before = both(plans), both(other)
    install("Plans")
    asked = both(plans)
    assert asked != before[0]
    assert asked == both(plans)
    assert both(other) == before[1]


def test_a_program_registers_a_shortener(install) -> None:  # type: ignore[no-untyped-def]
    """It is asked as an installed one is, before those, and what was counted without it is counted again."""
    install("Plans")
    expected, counted = both(PLANS), levels_format()
    plans = sys.modules["plans"]
    install()
    without = levels_format()
    assert both(PLANS) != expected
    register(plans.Plans())
    assert both(PLANS) == expected
    assert levels_format() not in (without, counted)
    install("Raising")
    register(plans.Plans())
    assert both(PLANS) == expected  # no warning: the installed one was not asked
    with pytest.raises(BadInput, match="is no shortener"):
        register({})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_shortener_breaks_nothing(install, name: str) -> None:  # type: ignore[no-untyped-def]
    """One warning that names it, then the next one is asked: here a good one, and ours where that declines."""
    install("Plans")
    good, other = both(PLANS), both(OTHER)
    install(name, "Plans")
    with pytest.warns(RuntimeWarning, match="shortener") as told:
        assert both(PLANS) == good
    assert len(told) == 1
    with warnings.catch_warnings():  # errors here: no second warning
        warnings.simplefilter("error")
        assert both(OTHER) == other
        assert both(PLANS) == good


@pytest.mark.parametrize("name", ["Raising", "Nonsense", "Nameless", "Unequal"])
def test_a_broken_registered_shortener_breaks_nothing(install, name: str) -> None:  # type: ignore[no-untyped-def]
    """As an installed one, also where warnings are errors: then it is logged."""
    install("Plans")
    good = both(PLANS)
    sys.modules["plans"].Plans.asked = 0
    forget()
    register(getattr(sys.modules["plans"], name)())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert both(PLANS) == good


def test_a_broken_shortener_that_is_made_anew_each_time_is_asked_once(install, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """Whatever it is compared with."""
    install("Plans")
    good, plans = both(PLANS), sys.modules["plans"]
    monkeypatch.setattr(dispatch, "foreigners", lambda: (plans.Nonsense(), plans.Nonsense(), plans.Plans()))
    with pytest.warns(RuntimeWarning, match="query plans"):
        assert both(PLANS) == good


def test_what_is_no_shortener_is_not_registered(install) -> None:  # type: ignore[no-untyped-def]
    """A class, and one whose name is no text."""
    install("Plans")
    both(PLANS)
    plans = sys.modules["plans"]
    with pytest.raises(BadInput, match=r"its name is \['x'\], but must be text"):
        register(plans.Listed())
    with pytest.raises(BadInput, match=r"is a class; pass an object of it: Plans\(\)"):
        register(plans.Plans)


def test_levels_stay_bounded(install) -> None:  # type: ignore[no-untyped-def]
    """What is too long is no level: the item is shown in full or not at all."""
    install("Huge")
    assert both(PLANS) == (None, None)


@pytest.mark.slow("Unequal", "missing")
@pytest.mark.parametrize("name", BROKEN)
def test_a_session_works_with_a_broken_shortener(install, name: str) -> None:  # type: ignore[no-untyped-def]
    """Append, sweep and verify."""
    install(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = talk(MemoryStore("s"))
        assert_verified(session)


def assert_verified(session: Session) -> None:
    verified = list(session.receipts.verify())
    assert verified
    assert all(each.found == each.expected for each in verified)


def talk(store: MemoryStore) -> Session:
    session = Session(store, token_counter=WordCounter())
    for n in range(6):
        session.user(f"Explain query {n}")
        session.reply({"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [
            {"id": f"c{n}", "type": "function", "function": {"name": "psql", "arguments": "{}"}}]}}]})  # fmt: skip
        session.tool_result(f"c{n}", PLANS)
        session.compose(Budget(1_800))
    return session


def test_an_uninstalled_shortener_breaks_nothing(install) -> None:  # type: ignore[no-untyped-def]
    """What it made and was sent is read back from the log, and the session goes on."""
    install("Plans")
    store = MemoryStore("s")
    session = talk(store)
    receipt = session.receipt
    session.close()
    install()
    again = Session(store, token_counter=WordCounter())
    assert_verified(again)
    assert receipt is not None
    again.user("And now?")
    again.compose(Budget(1_800))


def test_cached_sizes_are_those_of_the_installed_shorteners(install) -> None:  # type: ignore[no-untyped-def]
    """With another shortener, or another version, what was counted before is counted again."""
    install()
    none = levels_format()
    install("Plans")
    one = levels_format()
    install("Plans", "Huge")
    assert len({none, one, levels_format()}) == 3
    assert "levels_format()" in Path(column_cache.__file__).read_text(encoding="utf-8")


def test_entry_points_are_read_once_and_not_on_import(install) -> None:  # type: ignore[no-untyped-def]
    """Loading them costs nothing until a text is shortened."""
    install("Plans")
    assert "plans" not in sys.modules
    assert levels_format()
    assert "plans" not in sys.modules
    both(PLANS)
    asked = sys.modules["plans"].Plans.asked
    both(PLANS)
    assert sys.modules["plans"].Plans.asked == asked + 1
    assert dispatch.installed.cache_info().misses == 1
