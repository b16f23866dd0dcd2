"""The command that `wrap` runs: which agent it starts, which addresses that is told, and how.

Each provider has an address of its own here, so a login can go to no other one, whatever path the agent asks for.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sightline.providers.agents import AGENTS, Agent
from sightline.server.config import VARIABLES

_LAUNCHERS = frozenset({"npx", "npm", "pnpm", "yarn", "bunx", "bun", "node", "env"})
_BEFORE_A_PACKAGE = frozenset({"dlx", "exec", "x", "run", "--"})  # words of a launcher, besides its options


class Started(NamedTuple):
    """A known agent in a command."""

    agent: Agent
    at: int  # where its own arguments begin


def addresses(address: str) -> dict[str, str]:
    """Return the variables from which agents and SDKs read another address than the provider's."""
    own = provider_addresses(address)
    return {variable: own[name] for name, variables in VARIABLES.items() for variable in variables}


def provider_addresses(address: str) -> dict[str, str]:
    """Return the address of each provider at a server of ours."""
    return {"anthropic": f"{address}/anthropic", "openai": f"{address}/openai/v1", "gemini": f"{address}/gemini"}


def environment(address: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the command. Requests to this machine go through no other proxy."""
    own = addresses(address)
    for name in ("NO_PROXY", "no_proxy"):
        own[name] = ",".join(filter(None, [variables.get(name, ""), "127.0.0.1"]))
    return {**variables, **own}


def with_address(command: Sequence[str], address: str, variables: Mapping[str, str]) -> list[str]:
    """Return the command with the address among its options, if it starts an agent that reads it only there.

    Codex uses the key in OPENAI_API_KEY; without one, the login that it keeps itself.
    """
    if (started := started_agent(command)) is None or not started.agent.options:
        return list(command)
    login = 'env_key="OPENAI_API_KEY"' if variables.get("OPENAI_API_KEY") else "requires_openai_auth=true"
    own = provider_addresses(address) | {"login": login}
    options = [option.format_map(own) for option in started.agent.options]
    return [*command[: started.at], *options, *command[started.at :]]


def started_agent(command: Sequence[str]) -> Started | None:
    """Return the known agent that a command starts, be it by a launcher; None: there is none."""
    if agent := _agent(command[0]):
        return Started(agent, 1)
    if Path(command[0]).name not in _LAUNCHERS:
        return None
    for at, word in enumerate(command[1:], 1):
        if agent := _agent(word):
            is_named_again = at + 1 < len(command) and _agent(command[at + 1]) is agent  # npx -p @openai/codex codex
            return Started(agent, at + 1 + is_named_again)
        if not (word.startswith("-") or "=" in word or word in _BEFORE_A_PACKAGE):
            return None
    return None


def _agent(word: str) -> Agent | None:
    return next((agent for agent in AGENTS.values() if agent.program and _is_program(word, agent)), None)


def _is_program(word: str, agent: Agent) -> bool:
    """Whether a word names a program: by its own name, its package, or a link to it under another name."""
    package = agent.package.partition(":")[2]
    if word == package or word.startswith(f"{package}@"):
        return True
    place = Path(os.path.realpath(shutil.which(word) or word))
    is_below = package.startswith("@") and f"/{package}/" in place.as_posix()
    return agent.program in (Path(word).stem, place.stem) or is_below
