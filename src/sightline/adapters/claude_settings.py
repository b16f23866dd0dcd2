"""The settings file of Claude Code: our hooks and status line are added to it, and taken out again.

Everything else in the file stays as it is, down to its blanks. A copy of the file as it was is kept, so that an
uninstall gives back the same bytes if nobody has changed the file since.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from sightline.adapters.claude_entries import HOOKS, places, with_ours, without_ours
from sightline.adapters.claude_hooks import FOLDER, make_folder
from sightline.errors import BadInput
from sightline.files.json_text import JsonText
from sightline.files.replacement import OWNER_ONLY, replace_file
from sightline.values.decoders import decode_json
from sightline.values.file_lock import locked_file

SCOPES = ("user", "project", "local")


class Installed(Struct):
    """What an install did to a file."""

    path: str
    existed: bool
    original: bytes  # what was in the file
    written: str  # the digest of what we wrote
    made_folder: bool = False


class Found(NamedTuple):
    """What is in a settings file."""

    commands: dict[str, str]  # ours, by event; the status line's too
    off: bool  # the file switches all hooks off
    unchanged: bool  # since the install, so that an uninstall gives back the same bytes


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
        with self._locked():
            data = self._read()
            text, record = _parse(self.path, data), self._known()
            plain = without_ours(text, _original(record))
            new = with_ours(plain, program, options).text
            if data is not None and new == text.text:
                return False
            if record is not None and data is not None and _digest(data) == record.written:
                made = msgspec.structs.replace(record, written=_digest(new.encode()))
            else:
                original = b"" if data is None else plain.text.encode() if plain is not text else data
                folder = self.path.parent.exists()
                made = Installed(str(self.path), data is not None, original, _digest(new.encode()), not folder)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._keep(made)
            try:
                replace_file(self.path, new.encode(), expected=data or b"")
            except BaseException:
                self._keep(record)
                raise
            return True

    def uninstall(self) -> bool:
        """Take our entries out. Return whether there were any."""
        with self._locked():
            data, record = self._read(), self._known()
            if data is None:
                self._keep(None)
                return False
            text = _parse(self.path, data)
            plain = without_ours(text, _original(record))
            if record is not None and _digest(data) == record.written:
                original = record.original if record.existed else None
            elif plain is text:
                self._keep(None)
                return False
            else:
                original = plain.text.encode()
                if record is not None and not record.existed and plain.value == {}:
                    original = None
            self._restore(data, original, made_folder=record is not None and record.made_folder)
            self._keep(None)
            return True

    def found(self) -> Found:
        """Return which of our entries are in the file."""
        data, record = self._read(), self._known()
        text = _parse(self.path, data)
        commands = {event: str(text.get(*path)) for event, path in places(text)}
        unchanged = record is not None and data is not None and _digest(data) == record.written
        return Found(commands, text.get("disableAllHooks") is True, unchanged)

    # ------------------------------------------------------------------ files

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_folder(str(self._record.parent.parent), self._record.parent.name)
        lock = self._record.with_suffix(".lock")
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
        try:
            with locked_file(handle, lock):
                yield
        finally:
            os.close(handle)

    def _read(self) -> bytes | None:
        if not self._own_links:
            _check_no_link(self.path)
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None

    def _restore(self, data: bytes, original: bytes | None, *, made_folder: bool) -> None:
        if original is not None:
            replace_file(self.path, original, expected=data)
            return
        Path(os.path.realpath(self.path)).unlink()
        if made_folder:
            with suppress(OSError):  # something else is in it
                self.path.parent.rmdir()

    def _known(self) -> Installed | None:
        try:
            return decode_json(self._record.read_bytes(), Installed)
        except (OSError, msgspec.DecodeError):
            return None

    def _keep(self, record: Installed | None) -> None:
        if record is None:
            self._record.unlink(missing_ok=True)
        else:
            replace_file(self._record, msgspec.json.encode(record), mode=OWNER_ONLY)


def _check_no_link(path: Path) -> None:
    """Raise BadInput unless a settings file and its folder are what they seem to be, or are not there."""
    for place, is_right, kind in ((path.parent, stat.S_ISDIR, "folder"), (path, stat.S_ISREG, "file")):
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            continue
        if not is_right(mode):
            what = "a link" if stat.S_ISLNK(mode) else f"no {kind}"
            raise BadInput(
                f"{place} is {what}, so it is not used: it could lead to a file outside the project. Put a plain "
                f"{kind} there, or use --scope user"
            )


def _original(record: Installed | None) -> JsonText | None:
    """Return the settings as they were before an install; None if nobody knows."""
    try:
        return None if record is None else _parse(Path(record.path), record.original)
    except BadInput:  # the copy was changed
        return None


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _parse(path: Path, data: bytes | None) -> JsonText:
    """Read settings. No file, and an empty one, are an empty object."""
    try:
        text = JsonText(data.decode("utf-8") if data and data.strip() else "{}\n")
        hooks = text.get("hooks")
        if hooks is not None and not isinstance(hooks, dict):
            raise BadInput('its "hooks" are no object')
        for event in HOOKS:
            if text.get("hooks", event) is not None and not isinstance(text.get("hooks", event), list):
                raise BadInput(f'its "hooks.{event}" is no list')
    except (BadInput, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}; it was left as it is: correct it, then try again") from None
    return text
