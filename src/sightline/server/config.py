"""What a server is told when it starts."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from sightline.agent.models.catalog import PLACES
from sightline.agent.models.catalog import price_of as known_price
from sightline.log.stores import PlacedStores
from sightline.plan.economies import DEFAULT, check_economy
from sightline.report.cache import PriceOf
from sightline.server.sign_in import SignIn
from sightline.server.work import Work

MAX_BODY = 64 * 1024 * 1024  # bytes: providers take 32 MB
REMEMBERED = 256 * 1024 * 1024


PROVIDERS = {name: PLACES[name].base_url for name in ("anthropic", "openai")}
"""Their addresses: "anthropic" without /v1, "openai" with it, as the SDKs take them."""

VARIABLES = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}
"""What the SDKs, and so most agents, read another address from."""


def usual_upstreams(variables: Mapping[str, str]) -> dict[str, str]:
    """Return where requests go unless the user says otherwise: where these variables say, or to the providers."""
    return {name: variables.get(VARIABLES[name]) or address for name, address in PROVIDERS.items()}


class Config(Struct, frozen=True, kw_only=True):
    """How a server keeps sessions, and where it sends requests."""

    folder: Path  # the sessions of this folder's project are served
    root: Path | None = None  # where sessions are stored; None: where the library stores them
    stores: PlacedStores | None = None  # a database that has the sessions instead
    upstreams: Mapping[str, str] = field(default_factory=lambda: dict(PROVIDERS))  # where requests go, by provider
    window: int | None = None  # tokens; None: that of the model
    economy: str = DEFAULT  # see `plan.economies`
    recall: bool = True  # whether `expand` and `recall` join requests that have tools: somebody must answer their calls
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
    timeout: float = 600.0  # seconds that an upstream may say nothing
    remembered: int = REMEMBERED  # bytes of the last requests that are remembered, to read the next ones quickly
    work: Work | None = None  # where jobs for the background are put; whoever makes it also starts and closes it
    summaries: bool = False  # whether somebody has a model for summaries, so that they are wanted

    def __post_init__(self) -> None:
        """Raises BadInput if there is no such economy: a session would refuse it, after the server has begun."""
        check_economy(self.economy)
