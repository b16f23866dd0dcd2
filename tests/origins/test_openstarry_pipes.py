"""OpenStarry's managers over a pipe of strategies, as a `plugin.json` may ask for."""

import asyncio
from typing import Any

import pytest

from sightline import BadInput
from sightline.origins.openstarry import (
    EntityExtractionContextManager,
    StrategyContextManager,
    SummarizationContextManager,
    create_context_manager,
)

SUMMARY = {
    "type": "plugin",
    "pluginId": "std-summarization-strategy",
    "config": {"compressionModel": "small", "threshold": 3, "batch": 2},
}
ENTITIES = {
    "type": "plugin",
    "pluginId": "std-entity-extraction-strategy",
    "config": {"schema": {"destination": "string"}},
    "taskGoal": "Book a flight.",
}


def plugin(*stages: Any) -> dict[str, Any]:
    return {"id": "agent", "contextStrategy": [*stages]}


def test_a_summary_is_a_stage_among_others() -> None:
    """The light model of its configuration writes it, and the next payload has it."""
    named: list[str] = []

    def model(name: str, messages: list[dict[str, Any]]) -> str:
        named.append(name)
        return f"a summary of {len(messages)} messages"

    async def main() -> list[dict[str, Any]]:
        manager = create_context_manager(plugin("rounds", SUMMARY, "std-sliding-window-strategy"), model=model)
        assert isinstance(manager, SummarizationContextManager)
        assert manager.strategy.name == "rounds → summary → sliding"
        history: list[dict[str, Any]] = []
        for turn in range(5):
            history += [
                {"role": "user", "content": f"question {turn} " + "of many words " * 20},
                {"role": "assistant", "content": f"answer {turn}"},
            ]
        await manager.compose_payload("You help.", history, [])
        await manager.on_turn_complete(history)
        await asyncio.to_thread(manager.session.summaries.wait)
        return (await manager.compose_payload("You help.", history, [])).messages

    messages = asyncio.run(main())
    assert named == ["small"]
    assert "a summary of" in str(messages)
    assert "question 0" not in str(messages)


def test_a_state_is_a_stage_among_others() -> None:
    """It is kept under the stage's name, and shown although the dialogue is not sent."""

    def extract(schema: Any, state: Any, text: str) -> dict[str, str]:
        return {"destination": "Oslo"} if "Oslo" in text else {}

    async def main() -> list[dict[str, Any]]:
        manager = create_context_manager(plugin("rounds", ENTITIES, "sliding"), extractor=extract)
        assert isinstance(manager, EntityExtractionContextManager)
        assert manager.task_goal == "Book a flight."
        history = [{"role": "user", "content": "To Oslo, please."}, {"role": "assistant", "content": "When?"}]
        history.append({"role": "user", "content": "tomorrow"})
        messages = (await manager.compose_payload("You book.", history, [])).messages
        assert manager.state == {"destination": "Oslo"}
        assert manager.session.state == {"entities": {"destination": "Oslo"}}
        return messages

    messages = asyncio.run(main())
    assert '{"destination":"Oslo"}' in str(messages)
    assert "When?" not in str(messages)


@pytest.mark.accepts(282)
def test_state_and_summary_contradict_each_other() -> None:
    """The dialogue that a summary would be of is not sent."""
    with pytest.raises(BadInput, match=r"contextStrategy: summary → entities: .* entities sends no dialogue"):
        create_context_manager(plugin(SUMMARY, ENTITIES), extractor=lambda *_: {})


def test_stages_without_a_hook_need_no_manager_of_their_own() -> None:
    """The general one has them."""
    manager = create_context_manager(plugin("rounds", "sliding"))
    assert type(manager) is StrategyContextManager
    assert manager.strategy.name == "rounds → sliding"
