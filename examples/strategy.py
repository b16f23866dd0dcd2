"""A strategy of your own: the newest messages, swept rarely.

A strategy turns a view into a plan. The view has numbers only: units (a message, or a call with its results), their
kinds and sizes. `Plan.extended` adds what is new and changes nothing, which a provider's cache rewards; `Plan.swept`
makes a new list. Both check that the plan fits the budget and shows the question, so a strategy cannot break that.

    session = sl.Session.open(strategy=Recent(keep=20))

To offer it by name, add to the pyproject.toml of your package, and choose it with `Settings(strategy="recent")`:

    [project.entry-points."sightline.strategies"]
    recent = "your_package:Recent"

Run this file to see it work.
"""

from dataclasses import dataclass

import sightline as sl
from sightline.plan.strategy import Hooks
from sightline.testing import check_strategy


@dataclass(frozen=True)
class Recent(Hooks):
    """Shows the newest units, and lets them grow to twice that number before it leaves the older ones out."""

    name = "recent"
    keep: int = 20

    def plan(self, view: sl.View) -> sl.Plan:
        """Extend the last plan while it fits and is not too long; else sweep. Pure: it looks at the view only."""
        shown = len(view.last) if view.last is not None else 0
        is_short = shown + len(view.new) <= 2 * self.keep
        if not view.command and is_short and view.tokens_with_new() <= view.limit:
            return sl.Plan.extended(view, {}, {})
        must = view.required()
        units = [unit for unit in view.candidates() if unit not in must]
        room = view.body_limit - view.full_tokens(sorted(must)) - 200  # for constraints of the user that are quoted
        chosen = set(must)
        for unit in reversed(units[-self.keep :]):
            room -= view.full_tokens([unit])
            if room < 0:
                break
            chosen.add(unit)
        return sl.Plan.swept(view, sorted(chosen), {}, {}, reason=view.command or "sweep: recent")


def main() -> None:
    """Talk for a while in a small window, and print what is left of it."""
    check_strategy(Recent(keep=6))  # the laws, on generated conversations
    session = sl.Session(sl.MemoryStore("example"), strategy=Recent(keep=6))
    for n in range(20):
        session.user(f"Question {n}?")
        payload = session.compose(sl.Budget(window=2_000, output=200, recall=0))  # only what the strategy shows
        session.reply(f"Answer {n}.")
    print(len(payload.body), "messages of", len(session.items), "were sent;", payload.tokens, "tokens")


if __name__ == "__main__":
    main()
