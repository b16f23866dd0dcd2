"""The items of the OpenAI Agents SDK: the list that its session holds, kept in the log, and payloads as items."""

import json
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import msgspec

from sightline.errors import BadInput
from sightline.follow.history import History
from sightline.log import retry_on_conflict
from sightline.values.items import Message, Usage
from sightline.wire import openai_responses
from sightline.wire.call_ids import joins, shown_messages
from sightline.wire.payload import Payload

Json = dict[str, Any]

_NOTE = "openai-agents"  # the annotation that keeps what the SDK adds, pops and clears
_OUTPUT_ONLY = "created_by"  # the SDK sends items without it, and without names that begin with _
_NO_REPLY = ("user", "system", "developer")  # roles
_MOST_ASKED = 8  # model calls that wait for their reply at once
_RESULTS = ("_output", "_response")  # how the types of what answers a call end
_lists: "WeakKeyDictionary[History, ItemList]" = WeakKeyDictionary()


class _Asked(NamedTuple):
    """An input that a model was given, and the item that it ended with before a filter of the program changed it."""

    items: list[Any]
    last: Any


class ItemList:
    """The items that the SDK's session has now. The log has all that were ever added, as they were given."""

    def __init__(self, history: History) -> None:
        self._ref = ref(history)  # not the history itself, because the list lives as long as that
        self.items: list[Json] = []
        self._asked: deque[_Asked] = deque(maxlen=_MOST_ASKED)  # inputs without a reply yet; agents may run within one
        self._billed: deque[object] = deque(maxlen=_MOST_ASKED)  # the SDK's usage objects that were taken in last
        self._written: dict[int, tuple[Message, list[Json]]] = {}  # by the id of the object, which is kept alive
        self._read()

    @property
    def _history(self) -> History:
        history = self._ref()
        assert history is not None
        return history

    def ask(self, items: Sequence[Any], last: Any = None) -> None:
        """Note the input that a model is given now."""
        self._asked.append(_Asked(list(items), plain_items([last or items[-1]])[0] if items else None))

    def add(self, items: list[Json]) -> None:
        """Add items, and take those in that the log does not have yet."""
        self._keep(items)
        self._follow(self.items)

    def add_turn(self, items: list[Json], usage: Any) -> None:
        """Add what a run gives. A reply in it follows the input that it answers, whatever else the session has.

        `usage`: the SDK's, of the last model call. It is taken in once, with the reply.
        """
        before = len(self.items)
        self._keep(items)
        first = next((at for at, item in enumerate(items) if _is_of_model(item)), None)
        if first is None:
            self._follow(self.items)
            return
        answered = next((sent for sent in reversed(self._asked) if self._has(sent.last, before + first)), None)
        listed = [*answered.items, *items[first:]] if answered else self.items
        if answered:
            self._asked.remove(answered)
        is_new = not any(billed is usage for billed in self._billed)
        self._billed.append(usage)
        self._follow(listed, len(in_messages(items[first:])), usage_of(usage) if is_new else None)

    def newest(self, limit: int | None) -> list[Json]:
        """Return the items, or so many of the newest, as values of their own."""
        return plain_items(self.items if limit is None else self.items[-limit:] if limit > 0 else [])

    def _keep(self, items: list[Json]) -> None:
        self._note({"add": items} if _is_unicode(items) else {"add_json": json.dumps(items)})
        self.items += items

    def _follow(self, items: Sequence[Any], replies: int = 0, usage: Usage | None = None) -> None:
        sent = in_messages([_as_sent(item) for item in items])
        with suppress(BadInput):  # the session takes any item; the next model call says what is wrong with it
            self._history.follow(sent, in_place=True, replies=replies, usage=usage)
        self._history.session.flush()

    def _has(self, item: Any, end: int) -> bool:
        """Whether this item is among the first `end` of the session. The newest are looked at first."""
        return any(_as_sent(kept) == item for kept in reversed(self.items[:end]))

    def pop(self) -> Json | None:
        """Take the last item out."""
        if not self.items:
            return None
        self._note({"pop": 1})
        return self.items.pop()

    def clear(self) -> None:
        """Take all items out."""
        if self.items:
            self._note({"clear": True})
            self.items = []

    def write(self, payload: Payload) -> list[Any]:
        """Return a payload as items: those of the program where they are shown unchanged."""
        written: list[Json] = []
        made, last = {}, None
        head = [prompt for prompt in payload.system if self._history.original(prompt) is not None]
        for message in (*head, *shown_messages(payload)):
            before, own = self._written.get(id(message), (None, []))
            if before is not message:
                own = self._items(message)
            made[id(message)] = (message, own)
            if joins(message, last) and written and written[-1].get("role") == "user":
                written[-1] = {**written[-1], "content": [*_blocks(written[-1]), *_blocks(own[0])]}
            else:
                written += map(_in_short, own)
            last = message.role
        self._written = made
        return written

    def _items(self, message: Message) -> list[Json]:
        original = self._history.original(message)
        if original is None:
            return openai_responses.write_messages([message])
        return original if isinstance(original, list) else [original]

    def _note(self, value: Json) -> None:
        retry_on_conflict(lambda: self._history.session.annotate(_NOTE, value), self._refresh)
        self._history.session.flush()

    def _refresh(self) -> None:
        """Read what other processes have added."""
        self._history.session.refresh()
        self._read()

    def _read(self) -> None:
        """Read the list back from the log."""
        self.items = []
        for _, _, value in self._history.session.annotations(_NOTE):
            match value:
                case {"add": list(items)}:
                    self.items += items
                case {"add_json": str(text)}:
                    self.items += json.loads(text)
                case {"pop": _}:
                    del self.items[-1:]
                case {"clear": _}:
                    self.items = []


