"""The page of a report: it holds everything, loads nothing, and what was recorded is only text."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace
from report_logs import FILE, Log

from sightline.imports.detection import conversations
from sightline.imports.source import Source
from sightline.plan.economies import meaning
from sightline.values.screen_text import first_words
from sightline.view.catalog.offered_files import look_at
from sightline.view.report.page import page
from sightline.view.report.session_report import report_of
from sightline.view.report.tables import forecast_notes, forecast_rows, share_base, short_id
from sightline.view.report.totals import report_over
from sightline.view.report.values import Refused, Report

HOSTILE = "</td></table><script>alert(1)</script><img src=x onerror=alert(1)>&amp;'\""
_CLOSED = {"meta", "br", "rect", "line"}


class Read(HTMLParser):
    """The elements of a page, whether each is closed, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.text, self.open = list[str](), list[tuple[str, str]](), "", list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in _CLOSED:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _CLOSED:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile() -> Report:
    """Two sessions whose tools, files, models and instructions are markup."""
    log = Log().user(f"Fix it. Never write {HOSTILE} anywhere.").read("c1", file=f"/w/{HOSTILE}.py")
    log.read("c2", file=f"/w/{HOSTILE}.py").call("c3", HOSTILE, {"x": 1}, "word " * 4_000)
    log.answer("I see.", usage=(0, 20_000, 0, 5), model=HOSTILE).user("go on")
    log.answer("Hm.", usage=(0, 20_000, 0, 5), after=900, model=HOSTILE).compact("Fix it.")
    log.user("go on").call("c4", "Edit", {"file_path": "/w/a.py", "old_string": FILE.splitlines()[3]}, "ok").answer(
        "Done."
    )
    one = report_of(log.conversation, economies=("safe",))
    return report_over([one, one], [Refused(HOSTILE, HOSTILE)])


@pytest.mark.parametrize("locale", ["en", "zh"])
def test_what_was_recorded_is_only_text(locale: str) -> None:
    """Names of tools, files and models and the user's words: no element and no attribute comes of them."""
    read = Read("".join(page(hostile(), locale)))
    assert not read.open
    assert not {"script", "img", "iframe", "object", "embed", "link", "a", "form"} & {*read.tags}
    assert not [name for name, _ in read.attributes if name.startswith("on") or name in ("style", "src", "href")]
    assert "<script>alert(1)</script>" in read.text


