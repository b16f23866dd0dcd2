"""The settings of Claude Code: what an install adds, and that an uninstall gives back what was there."""

import json
import shlex
import subprocess
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from sightline.adapters.claude_entries import earlier_status_line, program
from sightline.adapters.claude_settings import SettingsFile, settings_file
from sightline.errors import BadInput

PROGRAM = "'/opt/my tools/sightline'"
MINE = {"hooks": {"PreCompact": [{"matcher": "auto", "hooks": [{"type": "command", "command": "mine"}]}]}}
TEXTS = {
    "empty": "",
    "object": "{}",
    "lines": '{\n  "model": "opus"\n}\n',
    "tabs": '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}',
    "one line": '{"model":"opus","hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"mine"}]}]}}',
    "windows": '\ufeff{\r\n    "env": {"KEY": "\\u00e9 é"},\r\n    "hooks": {}\r\n}\r\n',
    "own hook": json.dumps(MINE, indent=2),
    "own status line": '{"statusLine": {"type": "command", "command": "date +\'%H %M\'", "padding": 0}, "b": [1,2]}\n',
    "nulls": '{"hooks": null, "statusLine": null}',
    "empty lists": '{"hooks": {"PreCompact": [], "SessionStart": []}, "statusLine": null}',
    "empty lists in lines": '{\n  "hooks": {\n    "PreCompact": [ ],\n    "SessionStart": [{"hooks": []}]\n  }\n}\n',
    "keys twice": '{"hooks": {"Stop": []}, "a": 1, "hooks": {"PreCompact": []}, "a": 2}',
    "events twice": '{"hooks": {"PreCompact": [], "PreCompact": [{"hooks": []}]}, "statusLine": 1, "statusLine": null}',
    "own hooks twice": '{"hooks": {"PreCompact": [{"hooks": [1], "hooks": []}]}, "hooks": {}}',
}


@pytest.fixture
def file(tmp_path: Path) -> SettingsFile:
    (tmp_path / ".claude").mkdir()
    return SettingsFile(tmp_path / ".claude" / "settings.json", tmp_path / "home")


def write(file: SettingsFile, text: str) -> bytes:
    file.path.write_bytes(text.encode())
    return text.encode()


def settings(file: SettingsFile) -> Any:
    return json.loads(file.path.read_text(encoding="utf-8-sig"))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_uninstall_gives_back_every_byte(text: str, file: SettingsFile) -> None:
    """Whatever the file looked like; between the two, everything that was there is still there."""
    before = write(file, text)
    assert file.install(PROGRAM)
    after = settings(file)
    for key, value in (json.loads(text.removeprefix("\ufeff")) if text else {}).items():
        if key not in ("hooks", "statusLine"):
            assert after[key] == value
    assert set(file.found().commands) == {"PreCompact", "SessionStart", "statusLine"}
    assert file.uninstall()
    assert file.path.read_bytes() == before


@pytest.mark.parametrize("name", [each for each in TEXTS if each != "empty"])
def test_of_a_file_that_was_changed_since_every_other_byte_stays(name: str, file: SettingsFile) -> None:
    """Lists and objects that were empty before are empty again, and not gone."""
    before = write(file, TEXTS[name])
    file.install(PROGRAM)
    file.path.write_bytes(file.path.read_bytes() + b"\n")
    assert file.uninstall()
    assert file.path.read_bytes() == before + b"\n"


def test_an_earlier_value_of_a_key_that_is_there_twice_stays_without_effect(file: SettingsFile, tmp_path: Path) -> None:
    """The last one counts for all who read JSON. It stays, though empty, also where no copy is known."""
    stop = {"hooks": [{"type": "command", "command": "old"}]}
    write(file, '{"hooks": {"Stop": [' + json.dumps(stop) + ']}, "hooks": {}}')
    file.install(PROGRAM)
    assert SettingsFile(file.path, tmp_path / "another home").uninstall()
    assert settings(file) == {"hooks": {}}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_of_a_file_that_was_changed_since_only_our_entries_go(text: str, file: SettingsFile) -> None:
    """What the user added stays, and so does the rest; our blanks go with our entries."""
    write(file, text)
    file.install(PROGRAM)
    changed = settings(file)
    changed["theirs"] = {"added": "since"}
    changed["hooks"]["PreCompact"][-1]["hooks"].append({"type": "command", "command": "in our group"})
    write(file, json.dumps(changed, indent=3))
    assert not file.found().unchanged
    assert file.uninstall()
    left = settings(file)
    assert left.pop("theirs") == {"added": "since"}
    assert {"type": "command", "command": "in our group"} in left["hooks"]["PreCompact"][-1]["hooks"]
    assert "sightline" not in file.path.read_text()
    original = json.loads(text.removeprefix("\ufeff")) if text else {}
    assert left.get("statusLine") == original.get("statusLine")
    assert not file.uninstall()


