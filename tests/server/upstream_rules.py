"""What the three formats of the upstream share: refusals, signatures, tokens, the prompt cache."""

import hmac
import json
import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import count
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from sightline.values.tokens import counter

Json = dict[str, Any]

MESSAGE_TOKENS = 4  # framing of a message
CALL_TOKENS = 8  # framing of a call
IMAGE_TOKENS = 1600  # the most an image costs
IMAGE_AREA = 750  # pixels for one token
FILE_TOKENS = 3000  # a document
LOOK_BACK = 20  # blocks before a breakpoint at which an earlier one is found

_KEY = b"the key of the scripted upstream"
_MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8", "image/webp": b"RIFF"}
_numbers = count(1)  # of the whole process, so that no two answers of two upstreams have one id


class Refused(Exception):
    """A request that the provider does not take: what it says, with the status and code that it gives."""

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None, status: int = 400) -> None:
        self.message, self.param, self.code, self.status = message, param, code, status
        super().__init__(message)


def demand(holds: object, message: str, *, param: str | None = None, code: str | None = None) -> None:
    """Raise Refused unless it holds."""
    if not holds:
        raise Refused(message, param=param, code=code)


def make_id(prefix: str) -> str:
    """An id that no other answer has."""
    number = next(_numbers)
    return f"{prefix}_{blake2b(f'{prefix}{number}'.encode(), digest_size=6).hexdigest()}{number:012d}"


def sign(text: str) -> str:
    """The signature of thinking: only this upstream can make it, and only for exactly this text."""
    return b64encode(hmac.digest(_KEY, text.encode("utf-8", "surrogatepass"), "sha256")).decode()


def is_signed(text: str, signature: object) -> bool:
    """Whether the signature is the one of this text."""
    return isinstance(signature, str) and hmac.compare_digest(signature.encode(), sign(text).encode())


def seal(text: str) -> str:
    """Text that only the upstream can read, and that shows whether somebody changed it."""
    return b64encode(json.dumps([text, sign(text)]).encode()).decode()


def is_sealed(data: object) -> bool:
    """Whether the upstream sealed this."""
    try:
        text, signature = json.loads(b64decode(str(data), validate=True))
    except (ValueError, TypeError):
        return False
    return is_signed(text, signature)


