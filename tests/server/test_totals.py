"""The sums that `sightline wrap` prints at its end."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from through_proxy import Talk, Through, page
from upstream_script import answer, call, fail

from sightline.follow.context_windows import ContextWindow
from sightline.follow.message_list import ListPlace
from sightline.follow.turns import Prepared
from sightline.server import packed_bodies
from sightline.server.totals import Totals
from sightline.values.profiles import call_cost, profile
from sightline.view.call_rows import call_rows
from sightline.view.costs import relative_cost

ANTHROPIC = profile("anthropic")


def test_what_the_agent_reads_again_is_counted(tmp_path: Path) -> None:
    """A file that was shortened and is read again is one read that a larger window would have saved."""
    files = [*(f"file_{number}.py" for number in range(6)), "file_0.py"]

    def respond(asked: Any) -> Any:
        read = sum(each["role"] == "assistant" for each in asked.body["messages"])
        return answer(call("read", {"path": files[read]})) if read < len(files) else answer("Done.")

    with Through(tmp_path, respond, window=6000) as through:
        Talk(through, "chat", read=lambda path: page(path, 80)).say("Read everything.")
        assert through.upstream.invalid == []
        assert through.totals.sweeps > 0
        assert through.totals.read_again == 1
        assert through.totals.cost != through.totals.full_cost


def test_what_only_passed_costs_the_same(tmp_path: Path) -> None:
    """To the last digit: everything was sent."""
    with Through(tmp_path, [answer("One."), answer("Two. " * 50), answer("Three.")]) as through:
        talk = Talk(through, "anthropic")
        for word in ("Hello", "Go on", "And then?"):
            talk.say(word * 100)
        assert through.totals.sweeps == 0
        assert 0 < through.totals.cost == through.totals.full_cost


@pytest.mark.parametrize("lifetime", ["5m", "1h"])
def test_what_was_reported_costs_what_its_calls_do(lifetime: str, tmp_path: Path) -> None:
    """Also where a prefix is kept for an hour: its price is paid once."""
    with Through(tmp_path, [answer("One."), answer("Two.")]) as through:
        talk = Talk(through, "anthropic", cache_control={"type": "ephemeral", "ttl": lifetime})
        for word in ("Hello", "Go on"):
            talk.say(word * 2_000)
        with through.session() as session:
            rows, _ = call_rows(session, 0, 10)
        usages = [row.usage for row in rows if row.usage is not None]
        assert sum(usage.hour_tokens for usage in usages) == (lifetime == "1h") * sum(u.written_tokens for u in usages)
        assert sum(usage.written_tokens for usage in usages) > 1_000
        cost = sum(relative_cost(usage, ANTHROPIC) for usage in usages)
        assert through.totals.reported_cost == pytest.approx(cost)


def test_what_the_provider_refuses_is_counted(tmp_path: Path) -> None:
    """So that nobody is asked at the end whether the agent reads its address."""
    with Through(tmp_path, [fail(401, body=b"{}"), answer("Yes.")]) as through:
        talk = Talk(through, "anthropic")
        talk.list.append({"role": "user", "content": "Hello"})
        assert through.post("anthropic", talk.body()).status_code == 401
        assert (through.totals.calls, through.totals.failed) == (0, 1)
        assert through.totals.failure == "its provider answered with status 401"


@pytest.mark.parametrize("status", [200, 400])
def test_a_call_that_cannot_be_read_is_counted_as_it_ends(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it is answered, as one that is in no log; a list of models is no call."""
    step = answer("Yes.") if status == 200 else fail(400, body=b"{}")
    with Through(tmp_path, [step]) as through, monkeypatch.context() as unknown:
        unknown.delitem(packed_bodies._UNPACK, "gzip")  # as an encoding that its provider reads, and we do not
        talk = Talk(through, "chat")
        talk.list.append({"role": "user", "content": "Hello"})
        response = through.post("chat", gzip.compress(json.dumps(talk.body()).encode()), **{"content-encoding": "gzip"})
        assert response.status_code == status
        totals = through.totals
        assert (totals.calls, totals.unlogged, totals.failed) == (0, status == 200, status == 400)
        assert totals.others == 0
        assert ("it is packed" in totals.unlogged_why) == (status == 200)


def test_what_is_no_call_of_a_model_is_counted_apart(tmp_path: Path) -> None:
    """So that the end says that no model was called; calls know which of them were reported, and their conversation."""
    with Through(tmp_path, [answer("One."), answer("Two.")]) as through:
        assert through.server.request("GET", "/v1/models", {"authorization": "Bearer any"}).status_code == 200
        assert (through.totals.others, through.totals.calls, through.totals.conversations) == (1, 0, [])
        Talk(through, "chat", stream=True).say("Hello")  # nobody asked for its usage
        Talk(through, "chat").say("Good day")
        assert (through.totals.calls, through.totals.reported) == (2, 1)
        assert sorted(through.totals.conversations) == through.names
        assert len(through.names) == 2