def items_of(history: History) -> ItemList:
    """Return the list of a history. It is read from the log once."""
    if (listed := _lists.get(history)) is None:
        listed = _lists[history] = ItemList(history)
    return listed


def usage_of(usage: Any) -> Usage | None:
    """Return the tokens of one request, if the provider has told them."""
    if usage is None or not usage.input_tokens:
        return None
    details = usage.input_tokens_details
    cached, written = (getattr(details, name, 0) or 0 for name in ("cached_tokens", "cache_write_tokens"))
    return Usage(usage.input_tokens, usage.output_tokens, cached, written)


def in_messages(items: Sequence[Any]) -> list[Any]:
    """Return items with those of one reply together: reasoning, calls and texts, up to the next result or question."""
    messages: list[Any] = []
    for item in items:
        if not _is_of_model(item):
            messages.append(item)
        elif messages and isinstance(messages[-1], list):
            messages[-1].append(item)
        else:
            messages.append([item])
    return messages


def _is_of_model(item: Any) -> bool:
    """Whether an item is part of a reply."""
    return item.get("role") not in _NO_REPLY and not str(item.get("type")).endswith(_RESULTS)


def plain_items(items: Any) -> list[Json]:
    """Return items as JSON values of their own, also those that are objects of the SDK."""
    decoded: list[Json] = json.loads(json.dumps(items, default=_dump))
    return decoded


def _is_unicode(items: list[Json]) -> bool:
    """Whether no text in these has half a character, as outputs of tools may have that were cut."""
    try:
        msgspec.json.encode(items)
    except UnicodeEncodeError:
        return False
    return True


def _dump(value: Any) -> Any:
    if not hasattr(value, "model_dump"):
        raise TypeError(f"an item of a session is JSON, or an object of the SDK; it has {value!r}")
    return value.model_dump(exclude_unset=True)


def _as_sent(item: Json) -> Json:
    if not any(key.startswith("_") or key == _OUTPUT_ONLY for key in item):
        return item
    return {key: value for key, value in item.items() if not key.startswith("_") and key != _OUTPUT_ONLY}


def _in_short(item: Json) -> Json:
    """Return a message with plain text in the form that the SDK's other model classes take too."""
    is_short = item.keys() == {"type", "role", "content"} and isinstance(item["content"], str)
    return {"role": item["role"], "content": item["content"]} if is_short else item


def _blocks(item: Json) -> list[Any]:
    content = item["content"]
    return [{"type": "input_text", "text": content}] if isinstance(content, str) else content
