"""One model's address and settings: what the configuration says about it, completed by defaults."""

from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import replace

from sightline.agent.models import ModelInfo, Price
from sightline.agent.models.secret import Secret, redacted
from sightline.errors import BadInput
from sightline.providers.catalog import LOCAL_WINDOW, SERVERS, place_of, price_of
from sightline.providers.windows import answer_room, known_window, window_of
from sightline.values.pattern import pattern

SECONDS = 180.0  # without a byte: a model may think that long before its first word
ATTEMPTS = 4
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})
_SERVER_PORTS = frozenset(urlsplit(place.base_url).port for place in SERVERS)
_ADDRESS = pattern(  # only ASCII, so that no letter passes for another
    r"(?i:https?)://(?P<login>[!-.0-~]*@)?(?:[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[!-~]*)?"
)
_DEFAULT = ModelInfo("", "openai")


class Endpoint(Struct, frozen=True):
    """One model: its name, its address, its key and its settings. 0 and None: not given.

    A table of the configuration has these fields too, except `label` and `key_said`.
    """

    name: str = ""  # as the provider calls it
    provider: str = "openai"  # "openai" for every endpoint that speaks its chat completions, "anthropic", "local"
    label: str = ""  # what the configuration calls it
    base_url: str = ""
    key: Secret | None = None
    key_env: str = ""  # the environment variable of the key, also if it is not set; empty: there is none
    key_said: str = ""  # where the configuration mentions a key; empty: it does not
    window: int = 0
    output: int = 0
    native: bool = True
    tools: bool = True
    capable: bool = True
    seconds: float = SECONDS  # that it may send nothing
    attempts: int = ATTEMPTS
    fallback: tuple[str, ...] = ()
    price: Price | None = None
    gguf: str = ""
    headers: dict[str, Secret] = {}
    options: dict[str, Any] = {}  # sent unchanged, such as a temperature

    @property
    def info(self) -> ModelInfo:
        """What must be known about it before it gets a request."""
        window = self.window or self._usual_window() or (LOCAL_WINDOW if self.on_this_machine else _DEFAULT.window)
        return ModelInfo(
            name=self.name,
            provider=self.provider,
            window=window,
            output=self.output or answer_room(window, _DEFAULT.output),
            native=self.native,
            tools=self.tools,
            capable=self.capable,
            price=self.price or (price_of(self.name) if self.hosted else None),
        )

    @property
    def window_known(self) -> bool:
        """Whether the context window is known from the settings, the server or the name; else it is assumed."""
        return bool(self.window or self._usual_window())

    @property
    def hosted(self) -> bool:
        """Whether it is at a provider's own address, which always needs a key and has the usual price."""
        place = place_of(self.base_url)
        return place is not None and bool(place.key_env)

    @property
    def keyless(self) -> bool:
        """Whether it needs a key and has none."""
        return self.key is None and (self.hosted or bool(self.key_said))

    @property
    def key_place(self) -> str:
        """Where its key is, or belongs."""
        if self.key_env:
            return f"{self.key_env} in the environment"
        if self.key is None:
            return "`key_env` in sightline.toml, the name of the variable that holds it"
        return self.key_said or "the api_key of the client"

    @property
    def on_this_machine(self) -> bool:
        """Whether no request leaves this machine."""
        return self.provider == "local" or _split(self.base_url).hostname in _LOOPBACK

    @property
    def at_known_server(self) -> bool:
        """Whether it is at the usual port and path of a model server on this machine, so that no other service is."""
        parts = _split(self.base_url)
        try:
            is_known = parts.hostname in _LOOPBACK and parts.port in _SERVER_PORTS
        except ValueError:  # no such port
            return False
        return is_known and parts.path.rstrip("/") in ("", "/v1") and "@" not in parts.netloc

    @property
    def address(self) -> str:
        """Its file or address, without a password."""
        return self.gguf or bare_address(self.base_url)

    def hide(self, text: str) -> str:
        """Return the text without this endpoint's secrets, in every form in which they are sent."""
        return redacted(text, self._secrets())

    def __repr__(self) -> str:
        return Struct.__repr__(replace(self, base_url=bare_address(self.base_url)))

    def _secrets(self) -> Iterator[Secret]:
        if self.key is not None:
            yield self.key
        for name, value in self.headers.items():
            yield value
            if name.lower().endswith("authorization"):
                yield Secret(value.reveal().rpartition(" ")[2])  # the part after `Bearer`
        if (login := login_of(self.base_url)) is not None:
            yield Secret(login[1] or login[0])  # a token may be in the place of the user
            yield Secret(_split(self.base_url).password or "")  # as it is encoded in the address
            yield Secret(b64encode(":".join(login).encode()).decode())

    def _usual_window(self) -> int:
        """Return the context window of such a server, or of a model of this name; 0: not known."""
        place = place_of(self.base_url)
        by_name = known_window if self.on_this_machine else window_of  # a server here may have less than the model
        return (place.window if place is not None else 0) or by_name(self.name)


def checked_address(url: str, where: str, *, login: bool = False) -> str:
    """Return the address of a model, to whose end a path can be added. `login`: it may hold a user and password.

    Raises:
        BadInput: it is no such address. A query or fragment would swallow the path, and reach any other service.
    """
    match, why = _ADDRESS.fullmatch(url), ""
    if "?" in url or "#" in url:
        why = "has a query or fragment, which no address of a model has"
    elif match is None or "\\" in url:
        why = "is no address: write http://HOST:PORT/v1, in ASCII"
    elif match["login"] and not login:
        why = "holds a user or password: say `key_env`, the name of the variable that holds a key, or `headers`"
    if why:
        raise BadInput(f"{where}: base_url {why}")  # without the address, in which a key may stand
    return url


def login_of(url: str) -> tuple[str, str] | None:
    """Return the user and the password in an address; None if there are none."""
    parts = _split(url)
    login = unquote(parts.username or ""), unquote(parts.password or "")
    return login if any(login) else None


def bare_address(url: str) -> str:
    """Return an address that may be shown: without user, password and query."""
    parts = _split(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:  # not an address: the first request reports that
        return SplitResult("", "", url.rpartition("@")[2], "", "")
