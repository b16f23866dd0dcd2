"""Clients that are too slow, say too much or come too many: each is ended, and nobody else notices."""

import asyncio
import socket
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from loopback import Server
from rest_server import TOKEN, RestServer

from sightline.server.listener import HEADER_BYTES, RunningRequests, SlowConnections, protocol

ASK = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n"


def talk(server: RestServer) -> socket.socket:
    """A plain connection."""
    return socket.create_connection(("127.0.0.1", server.listener.port), timeout=60)


def heard(connection: socket.socket) -> bytes:
    """All that a connection says until it is closed."""
    said = b""
    try:
        while data := connection.recv(1 << 16):
            said += data
    except ConnectionResetError:
        pass  # it was closed while we sent
    return said


def test_headers_that_never_end_are_waited_for_only_so_long(tmp_path: Path) -> None:
    """Neither of a first nor of a later request. A connection that waits for its next request stays open."""
    with RestServer(tmp_path) as server, ExitStack() as stack:
        nothing, half, later, idle = (stack.enter_context(talk(server)) for _ in range(4))
        half.sendall(ASK)
        for each in (later, idle):
            each.sendall(ASK + b"\r\n")
            said = each.recv(1 << 16)
            while not said.endswith(b"}"):  # the body may come after the headers
                said += each.recv(1 << 16)
            assert b"200 OK" in said
        later.sendall(ASK)
        server.listener._slow = SlowConnections(0.0)
        assert [heard(each) for each in (nothing, half, later)] == [b"", b"", b""]
        idle.sendall(ASK + b"connection: close\r\n\r\n")
        assert b"200 OK" in heard(idle)


def test_a_load_balancer_may_ask_without_a_host(tmp_path: Path) -> None:
    """By HTTP/1.0, whether the server lives and is ready. Nothing else is answered so."""
    with RestServer(tmp_path) as server:
        for path, said in (("healthz", b"200 OK"), ("readyz", b"200 OK"), ("api/sessions", b"400 Bad Request")):
            with talk(server) as asking:
                asking.sendall(f"GET /{path} HTTP/1.0\r\n\r\n".encode())
                assert said in heard(asking)


def test_headers_that_are_too_long_are_refused(tmp_path: Path) -> None:
    """Those that are just long, and a long body behind them, are read."""
    with RestServer(tmp_path) as server:
        with talk(server) as long:
            long.sendall(ASK)
            for _ in range(60):
                long.sendall(b"x-filler: " + b"x" * 1_000 + b"\r\n")
            long.sendall(b"connection: close\r\n\r\n")
            assert b"200 OK" in heard(long)
        with talk(server) as body:
            body.sendall(b"POST /api/sessions HTTP/1.1\r\nhost: 127.0.0.1\r\n")
            body.sendall(b"content-length: 900000\r\nconnection: close\r\n\r\n" + b"x" * 900_000)
            assert b"401 Unauthorized" in heard(body)
        with talk(server) as endless:
            endless.sendall(ASK + b"x-endless: ")
            with pytest.raises(OSError, match=r"reset|pipe"):
                endless.sendall(b"x" * HEADER_BYTES * 100)


def test_a_body_that_stops_coming_is_refused(tmp_path: Path) -> None:
    """With 408. One that is whole is waited for as long as it takes to answer it."""
    with RestServer(tmp_path, guard={"body_seconds": 0.2}) as server, talk(server) as slow:
        head = f"POST /api/sessions HTTP/1.1\r\nhost: 127.0.0.1\r\nx-sightline-token: {TOKEN}\r\n"
        slow.sendall(head.encode() + b"content-type: application/json\r\ncontent-length: 100\r\n\r\n{")
        said = heard(slow)
        assert said.startswith(b"HTTP/1.1 408 ")
        assert b"body_too_slow" in said
        with server.client.stream("GET", "/api/events") as events:
            threading.Timer(0.5, server.hub.close).start()
            assert events.read().count(b"error") == 0


def test_more_requests_than_a_server_can_answer_are_told_to_come_again() -> None:
    """In the provider's shape; whether the server is alive is answered all the same."""
    begun, end = threading.Event(), threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        if scope["path"].startswith("/v1/"):
            begun.set()
            await asyncio.to_thread(end.wait)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"answered"})

    with Server(RunningRequests(app, most=1)) as server, httpx2.Client(base_url=server.url, trust_env=False) as http:
        got: list[str] = []
        first = threading.Thread(target=lambda: got.append(http.get("/v1/messages", timeout=60).text))
        first.start()
        begun.wait()
        refused = http.post("/v1/messages", headers={"anthropic-version": "1"})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "send the request again" in refused.json()["error"]["message"]
        assert http.get("/healthz").text == "answered"
        end.set()
        first.join()
        assert got == ["answered"]
        assert http.get("/v1/messages").text == "answered"


def test_without_httptools_there_is_another_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    """h11's, which has a limit of its own: not every extra brings httptools."""
    monkeypatch.setitem(sys.modules, "uvicorn.protocols.http.httptools_impl", None)
    assert protocol() == "h11"
