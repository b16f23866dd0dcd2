"""Law 4: head and body of one call begin the next, block by block, or the receipt names the first change and why."""

import pytest
from checks import check_prefix
from histories import Operation, histories, plain_histories
from hypothesis import given
from recorded import conversations, play, sample
from world import Sent, World, counters

from sightline import samples
from sightline.plan.budget import Budget
from sightline.wire.payload import Payload


class Calls:
    """Follows the calls of every branch."""

    def __init__(self, *, only_sweeps: bool = False) -> None:
        self._last: dict[str, Sent] = {}
        self._only_sweeps = only_sweeps

    def __call__(self, world: World, sent: Sent, foreseen: Payload | None = None) -> None:
        """Compare a call with the one before it on its branch."""
        before = self._last.get(sent.branch)
        self._last[sent.branch] = sent
        if before is not None:
            check_prefix(before, sent)
            check_commanded(sent)
            if self._only_sweeps and not {"tools", "window"} & set(sent.commands):
                assert sent.receipt.reason.startswith("sweep") or not sent.receipt.reason


COMMANDS = {
    "command: compact": {"compact"}, "command: uncompact": {"uncompact"}, "command: pin": {"pin"},
    "command: expand": {"expand", "uncompact"},
}  # fmt: skip


def check_commanded(sent: Sent) -> None:
    """A command is named only where a caller gave it: a summary made in the background waits for a sweep."""
    if sent.receipt.reason in COMMANDS and not sent.branch:  # a fork may find one that was given where it comes from
        assert COMMANDS[sent.receipt.reason] & set(sent.commands), sent.receipt.reason


@given(history=histories, counting=counters)
def test_a_call_begins_with_the_one_before_or_says_why_not(history: list[Operation], counting: str) -> None:
    """Law 4 on generated histories with commands, settings and every layout."""
    world = World(counting)
    world.on_compose = Calls()
    world.run(history)


@given(history=plain_histories, counting=counters)
def test_without_commands_only_a_sweep_changes_what_was_sent(history: list[Operation], counting: str) -> None:
    """With focus and the stable layout nothing but a sweep breaks the prefix, whatever user, model and tools say."""
    world = World(counting)
    world.on_compose = Calls(only_sweeps=True)
    world.run(history)


@pytest.mark.parametrize("name", samples.names())
@pytest.mark.parametrize("window", [1_500, 4_000, 100_000])
def test_in_the_samples_only_a_sweep_changes_what_was_sent(name: str, window: int) -> None:
    """Law 4 on the samples; with room for everything nothing changes at all."""
    world = World("estimate")
    world.on_compose = Calls(only_sweeps=True)
    play(world, sample(name), Budget(window))
    assert window < 100_000 or not any(sent.receipt.reason for sent in world.sent)


@pytest.mark.soak
def test_in_recorded_conversations_only_a_sweep_changes_what_was_sent(soak: bool) -> None:
    """Law 4 on every recorded conversation."""
    for conversation in conversations() if soak else ():
        world = World("estimate")
        world.on_compose = Calls(only_sweeps=True)
        play(world, conversation, Budget(16_000))
