"""For tests, ours and yours: a word counter, clocks and ids that repeat, a scripted model, what apps must keep to."""

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sightline.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from sightline.agent.models import ModelInfo, Reply, Request, TextDelta
    from sightline.apps import App, AppWindow
    from sightline.wire.payload import Payload

__all__ = ["MemoryStore", "ScriptedModel", "Ticking", "WordCounter", "calling", "check_app", "numbered_ids", "reply_of"]


class WordCounter:
    """Counts words, so that a test can count on its fingers."""

    name = "words"

    def count(self, text: str) -> int:
        """Words between white space."""
        return len(text.split())


class Ticking:
    """A clock that moves by `step` milliseconds each time it is read, and further when told."""

    def __init__(self, start: int = 1_700_000_000_000, step: int = 1000) -> None:
        self._now, self._step = start, step

    def __call__(self) -> int:
        self._now += self._step
        return self._now

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._now += round(seconds * 1000)


def numbered_ids(prefix: str = "id") -> Callable[[], str]:
    """Ids that repeat from run to run: id000000000000000000001 and so on, 21 characters."""
    numbers = count(1)
    return lambda: f"{prefix}{next(numbers):0{max(1, 21 - len(prefix))}d}"


class ScriptedModel:
    """Says its lines in order, and remembers what it was asked. A line that is an exception is raised.

    It is the model of a `Controller`, and of an `Agent`: there a line of text is said word by word. Other keywords are
    facts about it, such as its window.
    """

    def __init__(self, lines: Iterable[Any], **facts: Any) -> None:
        self._lines, self._facts = iter(lines), facts
        self.asked: list[dict[str, Any]] = []

    @property
    def info(self) -> "ModelInfo":
        """What it is."""
        from sightline.agent.models import ModelInfo

        return ModelInfo(**({"name": "scripted", "provider": "openai"} | self._facts))

    async def stream(self, request: "Request") -> "AsyncGenerator[TextDelta | Reply, None]":
        """The next line, as an agent's model gives it."""
        from sightline.agent.models import Reply, TextDelta

        line = self(request.payload)
        raw = reply_of(line) if isinstance(line, str) else line
        text = raw["choices"][0]["message"]["content"] or ""
        for word in re.findall(r"\S+\s*", text):
            yield TextDelta(word)
        yield Reply(self.info.name, raw, self.info.price)

    async def close(self) -> None:
        """It holds nothing."""

    def __call__(self, payload: "Payload | None" = None, **request: Any) -> Any:
        """The next line, for an SDK's keyword arguments or, as a `Controller` asks, for a payload."""
        self.asked.append(request if payload is None else payload.openai())
        line = next(self._lines)
        if isinstance(line, BaseException):
            raise line
        return line


def calling(*calls: tuple[str, Mapping[str, Any]], text: str = "") -> dict[str, Any]:
    """A reply of an OpenAI-compatible model that calls tools, each given by its name and its arguments."""
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


def check_app(
    app: "type[App]",
    acts: Iterable[tuple[str, Mapping[str, Any]]] = (),
    *,
    target: str = "",
    project: str | Path = ".",
    others: "Iterable[type[App]]" = (),
) -> None:
    """Open an app, do these things in it, and look after each whether it keeps to what every app must keep to.

    The same data are shown the same way, in both languages and at every level; a higher level offers what a lower one
    offers; what is saved brings everything back; every act succeeds.

    Raises:
        AssertionError: says what does not hold, and after which act.
    """
    from sightline.session.session import Session

    for locale in ("en", "zh"):
        session = Session(MemoryStore("check"), apps=[app, *others], project=project, clock=Ticking())
        session.configure(locale=locale)
        window_id = session.windows.open(app.name, target)
        for action, params in (("opened", None), *acts):
            where = f"{app.name} after {action} ({locale})"
            if params is not None:
                outcome = session.windows.act(window_id, action, **params)
                assert outcome.success, f"{where}: {outcome}"
            window = session.windows.window(window_id)
            if window is None:
                return  # an act has closed it
            try:
                _check_window(window, where)
            except AssertionError:
                raise
            except Exception as error:
                raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error


def _check_window(window: "AppWindow", where: str) -> None:
    from sightline.values.items import Lod

    app, below = window.app, set[str]()
    again = type(app)()
    again.host, again.target = app.host, app.target
    again.restore(msgspec.json.decode(msgspec.json.encode(app.save())))
    for name, value in vars(app).items():
        told = f"{where}: {name} comes back as {vars(again).get(name)!r}, not {value!r}; declare its type on the class"
        assert name.startswith("_") or vars(again).get(name) == value, told
    for lod in Lod:
        page = app.page(lod)
        assert app.page(lod) == page, f"{where}: what it shows at {lod.name} differs from one time to the next"
        assert again.page(lod) == page, f"{where}: what it saves does not bring back what it shows at {lod.name}"
        window.document.switch(lod)
        assert not window.document.content().failed, f"{where}: {window.document.content().page.custom}"
        anchors = set(window.context().anchors)
        assert anchors >= below, f"{where}: {lod.name} loses what a lower level offers: {sorted(below - anchors)}"
        below = anchors