def test_what_is_added(file: SettingsFile) -> None:
    """A hook before each compaction, one after it and at a resume, and a status line, each with the program's path."""
    assert file.install(PROGRAM, " --root /data")
    assert settings(file) == {
        "hooks": {
            "PreCompact": [
                {
                    "hooks": [
                        {"type": "command", "command": f"{PROGRAM} hook run pre-compact --root /data", "timeout": 30}
                    ]
                }
            ],
            "SessionStart": [
                {
                    "matcher": "compact|resume",
                    "hooks": [
                        {"type": "command", "command": f"{PROGRAM} hook run session-start --root /data", "timeout": 30}
                    ],
                }
            ],
        },
        "statusLine": {"type": "command", "command": f"{PROGRAM} hook run status-line --root /data"},
    }


def test_a_second_install_changes_nothing(file: SettingsFile) -> None:
    """And the first one's copy is still what an uninstall gives back."""
    before = write(file, TEXTS["lines"])
    file.install(PROGRAM)
    installed = file.path.read_bytes()
    assert not file.install(PROGRAM)
    assert file.path.read_bytes() == installed
    file.uninstall()
    assert file.path.read_bytes() == before


@pytest.mark.parametrize("text", ["lines", "own status line"])
def test_an_install_from_elsewhere_replaces_the_entries(text: str, file: SettingsFile) -> None:
    """There is one of each, with the new path; the status line does not run ours before ours."""
    before = write(file, TEXTS[text])
    file.install("/old/sightline")
    assert file.install("/new/sightline")
    assert "/old/" not in file.path.read_text()
    assert [len(settings(file)["hooks"][event]) for event in ("PreCompact", "SessionStart")] == [1, 1]
    file.uninstall()
    assert file.path.read_bytes() == before


def test_entries_of_which_no_copy_is_known_are_found_too(file: SettingsFile, tmp_path: Path) -> None:
    """The folder of sessions was deleted, or is another one now."""
    before = write(file, TEXTS["own status line"])
    file.install(PROGRAM)
    assert SettingsFile(file.path, tmp_path / "another home").uninstall()
    assert file.path.read_bytes() == before


@pytest.mark.parametrize(
    "command",
    ["/home/me/bin/hook run session-start", "my-hook run pre-compact --x", "x sightline hook run status-line"],
)
def test_a_command_of_the_user_that_looks_like_ours_stays(command: str, file: SettingsFile) -> None:
    """Another program may have a command `hook run`: it is neither replaced nor removed."""
    text = json.dumps({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}})
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_text(text)
    assert file.install("/opt/sightline")
    assert command in file.path.read_text()
    file.path.write_text(file.path.read_text() + "\n")  # so that only our entries go
    assert file.uninstall()
    assert json.loads(file.path.read_text()) == json.loads(text)


def test_a_status_line_that_is_there_is_run_by_ours(file: SettingsFile) -> None:
    """As a shell would read it; what else it says, such as its padding, stays."""
    write(file, TEXTS["own status line"])
    file.install(PROGRAM)
    found = settings(file)["statusLine"]
    assert found["padding"] == 0
    assert shlex.split(found["command"]) == [
        "/opt/my tools/sightline", "hook", "run", "status-line", "--before", "date +'%H %M'",
    ]  # fmt: skip
    assert earlier_status_line(found["command"]) == "date +'%H %M'"


def test_a_status_line_that_the_user_changed_since_is_theirs(file: SettingsFile) -> None:
    """It stays, and our hooks go."""
    file.install(PROGRAM)
    changed = settings(file)
    changed["statusLine"]["command"] = "echo mine"
    write(file, json.dumps(changed))
    file.uninstall()
    assert settings(file) == {"statusLine": {"type": "command", "command": "echo mine"}}


