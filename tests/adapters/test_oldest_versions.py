"""The oldest versions of the frameworks that the adapters support, each in an environment of its own."""

from pathlib import Path

import pytest
from environment import make_environment, run_tests

TESTS = ("pytest", "hypothesis", "psutil")
SERVER = ("httpx2", "httptools", "starlette", "uvicorn", "prometheus-client")  # of the scripted provider
# Of each framework: what is installed, and our test files. Later versions of langgraph-prebuilt want a later langgraph.
OLDEST: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "langchain": (
        ("langchain==1.1.0", "langgraph-prebuilt==1.0.8"),
        ("test_langchain_middleware.py", "test_context_node.py"),
    ),
    "openai-agents": (("openai-agents==0.22.0",), ("test_openai_agents.py", "test_agents_session.py")),
    "clients": (
        (
            "openai==1.66.5",
            "anthropic==0.49.0",
            "httpx",
            "httpx2",
            "httptools",
            "starlette",
            "uvicorn",
            "prometheus-client",
        ),
        ("test_wrapped_clients.py",),
    ),
    "pydantic-ai": (("pydantic-ai-slim==2.55.0",), ("test_pydantic_ai.py",)),
}


# The clients of other platforms came later, and the first SDKs raise the errors of another HTTP library.
WITHOUT = {"clients": "platforms or cannot_be_changed or stream_that_breaks"}


@pytest.mark.soak
@pytest.mark.parametrize("name", OLDEST)
def test_the_oldest_version_passes_the_tests_of_its_adapter(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Those that `make test` runs with the newest one."""
    packages, files = OLDEST[name]
    python = make_environment(tmp_path_factory, f"oldest-{name}", [*packages, *TESTS])
    run_tests(python, *(f"tests/adapters/{each}" for each in files), folder=tmp_path, without=WITHOUT.get(name, ""))
