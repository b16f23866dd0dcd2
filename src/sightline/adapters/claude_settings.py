"""The settings file of Claude Code: our hooks and status line are added to it, and taken out again."""

import os
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from sightline.adapters.claude_entries import HOOKS, places, with_ours, without_ours
from sightline.adapters.claude_hooks import FOLDER
from sightline.errors import BadInput
from sightline.files.changed_file import ChangedFile
from sightline.files.json_text import JsonText

SCOPES = ("user", "project", "local")


class Found(NamedTuple):
    """What is in a settings file."""

    commands: dict[str, str]  # ours, by event; the status line's too
    off: bool  # the file switches all hooks off
    unchanged: bool  # since the install, so that an uninstall gives back the same bytes


class Entries(NamedTuple):
    """Our entries in such a file. `program` is the command line of `sightline`, quoted for a shell."""

    program: str = ""
    options: str = ""  # of the hooks, such as a root

    @property
    def empty(self) -> str:
        """No file, and an empty one, are an empty object."""
        return "{}\n"

    def with_ours(self, text: str) -> str:
        """Add our entries."""
        return with_ours(_parse(text), self.program, self.options).text

    def without_ours(self, text: str, original: str | None) -> str:
        """Take our entries out."""
        return without_ours(_parse(text), None if original is None else _parse(original)).text

    def is_empty(self, text: str) -> bool:
        """Whether there are no settings."""
        return not _parse(text).value


def settings_file(scope: str, project: str | Path = ".") -> Path:
    """Return where the settings of a scope are: those of the user, of the project, or the user's own of the project."""
    if scope == "user":
        configured = os.environ.get("CLAUDE_CONFIG_DIR")
        return (Path(configured) if configured else Path.home() / ".claude") / "settings.json"
    name = "settings.json" if scope == "project" else "settings.local.json"
    return Path(project).absolute() / ".claude" / name


class SettingsFile:
    """One settings file, and the folder in which copies of what was in it are kept.

    Its methods raise BadInput if the file is no JSON object, and OSError. With `own_links` a link is followed: the
    user's own settings may be one. In a project a link is the repository's, and could lead to any file of the user: it
    is refused with BadInput, and nothing is read or written.
    """

    def __init__(self, path: Path, home: Path, *, own_links: bool = True) -> None:
        self.path, self._own_links = path, own_links
        name = blake2b(os.fsencode(os.path.realpath(path)), digest_size=8).hexdigest()
        self._record = home / FOLDER / "installed" / f"{name}.json"

    def install(self, program: str, options: str = "") -> bool:
        """Add our entries, or bring those that are there up to date. Return whether anything was changed.

        program: the command line of `sightline`, quoted for a shell. options: of the hooks, such as a root.
        """
        return self._file(Entries(program, options)).install()

    def uninstall(self) -> bool:
        """Take our entries out. Return whether there were any."""
        return self._file(Entries()).uninstall()

    def found(self) -> Found:
        """Return which of our entries are in the file."""
        file = self._file(Entries())
        file.plain()  # says why, if it cannot be read
        text = _parse(file.text(file.read()))
        commands = {event: str(text.get(*path)) for event, path in places(text)}
        return Found(commands, text.get("disableAllHooks") is True, file.is_unchanged())

    def _file(self, entries: Entries) -> ChangedFile:
        advice = (
            "it could lead to a file outside the project. Put a plain {kind} there, or use --scope user"
        )  # fmt: skip
        return ChangedFile(self.path, self._record, entries, follows_links=self._own_links, advice=advice)


def _parse(written: str) -> JsonText:
    """Read settings."""
    text = JsonText(written)
    hooks = text.get("hooks")
    if hooks is not None and not isinstance(hooks, dict):
        raise BadInput('its "hooks" are no object')
    for event in HOOKS:
        if text.get("hooks", event) is not None and not isinstance(text.get("hooks", event), list):
            raise BadInput(f'its "hooks.{event}" is no list')
    return text