def test_a_file_that_we_made_is_deleted(tmp_path: Path) -> None:
    """With its folder, if that was not there either; also if only our entries were in it when it was changed."""
    file = SettingsFile(tmp_path / "project" / ".claude" / "settings.json", tmp_path / "home")
    file.install(PROGRAM)
    file.uninstall()
    assert not file.path.parent.exists()
    file.install(PROGRAM)
    write(file, json.dumps(settings(file)))
    file.uninstall()
    assert not file.path.exists()


def test_a_file_that_was_deleted_meanwhile(file: SettingsFile) -> None:
    """There is nothing to take out, and it does not come back; a new install begins anew."""
    write(file, TEXTS["lines"])
    file.install(PROGRAM)
    file.path.unlink()
    assert not file.uninstall()
    assert not file.path.exists()
    assert file.install(PROGRAM)
    file.path.unlink()
    assert file.install(PROGRAM)
    file.uninstall()
    assert not file.path.exists()


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"hooks": []}', '{"hooks": {"PreCompact": {}}}', '{"a": 1} // note', "\x00"]
)
def test_what_cannot_be_read_is_refused_and_stays(text: str, file: SettingsFile) -> None:
    """With the file's name, the reason, and what to do."""
    before = write(file, text)
    for act in (lambda: file.install(PROGRAM), file.uninstall):
        with pytest.raises(BadInput, match=r"settings\.json cannot be read: .*; it was left as it is: correct it"):
            act()
    assert file.path.read_bytes() == before
    assert [*file.path.parent.iterdir()] == [file.path]


def test_bytes_that_are_no_text_are_refused(file: SettingsFile) -> None:
    """They stay, too."""
    file.path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(BadInput, match="left as it is"):
        file.install(PROGRAM)
    assert file.path.read_bytes() == b'{"a": "\xff"}'


def test_links_and_modes_stay(file: SettingsFile, tmp_path: Path) -> None:
    """The file that the link leads to is changed, and changed back."""
    real = tmp_path / "dotfiles.json"
    real.write_text(TEXTS["lines"])
    real.chmod(0o600)
    file.path.symlink_to(real)
    file.install(PROGRAM)
    assert file.path.is_symlink()
    assert "hook run" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
    file.uninstall()
    assert file.path.is_symlink()
    assert real.read_text() == TEXTS["lines"]


def test_many_installs_at_once_are_one(tmp_path: Path) -> None:
    """Each waits for the others: there is one of each entry, and an uninstall gives back the bytes."""
    path = tmp_path / "settings.json"
    path.write_text(TEXTS["own hook"])
    begin = Barrier(6)

    def install() -> None:
        begin.wait()
        SettingsFile(path, tmp_path / "home").install(PROGRAM)

    threads = [Thread(target=install) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    file = SettingsFile(path, tmp_path / "home")
    assert [len(settings(file)["hooks"][event]) for event in ("PreCompact", "SessionStart")] == [2, 1]
    file.uninstall()
    assert path.read_text() == TEXTS["own hook"]


def test_the_copy_of_the_settings_is_the_owner_s_alone(file: SettingsFile, tmp_path: Path) -> None:
    """There may be keys in them."""
    write(file, '{"env": {"ANTHROPIC_API_KEY": "secret"}}')
    file.install(PROGRAM)
    copies = [each for each in (tmp_path / "home").rglob("*.json") if each.is_file()]
    assert copies
    assert all(each.stat().st_mode & 0o077 == 0 for each in copies)
    file.uninstall()
    assert not any(each.exists() for each in copies)


def test_where_the_settings_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Claude Code finds them."""
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert settings_file("user") == Path("/home/me/.claude/settings.json")
    assert settings_file("project", tmp_path) == tmp_path / ".claude/settings.json"
    assert settings_file("local", tmp_path) == tmp_path / ".claude/settings.local.json"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/etc/claude")
    assert settings_file("user") == Path("/etc/claude/settings.json")


def test_the_program_runs_without_an_activated_environment(tmp_path: Path) -> None:
    """By a shell with an empty PATH, in a project that has a folder of our name."""
    (tmp_path / "sightline").mkdir()
    (tmp_path / "sightline" / "__init__.py").write_text("raise SystemExit('imported from the project')")
    done = subprocess.run(
        f"{program()} --version",
        shell=True,
        cwd=tmp_path,
        env={"PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("sightline, version"), done.stderr
