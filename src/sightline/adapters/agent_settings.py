"""The configuration of a known agent: how it is given our address, and what it had before.

What is changed is a value at known keys. Everything else in the file stays as it is, comments too.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from sightline.errors import BadInput
from sightline.files.json_text import JsonText
from sightline.providers.agents import Agent, Setting
from sightline.providers.catalog import PLACES

_ANY_PORT = r"http://127\.0\.0\.1:\d+"
_JOINS = {".toml": " = ", ".yml": ": ", ".yaml": ": ", ".env": "="}  # between key and value; else it is JSON
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_FOLDED = re.compile(r"^[>|][-+0-9]{0,2}(?: |$)")  # how a text of several lines begins in YAML
_TABLE = re.compile(r"^\s*\[", re.MULTILINE)  # where the values of TOML that are in no table end
_NOT_FLAT = re.compile(r"^(?:[{\[]|\.\.\.|--- *\S)", re.MULTILINE)  # YAML that is no list of keys


def file_of(files: Sequence[str], variables: Mapping[str, str]) -> Path | None:
    """Return which of an agent's files counts: those below a variable that is set go before all others."""
    for start, group in groupby(files, lambda file: file.partition("/")[0]):
        base = variables.get("HOME", "~") if start == "~" else variables.get(start.removeprefix("$"), "")
        if base:
            places = [Path(base, *file.split("/")[1:]) for file in group]
            return next((place for place in places if place.exists()), places[-1])
    return None


class _Entry(NamedTuple):
    """A key and its value in a text that is no JSON, with the lines below that are still its value."""

    start: int
    end: int
    value: str


class Addresses(NamedTuple):
    """Our addresses in the configuration of an agent: an `Edit` of a `ChangedFile`."""

    suffix: str  # of the file's name
    settings: tuple[Setting, ...]
    own: Mapping[str, str]  # by provider, at our server

    @property
    def empty(self) -> str:
        """What stands for a file that is not there."""
        return "" if self._join else "{}\n"

    def with_ours(self, text: str) -> str:
        """Return the text with our address at each of the settings that are possible in it."""
        for setting in self.settings:
            if self.is_possible(text, setting):
                text = self._write(text, setting.keys, setting.value.format(address=self.own[setting.provider]))
        return text

    def without_ours(self, text: str, original: str | None) -> str:
        """Return the text with what was there before in the place of ours."""
        for setting in self.settings:
            if _is_ours(setting, self._value(text, setting.keys)):
                text = self._take_out(text, setting.keys, original)
        return text

    def is_empty(self, text: str) -> bool:
        """Whether a text says nothing."""
        return not text.strip() if self._join else not _json(text).value

    def is_possible(self, text: str, setting: Setting) -> bool:
        """Whether a text can be given an address at a setting, and the agent would read it there."""
        if setting.within and self._value(text, setting.within) is None:
            return False
        if not setting.value.startswith("{address}") and self._value(text, setting.keys) not in (None, ""):
            return False  # a list, to which the user has to add it
        return not self.other_choice(text, setting)

    def other_choice(self, text: str, setting: Setting) -> str:
        """Return what a text chooses so that the agent would not read an address at a setting; "" if nothing."""
        key, usual = setting.unless
        chosen = self._value(text, (key,)) if key else None
        if setting.profiles and self.suffix == ".toml":
            profile, profiles = (_toml(text).get(name) for name in setting.profiles)
            table = profiles.get(profile) if isinstance(profiles, dict) and isinstance(profile, str) else None
            chosen = table.get(key, chosen) if isinstance(table, dict) else chosen
        return str(chosen) if chosen not in (None, usual) else ""

    def earlier(self, text: str) -> dict[str, str]:
        """Return the addresses that a text without ours has, by provider."""
        found = {setting.provider: self._value(text, setting.keys) for setting in self.settings}
        return {name: value for name, value in found.items() if isinstance(value, str) and value.startswith("http")}

    def is_ours(self, text: str) -> bool:
        """Whether a text has an address of ours."""
        return any(_is_ours(setting, self._value(text, setting.keys)) for setting in self.settings)

    # ------------------------------------------------------------------ the forms of a text

    @property
    def _join(self) -> str:
        return _JOINS.get(self.suffix, "")

    def _value(self, text: str, keys: Sequence[str]) -> Any:
        if not self._join:
            return _json(text).get(*keys)
        if self.suffix == ".toml":
            return _toml(text).get(keys[0])
        if self._is_yaml and (_NOT_FLAT.search(text) or _begins_indented(text)):
            raise BadInput("it is no plain list of keys, and cannot be changed safely")
        entry = self._entry(text, keys[0])
        return None if entry is None else entry.value

    @property
    def _is_yaml(self) -> bool:
        return self._join == ": "

    def _entry(self, text: str, key: str) -> _Entry | None:
        """Return where a key is, the last time: of several, that one counts."""
        table = _TABLE.search(text) if self.suffix == ".toml" else None
        end = table.start() if table else len(text)
        before = r"[ \t]*(?:export[ \t]+)?" if self.suffix == ".env" else ""
        line = rf"^{before}([\"']?){re.escape(key)}\1[ \t]*{self._join.strip()}(.*)(?:\n|$)"
        if not (found := [*re.compile(line, re.MULTILINE).finditer(text, 0, end)]):
            return None
        last = found[-1]
        stop = _end_of_value(text, last.end()) if self._is_yaml else last.end()
        lines = [_COMMENT.sub("", line).strip() for line in (last[2], *text[last.end() : stop].split("\n"))]
        value = _FOLDED.sub("", " ".join(filter(None, lines)))
        if self._is_yaml and value.startswith(("&", "*", "!")):
            raise BadInput(f"{key} has more than a value in it, and cannot be changed safely")
        return _Entry(last.start(), stop, value.strip("\"'"))

    def _write(self, text: str, keys: Sequence[str], value: str) -> str:
        if not self._join:
            return _with_value(_json(text), keys, value).text
        written = f"{keys[0]}{self._join}{json.dumps(value) if self.suffix == '.toml' else value}\n"
        if entry := self._entry(text, keys[0]):
            new = text[: entry.start] + written + text[entry.end :]
        elif self.suffix == ".toml":
            new = written + text
        else:
            new = text + ("" if not text or text.endswith("\n") else "\n") + written
        if self.suffix == ".toml" and _toml(new) != _toml(text) | {keys[0]: value}:
            raise BadInput(f"{keys[0]} cannot be set in it safely")
        return new

    def _take_out(self, text: str, keys: Sequence[str], original: str | None) -> str:
        if not self._join:
            return _without_value(_json(text), keys, None if original is None else _json(original)).text
        entry = self._entry(text, keys[0])
        before = None if original is None else self._entry(original, keys[0])
        earlier = original[before.start : before.end] if original is not None and before is not None else ""
        if entry is None:
            return text
        rest = text[entry.end :]
        return text[: entry.start] + earlier + ("\n" if rest and earlier and earlier[-1] != "\n" else "") + rest


