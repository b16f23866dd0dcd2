"""How the pages are handed out: their headers, who gets them, and what is not given."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from inspector_server import TOKEN, InspectorServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from sightline.inspector.pages import POLICY, give_page
from sightline.server.access_token import hash_token

HTML = {"accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def client(looked_at: InspectorServer) -> Iterator[httpx2.Client]:
    """A client of the server that sends no header of its own but the token."""
    shows = {"x-sightline-token": TOKEN}
    with httpx2.Client(base_url=looked_at.address, trust_env=False, timeout=60, headers=shows) as made:
        yield made


def test_a_page_has_a_strict_policy_and_nothing_inline(client: httpx2.Client) -> None:
    """Only files of this server may run; no page has a script, a style or a handler in itself."""
    page = client.get("/inspector/")
    assert page.status_code == 200
    assert page.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert "default-src 'none'" in POLICY
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-cache"
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", page.text)


def test_files_with_a_hash_in_their_name_are_kept_by_browsers(client: httpx2.Client) -> None:
    """Scripts and styles are named by their content, so they are cached for good; their types are right."""
    names = re.findall(r'(?:src|href)="\./(assets/[^"]+)"', client.get("/inspector/").text)
    assert {Path(name).suffix for name in names} == {".js", ".css"}
    for name in names:
        file = client.get(f"/inspector/{name}")
        assert "immutable" in file.headers["cache-control"]
        assert file.headers["content-type"].startswith(("text/javascript", "text/css"))
        assert file.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("path", ["../pages.py", "..%2fpages.py", "assets/../../pages.py", ".source", "nothing.js"])
def test_only_the_built_files_are_given(client: httpx2.Client, path: str) -> None:
    """No path leads out of the folder of the pages."""
    assert client.get(f"/inspector/{path}").status_code in (404, 400, 502)  # 502: it was none of our paths


def test_a_browser_that_opens_the_bare_address_comes_to_the_inspector(client: httpx2.Client) -> None:
    """A person typing the address gets the pages; agents' requests go on to the provider."""
    found = client.get("/", headers=HTML)
    assert (found.status_code, found.headers["location"]) == (307, "/inspector/")
    assert client.get("/inspector", headers=HTML).headers["location"] == "/inspector/"


@pytest.mark.parametrize(
    ("method", "headers"),
    [("HEAD", HTML), ("GET", {}), ("GET", HTML | {"x-api-key": "k"}), ("GET", HTML | {"authorization": "Bearer k"})],
)
def test_agents_are_not_sent_to_the_inspector(tmp_path: Path, method: str, headers: dict[str, str]) -> None:
    """What begins like Claude Code's HEAD /, or shows a key, is told where it is; no provider gets the key."""
    nowhere = {"anthropic": "http://127.0.0.1:9", "openai": "http://127.0.0.1:9"}
    with InspectorServer(tmp_path, upstreams=nowhere) as server, httpx2.Client(trust_env=False) as client:
        answer = client.request(method, server.address + "/", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.slow
def test_pages_need_no_token_and_the_interface_does(tmp_path: Path) -> None:
    """The pages say nothing about sessions, so that they can ask for the token; all else is refused without it."""
    for host in ("127.0.0.1", "0.0.0.0"):
        with (
            InspectorServer(tmp_path, host=host, token_hash=hash_token("secret")) as server,
            httpx2.Client(base_url=server.address, trust_env=False) as client,
        ):
            assert client.get("/inspector/").status_code == 200
            assert client.get("/api/sessions").status_code == 401
            assert client.get("/api/sessions", headers={"x-sightline-token": "secret"}).status_code == 200
            if host == "0.0.0.0":
                assert client.post("/inspector/").status_code == 401


def test_a_server_without_a_token_answers_nobody(tmp_path: Path) -> None:
    """Such as that of `sightline wrap`: agents are served, sessions are told to nobody."""
    with InspectorServer(tmp_path, token_hash="") as server:
        for headers in ({}, {"x-sightline-token": ""}, {"authorization": "Bearer x"}, {"x-sightline-token": "none"}):
            answer = httpx2.get(f"{server.address}/api/sessions", headers=headers, trust_env=False)
            assert answer.status_code == 401


def test_another_page_cannot_act(client: httpx2.Client) -> None:
    """Requests that a page of another origin makes are refused, also by a name that points to this machine."""
    action = "/api/sessions/work/compactions"
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"host": "evil.example"}):
        assert client.post(action, json={}, headers=headers).status_code == 403
    form = client.post(action, content="a=b", headers={"content-type": "application/x-www-form-urlencoded"})
    assert form.status_code == 415


def test_pages_that_are_not_built_say_how_to_build_them(tmp_path: Path) -> None:
    """In a copy of the repository without built pages, the answer names the command."""

    async def show(request: Request) -> Response:
        return await give_page(request, tmp_path)

    answer = TestClient(Starlette(routes=[Route("/{file:path}", show)])).get("/")
    assert answer.status_code == 503
    assert "make pages" in answer.text
