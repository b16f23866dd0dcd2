"""What a file of code defines: its functions and its classes, from a real parser where there is one."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from sightline.shorten.outline import languages, line_rules
from sightline.shorten.outline.grammars import GRAMMARS, Found, Grammar, definitions
from sightline.shorten.outline.pieces import Piece, pieces

if TYPE_CHECKING:
    from tree_sitter import Language, Node

LARGEST = 512 * 1024  # characters that are read, the first: what people write is smaller, and this takes half a second
LONGEST = 100  # characters of a name
GARBLED = 0.5  # share of a piece that cannot be read, from which it is no code of this language,
ERRORS = 16  # or places in it that cannot be read;
PATIENCE = 4  # how many such pieces are tried before the rest is read line by line


class Outline(NamedTuple):
    """The names a file defines at its top, in source order, each once."""

    functions: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


NOTHING = Outline()


def outline(text: str, language: str) -> Outline:
    """What a text in this language defines, the language named as `languages.language` takes it.

    A method belongs to its class and is not listed. Where the class is not in the text it is, behind the name of the
    class, and in Java, which has nothing else. A text with errors gives what can be read of it; a language that defines
    nothing gives nothing. Pure and total.
    """
    known = languages.language(language)
    if known is None:
        return NOTHING
    text = text[:LARGEST]
    found = _parsed(text, known.name)
    return _outline(line_rules.defined(text, known.name) if found is None else found)


def _outline(found: Iterable[Found]) -> Outline:
    kept = [each for each in found if each.name and len(each.name) <= LONGEST]
    classes = dict.fromkeys(each.name for each in kept if each.is_class)
    functions = [each for each in kept if not each.is_class and not (each.owner and _short(each.owner) in classes)]
    names = (f"{each.owner}{each.joint}{each.name}" if each.owner else each.name for each in functions)
    return Outline(tuple(dict.fromkeys(names)), tuple(classes))


def _short(owner: str) -> str:
    """A class without its namespace and its parameters."""
    return owner.rpartition("::")[2].partition("<")[0]


def _parsed(text: str, language: str) -> list[Found] | None:
    """What the syntax trees of its pieces define; None where there is no grammar, or it is not installed."""
    if language not in GRAMMARS or any(_loaded(each.module, each.loader) is None for each in GRAMMARS[language]):
        return None
    found: list[Found] = []
    garbled = 0
    for piece in pieces(text):
        read = _read(piece, GRAMMARS[language]) if garbled < PATIENCE else None
        if read is None:
            garbled += 1
            read = [] if piece.continues else list(line_rules.defined(piece.text, language))
        found += read
    return found


def _read(piece: Piece, dialects: tuple[Grammar, ...]) -> list[Found] | None:
    """What one piece defines, in the dialect that reads it best; None where none can read it."""
    if piece.continues and not dialects[0].goes_on:
        return []
    source = piece.text.encode("utf-8", "replace")
    least, best = GARBLED, None
    for grammar in dialects:
        root = _root(source, grammar)
        unread = _unread(root)
        if unread <= least:
            least, best = unread, list(definitions(root, grammar, inside=piece.continues))
        if not root.has_error:
            break
    return best


def _unread(root: "Node") -> float:
    """The share of a text that its tree could not make sense of."""
    if not root.has_error:
        return 0.0
    if root.type == "ERROR":
        return 1.0
    wrong = [node for node in root.children if node.has_error]
    if len(wrong) > ERRORS:
        return 1.0
    unread = sum(node.end_byte - node.start_byte for node in wrong if node.type == "ERROR")
    return unread / max(1, root.end_byte - root.start_byte)


def _root(source: bytes, grammar: Grammar) -> "Node":
    from tree_sitter import Parser

    language = _loaded(grammar.module, grammar.loader)
    assert language is not None
    # A parser of its own: they are cheap, and one may not serve two threads.
    return Parser(language).parse(source).root_node


@cache
def _loaded(module: str, loader: str) -> "Language | None":
    try:
        from tree_sitter import Language

        return Language(getattr(import_module(module), loader)())
    except (ImportError, AttributeError, ValueError, TypeError):  # not installed, or of another time than the rest
        return None
