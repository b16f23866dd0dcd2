"""Where a request goes: its provider by its path and headers, and its address, put together by parts and never as text.

A credential goes only to the provider whose address the client was given. So the address decides first (`/anthropic`,
`/openai/v1`), then the protocol that the path belongs to, then what only one provider's clients send, then what was
called with the same credential before. A request for which none of these says it is refused, if it has a credential.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from secrets import token_bytes
from typing import NamedTuple
from urllib.parse import quote, unquote

import httpx2

from sightline.errors import BadInput
from sightline.follow.model_request import FORMATS, GEMINI, Format, format_at
from sightline.providers.agents import USER_AGENTS
from sightline.providers.catalog import CHATGPT, OPENAI_HOST, is_below, is_known_host, key_hosts

_VERSION = "v1"
# The first name of a path that only one provider has. "models", "files" and others are both providers'.
_OWNERS = dict.fromkeys(("messages", "complete"), "anthropic") | dict.fromkeys(
    ("chat", "completions", "responses", "embeddings", "images", "audio", "videos", "moderations", "fine_tuning",
     "assistants", "threads", "vector_stores", "batches", "uploads", "realtime", "evals", "containers",
     "conversations", "deployments"), "openai",
)  # fmt: skip
_HEADERS = {
    **dict.fromkeys(("anthropic-version", "anthropic-beta", "x-api-key"), "anthropic"),
    **dict.fromkeys(("openai-organization", "openai-project", "openai-beta", "chatgpt-account-id"), "openai"),
    **dict.fromkeys(("x-goog-api-key", "x-goog-api-client", "x-goog-user-project"), "gemini"),
}
# To which a key of theirs belongs.
_HOSTS = {"anthropic": "anthropic.com", "openai": "openai.com", "gemini": "googleapis.com"}
_TITLES = {"anthropic": "Anthropic", "openai": "OpenAI", "gemini": "Google"}
_PROGRAMS = {**USER_AGENTS, "anthropic": "anthropic", "openai": "openai"}  # words of a user-agent
_GOOGLE_VERSION = re.compile(r"v1(?:alpha|beta\d*)")
_GOOGLE_METHOD = re.compile(r"[^:]+:[a-z]\w*")  # such as gemini-3-pro:countTokens
_GOOGLE_USUAL = "v1beta"  # where a client names no version
_OTHER_GOOGLE = re.compile(r"v1internal.*|projects|publishers")  # the login of Code Assist, and Vertex AI
_AS_WRITTEN = "!$%&'()*+,;=:@-._~\"<>[]^`{|}"  # in a name of a path; all else is escaped, and what is escaped stays so
_CREDENTIAL = re.compile(r"auth|key|token|secret|cookie|account", re.IGNORECASE)  # in the name of one
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MOST_REMEMBERED = 1000
_DEPTH = 4  # times that a name is unescaped, to see whether it leads up


class NoDestination(BadInput):
    """A request cannot go to any provider. It says why, and what the client should be given instead."""


class Door(NamedTuple):
    """What a path says by itself."""

    address: str = ""  # the provider whose address the client was given; empty: it has that of the server
    owner: str = ""  # the provider whose protocol has such paths; empty: several have
    format: Format | None = None  # of a call of a model
    names: tuple[str, ...] = ()  # of the path after the address and the version, escaped as they came
    version: str = ""  # before these names

    @property
    def path(self) -> str:
        """The path by which a call of a model is known, however the client spelled it."""
        if self.format is None:
            return f"/{_VERSION}/{'/'.join(self.names)}"
        if self.format.wire == GEMINI.wire:
            return f"/{_GOOGLE_USUAL}/models/{{model}}:{unquote(self.names[-1]).rpartition(':')[2]}"
        return next(path for path, known in FORMATS.items() if known.wire == self.format.wire)


class Destination(NamedTuple):
    """Where a request goes."""

    provider: str
    format: Format | None  # None: it is no call of a model
    address: httpx2.URL
    lists_models: bool  # its answer is a list of models, or a description of one


def read_door(path: str) -> Door:
    """Return what a path says: as it came, with or without a version, with double and trailing slashes."""
    names = [name for name in path.split("/") if name]
    address = names.pop(0) if names and names[0] in _HOSTS else ""
    count = next((at for at, name in enumerate(names) if not _is_version(name)), len(names))
    door = Door(address, "", None, tuple(names[count:]), names[count - 1] if count else "")
    owner = _OWNERS.get(door.names[0], "") if door.names else ""
    if _GOOGLE_VERSION.fullmatch(door.version) or _is_google(door.names):
        owner = "gemini"
    return door._replace(owner=owner, format=format_at(unquote(door.path)))


def _is_version(name: str) -> bool:
    return name == _VERSION or _GOOGLE_VERSION.fullmatch(name) is not None


def provider_of(path: str, headers: Mapping[str, str]) -> str:
    """Return the provider in whose shape a client wants errors. Nothing is sent there for this."""
    door = read_door(path)
    return door.address or door.owner or _by_headers(headers) or "openai"


class Destinations:
    """Finds where requests go: to the upstream of their provider, and to no other address."""

    def __init__(self, upstreams: Mapping[str, str]) -> None:
        """Raises BadInput if one of them is no address to whose end a path can be put."""
        self._bases = {name: _base(address) for name, address in upstreams.items()}
        # One gateway for both, whose paths differ. Google's key is good at no other address than its own.
        shared = [base for name, base in self._bases.items() if name != "gemini"]
        self._is_one = len({(base.scheme, base.host, base.port) for base in shared}) == 1
        self._providers: OrderedDict[bytes, str] = OrderedDict()  # what was called with a credential, by its digest
        self._secret = token_bytes(32)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is sent over TLS."""
        return all(base.scheme == "http" for base in self._bases.values())

    def find(self, path: str, query: str, headers: Mapping[str, str]) -> Destination:
        """Return where a request goes. `path` and `query` are as they came, `headers` have names in lower case.

        Raises:
            NoDestination: its path leads out of the upstream's, or nothing says whose request it is.
        """
        door = read_door(path)
        if any(map(_leads_up, door.names)):
            raise NoDestination(
                "a path with ., .. or a control character in it leads out of the upstream's address: send it without"
            )
        if door.names and _OTHER_GOOGLE.fullmatch(door.names[0]):
            raise NoDestination(
                "Vertex AI and Gemini's login with a Google account are not spoken here, and their tokens go nowhere "
                "else: let the agent use an API key of Google AI Studio (GEMINI_API_KEY)"
            )
        provider = self._provider(door, query, headers)
        address = self._address(provider, door, query, headers)
        if door.format is not None:
            self._remember(provider, headers)  # not before: a refused request says nothing about its login
        return Destination(provider, door.format, address, door.names[:1] == ("models",))

    def _provider(self, door: Door, query: str, headers: Mapping[str, str]) -> str:
        is_one = self._is_one and "gemini" not in (door.address, door.owner)
        if door.address and door.owner and door.address != door.owner and not is_one:
            raise NoDestination(
                f"this is the address for {_TITLES[door.address]}, and /{'/'.join(door.names[:1])} is a path of "
                f"{_TITLES[door.owner]}'s: give the client the address that ends in /{door.owner}"
            )
        provider = (self._is_one and door.owner) or door.address or door.owner or _by_headers(headers, query)
        provider = provider or self._providers.get(self._digest(headers), "")
        if not provider and (self._is_one or not _has_credential(query, headers)):
            return "openai"
        if not provider:
            raise NoDestination(
                "nothing says whose request this is, so its key is sent to nobody: give the client the address of "
                "this server with /anthropic, /openai/v1 or /gemini at its end"
            )
        return provider

    def _address(self, provider: str, door: Door, query: str, headers: Mapping[str, str]) -> httpx2.URL:
        if provider not in self._bases:
            raise NoDestination(f"no upstream is set for {_TITLES[provider]}: its key goes nowhere else")
        base = self._bases[provider]
        is_login = "chatgpt-account-id" in headers
        if is_login and provider == "openai" and base.host == OPENAI_HOST:  # ChatGPT's login is good only there
            base = _base(CHATGPT)
        foreign = sorted(owner for owner in key_hosts(headers, query) if not is_below(base.host, owner))
        if foreign and is_known_host(base.host):  # a gateway at another host has keys of its own
            raise NoDestination(
                f"the key of this request belongs to {foreign[0]}, and the upstream is {base.host}: it was not sent. "
                "Give the client another key, or the server another --upstream"
            )
        names = [quote(name, safe=_AS_WRITTEN) for name in door.names]
        own = [name for name in base.path.split("/") if name]
        version = _version(provider, door)
        if version and not (own and _is_version(own[-1])):  # the base that OpenAI's clients take has it already
            own.append(version)
        if door.names[:1] == ("deployments",) and "openai" not in own:  # Azure's: /openai was read as the provider's
            own.append("openai")
        target = "/" + "/".join(own + names) + (f"?{quote(query, safe=_AS_WRITTEN + '/?')}" if query else "")
        return base.copy_with(raw_path=target.encode())

    def _remember(self, provider: str, headers: Mapping[str, str]) -> None:
        if digest := self._digest(headers):
            self._providers[digest] = provider
            self._providers.move_to_end(digest)
            while len(self._providers) > _MOST_REMEMBERED:
                self._providers.popitem(last=False)

    def _digest(self, headers: Mapping[str, str]) -> bytes:
        credential = headers.get("authorization", "")
        return blake2b(credential.encode(), key=self._secret).digest() if credential else b""


