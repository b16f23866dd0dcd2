"""Laws 5 and 7 on the wire: a payload's bytes say what is written in one go, whatever was written before."""

import msgspec
from histories import Operation, histories
from hypothesis import given
from world import Sent, World, counters

from sightline.testing.wires import request_in_one_go
from sightline.wire import registry
from sightline.wire.payload import Payload


class Written:
    """Follows the payloads of a session, those of its previews too."""

    def __init__(self) -> None:
        self._made: list[Payload] = []

    def __call__(self, world: World, sent: Sent, foreseen: Payload | None = None) -> None:
        """Compare a payload, the one foreseen for it and the ones before them with what is written in one go."""
        self._made += [payload for payload in (foreseen, sent.payload) if payload is not None]
        for payload in self._made[-4:]:
            for wire in registry.known():
                assert msgspec.json.decode(payload.json(wire)) == request_in_one_go(payload, wire)


@given(history=histories, counting=counters)
def test_bytes_say_what_is_written_in_one_go(history: list[Operation], counting: str) -> None:
    """On generated histories with commands, settings, forks, windows and every layout."""
    world = World(counting)
    world.on_compose = Written()
    world.run(history)
