"""`sightline worker --metrics-port`: a worker says how it is, as a server does."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from click.testing import Result

from postgres_server import PostgresServer

TOKEN = "the-token-of-the-operator-in-tests"


@contextmanager
def worker(folder: Path, store: str, *options: str, token: str = "") -> Iterator[httpx2.Client]:
    """A worker in a process of its own. Gives a client of it, and ends the worker as a supervisor does."""
    command = [sys.executable, "-m", "sightline", "--root", "logs", "--store", store, "worker", *options]
    variables = {**os.environ, "HOME": str(folder), "SIGHTLINE_TOKEN": token}
    with subprocess.Popen(command, cwd=folder, env=variables, text=True, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", line := process.stderr.readline())):
            said += line
            assert line, said
        with httpx2.Client(base_url=found[0], timeout=60, trust_env=False) as client:
            yield client
        process.terminate()
        process.stderr.read()
    assert process.returncode == -signal.SIGTERM


@pytest.mark.slow
def test_a_worker_says_how_it_is(tmp_path: Path, postgres: PostgresServer) -> None:
    """Alive, ready while the database can be used, and its counts; nothing else, and nothing of sessions."""
    with worker(tmp_path, postgres.url(), "--metrics-port", "0") as client:
        assert [client.get(path).status_code for path in ("/healthz", "/readyz", "/health", "/metrics")] == [200] * 4
        counts = client.get("/metrics").text
        assert "sightline_jobs_waiting 0.0" in counts
        assert "sightline_jobs_refused 0.0" in counts
        assert client.get("/api/sessions").status_code == 401
        assert client.post("/v1/messages", json={}).status_code in (404, 405)
        assert client.get("/healthz", headers={"host": "evil.example"}).status_code == 403


@pytest.mark.slow
@pytest.mark.parametrize("token", ["", TOKEN])
def test_counts_are_told_to_other_machines_for_the_token_only(
    tmp_path: Path, postgres: PostgresServer, token: str
) -> None:
    """Without one nobody gets them. A probe needs none."""
    with worker(tmp_path, postgres.url(), "--metrics-port", "0", "--metrics-host", "0.0.0.0", token=token) as client:
        assert (client.get("/healthz").status_code, client.get("/readyz").status_code) == (200, 200)
        assert client.get("/metrics").status_code == 401
        shown = client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
        assert shown.status_code == (200 if token else 401)


def test_a_port_that_is_taken_is_told(run: Callable[..., Result], postgres: PostgresServer) -> None:
    """Before any work is begun, in both languages."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = ("--store", postgres.url(), "worker", "--metrics-port", str(taken.getsockname()[1]))
        assert "--metrics-port 0 takes a free one" in run(*command).output
        assert "已被占用" in run(*command, "--lang", "zh").output
