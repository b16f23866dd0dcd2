"""Checks what callers pass in and brings it into our own form, so that everything written can be read back."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any, TypeVar

import msgspec

from sightline import wire
from sightline.apps.shared_windows import SharedLogs
from sightline.apps.window import FORMS
from sightline.compose.render import layout
from sightline.errors import BadInput
from sightline.log import entries
from sightline.plan.strategies import pipe, strategy
from sightline.plan.strategy import Planner, is_planner
from sightline.plan.view import Budget
from sightline.shorten.sample import encodable
from sightline.values.cautious import Cautious
from sightline.values.decoders import convert, decode_json
from sightline.values.foreign_code import described
from sightline.values.items import Call, Message, Part, Result, Role, Text, ToolDefinition
from sightline.values.phrases import check_locale
from sightline.values.profiles import profile
from sightline.values.settings import REDUCTIONS, Settings
from sightline.values.tokens import Estimate, Exact, TokenCounter, check_encoding
from sightline.wire.common import bad_input, describe, text_part

Content = str | bytes | Sequence[Any]
T = TypeVar("T")

_OWN_ANNOTATIONS = frozenset((
    entries.BOUNDARY, entries.HEAD_MOVED, entries.HISTORY, entries.IMPORT, entries.LAID_DOWN, entries.LOSS, entries.PIN,
    entries.RECEIPT, entries.RENDITION, entries.SETTINGS, entries.SOURCE, entries.STATE, entries.TOOLS,
    entries.UNCOMPACT, entries.WINDOW,
))  # fmt: skip
_ALIEN = frozenset((Call, Result))  # parts that a message may not have
_ALIEN_TO_ASSISTANTS = frozenset((Result,))


def check_message(message: Message) -> Message:
    """Return the message as it will be read back from the log. Raises BadInput if it cannot be."""
    read = message if _is_text(message) else _read_back(message)
    kinds = [type(part) for part in read.parts]
    alien = _ALIEN_TO_ASSISTANTS if read.role is Role.ASSISTANT else _ALIEN
    if kinds != [Result] if read.role is Role.TOOL else not alien.isdisjoint(kinds):
        raise BadInput(
            f"parts that a {read.role} message may not have; a tool's is one result, calls are an assistant's"
        )
    return read


def _is_text(message: Message) -> bool:
    """Whether a message has nothing but valid text: that is read back as it is, and needs no copy."""
    if type(message) is not Message or type(message.role) is not Role or message.usage is not None:
        return False
    parts, named = message.parts, [message.id, message.model, message.when]
    if type(parts) is tuple and len(parts) == 1 and type(parts[0]) is Result:
        named += (parts[0].id, parts[0].error, parts[0].name)
        parts = parts[0].parts
    if type(parts) is not tuple or message.merge_into_previous is not False:
        return False
    texts = [part.text for part in parts if type(part) is Text]
    return len(texts) == len(parts) and all(map(_is_valid, (*named, *texts)))


def _is_valid(text: object) -> bool:
    return type(text) is str and (text.isascii() or encodable(text) == text)


def _read_back(message: Message) -> Message:
    try:
        return decode_json(msgspec.json.encode(message), Message)
    except (TypeError, ValueError, RecursionError, msgspec.ValidationError) as error:
        raise BadInput(
            f"a message that cannot be kept: {error}; ids and names are valid text, parts Sightline's"
        ) from error


def read_with(reader: Callable[[Any], T], value: Any) -> T:
    """Return what a reader of `wire` makes of the input. Raises BadInput, also for input that is nested too deeply."""
    try:
        return reader(value)
    except RecursionError as error:
        raise BadInput("nested too deeply to be a message; hand in the text that it holds") from error


def read_list(messages: Sequence[Any]) -> list[Message]:
    """Return a list of messages of any form as neutral ones. Raises BadInput."""
    if isinstance(messages, list | tuple) and messages and all(isinstance(message, Message) for message in messages):
        return list(messages)
    return read_with(wire.read_messages, messages)


def read_tools(definitions: Sequence[Any], own: Iterable[ToolDefinition]) -> tuple[tuple[ToolDefinition, ...], str]:
    """Return tools of any form, with those of our `own` whose names are not taken, and their JSON. Raises BadInput."""
    read = read_with(wire.read_tools, definitions)
    taken = tool_names(read)
    read += tuple(tool for tool in own if tool.name not in taken)
    try:
        return read, msgspec.json.encode(read).decode()
    except UnicodeEncodeError as error:
        raise BadInput(f"a tool's name and description are valid text: {error}") from error


def read_content(content: Content, role: str = "user") -> tuple[Part, ...]:
    """Return content of any form as parts. Raises BadInput."""
    if isinstance(content, str | bytes):
        return (text_part(content),)
    if isinstance(content, list | tuple) and all(isinstance(part, Part) for part in content):
        return check_message(Message(Role(role), tuple(content))).parts
    is_list = isinstance(content, Iterable) and not isinstance(content, Mapping)
    if not is_list and (content is not None or role != "assistant"):  # calls alone have no content
        raise bad_input("content", describe(content), "text, bytes, or a list of parts or content blocks")
    read = read_with(wire.read_messages, [{"role": role, "content": content}])
    return tuple(part for message in read for part in check_message(message).parts)


def read_output(output: Any) -> tuple[Part, ...]:
    """Return a tool's output as parts: its content blocks, or any other value as JSON. Raises BadInput."""
    if isinstance(output, str | bytes):
        return (text_part(output),)
    if (
        isinstance(output, list | tuple)
        and output
        and all(isinstance(block, Part) or wire.is_block(block) for block in output)
    ):
        return read_content(output)
    try:
        return (Text(msgspec.json.encode(output).decode()),)
    except UnicodeEncodeError:  # file names that are no Unicode: kept byte for byte
        import json  # nothing else needs it

        return (text_part(json.dumps(msgspec.to_builtins(output), ensure_ascii=False, separators=(",", ":"))),)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"a tool's output must be text, bytes, content parts or JSON values: {error}") from error


