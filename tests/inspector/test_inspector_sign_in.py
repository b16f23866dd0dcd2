"""A browser that we open gets the token for a code: once, soon, and never in its address or command line."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from inspected_page import InspectedPage
from inspector_server import TOKEN, InspectorServer
from playwright.sync_api import Browser, expect

from sightline.server.sign_in import SIGN_IN, SignIn, account_of

REFUSED = "401 (Unauthorized)"  # the browser notes each of them


def test_a_code_is_used_once_and_soon() -> None:
    """Afterwards it is worth nothing, and so is any other text."""
    now = [0.0]
    sign_in = SignIn(TOKEN, seconds=60, clock=lambda: now[0])
    first, late = sign_in.make_code(), sign_in.make_code()
    assert [sign_in.exchange(each) for each in ("", "x", TOKEN, first, first)] == ["", "", "", TOKEN, ""]
    now[0] = 61
    assert sign_in.exchange(late) == ""


def test_a_code_is_worth_nothing_to_another_account() -> None:
    """It is not used up then. Where the system does not tell the account, the code alone counts."""
    sign_in = SignIn(TOKEN)
    code = sign_in.make_code()
    assert sign_in.exchange(code, os.getuid() + 1) == ""
    assert sign_in.exchange(code, os.getuid()) == TOKEN
    assert sign_in.exchange(sign_in.make_code(), None) == TOKEN


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_account_of_a_connection_is_known(host: str) -> None:
    """By the addresses of its two ends."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with (
        socket.create_server((host, 0), family=family) as server,
        socket.create_connection(server.getsockname()[:2]) as end,
    ):
        client, address = end.getsockname()[:2], server.getsockname()[:2]
        assert account_of(client, address) == os.getuid()
        assert account_of(client, client) is None


def test_a_port_alone_tells_no_account() -> None:
    """Somebody else may connect from the port of our page, at another address of this machine."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as end,
    ):
        assert account_of(("127.0.0.2", end.getsockname()[1]), server.getsockname()) is None


def test_a_client_that_speaks_ipv6_to_a_server_of_ipv4_is_known() -> None:
    """The kernel lists its end within IPv6."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as end,
    ):
        end.connect(("::ffff:127.0.0.1", server.getsockname()[1]))
        client = ("127.0.0.1", end.getsockname()[1])
        assert account_of(client, server.getsockname()) == os.getuid()
        assert account_of(("testclient", 1), server.getsockname()) is None


@pytest.mark.slow
def test_another_account_gets_no_token(tmp_path: Path) -> None:
    """A program that runs as somebody else is refused, and the code still works for the page."""
    sign_in = SignIn(TOKEN)
    with InspectorServer(tmp_path, sign_in=sign_in) as server:
        code = sign_in.make_code()
        ask = (
            "import encodings.idna, encodings.latin_1, http.client, json, os, sys\nos.getuid() or os.setuid(65534)\n"
            "asked = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))\n"
            "asked.request('POST', sys.argv[2], json.dumps({'code': sys.argv[3]}))\nprint(asked.getresponse().status)"
        )
        command = [sys.executable, "-I", "-c", ask, str(urlsplit(server.url).port), SIGN_IN, code]
        expected = "401" if os.getuid() == 0 else "200"  # only root can be somebody else
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == expected


@pytest.mark.slow
def test_the_page_exchanges_its_code(browser: Browser, project: Path) -> None:
    """It shows the place in its address, which has no code any more. In another browser the same address is refused,
    and the page says that it was used.
    """
    sign_in = SignIn(TOKEN)
    with InspectorServer(project, sign_in=sign_in) as server:
        address = f"{server.url}#code={sign_in.make_code()}/?q=port"
        with InspectedPage(browser, server) as page:
            page.page.goto(address)
            expect(page.rows.first).to_be_visible()
            assert page.page.url == f"{server.url}#/?q=port"
            assert not page.asked(TOKEN)
            page.page.reload()
            expect(page.rows.first).to_be_visible()
        with InspectedPage(browser, server, ignored=REFUSED) as other:
            other.page.goto(address)
            dialog = other.page.get_by_role("dialog", name="This server needs its token")
            expect(dialog).to_contain_text("was used before")
            expect(other.rows).to_have_count(0)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_code_is_taken_from_the_own_page_only(tmp_path: Path, host: str) -> None:
    """Another origin is refused, and the code is not used up. Answers are kept in no cache."""
    sign_in = SignIn(TOKEN)
    with InspectorServer(tmp_path, sign_in=sign_in, host=host) as server, httpx2.Client(trust_env=False) as client:
        path, code = f"{server.url}sign-in", {"code": sign_in.make_code()}
        assert client.post(path, json=code, headers={"origin": "https://evil.example"}).status_code == 403
        for wrong in (b"no JSON", b'{"code":"\xff"}', b'{"code":5}', b""):
            assert client.post(path, content=wrong).json()["error"]["type"] == "code_used"
        taken = client.post(path, json=code)
        assert (taken.json(), taken.headers["cache-control"]) == ({"token": TOKEN}, "no-store")
        assert client.post(path, json=code).status_code == 401
    with InspectorServer(tmp_path) as server, httpx2.Client(trust_env=False) as client:
        assert client.post(f"{server.url}sign-in", json=code).status_code == 401  # it is not passed on to a provider


def test_only_a_code_opens_the_door_without_a_token(tmp_path: Path) -> None:
    """Any other request for that path needs the token, and with it goes to no provider either."""
    paths = ("inspector/sign-in", "inspector/sign%2Din?a=b", "token/wrong/inspector/sign-in")
    with (
        InspectorServer(tmp_path, sign_in=SignIn(TOKEN), host="0.0.0.0") as server,
        httpx2.Client(trust_env=False) as client,
    ):
        for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
            expected = 405 if method in ("GET", "HEAD") else 401  # as for every page there
            for path in paths:
                refused = client.request(method, f"{server.address}/{path}", content=b"{}" if method == "PUT" else None)
                assert refused.status_code == expected, (method, path)
            known = client.request(method, f"{server.url}sign-in", headers={"x-sightline-token": TOKEN})
            assert known.status_code == 405, method


@pytest.mark.slow
def test_no_command_line_has_the_token(tmp_path: Path) -> None:
    """The browser that `sightline inspect` starts is told an address with a code, which works."""
    note = tmp_path / "told"
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\necho "$@" > {note}.new && mv {note}.new {note}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    own = {"BROWSER": str(program), "DISPLAY": ":9", "HOME": str(tmp_path), "SIGHTLINE_TOKEN": TOKEN}
    command = [sys.executable, "-m", "sightline", "--root", "logs", "inspect", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, env=os.environ | own, stderr=subprocess.DEVNULL) as process:
        try:
            while not note.exists():
                assert process.poll() is None
            address = note.read_text().strip()
            assert TOKEN not in address
            server, _, code = address.partition("#code=")
            taken = httpx2.post(f"{server}sign-in", json={"code": code}, trust_env=False)
            assert taken.json() == {"token": TOKEN}
        finally:
            process.terminate()
