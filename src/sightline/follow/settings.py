"""How the conversations of another program are kept, and what is sent in their place."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from sightline.log.stores import PlacedStores
from sightline.plan.economies import DEFAULT, check_economy
from sightline.providers.catalog import PLACES

REMEMBERED = 256 * 1024 * 1024
PROVIDERS = {name: PLACES[name].base_url for name in ("anthropic", "openai")}
"""Their addresses: "anthropic" without /v1, "openai" with it, as the SDKs take them."""


class FollowSettings(Struct, frozen=True, kw_only=True):
    """Where sessions are kept, where requests go, and how they are composed."""

    folder: Path  # the sessions are those of this folder's project
    root: Path | None = None  # where sessions are stored; None: where the library stores them
    stores: PlacedStores | None = None  # a database that has the sessions instead
    upstreams: Mapping[str, str] = field(default_factory=lambda: dict(PROVIDERS))  # where requests go, by provider
    window: int | None = None  # tokens; None: that of the model
    economy: str = DEFAULT  # see `plan.economies`
    recall: bool = True  # whether `expand` and `recall` join requests that have tools: somebody must answer their calls
    remembered: int = REMEMBERED  # bytes of the last requests that are remembered, to read the next ones quickly
    summaries: bool = False  # whether somebody has a model for summaries, so that they are wanted

    def __post_init__(self) -> None:
        """Raises BadInput if there is no such economy: a session would refuse it, after the program has begun."""
        check_economy(self.economy)
