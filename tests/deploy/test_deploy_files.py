"""The examples in deploy/: linters accept them, they agree with each other, and their commands are those there are."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import pytest
import yaml

from docs_page import ROOT
from postgres_server import PostgresServer
from sightline import PostgresStores
from sightline.cli.main import app
from sightline.fleet.tenants import Tenants
from sightline.server.uploads import MOST_WAITING
from sightline.server.work import GRACE

DEPLOY = ROOT / "deploy"
PAGES = [ROOT / "docs" / name for name in ("operations.md", "postgres.md")]
STOP_LOG = 5  # seconds that a server needs at most to log what it abandons
STOP_WORK = 3 * GRACE  # and to end its background work
# systemdlint reads a mask as a mode, and wants a setting that only services with cgroups of their own need.
NOT_MEANT = {"[Security.UMaskOW]", "[Security.Delegate]"}


def lint(*command: str) -> str:
    """What a linter says; it must be content."""
    done = subprocess.run(
        [str(Path(sys.executable).parent / command[0]), *command[1:]],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def documents(name: str) -> list[Any]:
    """The documents of a YAML file."""
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


@pytest.mark.slow
def test_the_compose_file_is_one() -> None:
    """By the schema of the Compose Specification."""
    assert "ok" in lint("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "deploy/compose.yaml")


@pytest.mark.slow
def test_the_manifest_is_one() -> None:
    """By the schemas of Kubernetes, without a field that they do not know."""
    for name in ("kubernetes.yaml", "kubernetes-worker.yaml"):
        said = lint("kubernetes-validate", "--strict", f"deploy/{name}")
        assert said.count("passed") == len(documents(name))


def test_yaml_files_are_tidy() -> None:
    """By yamllint."""
    lint("yamllint", "-s", "-c", "deploy/.yamllint.yaml", *map(str, DEPLOY.glob("*.yaml")))


def test_units_are_some() -> None:
    """By systemdlint, but for what it has wrong."""
    form = "{path}:{line} [{id}] {msg}"
    units = [str(each) for each in DEPLOY.iterdir() if each.suffix in (".service", ".socket")]
    said = subprocess.run(
        [str(Path(sys.executable).parent / "systemdlint"), "--norootfs", f"--messageformat={form}", *units],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = [line for line in (said.stdout + said.stderr).splitlines() if line.strip()]
    assert [line for line in found if not any(each in line for each in NOT_MEANT)] == []
    assert len(units) == 2


# ---------------------------------------------------------------------- what a linter does not know


def worker_container() -> dict[str, Any]:
    """The container of a worker in Kubernetes."""
    found: dict[str, Any] = documents("kubernetes-worker.yaml")[0]["spec"]["template"]["spec"]["containers"][0]
    return found


def written_commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of ours in deploy/ and on the pages, and where it is."""
    compose, manifest = documents("compose.yaml")[0], documents("kubernetes.yaml")[0]
    yield "compose.yaml", compose["services"]["server"]["command"]
    yield "kubernetes.yaml", manifest["spec"]["template"]["spec"]["containers"][0]["args"]
    yield "compose.yaml, worker", compose["services"]["worker"]["command"]
    yield "kubernetes-worker.yaml", worker_container()["args"]
    image = (DEPLOY / "Dockerfile").read_text()
    yield "Dockerfile", json.loads(re.findall(r"^CMD (\[.*\])$", image, re.MULTILINE)[0])
    for unit in DEPLOY.glob("*.service"):
        for line in re.findall(r"^ExecStart=\S+/sightline (.*)$", unit.read_text(), re.MULTILINE):
            yield unit.name, shlex.split(line)
    for page in PAGES:
        for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                if match := re.match(r"(?:\$ )?(?:\w+=\S+ )*sightline (.*)", line.strip()):
                    yield page.name, shlex.split(match[1].partition(" #")[0].rstrip().removesuffix("&"))


COMMANDS = list(written_commands())


@pytest.mark.parametrize(
    ("place", "words"), COMMANDS, ids=lambda value: value if isinstance(value, str) else " ".join(value)
)
def test_a_command_is_one_that_there_is(place: str, words: list[str]) -> None:
    """With these options and as many arguments; nothing is run."""
    context, command = click.Context(app, info_name="sightline"), app
    while True:
        context = command.make_context(str(command.name), list(words), parent=context)
        rest = [*context._protected_args, *context.args]
        if not isinstance(command, click.Group) or (command.invoke_without_command and not rest):
            break
        _, found, words = command.resolve_command(context, rest)
        assert found is not None
        command = found


def test_commands_were_found_everywhere() -> None:
    """In each file that has one."""
    assert {place for place, _ in COMMANDS} >= {
        "compose.yaml", "kubernetes.yaml", "Dockerfile", "sightline@.service", *(page.name for page in PAGES)
    }  # fmt: skip


def seconds(text: str) -> int:
    """So many seconds, as compose writes them."""
    assert text.endswith("s")
    return int(text[:-1])


def option(words: list[str], name: str) -> int:
    """The number that follows an option; 0: it is not there."""
    return int(words[words.index(name) + 1]) if name in words else 0


def test_nobody_is_killed_before_the_end() -> None:
    """What stops a server waits for as long as its options say that it needs."""
    commands = dict(COMMANDS)
    unit = (DEPLOY / "sightline@.service").read_text()
    waits = {
        "compose.yaml": seconds(documents("compose.yaml")[0]["services"]["server"]["stop_grace_period"]),
        "kubernetes.yaml": documents("kubernetes.yaml")[0]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"],
        "sightline@.service": int(re.findall(r"TimeoutStopSec=(\d+)", unit)[0]),
    }
    for place, wait in waits.items():
        needs = option(commands[place], "--drain") + option(commands[place], "--finish") + STOP_LOG + STOP_WORK
        assert needs < wait, place


