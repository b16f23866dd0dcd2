"""A model behind an address: the same for every protocol but for what is sent and how the answer is put together."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

from sightline.agent.models import ModelInfo, Reply, Request, TextDelta
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import Assembling, Connection, Told, assembled, headers_of
from sightline.errors import ModelRefused


class Protocol(NamedTuple):
    """How one protocol speaks."""

    url: Callable[[Endpoint], str]
    key: Callable[[Endpoint], dict[str, str]]  # headers
    written: Callable[[Request, Endpoint, set[str]], dict[str, Any]]  # without the options that were refused
    refused_option: Callable[[ModelRefused, Mapping[str, Any], Endpoint], str]  # the one to do without; "": none
    answer: Callable[[Endpoint], Assembling]


class ServedModel:
    """A model behind an endpoint that speaks this protocol."""

    def __init__(self, endpoint: Endpoint, protocol: Protocol) -> None:
        self.endpoint, self._protocol = endpoint, protocol
        self._connection = Connection(endpoint, headers_of(endpoint, protocol.key(endpoint)))
        self._refused: set[str] = set()  # options that this endpoint turned out not to take

    @property
    def info(self) -> ModelInfo:
        """What it is."""
        return self.endpoint.info

    def stream(self, request: Request) -> AsyncGenerator[TextDelta | Reply, None]:
        """See `Model.stream`."""
        return assembled(self.endpoint, self._protocol.answer(self.endpoint), self._told(request))

    async def close(self) -> None:
        """Let go of connections."""
        await self._connection.close()

    async def _told(self, request: Request) -> AsyncGenerator[Told, None]:
        """The answer's values; asked again as often as the endpoint names an option that it does not take."""
        url = self._protocol.url(self.endpoint)
        while True:
            options = self._protocol.written(request, self.endpoint, self._refused)
            body = {"model": self.endpoint.name, **options, "stream": True}
            try:
                async with aclosing(self._connection.post(url, body)) as told:
                    async for each in told:
                        yield each
                return
            except ModelRefused as error:
                unknown = self._protocol.refused_option(error, body, self.endpoint)
                if not unknown:
                    raise
                self._refused.add(unknown)
