"""A request of an agent to its model: its parts in any of the four formats, and the conversation it belongs to.

The messages stay bytes until the log needs one. So a request costs what is new in it: see `recent_requests`.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import pairwise, takewhile
from secrets import token_bytes
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from sightline.errors import BadInput
from sightline.follow.message_list import digest_of
from sightline.follow.rewritten import Beginnings, beginnings_of, is_rewritten, split_rewritten
from sightline.providers.agents import SESSION_HEADERS
from sightline.values.decoders import json_decoder, mend_escapes
from sightline.values.items import Call, Message, Part, Role, plain_text
from sightline.wire import read_messages
from sightline.wire.common import MARKER, last_marker
from sightline.wire.gemini import SILENT_ID, camel, declared

Json = dict[str, Any]

_ACCOUNT_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "openai-organization", "openai-project")
_SECRET = token_bytes(32)  # of this process: digests of credentials mean nothing outside of it
_HEAD_ROLES = ("system", "developer")
# What may have more tokens than bytes. The last two are letters that no encoder escapes, so they may spell the others.
_MEDIA = (b'"image', b'"input_image', b'"document"', b'"file', b'"input_file', b'"input_audio', b'"audio',
          b'"container_upload', b'"inline', rb"\u006", rb"\u007")  # fmt: skip
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_OPENAI_MODELS = re.compile(r"(?:.*/)?(?:ft:)?(?:gpt-|chatgpt-|o\d|codex)")
_MARKED = 40  # messages at the end of a list in which the agent's last cache breakpoint is looked for


_CALLS = re.compile(rb'"function_?[cC]all"')
STEM = "proxy-"  # how the names of all conversations begin


class Format(NamedTuple):
    """Where the parts of a request are in a provider's format."""

    wire: str
    provider: str  # whose it is
    messages: str
    system: str  # besides the messages; empty: it is among them only
    model: str = ""  # that the path names


FORMATS = {
    "/v1/chat/completions": Format("openai", "openai", "messages", ""),
    "/v1/responses": Format("responses", "openai", "input", "instructions"),
    "/v1/messages": Format("anthropic", "anthropic", "messages", "system"),
}
"""By path. Others have the model in it: see `format_at`."""
GEMINI = Format("gemini", "gemini", "contents", "systemInstruction")
_GEMINI_PATH = re.compile(r"/v1/(?:models|tunedModels)/([^/:]+):(?:generate|streamGenerate)Content")
# OpenAI's formats at Google (/openai) and at Azure, where a deployment is a model by a name of the user's.
_OPENAI_PATH = re.compile(r"/v1(?:/openai)?(?:/deployments/([^/]+))?(/chat/completions|/responses)")


def format_at(path: str) -> Format | None:
    """Return the format of the requests that go to a path; None: they are no calls of a model."""
    if (gemini := _GEMINI_PATH.fullmatch(path)) is not None:
        return GEMINI._replace(model=gemini[1])
    if (openai := _OPENAI_PATH.fullmatch(path)) is not None:
        return FORMATS["/v1" + openai[2]]._replace(model=openai[1] or "")
    return FORMATS.get(path)


class Pieces(NamedTuple):
    """The bytes of a request around its messages, and what they say."""

    before: bytes  # the first message
    separator: bytes  # between two messages
    after: bytes  # the last one
    fields_before: Json
    fields_after: Json

    @property
    def fields(self) -> Json:
        return self.fields_before | self.fields_after


class Sender(NamedTuple):
    """What the headers of a request say about who sends it, without its credential."""

    account: str = ""  # by which accounts are told apart; empty: it shows none
    beta: str = ""  # what is asked of Anthropic besides the usual
    caller: str = ""  # the account in every process; it is not written down as it is, see `ModelRequest.own_id`
    own_ids: Mapping[str, str] = MappingProxyType({})  # what `own_id` has returned, of a request that was written down


