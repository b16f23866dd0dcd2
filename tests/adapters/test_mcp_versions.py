"""The MCP server with the oldest SDK that it supports, in an environment of its own."""

from pathlib import Path

import pytest
from environment import make_environment, run_tests

NEEDED = ("mcp==2.0.*", "click>=8.1", "rich>=13.7", "pytest>=8", "hypothesis>=6.100", "psutil")


@pytest.mark.soak
def test_the_oldest_sdk_serves_the_same(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every promise of the server holds with it: stdio, HTTP, tools, resources."""
    python = make_environment(tmp_path_factory, "mcp-oldest", NEEDED)
    assert "[100%]" in run_tests(python, "tests/adapters/test_mcp_server.py", folder=tmp_path)
