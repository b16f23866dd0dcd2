"""An adapter says at import which version of its framework it needs, before anything of the framework is imported."""

import importlib
import re
import sys
from importlib import metadata

import pytest

from sightline.adapters import version


@pytest.mark.parametrize(("name", "package", "extra", "oldest", "before", "others"), [
    ("langchain", "langchain", "langchain", "1.1", "2", ["0.3.27", "1.0.9", "2.0.0", "2.1"]),
    ("openai_agents", "openai-agents", "openai-agents", "0.22", "1", ["0.9.0", "0.21.9", "1.0.0"]),
    ("mcp", "mcp", "mcp", "2.0", "3", ["1.27.0", "3.0.0", "3.0.0b1"]),
    ("pydantic_ai", "pydantic-ai-slim", "pydantic-ai", "2.55", "3", ["1.90.0", "2.54.9", "3.0.0"]),
    ("strands", "strands-agents", "strands-agents", "1.62", "2", ["0.1.0", "1.61.9", "9.0.0"]),
    ("google_adk", "google-adk", "google-adk", "2.13", "3", ["0.1.0", "2.12.9", "9.0.0"]),
    ("litellm", "litellm", "litellm", "1.106", "2", ["0.1.0", "1.105.9", "9.0.0"]),
])  # fmt: skip
def test_an_unsupported_version_says_so_at_import(
    name: str, package: str, extra: str, oldest: str, before: str, others: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what is installed, what is needed, and the command, which names the extra as pip does."""
    module = f"sightline.adapters.{name}"
    for other in others:
        monkeypatch.setattr(version, "version", lambda _, other=other: other)
        monkeypatch.delitem(sys.modules, module, raising=False)
        says = re.escape(f"{module} works with {package} {oldest} and later versions before {before}, and {other} is")
        with pytest.raises(ImportError, match=says + rf".*sightline-context\[{extra}\]"):
            importlib.import_module(module)


@pytest.mark.parametrize("found", ["1.1.0", "1.4.7", "1.12.0rc1"])
def test_a_supported_version_is_imported(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the oldest to the last before the next major one."""
    monkeypatch.setattr(version, "version", lambda _: found)
    version.check_version("langchain", oldest=(1, 1), before=2)


def test_a_missing_framework_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for every optional part."""

    def missing(_: str) -> str:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(version, "version", missing)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'sightline-context\[langchain\]'"):
        version.check_version("langchain", oldest=(1, 1), before=2)
