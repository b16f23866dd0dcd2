"""`fit`: the messages of one call, made to fit its window. There is no session before or after it."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from sightline import wire
from sightline.errors import BadInput
from sightline.log.stores.memory import MemoryStore
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.values.items import FULL, Kind, Lod
from sightline.values.profiles import PROFILES
from sightline.values.settings import Settings
from sightline.wire import langchain, registry

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
    messages: Sequence[Any], window: int, tools: Sequence[Any] = (), *, output: int = 0, provider: str = ""
) -> Fitted:
    """Return messages that fit a window of so many tokens: all as they are, or what matters least of them shortened.

    The `tools` and an answer of `output` tokens take their part of the window. `provider` is the form of the messages
    ("openai", "responses", "anthropic", "gemini") where they do not tell it. A loop that calls a model many times
    wants a `Session`: it keeps the prefix that the provider has cached.

    Raises:
        BadInput: a message or tool that cannot be read, by its index.
        PinnedOverflow: the system prompt and the tools leave no room for messages.
    """
    if isinstance(messages, Sequence) and any(map(langchain.is_object, messages)):
        raise BadInput("LangChain's messages are fitted by the middleware in sightline.adapters.langchain")
    form = registry.wire(provider or wire.form_of(messages))
    profile = form.NAME if form.NAME in PROFILES else "openai"
    session = Session(MemoryStore("fit"), settings=Settings(profile=profile))
    items = iter(session.extend(wire.read_messages(messages, form)))
    if tools:
        session.tools(tools, recall=False)
    payload = session.compose(Budget(window, output=output, trigger=_ROOM, target=_ROOM))
    levels: dict[str, Lod] = {item.id: FULL for item in session.items if item.kind is Kind.SYSTEM}
    for line in payload.plan.lines():  # the calls of message 12 are 12.1 and 12.2
        item = line.id.partition(".")[0]
        levels[item] = min(line.lod, levels.get(item, FULL))
    shortened, left_out = dict[int, Any](), dict[int, Any]()
    for at, message in enumerate(messages):
        own = [levels.get(item) for item in islice(items, len(wire.read_messages([message], form)))]
        if not any(lod is not None for lod in own):
            left_out[at] = message
        elif any(lod is not FULL for lod in own):
            shortened[at] = message
    is_whole = not shortened and not left_out
    return Fitted(messages if is_whole else payload.write(form)[form.LIST], payload.tokens, shortened, left_out)
