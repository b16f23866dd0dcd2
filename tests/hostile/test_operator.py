"""What a careful operator expects of commands on a database: mistakes are told before anything is done."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from postgres_server import PostgresServer
from sightline import PostgresStores, Session
from sightline.cli.main import app
from sightline.fleet import event_relay
from sightline.fleet.event_relay import EventRelay
from sightline.fleet.tenants import Tenants, check_deletable
from sightline.server.events import Event, Hub

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, url: str) -> Run:
    """Run a command on a database."""

    def run(*words: str, store: str = url, answer: str = "") -> Result:
        told = ["--project", str(tmp_path), "--root", str(tmp_path / "logs"), "--store", store, *words]
        return CliRunner().invoke(app, told, input=answer)

    return run


def test_a_copy_of_nothing_fails(run: Run, tmp_path: Path, url: str) -> None:
    """A backup that copied nothing must not look like one that worked; one that copied before is one."""
    done = run("store", "copy", url, str(tmp_path / "backup"))
    assert (done.exit_code, "No sessions" in done.output) == (1, True)
    with Session.new(tmp_path, stores=PostgresStores(url)) as session:
        session.user("Hello")
    for _ in range(2):
        assert run("store", "copy", url, str(tmp_path / "backup")).exit_code == 0


def test_nobody_is_asked_about_a_tenant_that_is_not_deleted(run: Run, url: str) -> None:
    """The usual one, and one that is misspelt: the command says so and asks nothing."""
    for name, why in (("default", "is not deleted"), ("typo", "no tenant 'typo'")):
        done = run("tenant", "delete", name)
        assert done.exit_code == 1
        assert why in " ".join(done.output.split())
        assert "--yes" not in done.output


def test_a_deletion_that_was_interrupted_goes_on(run: Run, stores: PostgresStores, monkeypatch: Any) -> None:
    """The tenant is ended then, and still there to be deleted."""
    tenants = Tenants(stores.database)
    tenants.create("acme")
    monkeypatch.setattr("sightline.fleet.tenants.NOTICE_SECONDS", 0.0)
    monkeypatch.setattr(Tenants, "_remove_all", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        tenants.delete("acme", wait=0)
    monkeypatch.undo()
    check_deletable(tenants, "acme")
    assert tenants.delete("acme", wait=0) == (0, 0)


@pytest.mark.parametrize("command", [("sessions",), ("doctor",), ("store", "migrate")], ids=" ".join)
def test_a_misspelt_tenant_of_an_address_is_told(command: tuple[str, ...], run: Run, url: str) -> None:
    """It is no empty place to write to."""
    run("sessions")
    done = run(*command, store=f"{url}&tenant=typo")
    assert done.exit_code == 1
    assert "no tenant" in " ".join(done.output.split())


@pytest.mark.parametrize(("address", "advice"), [("", "update Sightline"), ("&tenant=typo", "correct tenant=")])
def test_doctor_advises_what_helps(address: str, advice: str, run: Run, url: str, postgres: PostgresServer) -> None:
    """Nobody is sent to start a database that runs."""
    run("sessions")
    if not address:
        schema = url.partition("schema=")[2]
        with postgres.connect() as admin:
            admin.execute(f"INSERT INTO {schema}.migration SELECT max(version) + 7 FROM {schema}.migration".encode())
    done = " ".join(run("doctor", "--json", store=url + address).output.split())
    assert advice in done
    assert "start the database" not in done


def test_an_outage_is_said_once_a_minute(
    stores: PostgresStores, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """However often it is tried meanwhile to tell others of an event."""
    tried, often = list[int](), threading.Event()

    def away(*_: Any, **__: Any) -> Any:
        tried.append(1)
        if len(tried) >= 5:
            often.set()
        raise event_relay.StoreError("the database is away")

    monkeypatch.setattr(event_relay, "_PAUSE", 0.001)
    relay, hub = EventRelay(stores.database), Hub()
    monkeypatch.setattr(relay._database, "run", away)
    relay.join(hub)
    with caplog.at_level(logging.WARNING, "sightline.server"):
        relay.start()
        hub.publish(Event("append", "talk"))
        assert often.wait(60)
        relay.close()
    assert len([record for record in caplog.records if "not told to others" in record.getMessage()]) == 1
