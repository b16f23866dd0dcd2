"""How the pages are built: what the lock file says, what is built when, and what is not in the repository."""

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

from sightline.view.call_values import MarkKind

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "inspector"


def loaded(name: str, file: Path) -> ModuleType:
    """A program outside the package."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The build hook, over a source of its own; what it would run is noted in `ran`."""
    module = loaded("hatch_build", ROOT / "hatch_build.py")
    (tmp_path / "inspector").mkdir()
    (tmp_path / "inspector" / "package.json").write_text("{}", encoding="utf-8")
    pages = tmp_path / "pages"
    monkeypatch.setattr(module, "SOURCE", tmp_path / "inspector")
    monkeypatch.setattr(module, "PAGES", pages)
    monkeypatch.setattr(module, "STAMP", pages / ".source")
    ran: list[tuple[str, ...]] = []

    def note(*command: str) -> None:
        ran.append(command)
        pages.mkdir(exist_ok=True)
        (pages / "index.html").write_text("", encoding="utf-8")

    monkeypatch.setattr(module, "_run", note)
    module.ran = ran  # type: ignore[attr-defined]
    return module


def test_the_lock_file_names_no_registry() -> None:
    """Who installs chooses where from: no address of a package is locked, but each one's hash is."""
    text = (SOURCE / "package-lock.json").read_text(encoding="utf-8")
    packages = {name: facts for name, facts in json.loads(text)["packages"].items() if name}
    assert '"resolved"' not in text
    assert not re.search(r"https?://(registry|npm)\.", text)
    assert all("integrity" in facts for facts in packages.values())
    assert "omit-lockfile-registry-resolved=true" in (SOURCE / ".npmrc").read_text(encoding="utf-8")


def test_every_mark_of_a_call_has_words_a_glyph_and_a_colour() -> None:
    """Else the page would print the key of a phrase: it did when the tools changed between two calls."""
    phrases, chart, style, types = (
        (SOURCE / "src" / name).read_text(encoding="utf-8")
        for name in ("texts.json", "context_chart.ts", "styles.css", "types.ts")
    )
    for mark in get_args(MarkKind):
        assert f'"legend {mark}": {{' in phrases
        assert f'"mark {mark}": {{' in phrases
        assert len(re.findall(rf"\b{mark}: \"", chart)) == 2, mark
        assert f".mark-{mark} {{" in style
        assert f'"{mark}"' in types


def test_the_page_knows_what_the_server_gives() -> None:
    """types.ts is what the tool makes of the OpenAPI document, and no page writes a value of the server by hand."""
    tool = loaded("inspector_types", ROOT / "tools" / "inspector_types.py")
    assert tool.FILE.read_text(encoding="utf-8") == tool.current(), "run python tools/inspector_types.py"


def test_what_is_built_is_kept_out_of_the_repository() -> None:
    """Neither the pages nor the packages that build them are committed; archives have the pages all the same."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {"/inspector/node_modules", "/src/sightline/inspector/pages/"} <= set(ignored)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert settings["artifacts"] == ["src/sightline/inspector/pages"]


def test_pages_are_built_once_for_a_source(hook: ModuleType) -> None:
    """The same source is not built twice; a changed one is."""
    hook.build()
    install, build = hook.ran
    assert "ci" in install
    assert "--ignore-scripts" in install
    assert "build" in build
    hook.build()
    assert len(hook.ran) == 2
    (hook.SOURCE / "main.tsx").write_text("more", encoding="utf-8")
    hook.build()
    assert len(hook.ran) == 4


def test_a_source_archive_with_pages_needs_no_node(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Built pages are used as they are, on a machine without Node too; without them, the wheel of Node is asked for."""
    monkeypatch.setattr(hook.shutil, "which", lambda _name: None)
    asks = hook.CustomBuildHook.dependencies
    assert asks(None) == [hook.NODE_WHEEL]
    hook.PAGES.mkdir()
    (hook.PAGES / "index.html").write_text("", encoding="utf-8")
    (hook.SOURCE / "package.json").unlink()
    assert asks(None) == []
    hook.build()
    assert hook.ran == []


def test_without_any_node_the_message_says_what_to_install(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The build ends with the command to run."""
    monkeypatch.setattr(hook.shutil, "which", lambda _name: None)
    monkeypatch.setattr(hook, "find_spec", lambda _name: None)
    with pytest.raises(SystemExit, match="pip install"):
        hook.build()