class ModelRequest(NamedTuple):
    """A request, taken apart. What is not named here stays in `fields`, as it is."""

    format: Format
    body: bytes
    fields: Json  # without the messages
    listed: list[bytes]  # its messages, each as JSON
    first: int  # the messages before this one are the system prompt
    opening: int  # the messages before this one come before any answer
    session: str  # by which the agent names its session; empty: it does not
    name: str  # of the conversation
    pieces: Pieces | None = None  # None: it cannot be compared with later ones byte by byte
    most_tokens: int | None = None  # it has no more than these; None: not known
    sender: Sender = Sender()
    anew: Sequence[bytes] = ()  # messages of the body that are no part of the conversation, see `rewritten`
    beginnings: Beginnings = ()  # of the list as the agent sent it, where it has such messages

    @property
    def head(self) -> list[bytes]:
        """The messages at the beginning that are the system prompt."""
        return self.listed[: self.first]

    @property
    def opening_text(self) -> str:
        """What is said before any answer."""
        opening = read_all(self.format, self.listed[self.first : self.opening])
        return "\n".join(plain_text(message.parts) for message in opening)

    @property
    def first_answer(self) -> str:
        """What the first answer says."""
        answer = read_all(self.format, self.listed[self.opening :][:1])
        return "\n".join(plain_text(message.parts) for message in answer)

    @property
    def first_reply(self) -> list[Part]:
        """The parts of the first answer, which may be several messages."""
        read = (message for raw in self.listed[self.opening :] for message in read_all(self.format, [raw]))
        own = takewhile(lambda message: message.role is Role.ASSISTANT, read)
        return [part for message in own for part in message.parts]

    @property
    def messages(self) -> list[bytes]:
        return self.listed[self.first :]

    @property
    def model(self) -> str:
        return str(self.fields.get("model") or self.format.model)

    @property
    def is_for_openai(self) -> bool:
        """Whether its model is one of OpenAI's, by its name."""
        return _OPENAI_MODELS.match(self.model.lower()) is not None

    @property
    def system(self) -> Any:
        """What is the system prompt besides the messages."""
        return field_of(self.fields, self.format.system) if self.format.system else None

    @property
    def tools(self) -> list[Any]:
        tools = self.fields.get("tools")
        return tools if isinstance(tools, list) else []

    @property
    def output(self) -> int:
        """Tokens that the answer may have; 0: not said."""
        told = [self.fields.get(name) for name in _LIMITS] + [self._of_config("maxOutputTokens")]
        return next((limit for limit in told if type(limit) is int and limit > 0), 0)

    @property
    def takes_tools(self) -> bool:
        """Whether tools of ours may join: there are others already, and one answer comes."""
        is_gemini = self.format.wire == "gemini"  # it does not mix functions with tools of its own
        tools = [tool for tool in self.tools if not is_gemini or (isinstance(tool, dict) and declared(tool))]
        return bool(tools) and self.is_one_answer

    @property
    def is_one_answer(self) -> bool:
        """Whether one answer comes, and not several to choose from."""
        return self.fields.get("n") in (None, 1) and self._of_config("candidateCount") in (None, 1)

    def _of_config(self, name: str) -> Any:
        """Return a field of Gemini's `generationConfig`."""
        config = field_of(self.fields, "generationConfig") if self.format.wire == "gemini" else None
        return field_of(config, name)

    @property
    def breakpoints(self) -> int:
        """How many cache breakpoints the agent has set besides those in its messages."""
        places = (each for each in (self.system, self.tools, [self.fields]) if isinstance(each, list))
        return sum(isinstance(block, dict) and block.get(MARKER) is not None for place in places for block in place)

    @property
    def last_marker(self) -> Json | None:
        """What the agent itself has set at the end of its messages: it may ask for an hour in place of five minutes."""
        if isinstance(for_all := self.fields.get(MARKER), dict):
            return for_all
        return last_marker([msgspec.json.decode(raw) for raw in self.listed[-_MARKED:] if MARKER.encode() in raw])

    @property
    def forces_call(self) -> bool:
        """Whether the answer must call some tool, whichever it is."""
        if self.format.wire == "gemini":
            calling = field_of(field_of(self.fields, "toolConfig"), "functionCallingConfig")
            return bool(field_of(calling, "mode") == "ANY")
        choice = self.fields.get("tool_choice")
        return choice == "required" or (isinstance(choice, dict) and choice.get("type") == "any")

    @property
    def previous_reply(self) -> str:
        """The id of the reply after which the request goes on, if its provider keeps what was before; else empty."""
        previous = self.fields.get("previous_response_id")
        return previous if isinstance(previous, str) and self.format.wire == "responses" else ""

    @property
    def kept_upstream(self) -> str:
        """The id under which the provider has the earlier part of the conversation; empty: the request has all."""
        if self.format.wire != "responses":  # elsewhere these are fields that nobody knows
            return ""
        if self.previous_reply:
            return self.previous_reply
        conversation = self.fields.get("conversation")
        conversation_id = conversation.get("id") if isinstance(conversation, dict) else conversation
        return conversation_id if isinstance(conversation_id, str) else ""

    def own_id(self, kept: str) -> str:
        """Return what the log calls the id of a reply or of a conversation: another caller's is another one.

        It ends with a digest of the caller that only says something to who has both.
        """
        if kept in self.sender.own_ids:
            return self.sender.own_ids[kept]
        key = blake2b(kept.encode("utf-8", "surrogatepass"), digest_size=32).digest()
        return f"{kept} {blake2b(self.sender.caller.encode(), digest_size=8, key=key).hexdigest()}"

    @property
    def stem(self) -> str:
        """How the names of all conversations in this session of the agent begin."""
        return self.name.rpartition("-")[0] + "-"

    def system_text(self) -> str:
        """Return the system prompt as text, to count and to log it."""
        return _system_text(self.format, self.fields, self.head)


