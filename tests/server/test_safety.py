"""Who is let in: hosts, origins, tokens, sizes. Web pages and other machines are not, unless they have the token."""

import logging
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from rest_server import TOKEN, RestServer

from sightline.errors import BadInput
from sightline.server.access_token import (
    TOKEN_FILE,
    TOKEN_VARIABLE,
    find_token,
    hash_token,
    is_loopback,
    load_or_create_token,
    opens_models,
)
from sightline.server.callers import OneToken
from sightline.server.metrics import JsonLines, NoSecrets
from sightline.server.safety import Guard, check_address

LIST = "/api/sessions"


@pytest.fixture
def guarded(project: Path) -> Iterator[RestServer]:
    """A server as other machines reach it: everything needs the token."""
    with RestServer(project, guard={"open_models": False, "any_host": True}) as running:
        yield running


def status(server: RestServer, path: str = LIST, **headers: str) -> int:
    """The status of a GET with these headers, written with _ for -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return int(server.client.get(path, headers=named).status_code)


@pytest.mark.slow("localhost#")
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "", "[::2]",
             "127.0.0.1:80/x?", "127.0.0.1/", "localhost#", "me@localhost", "127.0.0.1:x", "[::1]x", "localhost:1:2"]
)  # fmt: skip
def test_a_page_whose_name_points_here_is_refused(server: RestServer, host: str) -> None:
    """DNS rebinding: the browser sends the page's own name as Host."""
    assert status(server, Host=host) in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1:1", "[::1]:8080", "localhost."])
def test_names_of_this_machine_are_let_in(server: RestServer, host: str) -> None:
    """With any port, because a port may be forwarded."""
    assert status(server, Host=host) == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "file://", "http://127.0.0.1"]
)
def test_a_page_of_another_origin_is_refused(server: RestServer, origin: str) -> None:
    """Whatever it sends, also what browsers send without asking first. Nothing is done."""
    before = server.get(LIST)["total"]
    assert status(server, Origin=origin) == 403
    sent = server.client.post(LIST, content="{}", headers={"origin": origin, "content-type": "text/plain"})
    assert (sent.status_code, sent.json()["error"]["type"]) == (403, "foreign_origin")
    assert server.get(LIST)["total"] == before


def test_what_a_browser_says_of_the_page_is_believed(server: RestServer) -> None:
    """Cross-site and same-site requests are refused; the server's own pages and typed addresses are let in."""
    assert [status(server, Sec_Fetch_Site=each) for each in ("cross-site", "same-site", "other")] == [403, 403, 403]
    assert [status(server, Sec_Fetch_Site=each) for each in ("same-origin", "none")] == [200, 200]
    assert status(server, Origin=server.url) == 200


def test_a_form_of_a_web_page_cannot_send_json(server: RestServer) -> None:
    """Also without an Origin: a body of another type is a 415."""
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert server.client.post(LIST, content=b"{}", headers={"content-type": media}).status_code == 415


def test_without_the_token_nothing_is_told(guarded: RestServer) -> None:
    """But for whether the server runs. A wrong token, a cookie and the provider's header are none."""
    stranger = guarded.stranger
    open_to_all = [stranger.get(path) for path in ("/healthz", "/readyz")]
    assert [each.status_code for each in open_to_all] == [200, 200]
    assert not any("sessions" in each.json() for each in open_to_all)
    for path in (LIST, "/api/events", "/api/openapi.json", "/metrics", "/health", "/v1/messages", "/"):
        assert stranger.get(path).status_code == 401, path
    wrong: list[dict[str, str]] = [
        {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}, {"x-sightline-token": TOKEN[:-1]},
        {"cookie": f"token={TOKEN}"}, {"x-api-key": TOKEN}, {"x-sightline-token": hash_token(TOKEN)},
    ]  # fmt: skip
    for headers in wrong:
        assert stranger.get(LIST, headers=headers).status_code == 401, headers
    assert stranger.get(f"/token/{TOKEN}x{LIST}").status_code == 401


