"""What the proxy sends is what the library composes of the same conversation."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from through_proxy import LISTS, TOOLS, Talk, Through, page
from upstream_script import answer, call

from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.values.profiles import profile
from sightline.values.settings import Settings

WINDOW, ANSWER = 5000, 500
FORMATS = {"anthropic": "anthropic", "chat": "openai", "responses": "responses"}
PROVIDERS = {"anthropic": "anthropic", "chat": "openai", "responses": "openai"}


class Library(Talk):
    """An agent that also keeps its conversation with the library itself."""

    def __init__(self, through: Through, wire: str, folder: Path) -> None:
        limit = {"chat": "max_completion_tokens", "responses": "max_output_tokens", "anthropic": "max_tokens"}[wire]
        super().__init__(through, wire, **{limit: ANSWER})
        settings = Settings(profile=PROVIDERS[wire], config={"economy": "off"})
        self.session = Session.new(folder, root=folder, settings=settings)
        self.known, self.composed = 0, []  # type: ignore[var-annotated]

    def ask(self, **changed: Any) -> dict[str, Any]:
        """Send the list, and compose the same beside it. The payload is noted from the first sweep on."""
        self.session.extend(self.list[self.known :], in_place=True)
        begins = self.session.receipt is None
        self.session.tools([TOOLS[self.wire]], recall=not begins)
        full = self.session.items.tokens()
        margin = profile(PROVIDERS[self.wire]).margin
        # A proxy that was told a window keeps the margin when it knows how the provider counts; composing does not.
        is_counted = self.session.receipt is not None and self.session.receipt.factor != 1
        budget = Budget(int(WINDOW / (1 + margin)) if is_counted else WINDOW, ANSWER)
        limit = budget.limit(margin=margin)
        if not begins or full > budget.trigger * limit:
            self.session.tools([TOOLS[self.wire]])
            payload = self.session.compose(budget)
            self.composed.append(msgspec.json.decode(payload.messages_json(FORMATS[self.wire], breakpoints=4)))
        reply = super().ask(**changed)
        self.session.reply(reply, extra_tokens=0 if self.composed else None)
        self.known = len(self.list)
        return reply


@pytest.mark.slow
@pytest.mark.parametrize("wire", FORMATS)
def test_the_payloads_are_the_librarys(wire: str, tmp_path: Path) -> None:
    """Over several sweeps, message by message, cache breakpoints included."""
    files = [f"part_{number}.py" for number in range(14)]

    def respond(_asked: Any) -> Any:
        return answer(call("read", {"path": files.pop()})) if files else answer("Done.")

    with Through(tmp_path / "proxy", respond, window=WINDOW) as through:
        agent = Library(through, wire, tmp_path / "library")
        agent.read = lambda path: page(path, 40)
        agent.say("Read every part, and keep the valves closed.")
        sent = [asked.body[LISTS[wire]] for asked in through.upstream.calls]
        assert through.upstream.invalid == []
        assert through.totals.sweeps >= 2
    assert len(agent.composed) > 5
    for ours, librarys in zip(sent[-len(agent.composed) :], agent.composed, strict=True):
        assert without_ids(ours) == without_ids(librarys)


def without_ids(listed: list[Any]) -> list[Any]:
    """The messages without the ids of items, because the proxy's log has notes between them."""
    return list(json.loads(re.sub(r"#\d+", "#", json.dumps(listed))))
