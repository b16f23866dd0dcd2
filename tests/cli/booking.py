"""A project that books trips, and a scripted server that fills in its fields."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chat_place import allow, configured
from stub import Asked, Line, Stub, answer, error

PLUGIN = Path(__file__).parents[2] / "examples" / "booking" / "plugin.json"
LIGHT = '[models.light]\nname = "light"\nbase_url = "{url}/v1"\nwindow = 8000\nattempts = 1\n'


def book(project: Path, url: str, more: str = "", **config: Any) -> None:
    """Make a project that books trips."""
    with (configured(project, url) / "sightline.toml").open("a") as file:
        file.write(more.format(url=url))
    allow(project)
    plugin = json.loads(PLUGIN.read_text(encoding="utf-8"))
    plugin["contextStrategy"]["config"] |= config
    (project / "plugin.json").write_text(json.dumps(plugin), encoding="utf-8")


def extracts(asked: Asked) -> bool:
    """Whether this request is an extraction."""
    return "JSON Schema" in str(asked.body["messages"][0])


def reads_constraints(asked: Asked) -> bool:
    """Whether this request is about what the user's messages lay down."""
    return '{"constraints": []}' in str(asked.body["messages"][0]["content"])


def texts(asked: Asked) -> list[str]:
    """The text of every message of a request but the system's."""
    messages = [each for each in asked.body["messages"] if each["role"] != "system"]
    return [each["content"] if isinstance(each["content"], str) else each["content"][0]["text"] for each in messages]


class Server(Stub):
    """Answers every question with "Noted.", and an extraction as `found` says for the user's newest message."""

    def __init__(self, found: dict[str, Any], failing: tuple[str, ...] = ()) -> None:
        self.found, self.failing = found, failing
        super().__init__(self._lines())

    def _lines(self) -> Iterator[Line]:
        while True:
            asked = self.asked[-1]
            if asked.body["model"] in self.failing:
                yield error(400, body="no such model")
            elif extracts(asked):
                found = self.found[texts(asked)[-2]]
                yield error(400, body="no") if found is None else answer(json.dumps(found))
            else:
                yield answer('{"constraints": []}' if reads_constraints(asked) else "Noted.")

    def questions(self) -> list[Asked]:
        return [asked for asked in self.asked if not extracts(asked) and not reads_constraints(asked)]

    def extractions(self) -> list[Asked]:
        return [asked for asked in self.asked if extracts(asked)]