def test_the_manifest_replaces_servers_without_downtime() -> None:
    """Two or more, none taken away before another is ready; readiness and life are asked apart; nobody is root."""
    deployment, *others = documents("kubernetes.yaml")
    spec = deployment["spec"]
    assert spec["replicas"] >= 2
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    pod = spec["template"]["spec"]
    [container] = pod["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == container["startupProbe"]["httpGet"]["path"] == "/healthz"
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    labels = spec["selector"]["matchLabels"]
    chosen = {each["kind"]: each["spec"] for each in others}
    assert set(chosen) == {"Service", "PodDisruptionBudget", "NetworkPolicy"}
    assert chosen["Service"]["selector"] == chosen["PodDisruptionBudget"]["selector"]["matchLabels"] == labels
    assert chosen["NetworkPolicy"]["podSelector"]["matchLabels"] == labels
    secrets = {each["valueFrom"]["secretKeyRef"]["name"] for each in container["env"]}
    assert secrets == {"sightline"}


def test_a_worker_is_asked_whether_it_is_well() -> None:
    """Where its command says that it answers: by Compose itself, by Kubernetes from another address."""
    commands = dict(COMMANDS)
    port = option(commands["compose.yaml, worker"], "--metrics-port")
    worker = documents("compose.yaml")[0]["services"]["worker"]
    assert f"127.0.0.1:{port}/healthz" in worker["healthcheck"]["test"][-1]
    container = worker_container()
    assert "0.0.0.0" in container["args"]
    [named] = container["ports"]
    assert named["containerPort"] == option(container["args"], "--metrics-port")
    probes = [container[f"{name}Probe"]["httpGet"] for name in ("startup", "readiness", "liveness")]
    assert [each["path"] for each in probes] == ["/healthz", "/readyz", "/healthz"]
    assert {each["port"] for each in probes} == {named["name"]}
    assert "SIGHTLINE_TOKEN" in [each["name"] for each in container["env"]]


def test_the_load_balancer_asks_who_is_ready() -> None:
    """At the port and the name that the compose file gives to servers."""
    text = (DEPLOY / "haproxy.cfg").read_text()
    assert "uri /readyz" in text
    assert "hdr Host localhost" in text  # without a Host no request is answered
    assert "server:8787" in text
    assert "server" in documents("compose.yaml")[0]["services"]


def test_uploads_have_room_outside_of_the_memory() -> None:
    """Files that wait for their import lie in /tmp: a volume that holds what a process may take."""
    server = documents("compose.yaml")[0]["services"]["server"]
    assert [each for each in server["volumes"] if each.endswith(":/tmp")]
    assert not [each for each in server["tmpfs"] if each.startswith("/tmp")]
    pod = documents("kubernetes.yaml")[0]["spec"]["template"]["spec"]
    [tmp] = [each["emptyDir"] for each in pod["volumes"] if each["name"] == "tmp"]
    assert "medium" not in tmp
    assert int(tmp["sizeLimit"].removesuffix("Gi")) << 30 > MOST_WAITING


def test_who_uploads_a_file_asks_the_same_server_for_its_import() -> None:
    """Only that one knows how far it is. Everything else goes to any server."""
    text = (DEPLOY / "haproxy.cfg").read_text()
    everything, imports = text.split("\nbackend ")[1:]
    assert "use_backend imports if { path_sub /api/imports }" in text
    assert "balance leastconn" in everything
    assert "balance source" in imports
    assert everything.splitlines()[2:7] == imports.splitlines()[3:8]
    service = next(each for each in documents("kubernetes.yaml") if each["kind"] == "Service")
    assert service["spec"]["sessionAffinity"] == "ClientIP"


def test_servers_connect_as_a_role_that_guards_tenants(postgres: PostgresServer, tmp_path: Path) -> None:
    """The example's database makes the role that its servers name: with it `serve --tenants` starts."""
    services = documents("compose.yaml")[0]["services"]
    assert [each for each in services["database"]["volumes"] if "/docker-entrypoint-initdb.d/" in each] == [
        "./roles.sql:/docker-entrypoint-initdb.d/roles.sql:ro"
    ]
    address = postgres.url()
    own = address.partition("schema=")[2]  # other tests have roles, too
    role = urlsplit(services["server"]["environment"]["SIGHTLINE_STORE"]).username
    text = (DEPLOY / "roles.sql").read_text().replace("DATABASE sightline", "DATABASE postgres")
    (tmp_path / "roles.sql").write_text(text.replace("sightline_", f"{own}_"))
    done = subprocess.run(
        [postgres.program("psql"), "-v", "ON_ERROR_STOP=1", "-f", tmp_path / "roles.sql",
         f"postgresql://admin@/postgres?host={postgres.folder}"],
        env={**os.environ, "SIGHTLINE_PASSWORD": "it's one"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with closing(PostgresStores(address.replace("tests@", f"{str(role).replace('sightline', own)}@"))) as stores:
        tenants = Tenants(stores.database)
        tenants.check_guarded()
        tenants.create("acme")
    with postgres.connect() as admin:
        admin.execute(f"DROP OWNED BY {own}_owner, {own}_server CASCADE; DROP ROLE {own}_owner, {own}_server".encode())


def test_the_image_has_what_servers_answer_with() -> None:
    """MCP, too, which a server for tenants leaves out where it is not installed."""
    extras = re.findall(r"\$\{wheel\}\[([\w,]+)\]", (DEPLOY / "Dockerfile").read_text())
    assert [set(each.split(",")) for each in extras] == [{"server", "cli", "postgres", "mcp"}]
