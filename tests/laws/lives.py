"""Lives of sessions that are compacted now and then: drawn from a seed, long and dense enough that things happen.

Hypothesis likes short lists; a compaction needs a conversation. So a seed is drawn, and the life made from it.
"""

from collections.abc import Callable
from random import Random

from histories import (
    HOSTILE,
    MODELS,
    WORDS,
    Act,
    Again,
    Answer,
    Ask,
    Compact,
    Compose,
    Configure,
    Do,
    Late,
    Mark,
    Operation,
    Orphan,
    Recall,
    Replace,
    Say,
    Switch,
    Uncompact,
    Wait,
    Window,
    large,
)  # fmt: skip
from hypothesis import strategies as st

from sightline.compose.render import LAYOUTS
from sightline.values.items import Call, Role

RULES = (
    "Never push to the main branch.",
    "Always run the linter before you commit.",
    "You must not change quay_7.py.",
    "不要修改 config 目录下的文件。",
    "所有接口必须返回 JSON。",
    "Later, please also update the changelog.",
)
_KINDS = ("prose", "log", "code", "path", "chinese", "json array", "one line")


class _Life:
    """Draws one life."""

    def __init__(self, seed: int, plain: bool) -> None:
        self.random, self.plain = Random(seed), plain
        self.window = self.random.choice([300, 600, 1_000, 2_000, 6_000])
        self.calls = 0

    def operations(self) -> list[Operation]:
        """Some turns, and whatever else happens between them."""
        life: list[Operation] = [Say(Role.SYSTEM, "be brief"), *self.turn(), *self.turn()]
        for _ in range(self.random.randint(3, 14)):
            life += self.random.choice(self._plain if self.plain else self._all)(self)
        return [*life, Compose(self.window)]

    def text(self) -> str:
        """Something short, a rule, something hostile, something long."""
        roll = self.random.random()
        if roll < 0.25:
            return f"{self.random.choice(WORDS)} {self.random.choice(RULES)}"
        if roll < 0.35:
            return self.random.choice(HOSTILE)
        if roll < 0.55:
            return " ".join(self.random.choices(WORDS, k=self.random.randint(1, 12)))
        return large(self.random.choice(_KINDS), self.random.choice([300, 900, 2_500, self.window * 3]))

    def turn(self) -> list[Operation]:
        """A question, tools and their answers, an answer, with calls of the model between."""
        turn: list[Operation] = [Say(Role.USER, self.text()), Compose(self.window)]
        for _ in range(self.random.randint(0, 3)):
            calls = tuple(self._call() for _ in range(self.random.randint(1, 3)))
            answers = [Answer(0, self.text(), self.random.random() < 0.1) for _ in calls]
            turn += [Ask(self.random.choice(["", "let me look"]), calls), *answers, Compose(self.window)]
        return [*turn, Say(Role.ASSISTANT, self.text())]

    def _call(self) -> Call:
        self.calls += 1
        name, value = self.random.choice([("read_file", "path"), ("bash", "command"), ("search", "query")])
        return Call(f"c{self.calls}", name, {value: self.random.choice(["a.py", "b.py", "make test", self.text()])})

    def compact(self) -> list[Operation]:
        return [Compact(self.random.choice(["rule", "rule", "good", "good", *MODELS]))]

    def behind(self) -> list[Operation]:
        return [Compact(self.random.choice(["good", "good", "good", *MODELS]), background=True)]

    def uncompact(self) -> list[Operation]:
        return [Uncompact(self.random.choice([None, None, self._which()]))]

    def compose(self) -> list[Operation]:
        return [Compose(self.random.choice([self.window, self.window, self.window * 2]), self.random.random() < 0.2)]

    def again(self) -> list[Operation]:
        return [Again(self._which()), Compose(self.window)]

    def aside(self) -> list[Operation]:
        """What anybody may do at any time."""
        which = self._which()
        choices: list[Operation] = [
            Late(which, self.text()), Orphan("lost", self.text()), Do("interrupt"), Do("settle"), Do("resume"),
            Do("resume"), Do("overflowed"), Do("tools"), Recall("order 4711"), Window("w1"), Window("w1", closed=True),
            Act(self.random.choice(["open", "add", "add", "delete", "close", "say"]), which, self.text()[:200]),
            Act(self.random.choice(["open", "add", "lower"]), which, self.text()[:200]),
            Wait(4_000), Mark("fork", which), Switch(which), Ask("", (self._call(), self._call())),
        ]  # fmt: skip
        return [self.random.choice(choices)]

    def command(self) -> list[Operation]:
        """What callers do: the prefix may change for it."""
        marks = ["pin", "unpin", "collapse", "expand", "expand now"]
        choices: list[Operation] = [
            Mark(self.random.choice(marks), self._which()), Mark(self.random.choice(marks), self._which()),
            Replace(f"be {self.random.choice(WORDS)}"), Configure("locale", self.random.choice(["en", "zh"])),
            Configure("strategy", self.random.choice(["focus", "sliding", "rounds"])),
            Configure("layout", self.random.choice(sorted(LAYOUTS))),
        ]  # fmt: skip
        return [self.random.choice(choices)]

    def _which(self) -> int:
        return self.random.randint(0, 60)

    _Draw = Callable[["_Life"], list[Operation]]
    _plain: tuple[_Draw, ...] = (turn, turn, turn, behind, behind, compose, again, aside)
    _all: tuple[_Draw, ...] = (*_plain, compact, compact, compact, uncompact, uncompact, compose, command)


class Life(list[Operation]):
    """Operations that are told by their seed."""

    def __init__(self, seed: int, *, plain: bool = False) -> None:
        super().__init__(_Life(seed, plain).operations())
        self._seed, self._plain = seed, plain

    def __repr__(self) -> str:
        return f"Life({self._seed}, plain={self._plain})"


_seeds = st.integers(0, 2**32)
lives = _seeds.map(Life)
plain_lives = _seeds.map(lambda seed: Life(seed, plain=True))
"""What an agent does by itself: no commands of a caller, no settings; summaries are made in the background."""
