"""Results of calls that an agent sends as text in the user's role: they lay nothing down, whatever they say.

Agents whose calls are text send what a call gave back as a message of the user. Such a text is known by how it begins,
and by a call of that form in what the assistant said before, or in the instructions of the agent. Without that call the
same words are a person's, who may paste them. Nothing inside a result ends it, because its content could say that too:
it reaches to the end of its part, or behind the last tag that closes it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from sightline.providers.agents import ASKS, RESULTS
from sightline.values.items import Blob, Call, Part, Text, plain_text
from sightline.values.pattern import pattern

_RESULT = pattern(rf"\s*(?:{RESULTS})", re.DOTALL)
# What models were trained to read, in whatever agent.
_ELEMENT = pattern(r"\s*<(tool_response|tool_result|tool_output|function_response|function_results?|observation)>")
_SPOKEN = pattern(r"\s*Observation(?: \d{1,4})?:")  # a person may begin so too: only an action before it makes it one

_CALL = pattern(
    r"<tool_call|<function|<invoke\b|<execute_|<command>|^\W{0,4}(?:Action\b[^\n]{0,40}|Calling tools):", re.MULTILINE
)
_COMMAND = pattern(r"```\s*\Z")  # what is said ends with a block: SWE-agent and others run it


class Words(NamedTuple):
    """What a user's message says, divided by who says it."""

    own: str  # the person
    results: str  # calls


def divided_words(parts: Iterable[Part], said_before: Callable[[], Iterable[str]]) -> Words:
    """Divide the text of a user's message into the person's words and the results of calls.

    `said_before` gives what the assistant said before it, then the agent's instructions. It is called only for a
    message that begins as results do.
    """
    own, results, is_announced = list[str](), list[str](), False
    sources: Sequence[str] | None = None
    for text in (plain_text((part,)) for part in parts if isinstance(part, Text | Blob)):
        if is_announced:
            is_announced = False
            results.append(text)
        elif _begins_as_result(text):
            sources = tuple(said_before()) if sources is None else sources
            rest = _without_result(text, sources)
            form = _RESULT.match(text)
            is_announced = rest != text and form is not None and not text[form.end() :].strip()
            results += [text[: len(text) - len(rest)]] if rest != text else []
            own += [rest] if rest else []
        else:
            own.append(text)
    return Words("\n".join(own), "\n".join(results))


def own_words(parts: Iterable[Part], said_before: Callable[[], Iterable[str]]) -> str:
    """Return the person's words in a user's message: see `divided_words`."""
    return divided_words(parts, said_before).own


def said_text(parts: Iterable[Part]) -> str:
    """Return what an assistant said, with its calls in the form in which agents write them."""
    return "\n".join(f"<function={part.name}>\n<{part.name}>" if isinstance(part, Call) else plain_text((part,))
                     for part in parts)  # fmt: skip


def _begins_as_result(text: str) -> bool:
    return any(form.match(text) for form in (_RESULT, _ELEMENT, _SPOKEN))


def _without_result(text: str, sources: Sequence[str]) -> str:
    """Return what stands after the result with which a text begins; the text itself if no call was made for it."""
    form = _RESULT.match(text)
    if form is not None and (name := form["call"]):
        is_call = any(f"<{name}>" in source or f"<{name} " in source for source in sources)
        return "" if is_call and name not in ASKS else text
    is_call = any(map(_CALL.search, sources))
    if not is_call and not _SPOKEN.match(text):
        is_call = any(map(_COMMAND.search, sources[:1]))
    if not is_call:
        return text
    if element := _ELEMENT.match(text):
        return text.rpartition(f"</{element[1]}>")[2] if f"</{element[1]}>" in text else ""
    return ""