def request(number: int, offered: int, sent: int, **more: Any) -> Prepared:
    return Prepared("one", ListPlace("", b""), b"", frozenset(), offered, sent, number=number, **more)


def replied(cached: int = 0, output: int = 0) -> dict[str, Any]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": cached, "output_tokens": output}
    return {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Yes."}], "usage": usage}


def totals(*requests: Prepared, **usage: int) -> Totals:
    found = Totals()
    for each in requests:
        found.add(each, replied(**usage))
    return found


LONG = (
    request(1, 10_000, 10_000),
    request(2, 20_000, 6_000, swept="sweep: forced", composed=True, kept=0),
    request(3, 30_000, 16_000, composed=True),
    request(4, 40_000, 9_000, swept="sweep: forced", composed=True, kept=2_000),
)


def test_both_costs_are_forecasts_by_the_same_rule() -> None:
    """What the call before had sent is read from the cache: of everything, and of what was sent instead."""
    found = totals(*LONG)
    sent = ((10_000, 0), (6_000, 0), (16_000, 6_000), (9_000, 2_000))
    full = ((10_000, 0), (20_000, 10_000), (30_000, 20_000), (40_000, 30_000))
    assert found.cost == pytest.approx(sum(call_cost(*each, ANTHROPIC) for each in sent))
    assert found.full_cost == pytest.approx(sum(call_cost(*each, ANTHROPIC) for each in full))


def test_what_a_provider_reported_does_not_change_the_comparison() -> None:
    """It is told for itself."""
    one, other = totals(*LONG), totals(*LONG, cached=50_000)
    assert (one.cost, one.full_cost) == (other.cost, other.full_cost)
    assert one.reported_cost != other.reported_cost


def test_answers_cost_the_same_in_both() -> None:
    """So that the percentage is of the whole bill."""
    short, long = totals(*LONG), totals(*LONG, output=100)
    assert long.cost - short.cost == pytest.approx(long.full_cost - short.full_cost) == pytest.approx(4 * 100 * 5)


@pytest.mark.parametrize("extra", [
    request(2, 20_500, 6_500, composed=True),  # a round of ours: the same request
    request(9, 20_500, 6_500, composed=True, read_again=1),  # the agent's own
])  # fmt: skip
def test_bringing_back_is_charged_to_us_alone(extra: Prepared) -> None:
    """If everything is sent, neither the call is made nor what it brings is sent."""
    without, again = totals(*LONG[:2]), totals(*LONG[:2], extra)
    assert again.cost == pytest.approx(without.cost + call_cost(6_500, 6_000, ANTHROPIC))
    assert again.full_cost == without.full_cost
    later = totals(*LONG[:2], extra, request(10, 30_500, 16_500, composed=True))
    assert later.full_cost == pytest.approx(totals(*LONG[:3]).full_cost)


def test_never_more_is_sent_than_the_window_holds() -> None:
    """Beyond it, sending everything costs a full window and what is new."""
    found = totals(request(1, 10_000, 10_000), request(2, 20_000, 6_000, composed=True, kept=0, window=12_000))
    assert found.full_cost == pytest.approx(call_cost(10_000, 0, ANTHROPIC) + call_cost(12_000, 2_000, ANTHROPIC))


@pytest.mark.parametrize(("more", "is_cached"), [(0, True), (1, False)])
def test_a_pause_ends_the_cache_on_both_sides(more: int, is_cached: bool) -> None:
    """After it all that is sent is new to the provider: of everything, and of what was sent instead."""
    now = [0.0]
    found = Totals(clock=lambda: now[0])
    for each in LONG[:3]:
        found.add(each, replied())
        now[0] += ANTHROPIC.cache_seconds + more
    sent = ((10_000, 0), (6_000, 0), (16_000, 6_000 * is_cached))
    full = ((10_000, 0), (20_000, 10_000 * is_cached), (30_000, 20_000 * is_cached))
    assert found.cost == pytest.approx(sum(call_cost(*each, ANTHROPIC) for each in sent))
    assert found.full_cost == pytest.approx(sum(call_cost(*each, ANTHROPIC) for each in full))


def test_what_was_cached_before_the_server_began_counts_on_neither_side() -> None:
    """Of a conversation that goes on after a restart nobody knows what the provider still has."""
    found = totals(request(1, 40_000, 9_000, composed=True, kept=8_000))
    assert found.cost == pytest.approx(call_cost(9_000, 0, ANTHROPIC))
    assert found.full_cost == pytest.approx(call_cost(40_000, 0, ANTHROPIC))


def test_the_windows_of_the_last_models_are_kept() -> None:
    """A client may name any number of models."""
    totals = Totals()
    reply = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Yes."}]}
    for number in (0, *range(150), 60):
        limit = ContextWindow(f"model-{number}", 8_000, "server")
        totals.add(Prepared("one", ListPlace("", b""), b"", frozenset(), 10, 10, number=1, limit=limit), reply)
    assert len(totals.windows) == 100
    assert list(totals.windows)[-2:] == ["model-149", "model-60"]
