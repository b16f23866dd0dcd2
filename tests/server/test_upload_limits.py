"""Uploads take no more of a server's disk than they may, and no tenant stores more by them than its limit."""

import fcntl
import gzip
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tenant_servers import Tenancy
from test_tenant_isolation import transcript

from postgres_server import PostgresServer
from sightline.server import uploads as module
from sightline.server.rest_operation import Busy, TooLarge
from sightline.server.uploads import UploadRoom, Uploads


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files of this machine are."""
    (found := tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    return found


def send(client: httpx2.Client, data: Any, name: str = "talk.jsonl") -> httpx2.Response:
    return client.post(f"/api/imports/upload?name={name}", content=data)


def pieces(data: bytes) -> Iterator[bytes]:
    """A body that does not say how long it is."""
    yield from (data[at : at + 4096] for at in range(0, len(data), 4096))


def test_an_upload_beyond_the_quota_is_refused_before_it_is_imported(
    tmp_path: Path, postgres: PostgresServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it says its length or not, and at once. The trail has it, and nothing of it stays on disk or database."""
    monkeypatch.setattr("sightline.server.safety._THROWING_SECONDS", 3600)  # there is no rest to wait for
    long = transcript("acme", *(f"{at} " + "y" * 1000 for at in range(300)))
    with Tenancy(tmp_path, postgres) as tenancy:
        tenancy.tenant("acme", most_bytes=100_000)
        client = tenancy.client("acme")
        for body in (long, pieces(long)):
            refused = send(client, body)
            assert (refused.status_code, refused.json()["error"]["type"]) == (403, "quota_exceeded")
            assert "100,000" in refused.json()["error"]["message"]
        assert tenancy.tenants.bytes_used("acme") == 0
        assert tenancy.tenants.audit("acme", action="quota")[0].detail["most_bytes"] == 100_000
        assert not [each for each in folder.rglob("*") if each.name.endswith(".jsonl")]
        assert send(client, transcript("acme", "Short.")).status_code == 202


@pytest.mark.slow
def test_an_import_stops_when_the_quota_is_reached(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file may hold much. What is written until then stays, and the import says why it ended."""
    monkeypatch.setattr("sightline.imports.importer._BATCH", 10_000)
    packed = gzip.compress(transcript("acme", *(f"{at} " + "y" * 1000 for at in range(300))))
    with Tenancy(tmp_path, postgres) as tenancy:
        tenancy.tenant("acme", most_bytes=100_000)
        client = tenancy.client("acme")
        made = send(client, packed, "talk.jsonl.gz")
        assert made.status_code == 202, made.text
        while (found := client.get(f"/api/imports/{made.json()['id']}").json())["state"] == "running":
            pass
        assert found["state"] == "failed"
        assert "100,000 bytes" in found["error"]
        assert 100_000 <= tenancy.tenants.bytes_used("acme") < 200_000
        assert client.get("/api/sessions").json()["total"] == 1


def test_uploads_wait_only_as_far_as_there_is_room(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond it a server says so, and when to try again; a file that can never fit is refused as such."""
    monkeypatch.setattr("sightline.fleet.tenant_server.MOST_OF_A_TENANT", 3000)
    with Tenancy(tmp_path, postgres) as tenancy:
        tenancy.tenant("acme")
        client, data = tenancy.client("acme"), transcript("acme", "Hello.")
        for body in (b"x" * 3001, pieces(b"x" * 3001)):
            assert send(client, body).json()["error"]["type"] == "body_too_large"
        [app] = tenancy.apps[0].state.applications.open_now()
        room = app.state.uploads.room
        room.used = room.most - 10  # those of other tenants
        for body in (data, pieces(data)):
            refused = send(client, body)
            assert (refused.status_code, refused.json()["error"]["type"]) == (503, "busy")
            assert int(refused.headers["retry-after"]) > 0
        room.used = 0
        made = send(client, data)
        assert made.status_code == 202
        while client.get(f"/api/imports/{made.json()['id']}").json()["state"] == "running":
            pass
        deadline = time.monotonic() + 30
        while room.used and time.monotonic() < deadline:
            time.sleep(0.01)
        assert room.used == 0


def test_no_application_takes_the_room_of_all() -> None:
    """Each has its own share; what is given back can be taken again."""
    room = UploadRoom(100)
    one, two = Uploads(room, 60), Uploads(room, 60)
    one.take(50)
    two.take(50)
    with pytest.raises(Busy):
        two.take(1)
    with pytest.raises(TooLarge):
        two.check(61)
    one.give_back(50)
    with pytest.raises(Busy):
        two.take(11)
    two.take(10)
    assert room.used == 60


def test_what_a_killed_server_left_is_deleted(folder: Path) -> None:
    """By the next one that starts. Those of servers that run, and of one that has just begun, are left alone."""
    names = ("killed", "runs", "begins", "old", "new")
    left = {name: folder / f"sightline-upload-{name}" for name in names}
    for name, each in left.items():
        each.mkdir()
        if name in ("killed", "runs", "begins"):
            (each / "lock").touch()
        ages = {"begins": 0.0, "old": module._DAY + 1}
        at = time.time() - ages.get(name, module._YOUNG + 1)
        os.utime(each, (at, at))
    with (left["runs"] / "lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        room = UploadRoom()
        own = room.make_folder()
        os.utime(own.parent, (0, 0))
        UploadRoom().delete_left()
    assert {name for name, each in left.items() if not each.exists()} == {"killed", "old"}
    assert own.is_dir()
    room.close()
    assert not own.parent.exists()
