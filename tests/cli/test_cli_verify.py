"""`sightline verify`: a log that was not touched verifies; one that was is found out."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sightline import Budget, Session
from sightline.log.stores.session_folder import Folder
from sightline.values.settings import Settings

Run = Callable[..., Result]


def test_an_untouched_log_verifies(run: Run) -> None:
    """Every payload is counted."""
    facts = json.loads(run("verify", "--json").stdout)
    assert facts == {
        "good": True, "payloads": 23,
        "sessions": [
            {
                "session": "login-bug", "payloads": 23, "mismatches": [], "damaged": [], "changed": [], "missing": [],
                "error": "",
            }
        ],
    }  # fmt: skip
    result = run("verify", "login")
    assert (result.exit_code, "23" in result.stdout) == (0, True)


def test_damaged_lines_are_reported(run: Run, folder: Folder) -> None:
    """Reading passes over them, and every payload is the same: verify says how many there are, and where."""
    log = folder.file("login-bug")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:5], b"no entry at all\n", *lines[5:]]))
    log.with_suffix(".idx").unlink(missing_ok=True)
    result = run("verify")
    assert result.exit_code == 1
    assert "login-bug: the log cannot be read at line 6\n" in result.stdout
    facts = json.loads(run("verify", "--json").stdout)
    assert (facts["good"], facts["sessions"][0]["damaged"]) == (False, [6])


def test_a_damage_is_told_once(run: Run, folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    """By its line, in the command's own words: it is not logged too, and not a change besides. Others log it."""
    log = folder.file("login-bug")
    log.write_bytes(log.read_bytes().replace(b'"parentUuid"', b'"parentXuid"', 7).replace(b"Xuid", b"Uuid", 6))
    result = run("verify")
    assert result.stdout.startswith("login-bug: the log cannot be read at line 7\nlogin-bug branch main payload ")
    assert (result.stderr, caplog.messages) == ("", [])
    facts = json.loads(run("verify", "--json").stdout)["sessions"][0]
    assert (facts["damaged"], facts["changed"]) == ([7], [])
    run("sessions", "show")
    assert "the line at byte " in caplog.text


def test_a_deleted_line_is_found_out(run: Run, folder: Folder) -> None:
    """Entries are numbered: `verify` names those around the gap. A line that cannot be read leaves none."""
    log = folder.file("login-bug")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:5], *lines[7:9], b"no entry\n", *lines[10:]]))
    log.with_suffix(".idx").unlink(missing_ok=True)
    result = run("verify")
    assert result.exit_code == 1
    assert "login-bug: entries are missing from the log, between #5 … #8\n" in result.stdout
    assert json.loads(run("verify", "--json").stdout)["sessions"][0]["missing"] == [[5, 8]]


def test_a_log_that_was_changed_is_found_out(run: Run, folder: Folder) -> None:
    """One letter of an early message: every payload that showed it differs, one line each, exit code 1."""
    log = folder.file("login-bug")
    log.write_bytes(log.read_bytes().replace(b"Good find.", b"Good fine."))
    result = run("verify")
    assert result.exit_code == 1
    assert "payloads are not what was sent" in result.stdout
    facts = json.loads(run("verify", "--json").stdout)
    mismatches = facts["sessions"][0]["mismatches"]
    assert not facts["good"]
    assert len(facts["sessions"][0]["changed"]) == 1
    assert result.stdout.startswith("login-bug: the log was changed after it was written, at line ")
    assert result.stdout.count("login-bug branch main payload") == len(mismatches) > 10
    assert {"branch", "number", "expected", "found"} == set(mismatches[0])


@pytest.mark.slow
def test_all_sessions_are_verified(run: Run) -> None:
    """The sum is over all of them."""
    run("replay", "--sample", "data_report", "--keep")
    facts = json.loads(run("verify", "--all", "--json").stdout)
    assert len(facts["sessions"]) == 2
    assert facts["payloads"] == sum(session["payloads"] for session in facts["sessions"])
    assert "sessions: 2" in run("verify", "--all").stdout


def test_a_session_that_cannot_be_opened_does_not_hide_the_others(run: Run, root: Path, folder: Folder) -> None:
    """It is listed with the reason, the others are verified, and the exit code is 1."""
    other = "older"
    with Session.new("/shop", root=root, session_id=other, settings=Settings(config={"keep": 3})) as session:
        session.user("Hello.")
        session.compose(Budget(16_000))
    log = folder.file(other)
    older = re.sub(rb',"crc":"[0-9a-f]{8}"', b"", log.read_bytes())
    log.write_bytes(older.replace(b'"keep":3', b'"entry":3'))  # an option that is no more
    result = run("verify", "--all")
    assert result.exit_code == 1
    assert f"{other} cannot be verified: " in result.stdout
    assert "entry" in result.stdout
    assert "Payloads composed again from the log: 23, sessions: 1." in result.stdout
    assert "1 of 2 sessions could not be verified." in result.stdout
    facts = json.loads(run("verify", "--all", "--json").stdout)
    assert (facts["good"], facts["payloads"]) == (False, 23)
    assert {each["session"]: bool(each["error"]) for each in facts["sessions"]} == {"login-bug": False, other: True}
    assert run("verify", other).exit_code == 1


def test_without_sessions_there_is_nothing_to_verify(run: Run) -> None:
    """That is said and is no success: whoever checks a backup has named another place. So is the newest of none."""
    Path("elsewhere").mkdir()
    none = run("verify", "--project", "elsewhere", "--all", "--json")
    facts = json.loads(none.stdout)
    assert (none.exit_code, facts["good"], facts["payloads"]) == (1, False, 0)
    assert "No sessions in" in run("verify", "--project", "elsewhere", "--all").stdout
    assert run("verify", "--project", "elsewhere").exit_code == 1
