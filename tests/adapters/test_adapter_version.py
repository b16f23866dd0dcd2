"""An adapter says at import which version of its framework it needs."""

import importlib
from importlib import metadata

import pytest

from sightline.adapters import langchain, mcp, openai_agents, pydantic_ai, version


@pytest.mark.parametrize("found", ["0.3.27", "1.0.9", "2.0.0", "2.1"])
def test_an_unsupported_version_says_so_at_import(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what is installed, what is needed, and the command."""
    monkeypatch.setattr(version, "version", lambda _: found)
    with pytest.raises(
        ImportError, match=rf"1\.1 and later versions before 2, and {found}.*sightline-context\[langchain\]"
    ):
        importlib.reload(langchain)


@pytest.mark.parametrize("found", ["0.9.0", "0.21.9", "1.0.0"])
def test_the_agents_sdk_is_named_as_it_is_installed(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module has an underscore, the package and the extra a hyphen."""
    monkeypatch.setattr(version, "version", lambda _: found)
    says = rf"openai_agents works with openai-agents 0\.22 .* before 1, and {found}.*sightline-context\[openai-agents\]"
    with pytest.raises(ImportError, match=says):
        importlib.reload(openai_agents)


@pytest.mark.parametrize("found", ["1.27.0", "3.0.0", "3.0.0b1"])
def test_the_sdk_of_mcp_has_a_range_too(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first major version has another interface."""
    monkeypatch.setattr(version, "version", lambda _: found)
    with pytest.raises(
        ImportError, match=rf"mcp works with mcp 2\.0 .* before 3, and {found}.*sightline-context\[mcp\]"
    ):
        importlib.reload(mcp)


@pytest.mark.parametrize("found", ["1.90.0", "2.54.9", "3.0.0"])
def test_pydantic_ai_is_named_by_its_package_and_our_extra(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is the slim one, which the whole one brings too."""
    monkeypatch.setattr(version, "version", lambda _: found)
    says = rf"pydantic_ai works with pydantic-ai-slim 2\.55 .* before 3, and {found}.*sightline-context\[pydantic-ai\]"
    with pytest.raises(ImportError, match=says):
        importlib.reload(pydantic_ai)


@pytest.mark.parametrize("found", ["1.1.0", "1.4.7", "1.12.0rc1"])
def test_a_supported_version_is_imported(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the oldest to the last before the next major one."""
    monkeypatch.setattr(version, "version", lambda _: found)
    version.check_version("langchain", oldest=(1, 1), before=2)


@pytest.mark.parametrize("found", ["0.1.0", "9.0.0"])
@pytest.mark.parametrize(
    ("name", "package"), [("strands", "strands-agents"), ("google_adk", "google-adk"), ("litellm", "litellm")]
)
def test_frameworks_of_other_environments_say_it_too(
    name: str, package: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything of theirs is imported."""
    monkeypatch.setattr(version, "version", lambda _: found)
    says = (
        rf"sightline\.adapters\.{name} works with {package} .* and {found} is installed.*sightline-context\[{package}\]"
    )
    with pytest.raises(ImportError, match=says):
        importlib.import_module(f"sightline.adapters.{name}")


def test_a_missing_framework_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for every optional part."""

    def missing(_: str) -> str:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(version, "version", missing)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'sightline-context\[langchain\]'"):
        version.check_version("langchain", oldest=(1, 1), before=2)
