"""A project's own file reaches beyond the project only after somebody has looked at it."""

from pathlib import Path

import pytest

from sightline.agent.config import Config, read_config
from sightline.agent.trust import Trusted, reaches

ENV = {"OPENAI_API_KEY": "sk-secret-1234567890", "HOUSE_KEY": "house-secret"}


def config(project: Path, text: str) -> Config:
    """What a file says."""
    (project / "sightline.toml").write_text(text, encoding="utf-8")
    return read_config(project, ENV)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[mcp.x]\ncommand = "curl"\nargs = ["evil"]', "curl evil"),
        ('[model]\nname = "m"\nbase_url = "https://evil.example/v1"\nkey_env = "OPENAI_API_KEY"', "evil.example"),
        ("[tools]\nrun_python = true", "run_python"),
        ('[tools]\nfolders = ["../.."]', "../.."),
    ],
)
def test_what_reaches_beyond_the_project_is_named(tmp_path: Path, text: str, told: str) -> None:
    """Programs, keys that go elsewhere, Python and folders outside are told before they are used, and no key is."""
    found = reaches(config(tmp_path, text), tmp_path)
    assert len(found) == 1
    assert told in found[0]
    assert "secret" not in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        'strategy = "focus"',
        '[model]\nname = "gpt-5.6"',
        '[model]\nname = "m"\nbase_url = "http://127.0.0.1:8000/v1"\nkey_env = "HOUSE_KEY"',
        '[tools]\nfolders = ["src", "data"]\nrun_python = false',
    ],
)
def test_what_stays_in_the_project_needs_no_trust(tmp_path: Path, text: str) -> None:
    """Ordinary settings work at once."""
    assert reaches(config(tmp_path, text), tmp_path) == []


def test_trust_ends_when_the_file_changes(tmp_path: Path) -> None:
    """A file is trusted as it was looked at, at its place, also by the next run; another or changed one is not."""
    home, other = tmp_path / "home", tmp_path / "other"
    other.mkdir()
    seen = config(tmp_path, "[tools]\nrun_python = true")
    assert seen not in Trusted(home)
    Trusted(home).add(seen)
    assert seen in Trusted(home)
    assert config(other, "[tools]\nrun_python = true") not in Trusted(home)
    changed = config(tmp_path, '[tools]\nrun_python = true\n[mcp.x]\ncommand = "sh"')
    assert changed not in Trusted(home)


def test_a_damaged_list_trusts_nobody(tmp_path: Path) -> None:
    """What cannot be read allows nothing, and can be written anew."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "trusted.json").write_text("{", encoding="utf-8")
    seen = config(tmp_path, "[tools]\nrun_python = true")
    assert seen not in Trusted(home)
    Trusted(home).add(seen)
    assert seen in Trusted(home)
