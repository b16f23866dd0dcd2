"""Where one model is asked, and how: what the configuration says of it, made complete."""

from base64 import b64encode
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import replace

from sightline.agent.models import ModelInfo, Price
from sightline.agent.models.catalog import LOCAL_WINDOW, place_of, price_of, window_of
from sightline.agent.models.secret import Secret, redacted

SECONDS = 180.0  # of silence: a model may think that long before its first word
ATTEMPTS = 4
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})
_DEFAULT = ModelInfo("", "openai")


class Endpoint(Struct, frozen=True):
    """One model: its name, where it is, the key for it, and what is known of it. 0 and None: not said."""

    name: str  # as the provider calls it
    provider: str = "openai"  # "openai" for every endpoint that speaks its chat completions, "anthropic", "local"
    label: str = ""  # what the configuration calls it
    base_url: str = ""
    key: Secret | None = None
    key_env: str = ""  # the variable that the key is, or would be, in; empty: it is in none
    key_said: str = ""  # where the configuration speaks of a key; empty: it does not
    window: int = 0
    output: int = 0
    native: bool = True
    tools: bool = True
    capable: bool = True
    price: Price | None = None
    seconds: float = SECONDS  # that it may be silent
    attempts: int = ATTEMPTS
    fallback: tuple[str, ...] = ()
    gguf: str = ""
    headers: dict[str, Secret] = {}
    options: dict[str, Any] = {}  # sent along as they are, such as a temperature

    @property
    def info(self) -> ModelInfo:
        """What must be known of it before it is asked."""
        window = self.window or self._usual_window() or (LOCAL_WINDOW if self.on_this_machine else _DEFAULT.window)
        return ModelInfo(
            name=self.name,
            provider=self.provider,
            window=window,
            output=self.output or min(_DEFAULT.output, window // 4),
            native=self.native,
            tools=self.tools,
            capable=self.capable,
            price=self.price or (price_of(self.name) if self.hosted else None),
        )

    @property
    def window_known(self) -> bool:
        """Whether it, its server or its name says how many tokens it takes; else they are assumed."""
        return bool(self.window or self._usual_window())

    @property
    def hosted(self) -> bool:
        """Whether it is at a provider's own address, where a key is always wanted and the usual price is paid."""
        place = place_of(self.base_url)
        return place is not None and bool(place.key_env)

    @property
    def keyless(self) -> bool:
        """Whether it wants a key and has none: its provider always does, or the configuration names a variable."""
        return self.key is None and (self.hosted or bool(self.key_said))

    @property
    def key_place(self) -> str:
        """Where its key is, or would be put."""
        if self.key_env:
            return f"{self.key_env} in the environment"
        if self.key is None:
            return "`key_env` in sightline.toml, the name of the variable that holds it"
        return self.key_said or "the api_key of the client"

    @property
    def on_this_machine(self) -> bool:
        """Whether nothing leaves this machine."""
        return self.provider == "local" or _split(self.base_url).hostname in _LOOPBACK

    @property
    def address(self) -> str:
        """Where it is, without a password that the address may hold."""
        return self.gguf or bare_address(self.base_url)

    def hide(self, text: str) -> str:
        """The text without this endpoint's secrets, in every form in which they are sent."""
        return redacted(text, self._secrets())

    def __repr__(self) -> str:
        return Struct.__repr__(replace(self, base_url=bare_address(self.base_url)))

    def _secrets(self) -> Iterator[Secret]:
        if self.key is not None:
            yield self.key
        for name, value in self.headers.items():
            yield value
            if name.lower().endswith("authorization"):
                yield Secret(value.reveal().rpartition(" ")[2])  # what stands behind `Bearer`
        if (login := login_of(self.base_url)) is not None:
            yield Secret(login.password or login.user)  # a token may stand in the user's place
            yield Secret(_split(self.base_url).password or "")  # as the address spells it
            yield Secret(b64encode(f"{login.user}:{login.password}".encode()).decode())

    def _usual_window(self) -> int:
        """What a server like this takes, or a model of this name; 0: neither is known."""
        place = place_of(self.base_url)
        return (place.window if place is not None else 0) or window_of(self.name)


class Login(NamedTuple):
    """Who asks, as an address may say it."""

    user: str
    password: str


def login_of(url: str) -> Login | None:
    """The user and the password in an address; None where there are none."""
    parts = _split(url)
    login = Login(unquote(parts.username or ""), unquote(parts.password or ""))
    return login if any(login) else None


def bare_address(url: str) -> str:
    """An address as it may be shown: no user, no password, no query."""
    parts = _split(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:  # no address: whoever asks there says so
        return SplitResult("", "", url.rpartition("@")[2], "", "")
