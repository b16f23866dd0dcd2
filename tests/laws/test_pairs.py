"""Law 3: no result without its call and no call without its result, in any payload, for any wire format."""

from checks import check_anthropic, check_openai, check_responses
from histories import Operation, histories
from hypothesis import given
from world import Sent, World, counters

from sightline.wire.payload import Payload


def check(world: World, sent: Sent, foreseen: Payload | None = None) -> None:
    """Ask each format."""
    check_openai(sent.payload.openai())
    check_responses(sent.payload.responses())
    check_anthropic(sent.payload.anthropic())


@given(history=histories, counting=counters)
def test_calls_and_results_are_paired_whatever_happened(history: list[Operation], counting: str) -> None:
    """Law 3 on every payload of a generated history."""
    world = World(counting)
    world.on_compose = check
    world.run(history)
