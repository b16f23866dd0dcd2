"""The Agents SDK's own tests of sessions and of runs with one, from its source archive, with ours in its place."""

import re
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest
from environment import make_environment, run_in

PLUGIN = "agents_sdk_plugin"
FILES = (
    "memory/test_session.py", "memory/test_session_limit.py", "memory/test_session_context_wrapper.py",
    "test_agent_runner.py", "test_agent_runner_streamed.py", "test_max_turns.py", "test_soft_cancel.py",
    "test_native_tool_failure_history.py", "test_tool_batch_failure_history.py", "test_tool_failure_boundaries.py",
)  # fmt: skip
# Why a test of theirs cannot hold for another session: how the name ends, and what it is about.
NOT_OURS = {
    "close_closes_worker_thread_connections": "counts SQLite connections",
    "reaps_connections_from_exited_worker_threads": "counts SQLite connections",
    "closes_retired_connections_before_the_next_allocation": "counts SQLite connections",
    "keeps_connections_of_live_worker_threads": "counts SQLite connections",
    "closed_rejects_empty_add_items": "its sessions stay closed; ours are opened again by the next call",
    "pop_item_skips_corrupt_most_recent": "writes damaged rows into its table",
    "pop_item_returns_none_after_dropping_only_corrupt_rows": "writes damaged rows into its table",
    "get_items_limit_skips_corrupt_newest_rows": "writes damaged rows into its table",
    "get_items_session_settings_limit_skips_corrupt_rows": "writes damaged rows into its table",
    "file_lock_is_shared_across_instances": "compares its locks",
    "failed_add_items_releases_write_lock": "reads its tables; that the item is refused: test_openai_agents.py",
    "failed_clear_session_rolls_back": "reads its tables",
    "failed_pop_item_releases_write_lock": "reads its tables",
    "rollback_failure_evicts_connection": "replaces its connections",
    "close_retries_quarantined_connection": "replaces its connections",
    "post_commit_cancellation_propagates_after_known_outcome": "replaces its connections",
}


def sources(folder: Path) -> Path:
    """The source archive of the installed version, unpacked."""
    wanted = f"openai-agents=={version('openai-agents')}"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    done = subprocess.run([*pip, "-d", str(folder), wanted], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.mark.soak
def test_the_sdks_own_tests_hold_with_our_session(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """All but those that look into SQLite itself."""
    needs = ["pytest", "pytest-asyncio", "pytest-mock", "inline-snapshot", "httpx"]
    python = make_environment(tmp_path_factory, "agents-tests", [f"openai-agents=={version('openai-agents')}", *needs])
    folder = sources(tmp_path)
    command = ["-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", "--tb=line"]
    done = run_in(python, *command, *(f"tests/{each}" for each in FILES), folder=folder)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, flags=re.MULTILINE)
    unexpected = [each for each in failed if not any(name in each for name in NOT_OURS)]
    assert not unexpected, done.stdout[-4000:] + done.stderr[-2000:]
    held = re.search(r"(\d+) passed", done.stdout)
    assert held, done.stdout[-4000:] + done.stderr[-2000:]
    assert int(held[1]) > 600
    assert [
        name for name in NOT_OURS if not any(name in each for each in failed)
    ] == []  # the list is no longer than it must be
