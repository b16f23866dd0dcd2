"""Law 4: head and body of one call begin the next, block by block, or the receipt names the first change and why."""

import pytest
from checks import check_prefix
from histories import Operation, histories, plain_histories
from hypothesis import given
from world import Sent, World, counters

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
                assert sent.receipt.reason.startswith("sweep") or sent.receipt.reason in ("", "first message")


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


@pytest.mark.slow
@given(history=plain_histories, counting=counters)
def test_without_commands_only_a_sweep_changes_what_was_sent(history: list[Operation], counting: str) -> None:
    """With focus and the stable layout nothing but a sweep breaks the prefix, whatever user, model and tools say."""
    world = World(counting)
    world.on_compose = Calls(only_sweeps=True)
    world.run(history)
