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

_LAUNCHERS = frozenset({"npx", "npm", "pnpm", "yarn", "bunx", "bun", "node"})
_BEFORE_A_PACKAGE = frozenset({"dlx", "exec", "x", "run", "--"})  # words of a launcher, besides its options


class _Wrapper(NamedTuple):
    """A program that runs the command after its own arguments."""

    valued: frozenset[str] = frozenset()  # options whose value is the next word
    words: int = 0  # that stand before the command, besides options


_WRAPPERS = {
    "env": _Wrapper(frozenset({"-u", "--unset", "-C", "--chdir"})),
    "timeout": _Wrapper(frozenset({"-s", "--signal", "-k", "--kill-after"}), 1),
    "nice": _Wrapper(frozenset({"-n", "--adjustment"})),
    "ionice": _Wrapper(frozenset({"-c", "--class", "-n", "--classdata"})),
    "stdbuf": _Wrapper(frozenset({"-i", "--input", "-o", "--output", "-e", "--error"})),
    "sudo": _Wrapper(frozenset({"-u", "--user", "-g", "--group", "-h", "--host", "-D", "--chdir", "-p", "--prompt"})),
    "time": _Wrapper(frozenset({"-f", "--format", "-o", "--output"})),
    "caffeinate": _Wrapper(frozenset({"-t", "-w"})),
    "nohup": _Wrapper(), "setsid": _Wrapper(),
}  # fmt: skip


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


def with_address(command: Sequence[str], address: str, variables: Mapping[str, str], named: str = "") -> list[str]:
    """Return the command with the address among its options, if it starts an agent that reads it only there.

    `named`: as for `started_agent`.

    Codex uses the key in OPENAI_API_KEY; without one, the login that it keeps itself.
    """
    if (started := started_agent(command, named)) is None or not started.agent.options:
        return list(command)
    login = 'env_key="OPENAI_API_KEY"' if variables.get("OPENAI_API_KEY") else "requires_openai_auth=true"
    own = provider_addresses(address) | {"login": login}
    options = [option.format_map(own) for option in started.agent.options]
    return [*command[: started.at], *options, *command[started.at :]]


def started_agent(command: Sequence[str], named: str = "") -> Started | None:
    """Return the known agent that a command starts, be it by a launcher; None: there is none.

    `named`: the agent's name, as the user says it. Its arguments begin after its own program, if that is there.
    """
    if named:
        at = next((at for at, word in enumerate(command) if _is_program(word, AGENTS[named])), 0)
        return Started(AGENTS[named], at + 1)
    if agent := _agent(command[0]):
        return Started(agent, 1)
    name = Path(command[0]).name
    if name in _WRAPPERS:
        at = _command_within(command, _WRAPPERS[name])
        inner = started_agent(command[at:]) if at < len(command) else None
        return inner and Started(inner.agent, at + inner.at)
    if name not in _LAUNCHERS:
        return None
    for at, word in enumerate(command[1:], 1):
        if agent := _agent(word):
            is_named_again = at + 1 < len(command) and _agent(command[at + 1]) is agent  # npx -p @openai/codex codex
            return Started(agent, at + 1 + is_named_again)
        if not (word.startswith("-") or "=" in word or word in _BEFORE_A_PACKAGE):
            return None
    return None


def _command_within(command: Sequence[str], wrapper: _Wrapper) -> int:
    """Return where the command of a wrapper begins, after its options and after variables that it sets."""
    at, words = 1, wrapper.words
    while at < len(command):
        word = command[at]
        if word.startswith("-") and word != "-":
            at += 2 if word in wrapper.valued else 1
        elif words or "=" in word:
            words -= words > 0
            at += 1
        else:
            break
    return at


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