def test_the_page_loads_nothing() -> None:
    """Its policy allows its own style, known by its digest, and nothing else; no address stands in it."""
    text = "".join(page(hostile()))
    [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"content=\"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\"" in text
    assert not re.search(r"https?:|//\w|url\(|@import", text.replace("/w/", ""))
    assert "prefers-color-scheme: dark" in style


def test_the_page_has_every_part() -> None:
    """The figures of each are those of the report."""
    made = hostile()
    text = Read("".join(page(made, version="9.9"))).text
    for heading in (
        "What would save most", "What was spent", "By kind", "By tool", "By file", "What caching cost",
        "What was read twice", "What compaction lost", "(forecast)", "By session", "in the order of time",
    ):  # fmt: skip
        assert heading in text
    assert f"{made.spent.input:,}" in text
    assert f"{made.forecasts[0].spent.input:,}" in text
    assert f"{made.tools[0].sent:,}" in text
    assert "Files that are no sessions or cannot be read: 1." in text
    assert "a call and its result are two" in text
    assert "9.9" in text


def test_shares_are_of_what_was_said_where_less_was_sent() -> None:
    """Sightline sends short what was said in full: no share is above the whole, and the title says of what it is."""
    made = hostile()
    said = sum(each.sent for each in made.kinds)
    assert share_base(made) == (made.spent.input, "share")
    short = replace(made, spent=replace(made.spent, input=said // 2))
    assert share_base(short) == (said, "share said")
    text = Read("".join(page(short))).text
    assert "of what was said" in text
    assert "of what was said" not in Read("".join(page(made))).text


def test_a_session_is_named_by_its_first_question() -> None:
    """The end of its path stands below."""
    made = hostile()
    text = Read("".join(page(made))).text
    assert made.sessions[0].title.startswith("Fix it. Never write")
    assert first_words(made.sessions[0].title, 80) + made.sessions[0].name in text


def test_a_session_has_the_title_of_the_list(tmp_path: Path) -> None:
    """Neither a reminder nor, if something else was said, a command; on a terminal beside a short id."""
    log = Log().user("<command-name>/init</command-name><command-args>shop</command-args>")
    file = tmp_path / "rollout-2026-11-01-5f0c1d52-aaaa-4bbb-8ccc-111111111111.jsonl"
    for title in ("/init shop", "Fix the shop"):
        file.write_bytes(log.answer("Done.").data)
        [conversation] = conversations(Source(file))
        assert report_of(conversation, economies=()).title == look_at(file).title == title
        log.user("<system-reminder>Be brief.</system-reminder>\nFix the shop")
    assert [short_id(name) for name in (str(file), "login-bug", "a/s1.jsonl.gz")] == ["5f0c1d52", "login-bug", "s1"]


def with_thrifty(factor: float) -> Report:
    """A report in which safe changes nothing, and thrifty costs so many times as much."""
    made = hostile()
    [safe] = made.forecasts
    assert safe.unchanged == safe.sessions == 2
    spent = replace(safe.spent, cost=safe.full.cost * factor)
    return replace(made, forecasts=(safe, replace(safe, economy="thrifty", spent=spent, unchanged=0)))


@pytest.mark.parametrize(
    ("factor", "sentence", "row", "pays"),
    [
        (1.2, "thrifty the same calls would have cost 20% more than sending everything", "120%", False),
        (1.001, "thrifty the same calls would have cost about as much as sending everything (0%)", "100%", False),
        (0.4, "thrifty the same calls would have cost 60% less than sending everything", "40%", True),
    ],
)
def test_each_economy_is_told_in_a_sentence(factor: float, sentence: str, row: str, pays: bool) -> None:
    """What it saves or costs, as the row says; that nothing changes; and, if none pays, that Sightline does not."""
    text = Read("".join(page(with_thrifty(factor)))).text
    assert "With economy = safe nothing would have changed" in text
    assert f"With economy = {sentence}" in text
    assert f"economy = thrifty{hostile().forecasts[0].spent.input:,}" in text
    assert f"{row}0\n" in text
    assert ("Sightline would not have made these sessions cheaper" in text) is not pays
    assert ("it does not pay for these sessions" in text) is (factor > 1.1)


@pytest.mark.parametrize(("factor", "needed", "is_said"), [(1.2, 3, True), (1.2, 0, False), (0.4, 3, False)])
def test_what_costs_more_and_keeps_more_is_said_with_both(factor: float, needed: int, is_said: bool) -> None:
    """Where compactions removed what later answers used, the price of keeping it stands beside what it buys."""
    made = with_thrifty(factor)
    assert made.lost is not None
    made = replace(made, lost=replace(made.lost, needed=needed, needed_tokens=700))
    text = " ".join(forecast_notes(made, "en"))
    assert ("it keeps more" in text and "answers ×3, 700 tokens" in text) is is_said


@pytest.mark.parametrize("locale", ["en", "zh"])
def test_what_a_provider_reported_has_no_part_in_the_comparison(locale: str) -> None:
    """With another measured cost every row, sentence and figure of the forecasts is the same; it is named beside."""
    made = with_thrifty(0.4)
    other = replace(made, spent=replace(made.spent, cost=made.spent.cost * 7))
    assert [*forecast_rows(made, locale)] == [*forecast_rows(other, locale)]
    notes = zip(forecast_notes(made, locale), forecast_notes(other, locale), strict=True)
    differing = [pair for pair in notes if len({*pair}) > 1]
    assert [f"{made.spent.cost:,.0f}" in one for one, _ in differing] == [True]
    assert [f"{other.spent.cost:,.0f}" in another for _, another in differing] == [True]


def test_the_page_says_what_is_compared() -> None:
    """What sending everything means where the agent compacts, and what each economy does, in one sentence each."""
    told = [*forecast_notes(with_thrifty(1.0), "en")]
    assert sum("all since its own last compaction, and never more than the model's context window" in each
               for each in told) == 1  # fmt: skip
    for economy in ("safe", "thrifty"):
        assert f"economy = {economy} {meaning(economy)}." in told
