"""`fit`: the messages of one call, made to fit its window. There is no session before or after it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sightline import wire
from sightline.errors import BadInput
from sightline.log.stores.memory import MemoryStore
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.values.items import FULL, Call, Kind, Lod, Message
from sightline.values.profiles import PROFILES
from sightline.values.settings import Settings
from sightline.wire import langchain, registry
from sightline.wire.wire import Wire

_ROOM = 0.98  # of what the window leaves: no later call is to fit beside it


class Fitted(list[Any]):
    """The messages to send, in the form in which they came.

    tokens: what they take, with the tools. shortened, left_out: the messages of which the model sees a part, and
    nothing, as they came, by their index.
    """

    def __init__(
        self, messages: Sequence[Any], tokens: int, shortened: dict[int, Any], left_out: dict[int, Any]
    ) -> None:
        super().__init__(messages)
        self.tokens, self.shortened, self.left_out = tokens, shortened, left_out


def fit(
    messages: Iterable[Any], window: int, tools: Sequence[Any] = (), *, output: int = 0, provider: str = ""
) -> Fitted:
    """Return messages that fit a window of so many tokens: all as they are, or what matters least of them shortened.

    The `tools` and an answer of `output` tokens take their part of the window. `provider` is the form of the messages
    ("openai", "responses", "anthropic", "gemini") where they do not tell it. A loop that calls a model many times
    wants a `Session`: it keeps the prefix that the provider has cached.

    Raises:
        BadInput: a message or tool that cannot be read, by its index.
        PinnedOverflow: the system prompt and the tools leave no room for messages.
    """
    is_list = isinstance(messages, Iterable) and not isinstance(messages, str | bytes | Mapping)
    listed: Any = [*messages] if is_list else messages  # what is none is refused below
    if is_list and any(map(langchain.is_object, listed)):
        raise BadInput("LangChain's messages are fitted by the middleware in sightline.adapters.langchain")
    form = registry.wire(provider or wire.form_of(listed))
    profile = form.NAME if form.NAME in PROFILES else "openai"
    session = Session(MemoryStore("fit"), settings=Settings(profile=profile))
    whole = wire.read_messages(listed, form)
    ids = session.extend(whole)
    if tools:
        session.tools(tools, recall=False)
    payload = session.compose(Budget(window, output=output, trigger=_ROOM, target=_ROOM))
    kinds, id_of = session.log.timeline.kind, session.log.timeline.id
    levels: dict[str, Lod] = {id_of(row): FULL for row, kind in enumerate(kinds) if kind == Kind.SYSTEM}
    levels |= {line.id: line.lod for line in payload.plan.lines()}
    shortened, left_out = dict[int, Any](), dict[int, Any]()
    is_each = form is registry.wire(wire.USUAL)  # in OpenAI chat each is one; elsewhere some are several, or join
    read = [[message] for message in whole] if is_each else [wire.read_messages([each], form) for each in listed]
    for at, items in enumerate(_items_of(listed, form, ids, read)):
        own = [levels.get(item) for item in items]
        if not any(lod is not None for lod in own):
            left_out[at] = listed[at]
        elif any(lod is not FULL for lod in own):
            shortened[at] = listed[at]
    is_whole = not shortened and not left_out
    return Fitted(listed if is_whole else payload.write(form)[form.LIST], payload.tokens, shortened, left_out)


def _items_of(
    messages: Sequence[Any], form: Wire, ids: Sequence[str], read: Sequence[list[Message]]
) -> Iterator[list[str]]:
    """Yield the items of each message. `ids`: of all that was read; calls are 12.1 and 12.2 of message 12.

    `read`: each message by itself. In the form of responses one is read of several: what a model said, and its calls.
    """
    joins, at, calls = len(ids) < sum(map(len, read)), -1, 0
    for number, own in enumerate(read):
        pair = messages[number - 1 : number + 1] if joins and number else []
        goes_on = bool(pair) and len(wire.read_messages(pair, form)) < len(read[number - 1]) + len(own)
        items: list[str] = []
        for message in own:
            if not goes_on:
                at, calls = at + 1, 0
            called = sum(isinstance(part, Call) for part in message.parts)
            items += [ids[at]] * (called < max(1, len(message.parts)))
            items += (f"{ids[at]}.{calls + each + 1}" for each in range(called))
            calls += called
        yield items