def check_settings(settings: Settings) -> Settings:
    """Return the settings. Raises BadInput, which lists the choices, if one names something that does not exist."""
    if not isinstance(settings, Settings):
        raise BadInput(f"settings are a sightline.Settings(locale=…, profile=…), not {settings!r}")
    try:
        settings = convert(msgspec.to_builtins(settings), Settings)
    except (TypeError, msgspec.ValidationError) as error:
        raise BadInput(f"settings of the wrong type: {error}; see sightline.Settings") from error
    check_locale(settings.locale)
    check_encoding(settings.encoding)
    layout(settings.layout)
    profile(settings.profile)
    if settings.windows not in FORMS:
        raise BadInput(f"unknown form of windows {settings.windows!r}; choose one of {', '.join(FORMS)}")
    if unknown := [name for name in settings.reductions if name not in REDUCTIONS]:
        raise BadInput(f"unknown reduction {unknown[0]!r}; choose among {', '.join(REDUCTIONS)}")
    strategy(settings.strategy, settings.config)
    return settings


def check_state(state: Any) -> dict[str, Any]:
    """Return the state. Raises BadInput if it is no JSON object."""
    try:
        read = msgspec.json.decode(msgspec.json.encode(state))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"a strategy's state is a JSON object: {error}") from error
    if not isinstance(read, dict):
        raise BadInput(f"a strategy's state is a JSON object, not {state!r}")
    return read


def check_budget(budget: Budget) -> Budget:
    """Return the budget. Raises BadInput for anything else."""
    if not isinstance(budget, Budget):
        raise BadInput(f"a budget is a Budget(window=128_000, output=8_000), not {budget!r}")
    return budget


