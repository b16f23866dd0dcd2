"""For tests of Sightline and of your agents: a word counter, clocks and ids that repeat, a model.

`check_stores`, `check_app`, `check_wire`, `check_strategy`, `check_shortener`, `check_model` and `check_counter` check
what a store, an app, a provider format and so on of your own must guarantee.
"""

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sightline.log.stores.memory import MemoryStore
from sightline.session.session import Session
from sightline.values.items import Lod

if TYPE_CHECKING:
    from sightline.agent.models import ModelInfo, Reply, Request, TextDelta
    from sightline.apps import App, AppWindow
    from sightline.testing.counters import check_counter as check_counter
    from sightline.testing.models import check_model as check_model
    from sightline.testing.shorteners import check_shortener as check_shortener
    from sightline.testing.stores import check_stores as check_stores
    from sightline.testing.strategies import check_strategy as check_strategy
    from sightline.wire.payload import Payload
    from sightline.wire.wire import Wire

__all__ = [
    "MemoryStore", "ScriptedModel", "Ticking", "WordCounter", "calling", "check_app", "check_counter", "check_model",
    "check_shortener", "check_stores", "check_strategy", "check_wire", "numbered_ids", "reply_of",
]  # fmt: skip


class WordCounter:
    """Counts words, so that the numbers in a test are easy to check."""

    name = "words"

    def count(self, text: str) -> int:
        """The words of a text, split at white space."""
        return len(text.split())


class Ticking:
    """A clock that advances by `step` milliseconds each time it is read, and by `wait`."""

    def __init__(self, start: int = 1_700_000_000_000, step: int = 1000) -> None:
        self._now, self._step = start, step

    def __call__(self) -> int:
        self._now += self._step
        return self._now

    def wait(self, seconds: float) -> None:
        """Advance the clock."""
        self._now += round(seconds * 1000)


def numbered_ids(prefix: str = "id") -> Callable[[], str]:
    """Ids that are the same in every run: id000000000000000000001 and so on, 21 characters."""
    numbers = count(1)
    return lambda: f"{prefix}{next(numbers):0{max(1, 21 - len(prefix))}d}"


class ScriptedModel:
    """A model that returns these lines in order and records the requests in `asked`. A line may be an error to raise.

    It is also the model of an `Agent`, which gets a line of text word by word. Other keywords are fields of its
    `ModelInfo`, such as the context window.
    """

    def __init__(self, lines: Iterable[Any], **facts: Any) -> None:
        self._lines, self._facts = iter(lines), facts
        self.asked: list[dict[str, Any]] = []

    @property
    def info(self) -> "ModelInfo":
        """The model's name, provider and other facts."""
        from sightline.agent.models import ModelInfo

        return ModelInfo(**({"name": "scripted", "provider": "openai"} | self._facts))

    async def stream(self, request: "Request") -> "AsyncGenerator[TextDelta | Reply, None]":
        """Stream the next line, as an `Agent` asks for it."""
        from sightline.agent.models import Reply, TextDelta

        line = self(request.payload)
        raw = reply_of(line) if isinstance(line, str) else line
        text = raw["choices"][0]["message"]["content"] or ""
        for word in re.findall(r"\S+\s*", text):
            yield TextDelta(word)
        yield Reply(self.info.name, raw, self.info.price)

    async def close(self) -> None:
        """Does nothing."""

    def __call__(self, payload: "Payload | None" = None, **request: Any) -> Any:
        """Return the next line, for the keyword arguments of an SDK or for a payload."""
        self.asked.append(request if payload is None else payload.openai())
        if isinstance(line := next(self._lines), BaseException):
            raise line
        return line


def calling(*calls: tuple[str, Mapping[str, Any]], text: str = "") -> dict[str, Any]:
    """A reply of an OpenAI-compatible model that calls tools, each given by name and arguments."""
    made = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(calls, 1)
    ]
    return reply_of(text, tool_calls=made)


def reply_of(text: str, **more: Any) -> dict[str, Any]:
    """A reply of an OpenAI-compatible model."""
    message = {"role": "assistant", "content": text or None} | more
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {"model": "scripted", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


def check_wire(
    wire: "Wire | str",
    *,
    replies: Iterable[dict[str, Any]] = (),
    cut_off: Iterable[dict[str, Any]] = (),
    histories: int = 40,
) -> None:
    """Check what every provider format must guarantee, as `sightline.testing.wires` says. Raises AssertionError."""
    from sightline.testing import wires

    wires.check_wire(wire, replies=replies, cut_off=cut_off, histories=histories)


def check_app(
    app: "type[App]",
    acts: Iterable[tuple[str, Mapping[str, Any]]] = (),
    *,
    target: str = "",
    project: str | Path = ".",
    others: "Iterable[type[App]]" = (),
) -> None:
    """Open an app, do these actions in it, and check after each what every app must guarantee.

    The same data are shown the same way, in both languages and at every level of detail. A higher level has all anchors
    of a lower one. Restoring what was saved restores everything. Every action succeeds.

    Raises:
        AssertionError: a check failed. The message says which one, and after which action.
    """
    for locale in ("en", "zh"):
        session = Session(MemoryStore("check"), apps=[app, *others], project=project, clock=Ticking())
        session.configure(locale=locale)
        window_id = session.windows.open(app.name, target)
        for action, params in (("opened", None), *acts):
            where = f"{app.name} after {action} ({locale})"
            if params is not None:
                outcome = session.windows.act(window_id, action, **params)
                assert outcome.success, f"{where}: {outcome}"
            if (window := session.windows.window(window_id)) is None:
                return  # an action has closed it
            try:
                _check_window(window, where)
            except AssertionError:
                raise
            except Exception as error:
                raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error


def _check_window(window: "AppWindow", where: str) -> None:
    app, below = window.app, set[str]()
    again = type(app)()
    again.host, again.target = app.host, app.target
    again.restore(msgspec.json.decode(msgspec.json.encode(app.save())))
    for name, value in vars(app).items():
        assert name.startswith("_") or vars(again).get(name) == value, (
            f"{where}: {name} comes back as {vars(again).get(name)!r}, not {value!r}; declare its type on the class"
        )
    for lod in Lod:
        page = app.page(lod)
        assert app.page(lod) == page, f"{where}: what it shows at {lod.name} differs from one time to the next"
        assert again.page(lod) == page, f"{where}: what it saves does not bring back what it shows at {lod.name}"
        window.document.switch(lod)
        assert not window.document.content().failed, f"{where}: {window.document.content().page.custom}"
        anchors = set(window.context().anchors)
        assert anchors >= below, f"{where}: {lod.name} loses what a lower level offers: {sorted(below - anchors)}"
        below = anchors


_SUITES = {
    "check_counter": "counters", "check_model": "models", "check_shortener": "shorteners",
    "check_stores": "stores", "check_strategy": "strategies",
}  # fmt: skip


def __getattr__(name: str) -> Any:  # a suite loads what it checks: an agent's models, for example
    if name not in _SUITES:
        raise AttributeError(f"module 'sightline.testing' has no attribute {name!r}")
    return getattr(import_module(f"sightline.testing.{_SUITES[name]}"), name)


def __dir__() -> list[str]:  # for completion, as if they were loaded
    return sorted({*globals(), *_SUITES})
