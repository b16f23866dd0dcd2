"""What a provider's error means: try later, never, or with fewer tokens.

Messages say what to do next. They contain no key, even if the provider's own message does.
"""

import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

from sightline.agent.models.endpoint import Endpoint
from sightline.errors import BadInput, ContextOverflow, ModelBusy, ModelError, ModelRefused
from sightline.providers.errors import ErrorBody
from sightline.values.clock import wall_clock

LONGEST = 400  # characters of a provider's message that are shown: some send a page of HTML
LATER = frozenset({408, 409, 425, 429})  # and every 5xx

_NO_MONEY = frozenset({"insufficient_quota", "billing_error", "insufficient_balance"})
_BUSY_WORDS = re.compile(r"overloaded|rate.?limit|server_error|api_error|timeout|unavailable|internal", re.IGNORECASE)


class TransientFailure(ModelBusy):
    """A failure of which is known what it was: "rate", "overload", "connection", "silent", "cut" or "garbled".

    `detail` is what the provider or the system said about it. A program can say both in the user's language.
    """

    def __init__(self, kind: str, why: str, detail: str = "", retry_after: float | None = None) -> None:
        self.kind, self.detail = kind, detail
        super().__init__(why, retry_after)


def failure(endpoint: Endpoint, status: int, headers: Mapping[str, str], body: str) -> ModelError:
    """Return the error that a response with this status means."""
    told = ErrorBody(body)
    said = endpoint.hide(told.message)[:LONGEST]
    if told.is_overflow(status):
        return ContextOverflow(f"{endpoint.name} takes less than it was sent: {said}", told.input_tokens)
    if told.kinds & _NO_MONEY or status == 402:
        return ModelRefused(
            f"{endpoint.name}: the account has nothing left: {said}; add to it, or choose another model"
        )
    if status in LATER or status >= 500:
        kind, why = ("rate", "asked too often") if status == 429 else ("overload", "its server is busy or has failed")
        detail = said or str(status)
        return TransientFailure(kind, f"{endpoint.name}: {why}: {detail}", detail, retry_after(headers))
    return ModelRefused(_refusal(endpoint, status, said))


def failure_inside(endpoint: Endpoint, body: str) -> ModelError:
    """Return the error that a provider reports in the middle of a reply."""
    told = ErrorBody(body)
    said = endpoint.hide(told.message)[:LONGEST]
    if told.is_overflow(400):
        return ContextOverflow(f"{endpoint.name} takes less than it was sent: {said}", told.input_tokens)
    kinds = " ".join(told.kinds)
    if "invalid" in kinds and not _BUSY_WORDS.search(kinds):
        return ModelRefused(f"{endpoint.name} refuses the request: {said}")
    kind = "rate" if "rate_limit" in kinds else "overload"
    return TransientFailure(kind, f"{endpoint.name} failed in the middle of its answer: {said}", said)


def cut_off(endpoint: Endpoint, why: object = "") -> ModelBusy:
    """Return the error of a reply that stopped before its end."""
    said = endpoint.hide(str(why))[:LONGEST]
    why = f"{endpoint.name}: the answer was cut off before its end{f' ({said})' if said else ''}"
    return TransientFailure("cut", why, said)


def garbled(endpoint: Endpoint, why: Exception) -> ModelBusy:
    """Return the error of a reply that breaks the protocol. Python's own message would not help a user."""
    said = endpoint.hide(str(why))[:LONGEST] if isinstance(why, BadInput) else type(why).__name__
    return TransientFailure("garbled", f"{endpoint.name}: its server sent what is no answer ({said})", said)


def silent(endpoint: Endpoint) -> ModelBusy:
    """Return the error of a server that sent nothing for too long."""
    why = f"{endpoint.name} was silent for {endpoint.seconds:g} seconds; `seconds` in sightline.toml allows more"
    return TransientFailure("silent", why, f"{endpoint.seconds:g} s")


def unreachable(endpoint: Endpoint, why: object) -> ModelBusy:
    """Return the error of a failed connection."""
    said = endpoint.hide(str(why))[:LONGEST] or type(why).__name__
    where = "is its server running?" if endpoint.on_this_machine else "is the network there, and base_url right?"
    why = f"{endpoint.address} cannot be reached ({said}); {where}"
    return TransientFailure("connection", why, f"{endpoint.address}: {said}")


def retry_after(headers: Mapping[str, str], clock: Callable[[], int] = wall_clock) -> float | None:
    """Return the seconds that the provider asks to wait, given in milliseconds, in seconds or as a date."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        value = headers.get("retry-after") or ""
        if re.fullmatch(r"\d+(\.\d+)?", value.strip()):
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - clock() / 1000) if value else None
    except (ValueError, OverflowError):  # a date out of range
        return None


def _refusal(endpoint: Endpoint, status: int, said: str) -> str:
    at = f"{endpoint.name} at {endpoint.address}"
    place = endpoint.key_place
    match status:
        case 401 if endpoint.key is None:
            return f"{at} wants a key and got none: set {place} ({said})"
        case 401:
            return f"{at} does not take the key: put a valid one into {place} ({said})"
        case 403:
            return f"{at} does not permit this: the key in {place} may not use this model ({said})"
        case 404:
            return f"{at} is not there: check the model's name and base_url; `sightline model list` shows both ({said})"
        case _ if "support tools" in said or "tool choice requires" in said:
            return f"{at} takes no tools: say native = false for it in sightline.toml ({said})"
        case _:
            return f"{at} refuses the request with status {status}: {said}"
