"""Elements, of which an app's page is made, and how they are written in XML and Markdown."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sightline.apps.anchors import NAME, escaped
from sightline.errors import InvalidSourceData
from sightline.values.escape import forged_brackets
from sightline.values.items import Lod
from sightline.values.pattern import pattern

_TAG = pattern(r"[A-Za-z_][\w.-]*", re.ASCII)
_OWN = ("id", "lod", "tags", "actions")  # XML attributes that are made from an element's own fields
_NOT_XML = pattern("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_ATTRIBUTES = str.maketrans({'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
_ONE_LINE = 60  # characters of a body that a gist shows


class Element(Struct, frozen=True, kw_only=True):
    """One piece of what an app shows. Its parts are shown in this order: text, tags, actions, body, table, children."""

    tag: str = "item"  # its name in XML
    text: str = ""  # one line: its only text, or its title
    id: str = ""  # names it for actions and references
    lod: Lod | None = None  # of an entry with a level of its own, which is shown as its label
    tags: tuple[str, ...] = ()
    body: str = ""  # further lines
    code: str | None = None  # the body is source code of this language, or ""; it is shown in a fence
    table: tuple[tuple[str, ...], ...] = ()  # rows; the first is the heading
    actions: tuple[str, ...] = ()  # actions on this element
    attributes: Mapping[str, str] = {}
    children: tuple["Element", ...] = ()

    def __post_init__(self) -> None:
        for field in ("tag", "text", "id", "body"):
            if not isinstance(value := getattr(self, field), str):
                raise InvalidSourceData(f"an element's {field} is text, not {value!r}; str() makes it one")
        for field in ("tags", "actions"):
            if isinstance(value := getattr(self, field), str) or not all(isinstance(text, str) for text in value):
                raise InvalidSourceData(f"an element's {field} are several texts, such as ('a',), not {value!r}")
        if not _TAG.fullmatch(self.tag) or not all(map(_TAG.fullmatch, self.attributes)):
            raise InvalidSourceData(f"no XML name: {[self.tag, *self.attributes]!r}; letters, digits, '_', '-', '.'")
        for name, value in self.attributes.items():
            if name in _OWN or not isinstance(value, str):
                raise InvalidSourceData(f"attribute {name}={value!r}: a text, and not one of {', '.join(_OWN)}")
        for name in (self.id, *self.actions) if self.id else self.actions:
            if not NAME.fullmatch(name):
                raise InvalidSourceData(f"element id or action {name!r}: use letters, digits, '_', '-', '.' and ':'")
        if self.actions and not self.id:
            raise InvalidSourceData(f"element {self.text!r} offers {', '.join(self.actions)} and needs an id for that")


class Page(Struct, frozen=True):
    """All that an app shows at one level."""

    title: str
    elements: tuple[Element, ...] = ()
    focus: str | None = None  # the id of the element that has the focus
    custom: Mapping[str, Any] | None = None  # what else the app says of its state


def walk(elements: Iterable[Element]) -> Iterator[Element]:
    """Return the elements and all within them, in the order they are shown."""
    for element in elements:
        yield element
        yield from walk(element.children)


def without_actions(elements: Iterable[Element]) -> Iterator[Element]:
    """Return the elements as they are shown where nothing can be done with them."""
    return (replace(element, actions=(), children=tuple(without_actions(element.children))) for element in elements)


def redact_page(page: Page, redact: Callable[[str], str]) -> Page:
    """Return the page with every text passed through `redact`, except the names from the app's code."""
    return Page(
        redact(page.title),
        tuple(_redact_element(element, redact) for element in page.elements),
        page.focus and _redact_id(page.focus, redact),
        page.custom and _redact_value(page.custom, redact),
    )


def _redact_element(element: Element, redact: Callable[[str], str]) -> Element:
    return replace(
        element,
        text=redact(element.text),
        id=_redact_id(element.id, redact),
        tags=tuple(map(redact, element.tags)),
        body=redact(element.body),
        code=element.code and redact(element.code),
        table=tuple(tuple(map(redact, row)) for row in element.table),
        attributes={name: redact(value) for name, value in element.attributes.items()},
        children=tuple(_redact_element(child, redact) for child in element.children),
    )


def _redact_id(name: str, redact: Callable[[str], str]) -> str:
    """Redact an id. The result is a valid name, whatever the redaction puts in."""
    return re.sub(r"[^\w.:-]", "_", redact(name)) or ("_" if name else "")


