"""All laws at once on conversations that were not made up here: the samples, and at full size every recorded one."""

from collections.abc import Iterable

import pytest
import test_nothing_lost
import test_purity
from histories import Compose
from recorded import FOLDERS, Conversation, conversations, play, sample
from test_lives import Laws
from world import World, over

from sightline import samples
from sightline.compose.verify import verify
from sightline.log.entries import parts_of
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.values.items import Kind, Result


def play_lawfully(world: World, conversation: Conversation, window: int, most: int) -> None:
    """Play a conversation, and check every law on the way and at its end; at most so many items are expanded."""
    world.before_compose, world.on_compose = test_purity.foresee, Laws(only_sweeps=True)
    play(world, conversation, Budget(window))
    logged = iter(messages(world.session))
    for message in conversation.messages:
        said = contents(message.parts)
        assert any(entry[len(entry) - len(said) :] == said for entry in logged), f"lost, or out of order: {message}"
    test_nothing_lost.check_recallable(world.session, world.sent[-1].payload, most=most)
    assert all(one.good for one in verify(world.session.log))


def messages(session: Session) -> list[list[object]]:
    """What was said, entry by entry. The engine adds results of interrupted calls, and labels of orphaned results."""
    timeline, reader = session.log.timeline, session.log.reader
    rows = [row for row in range(len(timeline)) if not timeline.sub[row] and timeline.kind[row] not in ENGINES]
    return [contents(parts_of(reader.entry(row))) for row in rows]


def contents(parts: Iterable[object]) -> list[object]:
    """The parts, those of results in their place."""
    return [each for part in parts for each in (part.parts if isinstance(part, Result) else [part])]


BEGINNING = 120  # messages of a sample that are played where time is short
ENGINES = (Kind.RECALL, Kind.WINDOW, Kind.SUMMARY)


@pytest.mark.slow(
    "100000-login_bug",
    "100000-long_chat",
    "100000-travel_zh",
    "1500-data_report",
    "1500-login_bug",
    "1500-long_chat",
    "1500-ops_incident",
    "1500-travel_zh",
)
@pytest.mark.parametrize("name", samples.names())
@pytest.mark.parametrize("window", [1_500, pytest.param(4_000, marks=pytest.mark.soak), 100_000])
def test_a_sample_is_lawful(name: str, window: int, soak: bool) -> None:
    """Every payload keeps the laws and goes on alike after resuming; with room for everything nothing changes at all.

    Played once more, with its first user message pinned, that message stays. Of a long sample the beginning is played.
    """
    conversation = sample(name)
    if not soak:
        conversation = conversation._replace(messages=conversation.messages[:BEGINNING])
    with over("jsonl", "o200k_base") as world:
        play_lawfully(world, conversation, window, 40)
        assert window < 100_000 or not any(sent.receipt.reason for sent in world.sent)
        live = world.session.preview(Budget(window)).hash
        world.resume()
        assert world.session.preview(Budget(window)).hash == live
        first = next(item.id for item in world.session.items if item.kind is Kind.USER)
        world.session.items.pin(first)
        world.on_compose = Laws()
        world.apply(Compose(window))
        play(world, conversation._replace(system=""), Budget(window))
        assert any(message.id == first for message in world.sent[-1].payload.body)


@pytest.mark.soak
@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("window", [16_000, 60_000])
def test_a_recorded_conversation_is_lawful(folder: str, window: int) -> None:
    """The same of every recorded conversation, counted with a real vocabulary."""
    for conversation in conversations(folder):
        play_lawfully(World("o200k_base"), conversation, window, 1_000)
