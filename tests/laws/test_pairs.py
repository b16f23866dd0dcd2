"""Law 3: no result without its call and no call without its result, in any payload, for any wire format."""

import pytest
from checks import check_anthropic, check_openai, check_responses
from histories import Operation, histories
from hypothesis import given
from recorded import conversations, play, sample
from world import Sent, World, counters

from sightline import samples
from sightline.plan.budget import Budget
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


@pytest.mark.parametrize("name", samples.names())
@pytest.mark.parametrize("window", [1_500, 4_000, 100_000])
def test_calls_and_results_are_paired_in_the_samples(name: str, window: int) -> None:
    """Law 3 on every payload of a sample."""
    world = World("estimate")
    world.on_compose = check
    assert play(world, sample(name), Budget(window)).sent


@pytest.mark.soak
@pytest.mark.parametrize("window", [16_000, 60_000])
def test_calls_and_results_are_paired_in_recorded_conversations(window: int, soak: bool) -> None:
    """Law 3 on every payload of every recorded conversation."""
    for conversation in conversations() if soak else ():
        world = World("estimate")
        world.on_compose = check
        play(world, conversation, Budget(window))
