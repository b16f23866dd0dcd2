"""The context window over time, single calls, differences and token trees through a real server."""

import json
from pathlib import Path
from typing import Any

import pytest
from rest_server import ROOM, RestServer, converse

from sightline import Session
from sightline.providers.catalog import PRICES
from sightline.server import reports
from sightline.testing import reply_of

TALK = "/api/sessions/talk"
MODEL = "claude-opus-5-5"


def recorded(project: Path) -> None:
    """A session of an agent that nothing was composed for, with a model whose price and window are known."""
    answer = {"type": "message", "role": "assistant", "model": MODEL, "content": [{"type": "text", "text": "Yes."}]}
    with Session.new(project, session_id="plain") as session:
        for number in range(5):
            session.user(f"Question {number}")
            usage = {"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 10}
            session.reply({**answer, "usage": usage})


def test_the_timeline_has_every_call_in_pages(server: RestServer, project: Path) -> None:
    """Numbers are those of the calls; the total is what was sent; composed and not."""
    recorded(project)
    page = server.get(f"{TALK}/timeline?limit=5")
    assert ([each["number"] for each in page["calls"]], page["total"], page["next"]) == ([1, 2, 3, 4, 5], 12, 5)
    calls = server.get(f"{TALK}/calls?limit=100")["calls"]
    rows = server.get(f"{TALK}/timeline")["calls"]
    assert [each["tokens"] for each in calls] == [each["total"] for each in rows]
    assert all(each["composed"] and each["limit_from"] == "budget" for each in rows)
    assert [each["number"] for each in server.get(f"{TALK}/timeline?every=5&limit=2")["calls"]] == [1, 6]
    assert server.get(f"{TALK}/timeline?every=5&limit=2")["next"] == 10
    plain = server.get("/api/sessions/plain/timeline")["calls"]
    assert [(each["composed"], each["limit"], each["limit_from"]) for each in plain] == [
        (False, 1_000_000, "model")
    ] * 5
    price = PRICES[MODEL]
    paid = (100 * price.input + 900 * price.cached + 10 * price.output) / 1e6
    assert [each["cost"] for each in plain] == pytest.approx([paid] * 5)
    assert {each["cost_from"] for each in plain} == {"usage"}
    assert plain[0]["reported"] == 1000


def test_the_context_of_an_uncomposed_session_is_for_its_models_window(server: RestServer, project: Path) -> None:
    """Not for an assumed one, where the log names a model that is known."""
    recorded(project)
    assert server.get("/api/sessions/plain/context")["window"] == 1_000_000
    assert server.post("/api/sessions/plain/preview", {"call": 3})["window"] == 1_000_000
    assert server.post("/api/sessions/plain/preview", {"call": 3, "window": 5000})["window"] == 5000
    server.post("/api/sessions", {"id": "empty"}, 201)
    assert server.get("/api/sessions/empty/context")["window"] == 128_000
    assert server.get("/api/sessions/empty/timeline") == {"calls": [], "total": 0, "next": None}


def test_the_first_composed_call_says_why_it_differs(server: RestServer, project: Path) -> None:
    """Sightline's tools joined; what is paid again is never more than the request itself."""
    tool = {"type": "function", "function": {"name": "read_file", "description": "Reads.", "parameters": {}}}
    with Session.new(project, session_id="joined") as session:
        session.tools([tool], recall=False)
        session.user("Question 1 " + "word " * 9_000)
        session.reply("Answer 1")
        session.tools([tool])
        session.user("Question 2")
        session.compose(ROOM)
        session.reply("Answer 2")
        session.user("Question 3")
        session.compose(ROOM)
        session.reply("Answer 3")
    began = "composing began"
    calls = server.get("/api/sessions/joined/calls")["calls"]
    assert [(each["reason"], each["changed"]) for each in calls] == [("", None), (began, 0), ("", None)]
    call = server.get("/api/sessions/joined/calls/2")
    assert (call["change"]["reason"], call["change"]["block"], call["change"]["kept_tokens"]) == (began, 0, 0)
    assert (
        call["change"]["lost_tokens"]
        == call["call"]["total"]
        < server.get("/api/sessions/joined/calls/1")["call"]["total"]
    )
    assert server.get("/api/sessions/joined/calls/1/diff/3")["first"]["reason"] == began


@pytest.mark.slow
def test_one_call_is_shown_item_by_item(server: RestServer) -> None:
    """With texts, prices and what is cached; pages of lines; the change since the call before and what it cost."""
    rows = server.get(f"{TALK}/timeline")["calls"]
    swept = next(each for each in rows if each["marks"])
    call = server.get(f"{TALK}/calls/{swept['number']}")
    assert (call["same"], call["call"], call["wire"]) == (True, swept, "openai")
    change = call["change"]
    assert (change["block"], change["reason"]) == (call["receipt"]["changed"], swept["reason"])
    assert change["lost_tokens"] > 0
    assert change["relative_cost"] > 0
    first, second = (json.dumps(server.get(f"{TALK}/llm-input/raw?call={swept['number'] - back}")) for back in (1, 0))
    assert first != second
    pages = [server.get(f"{TALK}/calls/{swept['number']}?start={start}&limit=7") for start in range(0, 100, 7)]
    assert [line for page in pages for line in page["lines"]] == call["lines"]
    result = next(line for line in call["lines"] if line["kind"] == "result")
    assert (result["tool"], result["subject"][:5]) == ("read_file", "part_")
    full = server.get(f"{TALK}/calls/{swept['number']}?text=full")["lines"]
    assert any(line["characters"] > 400 == len(each["text"]) for line, each in zip(full, call["lines"], strict=True))
    plain = server.get(f"{TALK}/calls/2")
    assert plain["change"] is None


def test_the_last_call_has_a_name(server: RestServer, project: Path) -> None:
    """So that nobody need know how many there are; of the branch that is asked for, which may have fewer."""
    last = server.get(f"{TALK}/calls/last")
    assert (last["call"]["number"], last["calls"]) == (12, 12)
    assert last == server.get(f"{TALK}/calls/12")
    with Session.resume("talk", project) as session:
        first = next(iter(session.items)).id
        with session.fork(first, name="other") as branch:
            branch.reply("Otherwise.")
    other = server.get(f"{TALK}/calls/last?branch=other")
    assert (other["call"]["number"], other["calls"]) == (1, 1)
    server.post("/api/sessions", {"id": "empty"}, 201)
    none = server.get("/api/sessions/empty/calls/last")
    assert (none["call"], none["calls"], none["lines"]) == (None, 0, [])
    assert server.get("/api/sessions/empty/calls/1", 404)


def test_two_calls_are_compared(server: RestServer) -> None:
    """In both directions; unknown numbers are not found."""
    difference = server.get(f"{TALK}/calls/1/diff/12")
    assert difference["added_total"] == len(difference["added"]) > 0
    assert (difference["a"]["number"], difference["b"]["number"]) == (1, 12)
    back = server.get(f"{TALK}/calls/12/diff/1")
    assert [line["id"] for line in back["removed"]] == [line["id"] for line in difference["added"]]
    assert server.get(f"{TALK}/calls/3/diff/3")["same"] == len(server.get(f"{TALK}/calls/3")["lines"])
    for wrong in ("0/diff/1", "1/diff/13", "x/diff/1", "1/diff/-1"):
        assert server.get(f"{TALK}/calls/{wrong}", 404)


def test_the_tokens_are_shown_as_a_tree(server: RestServer) -> None:
    """Of the session and of one call; by what was asked for."""
    tree = server.get(f"{TALK}/tokens")
    kinds = {child["name"]: child for child in tree["root"]["children"]}
    [tool] = kinds["result"]["children"]
    assert (tool["name"], len(tool["children"])) == ("read_file", 6)
    one = server.get(f"{TALK}/tokens?by=level&call=12")
    assert one["total"] == server.get(f"{TALK}/timeline?start=11")["calls"][0]["total"]
    assert server.get(f"{TALK}/tokens?by=weight", 400)["error"]["type"] == "bad_input"
    assert server.get(f"{TALK}/tokens?call=99", 404)


def test_hostile_text_comes_back_as_it_is(server: RestServer, project: Path) -> None:
    """Content is data, also in the names of tools and files."""
    hostile = "<script>alert(1)</script>\x1b[2J\u202e"
    with Session.new(project, session_id="bad") as session:
        session.user(hostile)
        session.compose(ROOM)
        call: dict[str, Any] = {"name": "read_file", "arguments": json.dumps({"path": hostile})}
        session.reply(reply_of(hostile, tool_calls=[{"id": "c", "type": "function", "function": call}]))
        session.tool_result("c", hostile)
        session.compose(ROOM)
    lines = server.get("/api/sessions/bad/calls/2")["lines"]
    assert [line["text"] for line in lines if line["kind"] in ("user", "assistant")] == [hostile, hostile]
    assert {line["subject"] for line in lines if line["tool"]} == {hostile}


def test_a_call_that_waits_for_its_reply_is_listed(server: RestServer, project: Path) -> None:
    """With no reply; when that has come, it has the same number."""
    converse(project, "waits", turns=1, lines=2)
    with Session.resume("waits", project) as session:
        session.user("More")
        session.compose(ROOM)
        [last] = server.get("/api/sessions/waits/timeline?start=2")["calls"]
        assert (last["number"], last["reply"]) == (3, None)
        reply = session.reply("Yes.")
        assert server.get("/api/sessions/waits/timeline?start=2")["calls"][0]["reply"] == reply


def test_a_session_has_its_report(server: RestServer, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With advice in both languages; it is made once as long as nothing is added."""
    made: list[bool] = []
    real = reports.report_of
    monkeypatch.setattr(reports, "report_of", lambda *given, **more: made.append(True) or real(*given, **more))
    report = server.get(f"{TALK}/report")["report"]
    assert (report["calls"], report["turns"], report["forecasts"]) == (12, 6, [])
    whole = server.get(f"{TALK}/report?forecast=true")
    assert {each["economy"] for each in whole["report"]["forecasts"]}
    assert len(whole["recommendations"]) == len(whole["report"]["advice"])
    told = server.get(f"{TALK}/report?forecast=true&lang=zh")["recommendations"]
    assert [each["kind"] for each in told] == [each["kind"] for each in whole["recommendations"]]
    assert len(made) == 2
    with Session.resume("talk", project) as session:
        session.user("More")
    assert server.get(f"{TALK}/report")["report"]["turns"] == 7
    server.post("/api/sessions", {"id": "empty"}, 201)
    assert server.get("/api/sessions/empty/report", 400)["error"]["type"] == "bad_input"
