"""What a server is told when it starts."""

from collections.abc import Mapping
from pathlib import Path

from sightline.follow.turns import PROVIDERS, FollowSettings
from sightline.providers.catalog import price_of as known_price
from sightline.server.sign_in import SignIn
from sightline.server.spool import SPOOL_BYTES
from sightline.server.work import Work
from sightline.view.costs import PriceOf

MAX_BODY = 64 * 1024 * 1024  # bytes: providers take 32 MB


VARIABLES = {
    "anthropic": ("ANTHROPIC_BASE_URL",), "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL",),
}  # fmt: skip
"""What the SDKs, and so most agents, read another address from. aider and LiteLLM read OpenAI's second one."""


def usual_upstreams(variables: Mapping[str, str]) -> dict[str, str]:
    """Return where requests go unless the user says otherwise: where these variables say, or to the providers."""
    told = {name: [variables[key] for key in VARIABLES[name] if variables.get(key)] for name in PROVIDERS}
    return {name: next(iter(told[name]), address) for name, address in PROVIDERS.items()}


class Config(FollowSettings, frozen=True, kw_only=True):
    """How a server keeps sessions, and where it sends requests."""

    host: str = "127.0.0.1"
    hosts: tuple[str, ...] = ()  # names of this server besides loopback's
    token_hash: str = ""  # of the token that callers must show (see `safety`); empty: nothing below /api is answered.
    # Where callers are tenants: of the operator's token, for /metrics and /health
    sign_in: SignIn | None = None  # gives the token to a browser that we open
    price_of: PriceOf = known_price  # what a model costs, for those who look at sessions
    everywhere: bool = False  # sessions of all projects are shown, and recordings of other agents are offered
    samples: bool = False  # and the sample sessions
    offered: tuple[Path, ...] = ()  # files and folders whose recordings are offered
    max_body: int = MAX_BODY
    require_log: bool = False  # what cannot be logged is refused; else it is passed on, and counted
    spool_bytes: int = SPOOL_BYTES  # of it that wait for a database which is away; 0: nothing is kept of it
    timeout: float = 600.0  # seconds that an upstream may say nothing
    work: Work | None = None  # where jobs for the background are put; whoever makes it also starts and closes it
