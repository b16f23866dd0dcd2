"""Sample sessions in the package: invented, but like real work of agents. Others import `names` and `load`."""

from importlib.resources import files
from typing import Any, Literal

from msgspec import Struct, json, structs

from sightline.errors import BadInput

OUTPUT = 1_000  # tokens of the window that are for the answer


class Sample(Struct, frozen=True):
    """One conversation in the format of its provider. `system` is not among `messages`."""

    title: str
    about: str
    window: int  # tokens of a context window in which it does not fit, so that there is something to see
    format: Literal["openai", "anthropic"]
    system: str
    tools: list[dict[str, Any]]
    messages: list[dict[str, Any]]
    name: str = ""


def names() -> list[str]:
    """The names of all samples, in order."""
    return sorted(
        entry.name.removesuffix(".json") for entry in files(__name__).iterdir() if entry.name.endswith(".json")
    )


def load(name: str) -> Sample:
    """Read the sample of this name. Two calls share nothing.

    Raises:
        BadInput: there is no such sample. The message lists the names.
    """
    if name not in names():
        raise BadInput(f"no sample {name!r}; there are {', '.join(names())}")
    text = files(__name__).joinpath(f"{name}.json").read_bytes()
    return structs.replace(json.decode(text, type=Sample), name=name)