def _redact_value(value: Any, redact: Callable[[str], str]) -> Any:
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {redact(str(name)): _redact_value(inner, redact) for name, inner in value.items()}
        case list() | tuple():
            return [_redact_value(inner, redact) for inner in value]
        case _:
            return value


# ------------------------------------------------------------------ Markdown


# Returns how an action on an element is written.
Offer = Callable[[Element, str], str]


def markdown(page: Page, offer: Offer) -> str:
    """Return the page as Markdown. No text in it can become a marker, a label, an entry's id or a line of its own."""
    lines = [line for element in page.elements for line in _lines(element, offer, "")]
    return "\n".join([f"# {_flat(page.title)}", *([""] if lines else []), *lines])


def _lines(element: Element, offer: Offer, indent: str) -> Iterator[str]:
    label = f"[{element.lod.name}]" if element.lod is not None else "-"
    pieces = [label, f"**[{element.id}]**" if element.id else "", _flat(element.text)]
    pieces += [f"`{_flat(tag.replace('`', ''))}`" for tag in element.tags]
    if element.lod is Lod.GIST and element.body:
        pieces.append(f"— _{_shortened(_flat(element.body))}_")
    pieces += [offer(element, action) for action in element.actions]
    yield indent + " ".join(filter(None, pieces))
    if element.body and element.lod is not Lod.GIST:
        yield from _body(element, indent + "  " if element.lod is None else indent)
    for number, row in enumerate(element.table):
        # Escape bars, and the backslashes right before them, which would escape the bar's backslash.
        cells = [re.sub(r"(\\*)\|", r"\1\1\\|", _flat(text)) for text in row]
        yield f"{indent}  | {' | '.join(cells)} |"
        if number == 0:
            yield f"{indent}  |{' --- |' * len(row)}"
    for child in element.children:
        yield from _lines(child, offer, indent + "  ")


def _body(element: Element, indent: str) -> Iterator[str]:
    if element.code is None:
        for line in element.body.split("\n"):
            yield f"{indent}> {_flat(line)}".rstrip()
        return
    text = escaped(element.body)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    start = fence + re.sub(r"\W", "", element.code)
    yield from (f"{indent}{line}" for line in [start, *text.split("\n"), fence])


def _flat(text: str) -> str:
    """Return an app's text in one line, escaped."""
    return escaped(" ".join(text.split()))


def _shortened(text: str) -> str:
    return text if len(text) <= _ONE_LINE else text[: _ONE_LINE - 1] + "…"


# ------------------------------------------------------------------ XML


def xml_text(text: str) -> str:
    """Escape a text for XML. Characters that XML cannot hold become U+FFFD.

    A bracket with which a line begins like one of the engine's becomes a reference.
    """
    text, written, done = _NOT_XML.sub("\ufffd", text), "", 0
    for at in forged_brackets(text):
        written, done = f"{written}{_xml_escaped(text[done:at])}&#{ord(text[at])};", at + 1
    return written + _xml_escaped(text[done:])


def _xml_escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def xml_attributes(attributes: Mapping[str, str]) -> str:
    """Write attributes, each after a space."""
    return "".join(f' {name}="{xml_text(value).translate(_IN_ATTRIBUTES)}"' for name, value in attributes.items())


def xml(element: Element, indent: str, *, actions: bool = True) -> Iterator[str]:
    """Return an element as lines of XML, also with its `actions`. Its text cannot become an element."""
    lod = element.lod.name.lower() if element.lod is not None else ""
    offers = ", ".join(element.actions if actions else ())
    own = zip(_OWN, (element.id, lod, ", ".join(element.tags), offers), strict=True)
    start = element.tag + xml_attributes({name: value for name, value in own if value} | dict(element.attributes))
    inside = [line for child in element.children for line in xml(child, indent + "  ", actions=actions)]
    inside = [*(f"{indent}  <row>{xml_text(' | '.join(row))}</row>" for row in element.table), *inside]
    if not inside and not element.body:
        yield f"{indent}<{start}>{xml_text(element.text)}</{element.tag}>"
        return
    yield f"{indent}<{start}>"
    if element.text:
        yield f"{indent}  <title>{xml_text(element.text)}</title>"
    if element.body:
        body = _shortened(" ".join(element.body.split())) if element.lod is Lod.GIST else element.body
        yield f"{indent}  <body>{xml_text(body)}</body>"
    yield from inside
    yield f"{indent}</{element.tag}>"