def _base(address: str) -> httpx2.URL:
    try:
        base = httpx2.URL(address.rstrip("/"))
    except httpx2.InvalidURL as error:
        raise BadInput(f"the address of an upstream is no address: {error}") from error
    if base.scheme not in ("http", "https") or not base.host or base.query or base.fragment:
        raise BadInput("the address of an upstream is https://HOST or https://HOST/PATH, without a query")
    return base


def _version(provider: str, door: Door) -> str:
    """Return the version that stands before the names of a path at a provider."""
    if provider == "gemini":
        return door.version or ("" if door.names[:1] == ("upload",) else _GOOGLE_USUAL)
    is_versioned = provider == "anthropic" and (door.version or door.format or door.owner)
    return _VERSION if is_versioned else ""


def _leads_up(name: str) -> bool:
    """Whether some server could read a name of a path as this folder or the one above, or as a line of its own."""
    for _ in range(_DEPTH):
        if _CONTROL.search(name) or any(part.partition(";")[0] in (".", "..") for part in re.split(r"[/\\]", name)):
            return True
        name = unquote(name)
    return False


def _is_google(names: tuple[str, ...]) -> bool:
    """Whether only Google has such a path: of one of its methods, or to send a file to."""
    match names:
        case ("models" | "tunedModels", name):
            return _GOOGLE_METHOD.fullmatch(unquote(name)) is not None
        case ("upload", version, *_):
            return _is_version(version)
        case _:
            return False


def _has_credential(query: str, headers: Mapping[str, str]) -> bool:
    return any(map(_CREDENTIAL.search, (unquote(query), *headers)))


def _by_headers(headers: Mapping[str, str], query: str = "") -> str:
    """Return the one provider whose clients send such headers or keys; empty if there is none, or several."""
    providers = {provider for name, provider in _HEADERS.items() if name in headers}
    owners = key_hosts(headers, query)
    providers |= {provider for provider, host in _HOSTS.items() if host in owners}
    if not providers:
        program = headers.get("user-agent", "").lower()
        providers = {provider for name, provider in _PROGRAMS.items() if name in program}
    return providers.pop() if len(providers) == 1 else ""
