"""Sample sessions shipped with the package: invented, but as agents really work."""

from importlib.resources import files
from typing import Any, Literal

from msgspec import Struct, json, structs

from sightline.errors import BadInput


class Sample(Struct, frozen=True):
    """One recorded conversation, in the format of the provider it is written for; `system` is not among `messages`."""

    title: str
    about: str
    format: Literal["openai", "anthropic"]
    system: str
    tools: list[dict[str, Any]]
    messages: list[dict[str, Any]]
    name: str = ""


def names() -> list[str]:
    """What `load` accepts."""
    return sorted(
        entry.name.removesuffix(".json") for entry in files(__name__).iterdir() if entry.name.endswith(".json")
    )


def load(name: str) -> Sample:
    """The sample of this name, read anew: nothing is shared between two calls.

    Raises:
        BadInput: there is no such sample; the message lists those there are.
    """
    if name not in names():
        raise BadInput(f"no sample {name!r}; there are {', '.join(names())}")
    text = files(__name__).joinpath(f"{name}.json").read_bytes()
    return structs.replace(json.decode(text, type=Sample), name=name)