def pieces_of(text: str) -> list[str]:
    """A text as it is streamed: word by word, a long one in some forty pieces. Half a character ends a piece."""
    words = re.findall(r"[^\s\ud800-\udbff]*(?:[\ud800-\udbff]|\s*)", text)[:-1]
    step = max(1, len(words) // 40)
    return ["".join(words[at : at + step]) for at in range(0, len(words), step)]


HALVES = "backslashreplace"  # half a character is an escape of JSON


def dump(value: object) -> str:
    """JSON as the providers write it: compact, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def event(value: Json | str, name: str = "") -> bytes:
    """One server-sent event."""
    data = value if isinstance(value, str) else dump(value)
    return (f"event: {name}\ndata: {data}\n\n" if name else f"data: {data}\n\n").encode("utf-8", HALVES)


# ------------------------------------------------------------------ media and schemas


def check_image(media_type: object, data: object, where: str) -> None:
    """Raise Refused unless this is an image of that type in base64."""
    demand(media_type in _MAGIC, f"{where}.media_type: Input should be {', '.join(map(repr, _MAGIC))}")
    content = decode(data, where)
    demand(
        content.startswith(_MAGIC[str(media_type)]),
        f"{where}: The image was specified using the {media_type} media type, but it does not appear to be one",
    )


def decode(data: object, where: str) -> bytes:
    """The bytes of base64. Raises Refused."""
    try:
        content = b64decode(data if isinstance(data, str) else "!", validate=True)
    except (NotBase64, ValueError):
        content = b""
    demand(content, f"{where}.data: invalid base64 data")
    return content


def split_data_url(url: str, where: str) -> tuple[str, str]:
    """Media type and base64 of a data URL. Raises Refused."""
    found = re.fullmatch(r"data:([\w.+/-]+);base64,(.*)", url, re.DOTALL)
    if found is None:
        raise Refused(f"Invalid '{where}': expected a base64-encoded data URL with a MIME type", code="invalid_value")
    return found[1], found[2]


def image_tokens(data: str) -> int:
    """Tokens of an image: by its size if it is a PNG, else the most that one costs."""
    head = b64decode(data[:64] + "=" * (-len(data[:64]) % 4)) if data else b""
    if not head.startswith(_MAGIC["image/png"]) or len(head) < 24:
        return IMAGE_TOKENS
    width, height = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    return min(IMAGE_TOKENS, -(-width * height // IMAGE_AREA))


def check_schema(schema: object, message: str) -> None:
    """Raise Refused unless this is a JSON schema of an object."""
    demand(isinstance(schema, dict) and schema.get("type") == "object", message)
    if wrong := _find_error(json.dumps(schema)):
        raise Refused(f"{message}: {wrong}")


@cache  # an agent sends the same ones with every request, and a check takes as long as all else together
def _find_error(schema: str) -> str:
    """What is wrong with a JSON schema; empty: nothing."""
    try:
        Draft202012Validator.check_schema(json.loads(schema))
    except SchemaError as error:
        return error.message
    return ""


def check_strict(schema: object, message: str) -> None:
    """Raise Refused unless every object of the schema is closed and all its properties are required."""
    match schema:
        case dict():
            if schema.get("type") == "object":
                demand(
                    schema.get("additionalProperties") is False,
                    f"{message}: 'additionalProperties' is required to be supplied and to be false.",
                )
                demand(
                    set(schema.get("required", ())) == set(schema.get("properties", {})),
                    f"{message}: 'required' is required to be supplied and to include every key in properties.",
                )
            for each in schema.values():
                check_strict(each, message)
        case list():
            for each in schema:
                check_strict(each, message)


def check_names(names: Iterable[object], longest: int, refuse: Callable[[int, object], str], repeated: str) -> None:
    """Raise Refused unless all names of tools are well formed and no two are the same."""
    found: set[object] = set()
    for index, name in enumerate(names):
        valid = isinstance(name, str) and re.fullmatch(rf"[a-zA-Z0-9_-]{{1,{longest}}}", name)
        demand(valid, refuse(index, name))
        demand(name not in found, repeated)
        found.add(name)


# ------------------------------------------------------------------ tokens and the prompt cache


@dataclass(frozen=True)
class Segment:
    """A part of a prompt that is cached as a whole: a tool, a block of the system prompt, a block of a message."""

    key: bytes  # what the cache compares: cache markers are no part of it
    tokens: int
    marked: bool = False  # a breakpoint of the client follows


def segment(value: Json, tokens: int, role: str = "") -> Segment:
    """A segment of a block with or without a cache marker."""
    bare = {key: each for key, each in value.items() if key != "cache_control"}
    key = f"{role} {json.dumps(bare, sort_keys=True)}".encode()
    return Segment(key, tokens, bool(value.get("cache_control")))


class Meter:
    """Counts with the engine's own counter, each text once."""

    def __init__(self) -> None:
        self._count = counter().count
        self._known: dict[bytes, int] = {}  # by digest: texts would fill the memory in a long run

    def count(self, value: object) -> int:
        """Tokens of a text, or of a value as JSON."""
        text = value if isinstance(value, str) else dump(value)
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if key not in self._known:
            self._known[key] = self._count(text)
        return self._known[key]


class Cache:
    """The provider's prompt cache, without its lifetime: which prefixes were there before."""

    def __init__(self, minimum: int) -> None:
        self._minimum = minimum  # shorter prefixes are not cached
        self._seen: set[tuple[str, bytes]] = set()

    def look(self, model: str, segments: list[Segment], *, explicit: bool) -> tuple[int, int]:
        """Tokens read from the cache and written to it; `explicit`: at breakpoints of the client only."""
        chain = list(_chain(segments))
        known = [(model, digest) in self._seen for digest, _ in chain]
        marks = [at for at, each in enumerate(segments) if each.marked] if explicit else []
        places = {at for mark in marks for at in range(mark, max(-1, mark - LOOK_BACK), -1)} if explicit else None
        hits = [at for at, hit in enumerate(known) if hit and (places is None or at in places)]
        read = chain[hits[-1]][1] if hits else 0
        self._seen.update((model, chain[at][0]) for at in (marks if explicit else range(len(chain))))
        if not explicit:
            return (read // 128 * 128 if read >= self._minimum else 0), 0
        read = read if read >= self._minimum else 0
        end = chain[marks[-1]][1] if marks else 0
        return read, max(0, end - read) if end >= self._minimum else 0


def _chain(segments: list[Segment]) -> Iterable[tuple[bytes, int]]:
    """For each segment the digest of all up to it, and their tokens."""
    digest, tokens = b"", 0
    for each in segments:
        digest = blake2b(digest + each.key, digest_size=16).digest()
        tokens += each.tokens
        yield digest, tokens


@dataclass(frozen=True)
class Bill:
    """Tokens of one call."""

    given: int  # all of the input
    read: int  # of these, from the cache
    written: int  # of these, to the cache
    made: int  # output
    thought: int  # of these, thinking


def find_unknown(value: Mapping[str, Any], allowed: Iterable[str]) -> str:
    """The first key that is not allowed, or nothing."""
    return next((key for key in value if key not in set(allowed)), "")
