"""What is counted, and how it is logged."""

import json
import logging
from pathlib import Path

import pytest
from rest_server import RestServer

from sightline.server.metrics import JsonLines, Metrics


def value(text: str, series: str) -> float:
    """The value of one series of the text format."""
    [line] = [line for line in text.splitlines() if line.startswith(series + " ")]
    return float(line.rpartition(" ")[2])


def test_requests_are_counted_by_pattern_and_status(server: RestServer) -> None:
    """Many ids make one series; what is unknown makes one, too. What is refused counts as the path that was wanted."""
    for number in range(5):
        server.get(f"/api/sessions/none{number}", 404)
    server.get("/api/sessions/talk")
    server.client.get("/nowhere/at/all")
    server.client.request("BREW", "/api/sessions")
    for path in ("/api/sessions", "/api/sessions/x/items", "/api/none", "/v1/messages", "/inspector/x.js", "/x"):
        server.client.get(path, headers={"host": "evil.example"})
    text = server.client.get("/metrics").text
    requests = 'sightline_requests_total{method="GET",path="/api/sessions/{id}",status="%d"}'
    assert value(text, requests % 404) == 5
    assert value(text, requests % 200) == 1
    assert value(text, 'sightline_requests_total{method="GET",path="other",status="404"}') == 1
    for path in ("/api/sessions", "/api/sessions/{id}/items", "/api/*", "/v1/messages", "/inspector/", "other"):
        assert value(text, f'sightline_requests_total{{method="GET",path="{path}",status="403"}}') == 1
    assert "BREW" not in text
    assert value(text, "sightline_open_sessions") == 1
    assert value(text, 'sightline_request_seconds_count{path="/api/sessions/{id}"}') == 6


def test_model_calls_are_counted() -> None:
    """Tokens offered, sent and billed, sweeps by reason, recalls, and the seconds of providers."""
    metrics = Metrics()
    metrics.tokens(offered=100, sent=40, billed=30)
    metrics.tokens(sent=2)
    metrics.sweep("sweep: forced")
    metrics.recall(3)
    metrics.upstream("anthropic", 200, 1.5)
    metrics.upstream("anthropic", 0, 0.1)
    text = metrics.text().decode()
    counted = [value(text, f'sightline_tokens_total{{what="{what}"}}') for what in ("offered", "sent", "billed")]
    assert counted == [100, 42, 30]
    assert value(text, 'sightline_sweeps_total{reason="sweep: forced"}') == 1
    assert value(text, "sightline_recalls_total") == 3
    assert value(text, 'sightline_upstream_seconds_count{provider="anthropic",status="200"}') == 1


def test_two_servers_in_one_process_count_apart(project: Path) -> None:
    """Each has a registry of its own."""
    with RestServer(project) as one, RestServer(project) as other:
        one.get("/healthz")
        assert "/healthz" in one.client.get("/metrics").text
        assert "/healthz" not in other.client.get("/metrics").text


def test_a_record_is_one_line_of_json(server: RestServer, caplog: pytest.LogCaptureFixture) -> None:
    """With the facts that are allowed, and nothing else that somebody attached."""
    caplog.set_level(logging.INFO, "sightline.server")
    server.get("/api/sessions/talk/items")
    server.get("/healthz")  # so that the request before it has been logged
    record = next(each for each in caplog.records if getattr(each, "path", "") == "/api/sessions/{id}/items")
    record.body = "secret words"
    line = JsonLines().format(record)
    said = json.loads(line)
    assert (said["message"], said["method"], said["status"], said["level"]) == ("request", "GET", 200, "info")
    assert "\n" not in line
    assert "secret" not in line
