"""The command that `wrap` runs: which addresses it is told, and how.

Each provider has an address of its own here, so a login can go to no other one, whatever path the agent asks for.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

_LAUNCHERS = frozenset({"npx", "npm", "pnpm", "yarn", "bunx", "bun", "node", "env"})
_BEFORE_A_PACKAGE = frozenset({"dlx", "exec", "x", "run", "--"})  # words of a launcher, besides its options
_CODEX_PACKAGE = "@openai/codex"


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


def _after_codex(command: Sequence[str]) -> int:
    """Return where Codex's own arguments begin: after it, or what starts it and its name; 0: it is no Codex."""
    if _is_codex(command[0]):
        return 1
    if Path(command[0]).name not in _LAUNCHERS:
        return 0
    for at, word in enumerate(command[1:], 1):
        if _is_codex(word):
            is_named_again = at + 1 < len(command) and _is_codex(command[at + 1])  # npx -p @openai/codex codex
            return at + 1 + is_named_again
        if not (word.startswith("-") or "=" in word or word in _BEFORE_A_PACKAGE):
            return 0
    return 0


def _is_codex(word: str) -> bool:
    """Whether a word names Codex: by its own name, its package, or a link to it under another name."""
    if word == _CODEX_PACKAGE or word.startswith(f"{_CODEX_PACKAGE}@"):
        return True
    place = Path(os.path.realpath(shutil.which(word) or word))
    return "codex" in (Path(word).stem, place.stem) or _CODEX_PACKAGE in place.as_posix()