def _begins_indented(text: str) -> bool:
    """Whether the first key of YAML is not at the beginning of its line: then none that is added may be."""
    lines = (line for line in text.splitlines() if _COMMENT.sub("", line).strip())
    return next(lines, "")[:1].isspace()


def _end_of_value(text: str, start: int) -> int:
    """Return where a value of YAML ends whose key's line ends at `start`: lines that are further in, and a list's."""
    end = at = start
    for line in text[start:].splitlines(keepends=True):
        at += len(line)
        if _COMMENT.sub("", line).strip():
            if not line.startswith((" ", "\t", "- ", "-\n", "-\r")):
                break
            end = at
    return end


def _is_ours(setting: Setting, value: Any) -> bool:
    """Whether a value is an address of ours, at whatever port."""
    path = {"anthropic": "/anthropic", "openai": "/openai/v1", "gemini": "/gemini"}[setting.provider]
    ours = re.escape(setting.value).replace(re.escape("{address}"), _ANY_PORT + path)
    return isinstance(value, str) and re.fullmatch(ours, value) is not None


def settings_of(agent: Agent, variables: Mapping[str, str], providers: Sequence[str] = ()) -> tuple[Setting, ...]:
    """Return the settings that an agent needs: of these providers, else of those that it may ask."""
    if providers:
        return tuple(setting for setting in agent.settings if setting.provider in providers)
    if not agent.logins:
        return agent.settings
    logins = read_json(file_of(agent.logins, variables))
    file = file_of(agent.files, variables)
    present = read_json(file) if file else {}
    return tuple(
        setting
        for setting in agent.settings
        if setting.keys[1] in logins or setting.keys[1] in (present.get(setting.keys[0]) or {})
        or any(variables.get(name) for name in _key_variables(setting.provider))
    )  # fmt: skip


def _key_variables(provider: str) -> tuple[str, ...]:
    place = PLACES.get(provider)
    return (place.key_env,) if place else ("GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY")


def missing_key(agent: Agent, variables: Mapping[str, str]) -> Path | None:
    """Return the file that lacks the value without which an agent asks no address that it is given; None: none does."""
    file = file_of(agent.key_files, variables)
    if agent.key is None or file is None:
        return None
    try:
        chosen: Any = JsonText(file.read_text("utf-8"), comments=True).get(*agent.key.keys)
    except FileNotFoundError:
        return file
    except (OSError, UnicodeDecodeError, BadInput):  # the value may be there
        return None
    return None if chosen in (agent.key.value, "gateway") else file


def read_json(file: Path | None) -> dict[str, Any]:
    """Return the object in a file; an empty one if it cannot be read."""
    try:
        value = JsonText("{}" if file is None else file.read_text("utf-8"), comments=True).value
    except (OSError, UnicodeDecodeError, BadInput):
        value = {}
    return dict(value)


def _json(text: str) -> JsonText:
    return JsonText(text, comments=True)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"it is no TOML: {error}") from None


def _with_value(text: JsonText, keys: Sequence[str], value: str) -> JsonText:
    """Return the text with a value at these keys, and the objects on the way to it."""
    depth = next((at for at in range(len(keys)) if not text.has(*keys[: at + 1])), len(keys))
    if depth >= len(keys):
        return text.replace(keys, value)
    if not isinstance(text.get(*keys[:depth]) if depth else text.value, dict):
        raise BadInput(f"its {'.'.join(keys[:depth])!r} is no object")
    new: Any = value
    for key in reversed(keys[depth + 1 :]):
        new = {key: new}
    return text.add(keys[:depth], keys[depth], new)


def _without_value(text: JsonText, keys: Sequence[str], original: JsonText | None) -> JsonText:
    """Return the text without a value, and without objects that are empty then and were not there before."""
    if original is not None and original.has(*keys):
        return text.write(keys, original.written(*keys))
    text = text.remove(keys)
    for depth in range(len(keys) - 1, 0, -1):
        outer = keys[:depth]
        if text.get(*outer) or (original is not None and original.has(*outer)):
            break
        text = text.remove(outer)
    return text