def _system_text(format: Format, fields: Json, head: Sequence[bytes]) -> str:  # noqa: A002
    told = field_of(fields, format.system) if format.system else None
    listed = [{"role": "system", "content": told}] if told and isinstance(told, str | list) else []
    contents = [told | {"role": "user"}] if isinstance(told, dict) and format.wire == "gemini" else []
    read = [*read_messages(listed, "anthropic"), *read_messages(contents, "gemini"), *read_all(format, head)]
    return "\n\n".join(text for message in read if (text := plain_text(message.parts)))


def parse(format: Format, body: bytes, headers: Mapping[str, str]) -> ModelRequest:  # noqa: A002
    """Take a request apart. Half a character in it is read as U+FFFD; the body stays as it came.

    Raises:
        BadInput: it is no request of this format. The provider says so better than we could.
    """
    try:
        listed, pieces = split(format, body)
        fields = pieces.fields if pieces else None
        if fields is None:
            listed, fields = _decode(format, body)
        first, opening = _find_opening(format, listed)
        anew, beginnings = list[bytes](), Beginnings()
        if format.wire != "gemini" and is_rewritten(body, fields.get("tools")):
            told = field_of(fields, format.system) if format.system else None
            beginnings = beginnings_of([*([msgspec.json.encode(told)] if told else []), *listed])
            said, anew = split_rewritten(listed[first:], _system_text(format, fields, listed[:first]))
            listed, pieces = [*listed[:first], *said], None
            first, opening = _find_opening(format, listed)
        session = session_of(fields, headers)
        name = _name(format, session, listed[first:opening])
    except (msgspec.DecodeError, RecursionError) as error:
        if (mended := mend_escapes(body)) != body:
            return parse(format, mended, headers)._replace(body=body)  # of one length: places in it are the same
        raise BadInput(f"the body is no JSON: {error}") from error
    sender = sender_of(headers)
    return ModelRequest(
        format, body, fields, listed, first, opening, session, name, pieces,
        sender=sender, anew=anew, beginnings=beginnings,
    )  # fmt: skip


def read_all(format: Format, messages: Sequence[bytes]) -> list[Message]:  # noqa: A002
    """Read messages that are given as JSON. Raises BadInput and msgspec.DecodeError."""
    return read_messages([msgspec.json.decode(message) for message in messages], format.wire)


def split(format: Format, body: bytes) -> tuple[list[bytes], Pieces | None]:  # noqa: A002
    """Split a body into its messages and what is around them; without pieces where that is not sure.

    Raises:
        msgspec.DecodeError: it is no JSON.
    """
    try:
        listed = [bytes(raw) for raw in _list_decoder(format.messages).decode(body).messages]
    except msgspec.ValidationError:  # no list
        return [], None
    if not listed or not all(message.startswith(b"{") for message in listed):
        return [], None
    start = body.find(listed[0])
    end = start + len(listed[0])
    separator = body[end : body.find(b"{", end)] if len(listed) > 1 else b","
    for message in listed[1:]:
        if not (body.startswith(separator, end) and body.startswith(message, end + len(separator))):
            return [], None
        end += len(separator) + len(message)
    before, after = body[:start], body[end:]
    try:  # Closed at once, both are whole: so this is the list of the request, and no other one inside of it.
        fields_before = msgspec.json.decode(before + b"]}")
        fields_after = msgspec.json.decode(b'{"%s":[%s' % (format.messages.encode(), after))
    except msgspec.DecodeError:
        return [], None
    if fields_before.pop(format.messages, None) != [] or fields_after.pop(format.messages, None) != []:
        return [], None
    return listed, Pieces(before, separator, after, fields_before, fields_after)


@cache
def _list_decoder(name: str) -> "msgspec.json.Decoder[Any]":
    fields = [("messages", list[msgspec.Raw], msgspec.field(name=name))]
    return json_decoder(msgspec.defstruct("Listed", fields))


