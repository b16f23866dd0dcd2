"""The command that `wrap` runs: which addresses it is told, and how.

Each provider has an address of its own here, so a login can go to no other one, whatever path the agent asks for.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

_LAUNCHERS = frozenset({"npx", "npm", "pnpm", "yarn", "bunx", "bun", "node", "env"})
_MOST_WORDS = 6  # of a launcher, before the arguments of what it starts
_BEFORE_A_PACKAGE = frozenset({"dlx", "exec", "x", "run", "--"})  # words of a launcher, besides its options
_CODEX_PACKAGE, _GEMINI_PACKAGE = "@openai/codex", "@google/gemini-cli"
_GEMINI_KEYS = ("gemini-api-key", "gateway")  # ways of Gemini CLI to log in with which it reads an address


def addresses(address: str) -> dict[str, str]:
    """Return the variables from which agents and SDKs read another address than the provider's."""
    openai = f"{address}/openai/v1"
    return {
        "ANTHROPIC_BASE_URL": f"{address}/anthropic", "OPENAI_BASE_URL": openai, "OPENAI_API_BASE": openai,
        "GOOGLE_GEMINI_BASE_URL": f"{address}/gemini",
    }  # fmt: skip


def environment(address: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the command. Requests to this machine go through no other proxy."""
    own = addresses(address)
    for name in ("NO_PROXY", "no_proxy"):
        own[name] = ",".join(filter(None, [variables.get(name, ""), "127.0.0.1"]))
    return {**variables, **own}


def with_address(command: Sequence[str], address: str, variables: Mapping[str, str]) -> list[str]:
    """Return the command with the address among its options, if it is Codex, which reads it only there.

    Codex uses the key in OPENAI_API_KEY; without one, the login that it keeps itself.
    """
    if not (at := _after_codex(command)):
        return list(command)
    login = 'env_key="OPENAI_API_KEY"' if variables.get("OPENAI_API_KEY") else "requires_openai_auth=true"
    url = addresses(address)["OPENAI_BASE_URL"]
    provider = f'{{name="Sightline", base_url="{url}", {login}, wire_api="responses", supports_websockets=false}}'
    options = ["-c", "model_provider=sightline", "-c", f"model_providers.sightline={provider}"]
    return [*command[:at], *options, *command[at:]]


def gemini_without_key(command: Sequence[str], variables: Mapping[str, str]) -> Path | None:
    """Return the settings of Gemini CLI, if this is it and they do not say that it has an API key.

    With the login of a Google account it asks another server of Google, and with none it does not begin.
    """
    home = variables.get("GEMINI_CLI_HOME") or variables.get("HOME", "")
    settings = Path(home) / ".gemini" / "settings.json"
    if not any(
        _is_program(word, "gemini", _GEMINI_PACKAGE) for word in command[: _MOST_WORDS if _starts(command) else 1]
    ):
        return None
    try:
        chosen = msgspec.json.decode(settings.read_bytes())["security"]["auth"]["selectedType"]
    except (FileNotFoundError, LookupError, TypeError):
        chosen = ""
    except (OSError, msgspec.DecodeError):  # it has comments, say: the choice may be there
        return None
    return None if chosen in _GEMINI_KEYS else settings


def _starts(command: Sequence[str]) -> bool:
    return Path(command[0]).name in _LAUNCHERS


def _after_codex(command: Sequence[str]) -> int:
    """Return where Codex's own arguments begin: after it, or what starts it and its name; 0: it is no Codex."""
    if _is_codex(command[0]):
        return 1
    if not _starts(command):
        return 0
    for at, word in enumerate(command[1:], 1):
        if _is_codex(word):
            is_named_again = at + 1 < len(command) and _is_codex(command[at + 1])  # npx -p @openai/codex codex
            return at + 1 + is_named_again
        if not (word.startswith("-") or "=" in word or word in _BEFORE_A_PACKAGE):
            return 0
    return 0


def _is_codex(word: str) -> bool:
    return _is_program(word, "codex", _CODEX_PACKAGE)


def _is_program(word: str, name: str, package: str) -> bool:
    """Whether a word names a program: by its own name, its package, or a link to it under another name."""
    if word == package or word.startswith(f"{package}@"):
        return True
    place = Path(os.path.realpath(shutil.which(word) or word))
    return name in (Path(word).stem, place.stem) or package in place.as_posix()
