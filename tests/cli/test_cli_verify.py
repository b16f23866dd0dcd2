"""`sightline verify`: a log that was not touched verifies; one that was is found out."""

import json
from collections.abc import Callable

from click.testing import Result

from sightline.log.stores.session_folder import Folder

Run = Callable[..., Result]


def test_an_untouched_log_verifies(run: Run) -> None:
    """Every payload is counted."""
    facts = json.loads(run("verify", "--json").stdout)
    assert facts == {
        "good": True, "payloads": 23, "sessions": [{"session": "login-bug", "payloads": 23, "mismatches": []}],
    }  # fmt: skip
    result = run("verify", "login")
    assert (result.exit_code, "23" in result.stdout) == (0, True)


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
    assert result.stdout.count("login-bug branch main payload") == len(mismatches) > 10
    assert {"branch", "number", "expected", "found"} == set(mismatches[0])


def test_all_sessions_are_verified(run: Run) -> None:
    """The sum is over all of them."""
    run("replay", "--sample", "data_report", "--keep")
    facts = json.loads(run("verify", "--all", "--json").stdout)
    assert len(facts["sessions"]) == 2
    assert facts["payloads"] == sum(session["payloads"] for session in facts["sessions"])
    assert "sessions: 2" in run("verify", "--all").stdout


def test_without_sessions_there_is_nothing_to_verify(run: Run) -> None:
    """All of none is none; the newest of none is an error."""
    assert json.loads(run("verify", "--project", "elsewhere", "--all", "--json").stdout)["payloads"] == 0
    assert run("verify", "--project", "elsewhere").exit_code == 1