def _decode(format: Format, body: bytes) -> tuple[list[bytes], Json]:  # noqa: A002
    """Decode a body whole. Return its messages and its other fields. Raises BadInput and msgspec.DecodeError."""
    fields = msgspec.json.decode(body)
    if not isinstance(fields, dict):
        raise BadInput("the body is no JSON object")
    messages = fields.pop(format.messages, None)
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) for message in messages):
        raise BadInput(f"{format.messages!r} is no list of messages")
    return [msgspec.json.encode(message) for message in messages], fields


def field_of(fields: Any, name: str) -> Any:
    """Return a field that Google's servers take with capitals or with underscores."""
    if not isinstance(fields, dict):
        return None
    return fields[name] if name in fields else next((fields[key] for key in fields if camel(key) == name), None)


def check_told_apart(request: ModelRequest) -> None:
    """Raise BadInput for calls of one function without ids in several of Gemini's contents, one after another.

    A streamed chat of Google's SDK gives them back so. Which response belongs to which is lost if they are shortened.
    """
    for one, other in pairwise(request.listed if request.format.wire == "gemini" else ()):
        if not (_CALLS.search(one) and _CALLS.search(other) and is_answer(one) and is_answer(other)):
            continue
        silent = [
            {part.id for part in message.parts if isinstance(part, Call) and part.id.startswith(SILENT_ID)}
            for message in read_all(request.format, [one, other])
        ]
        if set.intersection(*silent):
            raise BadInput("calls of one function without ids stand in several contents: no response tells whose it is")


def session_of(fields: Json, headers: Mapping[str, str]) -> str:
    """Return the id by which an agent names its session."""
    if named := next((headers[name] for name in SESSION_HEADERS if headers.get(name)), ""):
        return named
    metadata = fields.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    return next((told for told in (fields.get("prompt_cache_key"), user) if isinstance(told, str)), "")


def sender_of(headers: Mapping[str, str]) -> Sender:
    """Return who sends a request with these headers."""
    account = headers.get("chatgpt-account-id", "")  # a login whose token changes by the hour
    shown = account or "\0".join(filter(None, (headers.get(name) for name in _ACCOUNT_HEADERS)))
    digest = blake2b(shown.encode("utf-8", "surrogatepass"), digest_size=16, key=_SECRET).hexdigest() if shown else ""
    caller = blake2b(shown.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest() if shown else ""
    return Sender(digest, headers.get("anthropic-beta", ""), caller)


class _Kind(msgspec.Struct):
    """By what a message is known to be an answer."""

    role: Any = None
    type: Any = None


_kind = json_decoder(_Kind).decode


def is_answer(message: bytes) -> bool:
    """Whether a message is an answer of a model, or part of one."""
    kind = _kind(message)
    return kind.role in ("assistant", "model") or kind.type not in ("message", None)


def is_head(message: bytes) -> bool:
    """Whether a message may be part of the system prompt."""
    return _kind(message).role in _HEAD_ROLES


def has_media(raw: bytes) -> bool:
    """Whether this JSON may have images, documents or the like, whose tokens its bytes do not tell."""
    return any(kind in raw for kind in _MEDIA)


def _find_opening(format: Format, listed: Sequence[bytes]) -> tuple[int, int]:  # noqa: A002
    """Count the messages that are the system prompt, and those before the first answer of a model."""
    first = 0
    if format.wire != "anthropic":
        # One message is left at least: it is what the request is about, and all that tells it from others.
        first = next((at for at, message in enumerate(listed) if not is_head(message)), len(listed) - 1)
    opening = first
    while opening < len(listed) and not is_answer(listed[opening]):
        opening += 1
    return first, max(opening, min(first + 1, len(listed)))


def _name(format: Format, session: str, opening: Sequence[bytes]) -> str:  # noqa: A002
    """Return the name of a conversation: digests of the agent's session and of what comes before any answer.

    Two runs of an agent that begin alike and name no session are branches of one conversation.
    """
    read = read_all(format, opening)
    said = [message for message in read if message.role is not Role.ASSISTANT] or read
    return name_of(format, session, digest_of(said))


def name_of(format: Format, session: str, opening: bytes) -> str:  # noqa: A002
    """Return the name of the conversation in an agent's session that has this opening."""
    told = f"{format.wire}\0{session}\0".encode("utf-8", "surrogatepass")
    stem, rest = blake2b(told, digest_size=5), blake2b(told + opening, digest_size=8)
    return f"{STEM}{stem.hexdigest()}-{rest.hexdigest()}"