def test_the_token_is_taken_in_three_places(guarded: RestServer) -> None:
    """In its own header, as a bearer below /api, and at the beginning of the path. Any host name will do then."""
    assert status(guarded, X_Sightline_Token=TOKEN, Host="box.lan:8787") == 200
    assert guarded.stranger.get(LIST, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert guarded.stranger.get(f"/token/{TOKEN}{LIST}").status_code == 200
    assert status(guarded, X_Sightline_Token=TOKEN, Origin="https://evil.example") == 403


def test_who_has_no_token_is_told_where_it_is(server: RestServer) -> None:
    """In the variable if the user has chosen it, for then no address shows it; else in the address."""
    told = server.stranger.get(LIST).json()["error"]["what_to_do"]
    assert TOKEN_VARIABLE in told
    assert "#token=" in told


def test_another_account_of_this_machine_gets_nothing(server: RestServer) -> None:
    """On loopback, too, what is below /api needs the token, and who has none is told where to find it.

    Nothing is read, made or deleted; a wrong token is none.
    """
    stranger = server.stranger
    asked = [
        stranger.get(LIST), stranger.get("/api/events"), stranger.get(f"{LIST}/talk/items?text=full"),
        stranger.get("/api/openapi.json"), stranger.get("/api/nothing"), stranger.delete(f"{LIST}/talk"),
        stranger.post(LIST, json={"id": "made"}), stranger.post(f"{LIST}/talk/interact", json={"message": "spend"}),
        stranger.get(LIST, headers={"x-sightline-token": TOKEN[:-1]}), stranger.get(f"/token/{TOKEN[1:]}{LIST}"),
        stranger.get(LIST, headers={"cookie": f"sightline-token={TOKEN}"}), stranger.get(f"{LIST}?token={TOKEN}"),
    ]  # fmt: skip
    assert [each.status_code for each in asked] == [401] * len(asked)
    told = asked[0].json()["error"]
    assert told["type"] == "no_token"
    assert "X-Sightline-Token" in told["what_to_do"]
    assert "#token=" in told["what_to_do"]
    assert [row["id"] for row in server.get(LIST)["sessions"]] == ["talk"]


def test_what_has_no_content_is_open_on_loopback(server: RestServer) -> None:
    """Counts and health need no token there, and agents bring their own key; other hosts and origins are refused."""
    for path in ("/healthz", "/readyz", "/health", "/metrics"):
        assert server.stranger.get(path).status_code == 200
        assert server.stranger.get(path, headers={"host": "evil.example"}).status_code == 403
        assert server.stranger.get(path, headers={"origin": "https://evil.example"}).status_code == 403
    assert server.stranger.post("/v1/messages", json={}).status_code == 404  # let in; there is no proxy behind it


def test_paths_of_the_proxy_are_open_only_where_no_key_is_added() -> None:
    """At another address they need the token, and where an upstream's address has a password in it."""
    plain = ["https://api.anthropic.com", "http://127.0.0.1:11434/v1"]
    assert opens_models("127.0.0.1", plain)
    assert not opens_models("0.0.0.0", plain)
    assert not opens_models("127.0.0.1", [*plain, "https://me:secret@gateway.example/v1"])


@pytest.mark.parametrize(
    ("mode", "dest", "expected"),
    [("navigate", "document", 404), ("navigate", "iframe", 403), ("no-cors", "script", 403), ("cors", "empty", 403)],
)
def test_a_link_elsewhere_may_open_a_page_and_nothing_more(
    server: RestServer, mode: str, dest: str, expected: int
) -> None:
    """A tab of the inspector may be opened from a terminal in a browser; frames, scripts and requests are refused."""
    told = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    assert server.client.get("/inspector/", headers=told).status_code == expected  # 404: no pages behind this guard
    assert server.client.get(LIST, headers=told).status_code == 403
    assert server.client.post("/inspector/", headers=told).status_code == 403


async def _seen(
    path: str, headers: list[tuple[bytes, bytes]], token: str = TOKEN, written: str = ""
) -> tuple[dict[str, Any], int]:
    """The scope that an application behind the guard gets, and the status. `written`: the path with its escapes."""
    seen: dict[str, Any] = {}
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.update(scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "path": path, "raw_path": (written or path).encode()}
    scope["headers"] = [(b"host", b"box"), *headers]
    await Guard(app, max_body=10, callers=OneToken(hash_token(token)), any_host=True)(scope, receive, send)
    assert scope["path"] == (seen or scope)["path"]  # what a server logs
    return seen, sent[0]["status"]


def test_the_token_never_reaches_the_application() -> None:
    """Nor a provider behind it, nor a log: it is taken off path and headers. The provider's key is passed on."""
    import asyncio

    key = (b"authorization", b"Bearer sk-provider")
    seen, given = asyncio.run(_seen(f"/token/{TOKEN}/v1/messages", [key]))
    assert (given, seen["path"], seen["raw_path"], key in seen["headers"]) == (
        200,
        "/v1/messages",
        b"/v1/messages",
        True,
    )
    for written in ("/%74oken/{}/v1/a%2Fb", "/token%2F{}/v1/a%2Fb", "/token/{}%2Fv1/a%2Fb"):
        seen, given = asyncio.run(_seen(f"/token/{TOKEN}/v1/a/b", [key], written=written.format(TOKEN)))
        assert (given, seen["path"], TOKEN in repr(seen)) == (200, "/v1/a/b", False)
        assert unquote(seen["raw_path"].decode()) == "/v1/a/b"
    seen, given = asyncio.run(_seen("/v1/messages", [key, (b"X-Sightline-Token", TOKEN.encode())]))
    assert (given, TOKEN in repr(seen)) == (200, False)
    _, given = asyncio.run(_seen("/v1/messages", [(b"authorization", b"Bearer " + TOKEN.encode())]))
    assert given == 401


@pytest.mark.slow
def test_a_large_body_is_refused_whether_it_says_so_or_not(project: Path) -> None:
    """413 at once if its length is told, and as soon as it is too long if it is not."""
    with RestServer(project, max_body=1000) as server:
        assert server.client.post(LIST, json={"id": "x" * 2000}).status_code == 413
        read = 0

        def endless() -> Iterator[bytes]:
            nonlocal read
            for _ in range(10_000):
                read += 1
                yield b" " * 20_000

        sent = server.client.post(LIST, content=endless(), headers={"content-type": "application/json"})
        assert (sent.status_code, read < 10_000) == (413, True)
        assert server.get(LIST)["total"] == 1


def test_requests_that_are_no_requests_are_answered(server: RestServer) -> None:
    """No Host, two Hosts, or no HTTP at all: the next request is answered."""
    two = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n"
    lines = [b"GET /api/sessions HTTP/1.1\r\n\r\n", two, b"\0\1\2\r\n\r\n"]
    for line in lines:
        with socket.create_connection(("127.0.0.1", server.listener.port), 10) as connection:
            connection.sendall(line)
            assert connection.recv(100).startswith(b"HTTP/1.1 400")
    assert server.get("/healthz")


def test_a_token_is_made_once_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    """Readable by its owner only; the second start knows the hash and cannot show the token."""
    folder = tmp_path / "new" / "home"
    made = load_or_create_token(folder)
    file = folder / TOKEN_FILE
    assert len(made.shown) >= 40
    assert made.shown == made.text
    assert made.hashed == hash_token(made.shown)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert made.shown not in file.read_text()
    again = load_or_create_token(folder)
    assert (again.hashed, again.text, again.shown) == (made.hashed, "", "")
    file.unlink()
    assert load_or_create_token(folder).hashed != made.hashed
    for bad in ("", "hello", "sha256:xyz", "sha256:" + "Z" * 64):
        file.write_text(bad)
        with pytest.raises(BadInput, match="delete it"):
            load_or_create_token(folder)


def test_on_loopback_each_start_has_a_token_of_its_own(tmp_path: Path) -> None:
    """It is long, it is shown, and it is kept nowhere; a server that others reach has the one that is kept."""
    one, other = (find_token("127.0.0.1", tmp_path, {}) for _ in range(2))
    assert one.shown != other.shown
    assert len(one.shown) >= 40
    assert list(tmp_path.iterdir()) == []
    kept = find_token("0.0.0.0", tmp_path, {})
    assert (kept.shown, find_token("0.0.0.0", tmp_path, {}).hashed) == (kept.text, kept.hashed)


def test_a_token_that_the_user_has_chosen_is_used_and_never_shown(tmp_path: Path) -> None:
    """At every address. One that is short, or that an address cannot hold, is refused with what to do."""
    for host in ("127.0.0.1", "0.0.0.0"):
        chosen = find_token(host, tmp_path, {TOKEN_VARIABLE: f" {TOKEN}\n"})
        assert (chosen.hashed, chosen.text, chosen.shown) == (hash_token(TOKEN), TOKEN, "")
    assert list(tmp_path.iterdir()) == []
    for bad in ("short", "sixteen letters/#", "密" * 16):
        with pytest.raises(BadInput, match="16 or more"):
            find_token("127.0.0.1", tmp_path, {TOKEN_VARIABLE: bad})


def test_a_server_that_others_reach_needs_a_token() -> None:
    """Without one nothing below /api is answered on loopback; names and addresses of the network cannot be used."""
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost")))
    for host in ("0.0.0.0", "::", "192.168.1.4", "box.lan", ""):
        assert not is_loopback(host)
        with pytest.raises(BadInput, match="token"):
            check_address(host, "")
        check_address(host, hash_token(TOKEN))
    check_address("127.0.0.1", "")


def test_no_secret_is_logged(guarded: RestServer, caplog: pytest.LogCaptureFixture) -> None:
    """Neither our token nor a provider's key, wherever a request carries it."""
    caplog.set_level(logging.DEBUG)
    secrets = ("sk-provider-0123456789", TOKEN)
    guarded.client.get(f"/token/{TOKEN}/api/sessions/none", headers={"x-api-key": secrets[0]})
    guarded.client.post(f"{LIST}?key={secrets[0]}", json={"id": secrets[0]}, headers={"x-sightline-token": TOKEN})
    lines = [
        JsonLines().format(record) for record in caplog.records if record.name.startswith(("sightline", "uvicorn"))
    ]
    assert any('"path":"/api/sessions/{id}"' in line for line in lines)
    assert not [line for line in lines for secret in secrets if secret in line]


def test_what_looks_like_a_secret_is_hidden_in_any_record() -> None:
    """Also in the traceback of an error that another library raised."""
    try:
        raise ValueError("401 for Authorization: Bearer sk-abcdefgh12345678")
    except ValueError:
        import sys

        failure = sys.exc_info()
    record = logging.LogRecord(
        "x", logging.ERROR, "f", 1, "x-api-key: %s at /token/%s/v1", ("abc123456", TOKEN), failure
    )
    record.headers = {"authorization": "Bearer very-secret"}
    NoSecrets().filter(record)
    line = JsonLines().format(record)
    assert "[hidden]" in line
    assert "Traceback" in line
    for secret in ("sk-abcdefgh12345678", "abc123456", TOKEN, "very-secret"):
        assert secret not in line


def test_two_starts_at_once_agree_on_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that was there first holds; the other server shows no token of its own."""
    first = load_or_create_token(tmp_path)
    real, looked = Path.read_bytes, 0

    def late(path: Path) -> bytes:
        nonlocal looked
        looked += 1
        if looked == 1:  # the other server has not written it yet
            raise FileNotFoundError(os.fspath(path))
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", late)
    again = load_or_create_token(tmp_path)
    assert (again.hashed, again.shown) == (first.hashed, "")
