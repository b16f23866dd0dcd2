"""Which clients of the SDKs can be wrapped, and the HTTP library that each of them uses."""

import sys
from typing import Any

from sightline.errors import BadInput

_CLIENTS = {"openai": ("OpenAI", "AsyncOpenAI"), "anthropic": ("Anthropic", "AsyncAnthropic")}  # and their subclasses
_SIGNED = {"BedrockOpenAI", "AsyncBedrockOpenAI", "AnthropicAWS", "AsyncAnthropicAWS"}  # for the bytes of a request


def provider_of(client: object) -> str:
    """Return the provider of a client that can be wrapped. Raises BadInput for others."""
    kinds, name = {each.__name__: each for each in type(client).__mro__}, type(client).__name__
    found = [made for made, names in _CLIENTS.items() for each in names if _is_from(made, kinds.get(each))]
    if found and _SIGNED.isdisjoint(kinds):
        return found[0]
    if found or any(_is_from(made, type(client)) and hasattr(client, "messages") for made in _CLIENTS):
        raise BadInput(
            f"wrap cannot change the requests of {name}: they are signed or have another form. It takes OpenAI, "
            "Anthropic, AzureOpenAI, AnthropicFoundry and other subclasses of the first two, sync and async; for this "
            "platform, compose with a sightline.Session and pass payload.anthropic() or payload.openai() to the client"
        )
    raise BadInput(f"wrap takes a client of OpenAI's or Anthropic's SDK, not {name}")


def _is_from(package: str, kind: type | None) -> bool:
    return kind is not None and kind.__module__.partition(".")[0] == package


def library_of(http: object) -> Any:
    """Return the library of an HTTP client: httpx2, or httpx for earlier SDKs."""
    base = next((each for each in type(http).__mro__ if each.__name__ in ("Client", "AsyncClient")), type(http))
    return sys.modules[base.__module__.partition(".")[0]]
