"""A conversation for people to read: as Markdown, or as one HTML file without scripts.

Both are made message by message, so that a large session is never in memory as a whole. What the engine adds is left
out: summaries, recalled passages and windows. Nobody's text can pass for a line that is written here: in Markdown it is
a quotation or between fences, in HTML it is escaped.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sightline import __version__
from sightline.log import branch_label
from sightline.session.session import Session
from sightline.shorten import without_ansi
from sightline.values.items import Blob, Call, File, Image, Item, Kind, Opaque, Part, Result, Text, arguments, blob_text
from sightline.values.phrases import Phrases, texts
from sightline.values.screen_text import fenced, first_words, human_size, printable, ticks
from sightline.values.settings import strategy_name

SUFFIXES = {"markdown": "md", "html": "html"}  # of files, by format
_LEFT_OUT = frozenset({Kind.SUMMARY, Kind.RECALL, Kind.WINDOW})
_NAME = 80  # characters of a tool's or file's name, which stand in a heading
_ADDRESS = 300  # characters of an image's address
_ACTIVE = re.compile(r"<[A-Za-z/!?]|!\[")  # a tag, a comment or an image
_LINE_END = re.compile("\r\n?")

# What a reader sees around the messages, in English and Chinese.
_SAY = Phrases(texts("transcript"))


class Block(NamedTuple):
    """A piece of a message: what somebody said, a tool call, its result, or the name of what is no text."""

    form: str  # "text", "thinking", "call", "result", "named"
    label: str = ""  # what it is, in the reader's language
    name: str = ""  # of the tool, the file, the image: anybody's text, on one line
    text: str = ""


class Entry(NamedTuple):
    """A message with its calls. `style`: the kind, as a name for styles."""

    id: str
    style: str
    who: str
    when: str
    blocks: list[Block]


def shown_messages(session: Session) -> int:
    """Return how many messages a transcript of the session has."""
    table = session.items.table()
    return len({_message_id(item.id) for item in table if item.kind not in _LEFT_OUT})


def _message_id(item_id: str) -> str:
    return item_id.partition(".")[0]


def _entries(session: Session, locale: str) -> Iterator[Entry]:
    """Yield the messages of the session's branch, each as soon as it is read."""
    tools: dict[str, str] = {}  # the names of the tools whose results have not come yet, by the ids of the calls
    items = (item for item in session.items if item.kind not in _LEFT_OUT)
    for message_id, group in groupby(items, key=lambda item: _message_id(item.id)):
        first, *calls = group
        blocks = [block for item in (first, *calls) for block in _blocks(item, locale, tools)]
        kind = _SAY("kind " + first.kind.name.lower(), locale)
        who = _SAY("program", locale, kind=kind) if first.by_program else kind
        yield Entry(message_id, first.kind.name.lower(), who, first_words(first.when or first.timestamp, _NAME), blocks)


def _blocks(item: Item, locale: str, tools: dict[str, str]) -> list[Block]:
    return [block for part in item.parts for block in _part_blocks(part, locale, tools)]


def _part_blocks(part: Part, locale: str, tools: dict[str, str]) -> Iterator[Block]:
    match part:
        case Text():
            yield Block("text", text=_clean(part.text))
        case Blob():
            yield Block("text", text=_clean(blob_text(part)))
        case Call():
            tools[part.id] = part.name
            yield Block("call", _SAY("call", locale), first_words(part.name, _NAME), _clean(_indented(part)))
        case Result():
            name = first_words(tools.pop(part.id, "") or part.name or part.id, _NAME)
            key = "result error" if part.error else "result"
            inside = [block for inner in part.parts for block in _part_blocks(inner, locale, tools)]
            text = "\n".join(block.text for block in inside if block.form == "text")
            # How it failed is a tool's word too: it stands where the name does, never in a label of ours.
            failed = first_words(f"{name}: {part.error}", _NAME) if part.error else name
            yield Block("result", _SAY(key, locale), failed, text)
            yield from (block for block in inside if block.form != "text")
        case Image() | File():
            label = _SAY("image" if isinstance(part, Image) else "file", locale)
            yield Block("named", label, media_name(part))
        case Opaque() if thoughts := thoughts_in(part.raw):
            yield Block("thinking", _SAY("thinking", locale), text=_clean(thoughts))
        case Opaque() if part.raw:
            yield Block("named", _SAY("opaque", locale), first_words(f"{part.provider} {part.kind}", _NAME))


def thoughts_in(raw: Mapping[str, Any]) -> str:
    """Return what a provider's block tells of the model's thinking; empty if it is encrypted, or another block.

    Anthropic's blocks have `thinking`; Responses items of type "reasoning" have texts in `summary` and `content`;
    other servers add `reasoning_content` or `reasoning` to a message.
    """
    texts = [raw.get(name) for name in ("thinking", "reasoning_content", "reasoning")]
    if raw.get("type") == "reasoning":
        lists = (raw.get(name) for name in ("summary", "content"))
        blocks = (block for listed in lists if isinstance(listed, list) for block in listed)
        texts += [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())


def _clean(text: str) -> str:
    """Return a text with \\n as its line ends, without colours, and without characters that a screen would act on."""
    return printable(_LINE_END.sub("\n", without_ansi(text)))