def check_model(model: Any, seconds: Any) -> None:
    """Raise BadInput for a model that cannot be called to make a summary."""
    if not callable(model) or iscoroutinefunction(model):
        raise BadInput(
            "a model is a plain function that takes a payload, sends payload.openai() or .anthropic(), and gives "
            f"the answer; {model!r} is none. An async client can be called with asyncio.run inside one"
        )
    if not isinstance(seconds, int | float) or not seconds > 0:
        raise BadInput(f"seconds are a number above 0, not {seconds!r}")


def check_strategy(strategy: Any) -> Planner | None:
    """Return the strategy of a list of stages, and other strategies as they are. Raises BadInput for what is none."""
    if strategy is None:
        return None
    if isinstance(strategy, list | tuple):
        return pipe(strategy)
    if isinstance(strategy, str):
        raise BadInput("a strategy's name goes into settings=Settings(strategy=…); strategy= takes a strategy itself")
    if not is_planner(strategy):
        raise BadInput(f"a strategy is an object with a name and plan(view), not {strategy!r}")
    planner: Planner = strategy
    return planner


class CheckedCounter:
    """A token counter of the program, whose counts are checked where they come in."""

    def __init__(self, counter: TokenCounter) -> None:
        self.name, self._count = counter.name, counter.count

    def count(self, text: str) -> int:
        """Count the tokens of a text. Raises BadInput that names the counter if it cannot, or gives no count."""
        try:
            tokens = self._count(text)
        except Exception as error:
            raise BadInput(f"token counter {self.name!r} raised {described(error)}; a count never raises") from error
        if type(tokens) is not int or tokens < 0:
            raise BadInput(
                f"token counter {self.name!r} gave {tokens!r}; a count is a whole number that is not negative"
            )
        return tokens


def check_counter(counter: Any) -> TokenCounter | None:
    """Return the counter of a program with its counts checked; ours as it is. Raises BadInput if it is none."""
    if counter is None or isinstance(counter, Exact | Estimate | Cautious | CheckedCounter):
        return counter
    if isinstance(counter, type) or not isinstance(counter, TokenCounter) or not callable(counter.count):
        raise BadInput(f"a token counter is an object with a name and count(text), not {counter!r}")
    return CheckedCounter(counter)


def tool_names(tools: Sequence[ToolDefinition]) -> set[str]:
    """Return the names of tools. Raises BadInput for a name that is there twice, because a provider would refuse it."""
    names = [tool.name for tool in tools if tool.name]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BadInput(f"two tools have the name {', '.join(map(repr, twice))}; give each its own")
    return set(names)


def check_range(start: Any, lines: Any, grep: Any) -> None:
    """Raise BadInput for a range of lines that makes no sense."""
    if not isinstance(start, int) or not isinstance(lines, int | None) or not isinstance(grep, str | None):
        raise BadInput(f"expand takes whole numbers for start and lines and text for grep; got {(start, lines, grep)}")
    if start < 1 or (lines is not None and lines < 1):
        raise BadInput(
            f"expand takes start and lines from 1 on, lines=None for as many as fit; got start={start}, lines={lines}"
        )


def check_query(query: Any) -> str:
    """Return the query, as valid Unicode. Raises BadInput if it is no text."""
    if not isinstance(query, str):
        raise BadInput(f"what to look for is text, not {query!r}")
    return encodable(query)


def check_annotation(name: str, value: Any) -> None:
    """Raises BadInput for an annotation that a program may not write: one that Sightline reads, or no JSON value."""
    if not isinstance(name, str) or name in _OWN_ANNOTATIONS:
        raise BadInput(f"{name!r} cannot name a program's annotation: Sightline itself writes such entries")
    try:
        msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"an annotation's value is JSON: {error}") from error


def check_shared(shared: SharedLogs | None) -> SharedLogs | None:
    """Return handles of its own to the logs of shared windows. Raises BadInput for names: these logs need a place."""
    if shared is not None and not isinstance(shared, SharedLogs):
        raise BadInput("shared windows need a place for their logs: Session.open, new and resume have one")
    return shared and shared.reopened()
