"""`sightline tenant`, `token` and `audit`: what they do and print, in both languages, and what they refuse."""

import json
import re
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from typing import Any

import pytest
from click.testing import Result

from postgres_server import make_old
from sightline import PostgresStores
from sightline.fleet import tenants
from sightline.fleet.tenants import Tenants, token_hash
from sightline.testing.stores import append, said

Run = Callable[..., Result]
CHINESE = re.compile(r"[\u4e00-\u9fff]{4}")  # four characters in a row


@pytest.fixture
def on(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs commands on it. No server is there that would have to notice something."""
    monkeypatch.setattr(tenants.time, "sleep", lambda _: None)
    return lambda *args, **options: run("--store", url, *args, **options)


def facts(done: Result) -> Any:
    """What a command printed as JSON."""
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_tenant_from_its_beginning_to_its_end(on: Run, url: str) -> None:
    """Created, listed with what it uses, changed, and deleted with its sessions; all of it is in the audit trail."""
    limits = ("--requests-per-minute", "600", "--max-bytes", "1.5GB", "--keep-days", "90")
    assert "Tenant acme is created" in on("tenant", "create", "acme", *limits).stdout
    with closing(PostgresStores(f"{url}&tenant=acme")) as stores, closing(stores.create("s")) as store:
        append(store, said())
    changed = facts(on("tenant", "set", "acme", "--max-bytes", "0", "--json"))
    assert (changed["requests_per_minute"], changed["max_bytes"], changed["keep_days"]) == (600, 0, 90)
    listed = {each["name"]: each for each in facts(on("tenant", "list", "--json"))["tenants"]}
    assert (sorted(listed), listed["default"]["bytes_used"]) == (["acme", "default"], 0)
    assert listed["acme"]["bytes_used"] > 100
    assert datetime.fromisoformat(listed["acme"]["created"]).year > 2000
    assert "600" in on("tenant", "list").stdout.splitlines()[1]
    assert facts(on("tenant", "delete", "acme", "--yes", "--json")) == {"deleted": "acme", "sessions": 1, "codes": 0}
    assert "acme" not in on("tenant", "list").stdout
    trail = facts(on("audit", "--tenant", "acme", "--json"))["audit"]
    assert [each["action"] for each in trail] == ["tenant.delete", "tenant.end", "tenant.change", "tenant.create"]
    assert (trail[0]["token"], trail[0]["detail"]) == ("operator", {"sessions": 1, "codes": 0})


def test_a_token_from_its_beginning_to_its_end(on: Run, url: str) -> None:
    """Its text alone is on standard output, once; lists show its id and use; it is revoked by its id or its text."""
    on("tenant", "create", "acme")
    made = on("token", "create", "acme", "--name", "build server", "--days", "90")
    text = made.stdout.strip()
    assert (made.stdout, text.startswith("sl_")) == (f"{text}\n", True)
    assert "shown only now" in made.stderr
    assert text not in made.stderr
    number = text.split("_")[1]
    assert f"{number}  acme      never" in on("token", "list").stdout
    with closing(PostgresStores(url)) as stores:
        caller = Tenants(stores.database).find(token_hash(text))
        assert caller is not None
        assert (caller.tenant, caller.token_id) == ("acme", number)
        [token] = facts(on("token", "list", "acme", "--json"))["tokens"]
        assert (token["name"], token["used"] is None, token["revoked"]) == ("build server", False, None)
        assert f"Token {number} of acme is revoked" in on("token", "revoke", text).stdout
        assert Tenants(stores.database).find(token_hash(text)) is None
    second = facts(on("token", "create", "acme", "--json"))
    assert (second["token"].startswith(f"sl_{second['id']}_"), second["expires"]) == (True, None)
    assert facts(on("token", "revoke", second["id"], "--json"))["revoked"]
    assert "revoked 20" in on("token", "list").stdout
    printed = "".join(on(*command).output for command in (("token", "list"), ("audit",), ("audit", "--json")))
    assert text.split("_", 2)[2] not in printed


def test_the_audit_trail_is_shown_in_pages(on: Run) -> None:
    """The newest first, of one kind, before a number; a table for people."""
    on("tenant", "create", "acme", "--keep-days", "3")
    for _ in range(3):
        on("token", "create", "acme")
    first = facts(on("audit", "--action", "token", "--most", "2", "--json"))["audit"]
    rest = facts(on("audit", "--before", str(first[-1]["number"]), "--json"))["audit"]
    assert [each["action"] for each in (*first, *rest)] == ["token.create"] * 3 + ["tenant.create"]
    shown = on("audit").stdout
    assert "operator    tenant.create   acme keep_days=3" in shown
    assert "Nothing was noted" in on("audit", "--tenant", "other").stdout


def test_old_sessions_are_pruned(on: Run, url: str) -> None:
    """Of one tenant or of all."""
    on("tenant", "create", "acme", "--keep-days", "30")
    with closing(PostgresStores(f"{url}&tenant=acme")) as stores:
        for name in ("old", "new"):
            with closing(stores.create(name)) as store:
                append(store, said())
        make_old(stores, "old")
        assert facts(on("tenant", "prune", "--json")) == {"sessions": {"acme": 1, "default": 0}, "audit": 0}
        assert stores.sessions() == ["new"]
    assert on("tenant", "prune", "acme").stdout == "acme: sessions deleted: 0\n"


def test_an_address_names_a_tenant_that_is_there(on: Run, run: Run, url: str) -> None:
    """A name that no tenant has is refused, by commands that read and by those that write; `tenant` can add it."""
    typo = f"{url}&tenant=typo"
    on("tenant", "list")
    for command in (("sessions",), ("verify", "--all"), ("serve", "--port", "0"), ("replay", "--sample", "--keep")):
        refused = run("--store", typo, *command)
        assert (refused.exit_code, "no tenant 'typo'; `sightline tenant list`" in refused.output) == (1, True), command
    assert run("--store", typo, "tenant", "create", "typo").exit_code == 0
    assert run("--store", typo, "sessions").exit_code == 0


def test_what_cannot_be_done_is_told(on: Run, run: Run) -> None:
    """With what to do, and an exit code that is not 0."""
    on("tenant", "create", "acme")
    for command, told in (
        (("tenant", "create", "acme"), "there is a tenant 'acme' already"),
        (("tenant", "create", "a b"), "no name for a tenant"),
        (("tenant", "set", "acme"), "name a limit to change"),
        (("tenant", "set", "acme", "--max-bytes", "much"), "write it like 500MB"),
        (("tenant", "set", "nobody", "--keep-days", "1"), "no tenant 'nobody'"),
        (("tenant", "delete", "acme"), "add --yes"),
        (("tenant", "delete", "nobody", "--yes"), "no tenant 'nobody'"),
        (("tenant", "delete", "default", "--yes"), "'default' is not deleted: commands and servers"),
        (("tenant", "prune", "nobody"), "no tenant 'nobody'"),
        (("token", "create", "nobody"), "no tenant 'nobody'"),
        (("token", "list", "nobody"), "no tenant 'nobody'"),
        (("token", "revoke", "sl_nothing_x"), "no token 'nothing'"),
    ):  # fmt: skip
        done, in_chinese = on(*command), on("--lang", "zh", *command)
        assert done.exit_code == in_chinese.exit_code != 0, command
        assert told in done.output, command
        assert told not in in_chinese.output, command
        assert CHINESE.search(in_chinese.output.splitlines()[-1]), in_chinese.output
    for command in (("tenant", "list"), ("token", "list"), ("audit",), ("worker",), ("store", "migrate")):
        without, in_chinese = run(*command), run(*command, "--lang", "zh")
        assert (without.exit_code, "--store postgresql://" in without.output) == (1, True)
        assert CHINESE.search(in_chinese.output), command
        if command == ("worker",):  # which waits for a database that is away
            continue
        away = run("--store", "postgresql://me@127.0.0.1:1/name?connect_timeout=1", *command, "--lang", "zh")
        assert "无法连接 postgresql://me@127.0.0.1:1/name" in away.output, command
    assert "数据库地址以 postgresql:// 开头" in run("tenant", "list", "--store", "mysql://x", "--lang", "zh").output


def test_everything_is_said_in_chinese_too(on: Run) -> None:
    """Titles and sentences."""
    assert "租户 acme 已创建" in on("--lang", "zh", "tenant", "create", "acme").stdout
    assert "仅此一次显示" in on("--lang", "zh", "token", "create", "acme").stderr
    assert "最近使用" in on("--lang", "zh", "token", "list").stdout
    assert "操作者" in on("--lang", "zh", "audit").stdout
    assert "请求/分钟" in on("--lang", "zh", "tenant", "list").stdout


def test_the_doctor_tells_a_role_that_passes_security_by(run: Run, url: str) -> None:
    """A note with what to do. An ordinary role gets none."""

    def notes(address: str) -> list[str]:
        checks = json.loads(run("--store", address, "doctor", "--offline", "--json").stdout)["checks"]
        return [
            each["found"] + each["what_to_do"]
            for each in checks
            if each["check"] == "store" and each["state"] == "note"
        ]

    assert notes(url) == []
    [told] = notes(url.replace("tests@", "admin@"))
    assert "'admin' passes row-level security by" in told
    assert "docs/tenants.md" in told