def _indented(call: Call) -> str:
    """Return the arguments of a call as JSON in several lines, or as they came if they are no JSON."""
    text = arguments(call)
    try:
        return msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError):
        return text


def media_name(part: Image | File) -> str:
    """Return what an image or document is called: its name, type, size and address."""
    size = human_size(len(part.data.rstrip("=")) * 3 // 4) if part.data else ""
    pixels = f"{part.width}×{part.height}" if isinstance(part, Image) and part.width else ""
    name = part.name if isinstance(part, File) else ""
    address = "" if part.url.startswith("data:") else part.url
    told = (first_words(name, _NAME), first_words(part.media_type, _NAME), pixels, size, part.file_id, address)
    return first_words(", ".join(filter(None, told)), _ADDRESS)


# ---------------------------------------------------------------------- Markdown


def markdown(session: Session, locale: str) -> Iterator[str]:
    """Yield the conversation as Markdown: what was said as quotations, calls and results between fences."""
    yield markdown_heading(session, locale)
    for _, message in markdown_messages(session, locale):
        yield from message


def markdown_heading(session: Session, locale: str) -> str:
    """Return the heading of a conversation as Markdown."""
    heading, facts = _heading(session, locale)
    return f"# {heading}\n\n{facts}\n"


def markdown_messages(session: Session, locale: str, longest: int = 0) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the id of each message, and the message as Markdown.

    `longest`: characters of a text that are shown, if it is not 0; a line then says how many are left out.
    """
    for entry in _entries(session, locale):
        yield entry.id, _message_as_markdown(entry, locale, longest)


def _message_as_markdown(entry: Entry, locale: str, longest: int) -> Iterator[str]:
    yield f"\n## #{entry.id} · {entry.who} · {_code(entry.when)}\n"
    for block in entry.blocks or (Block("named", _SAY("empty", locale)),):
        more = len(block.text) - longest if longest else 0
        shown_block = block._replace(text=block.text[:longest]) if more > 0 else block
        yield f"\n{_as_markdown(shown_block)}\n"
        if more > 0:
            yield f"\n{_SAY('cut', locale, count=more)}\n"


def _as_markdown(block: Block) -> str:
    if block.form == "text":
        if _ACTIVE.search(block.text):  # it could end the quotation, or have something fetched
            return fenced(block.text)
        # In a quotation, so that a heading or a fence in it ends with it.
        return "\n".join(f"> {line}".rstrip() for line in block.text.split("\n"))
    title = f"**{block.label}** {_code(block.name)}".rstrip()
    if block.form == "named":
        return title
    if block.form == "thinking":
        return f"{title}\n\n{_as_markdown(Block('text', text=block.text))}"
    return f"{title}\n\n{fenced(block.text, 'json' if block.form == 'call' else '')}"


def _code(text: str) -> str:
    """Return a text of one line as code, so that no character of it is Markdown."""
    if not text:
        return ""
    marks = ticks(text, 1)
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{marks}{blank}{text}{blank}{marks}"


def _heading(session: Session, locale: str) -> tuple[str, str]:
    heading = _SAY("heading", locale, id=session.id, branch=first_words(branch_label(session.branch), _NAME))
    facts = _SAY(
        "facts",
        locale,
        messages=shown_messages(session),
        strategy=strategy_name(session.settings.strategy),
        version=__version__,
    )
    return heading, facts


# ---------------------------------------------------------------------- HTML

_STYLE = "\n" + Path(__file__).with_suffix(".css").read_text("utf-8")
_HEAD = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{heading}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{heading}</h1><p>{facts}</p></header>
<main>
"""


def html(session: Session, locale: str) -> Iterator[str]:
    """Yield the conversation as one HTML file that needs no other: no script, no image, nothing from elsewhere."""
    heading, facts = map(escape, _heading(session, locale))
    yield _HEAD.format(language=locale, heading=heading, facts=facts, style=_STYLE)
    for entry in _entries(session, locale):
        id_, who, when = map(escape, (entry.id, entry.who, entry.when))
        yield f'<article class="{entry.style}" id="i{id_}">\n'
        yield f'<h2>{who} <a href="#i{id_}">#{id_}</a> <time>{when}</time></h2>\n'
        for block in entry.blocks or (Block("named", _SAY("empty", locale)),):
            yield _as_html(block, locale)
        yield "</article>\n"
    yield "</main>\n</body>\n</html>\n"


def _as_html(block: Block, locale: str) -> str:
    label, name, text = map(escape, block[1:])
    title = f"{label} <code>{name}</code>" if name else label
    # The newline after <pre> is no part of its text, so that a text that begins with one keeps it.
    match block.form:
        case "text":
            return f'<pre class="text">\n{text}</pre>\n'
        case "named":
            return f'<p class="named">{title}</p>\n'
        case "call":
            return f'<p>{title}</p>\n<pre class="code">\n{text}</pre>\n'
        case _:
            count = block.text.count("\n") + 1
            lines = _SAY("line" if count == 1 else "lines", locale, count=count)
            summary = f"<summary>{title} ({escape(lines)})</summary>"
            style = "text" if block.form == "thinking" else "code"
            return f'<details>{summary}\n<pre class="{style}">\n{text}</pre>\n</details>\n'


TRANSCRIPTS: Mapping[str, Callable[[Session, str], Iterator[str]]] = {"markdown": markdown, "html": html}
