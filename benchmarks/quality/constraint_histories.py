"""Talks at work of about 2,000 tokens in which the user lays down twenty things. Made up, the same every time."""

import re
from dataclasses import dataclass
from typing import Any

from benchmarks.histories import Dice
from benchmarks.quality import constraint_phrases as phrases
from benchmarks.quality.messages import Message, count_messages

LAID = 20  # in one history
TOKENS = 2000  # of a history, about
TALKS = 4  # of a language
_NOT = re.compile(r"\b(?:never|not|no|without|avoid|except|cannot)\b|n['’]t\b|[不别勿禁没无非]")
_LAID = {"en": phrases.LAID_EN, "zh": phrases.LAID_ZH}
_AROUND = {"en": (phrases.OPENERS_EN, phrases.REASONS_EN), "zh": (phrases.OPENERS_ZH, phrases.REASONS_ZH)}
_VALUES = {"en": phrases.VALUES_EN, "zh": phrases.VALUES_ZH}
_ASIDES = {"en": phrases.ASIDES_EN, "zh": phrases.ASIDES_ZH}
_REPLIES = {"en": phrases.REPLIES_EN, "zh": phrases.REPLIES_ZH}


@dataclass(frozen=True, slots=True)
class Laid:
    """Something that the user laid down, and what must be read of it: of each key one of its spellings."""

    text: str
    keys: tuple[tuple[str, ...], ...]

    def readable(self, shown: str) -> bool:
        """Return whether one line shows all of it that matters."""
        return any(all(_stands(key, line) for key in self.keys) for line in shown.lower().splitlines())


@dataclass(frozen=True, slots=True)
class Talk:
    """A history, what was laid down in it, and the message that comes now."""

    id: str
    messages: list[Message]
    laid: list[Laid]
    query: str


def talks(language: str) -> list[Talk]:
    """Return the histories of a language."""
    return [_talk(language, seed) for seed in range(1, TALKS + 1)]


def _talk(language: str, seed: int) -> Talk:
    dice, left, laid = Dice(seed), list(_LAID[language]), list[Laid]()
    messages: list[Message] = [{"role": "system", "content": phrases.SYSTEM[language]}]
    while len(laid) < LAID or count_messages(messages) < TOKENS:
        said = [dice.pick(_ASIDES[language]).format(**_values(dice, language))]
        due, room = LAID - len(laid), TOKENS - count_messages(messages)
        if due and dice.below(max(1, room)) < due * TOKENS // LAID:  # spread over what is left of the history
            laid.append(_laid(dice, language, left.pop(dice.below(len(left)))))
            said = [[laid[-1].text], [laid[-1].text, *said], [*said, laid[-1].text]][dice.below(3)]
        messages.append({"role": "user", "content": (" " if language == "en" else "").join(said)})
        reply = dice.pick(_REPLIES[language]).format(**_values(dice, language))
        messages.append({"role": "assistant", "content": reply})
    return Talk(f"{language}{seed}", messages, laid, phrases.GO_ON[language])


def _laid(dice: Dice, language: str, template: str) -> Laid:
    sentence, _, keys = template.format(**_values(dice, language)).partition(" // ")
    opener, reason = map(dice.pick, _AROUND[language])
    text = f"{opener}{sentence[:-1]}{reason}{sentence[-1]}"
    return Laid(text, tuple(tuple(key.split("|")) for key in keys.split("; ")))


def _values(dice: Dice, language: str) -> dict[str, Any]:
    """Return a value for every name that a template may use. Numbers are large, so that no two are likely to meet."""
    picked: dict[str, Any] = {name: dice.pick(options) for name, options in _VALUES[language].items()}
    number, area = 100 + dice.below(9800), dice.pick(phrases.VALUES_EN["area"])
    host = f"10.{dice.below(200)}.{dice.below(200)}.{10 + dice.below(200)}"
    picked |= {"n": number, "digit": 2 + dice.below(7), "hour": 8 + dice.below(10), "host": host}
    picked |= {"path": f"src/{area}/v{number}.py", "folder": f"tests/{area}_{number}"}
    return picked | {"code": f"{area[:2].upper()}-{10000 + number}"}


def _stands(key: tuple[str, ...], line: str) -> bool:
    return bool(_NOT.search(line)) if key == ("NOT",) else any(each.lower() in line for each in key)
