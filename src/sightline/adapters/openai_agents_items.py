"""The items of the OpenAI Agents SDK: the list that its session holds, kept in the log, and payloads as items."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, ref

import msgspec

from sightline.errors import BadInput
from sightline.log.conflict import retry_on_conflict
from sightline.session.history import History
from sightline.values.items import Message, Usage
from sightline.wire import openai_responses
from sightline.wire.call_ids import joins
from sightline.wire.payload import Payload

Json = dict[str, Any]

_NOTE = "openai-agents"  # the annotation that keeps what the SDK adds, pops and clears
_OUTPUT_ONLY = "created_by"  # the SDK sends items without it, and without names that begin with _
_NO_REPLY = ("user", "system", "developer")  # roles
_RESULTS = ("_output", "_response")  # how the types of what answers a call end
_lists: "WeakKeyDictionary[History, ItemList]" = WeakKeyDictionary()


class ItemList:
    """The items that the SDK's session has now. The log has all that were ever added, as they were given."""

    def __init__(self, history: History) -> None:
        self._ref = ref(history)  # not the history itself, because the list lives as long as that
        self.items: list[Json] = []
        self.asked = 0  # messages of the input that the model was given last
        self._billed: object = None  # the usage that was taken in last
        self._written: dict[int, tuple[Message, list[Json]]] = {}  # by the id of the object, which is kept alive
        self._read()

    @property
    def _history(self) -> History:
        history = self._ref()
        assert history is not None
        return history

    def add(self, items: list[Json], usage: Any = None) -> None:
        """Add items, and take those in that the log does not have yet. `usage`: the SDK's, of its last model call."""
        self._note({"add": items} if _is_unicode(items) else {"add_json": json.dumps(items)})
        self.items += items
        sent = in_messages([_as_sent(item) for item in self.items])
        observed = None if usage is self._billed else usage_of(usage)
        self._billed = usage
        with suppress(BadInput):  # the session takes any item; the next model call says what is wrong with it
            self._history.follow(sent, in_place=True, replies=len(sent) - self.asked, usage=observed)
        self._history.session.flush()

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
        head = [each for each in payload.system if self._history.original(each) is not None]
        for message in (*head, *payload.body, *payload.tail):
            known, own = self._written.get(id(message), (None, []))
            if known is not message:
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
    if (found := _lists.get(history)) is None:
        found = _lists[history] = ItemList(history)
    return found


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
        if item.get("role") in _NO_REPLY or str(item.get("type")).endswith(_RESULTS):
            messages.append(item)
        elif messages and isinstance(messages[-1], list):
            messages[-1].append(item)
        else:
            messages.append([item])
    return messages


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
    return value.model_dump(exclude_unset=True) if hasattr(value, "model_dump") else str(value)


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
