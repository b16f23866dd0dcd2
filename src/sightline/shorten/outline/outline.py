"""What a code file defines: its functions and classes, by a parser where there is one."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from sightline.shorten.diffs import looks_like_diff
from sightline.shorten.outline import languages, line_rules
from sightline.shorten.outline.grammars import GRAMMARS, Definition, Grammar, definitions

if TYPE_CHECKING:
    from tree_sitter import Language, Node

LARGEST = 256 * 1024  # characters that are read at most: what people write is smaller, and this takes 0.2 seconds
LONGEST = 100  # characters of a name
GARBLED = 0.5  # share of a piece that cannot be parsed, from which it is no code of this language,
ERRORS = 16  # or number of places in it that cannot be parsed;
MOST_GARBLED = 4  # such pieces before the rest is read line by line, because they take long;
DAMAGED = 0.25  # of such a piece is one that can be read in spite of its errors
SIZE = 4096  # characters of a piece at most: the worst pieces take a third of a second, code some milliseconds

_CONTINUES = re.compile(r"[\s)\]}{]|(?:else|elif|except|finally|catch|rescue|ensure|end|then|fi|done|esac|when)\b")


class Outline(NamedTuple):
    """The names that a file defines at its top level, in source order, each once."""

    functions: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


class Piece(NamedTuple):
    """Some lines. `continues` is true if they are inside something that began in an earlier piece."""

    text: str
    continues: bool = False

    @property
    def is_within_line(self) -> bool:
        """Whether this is a part of a line that nobody has written by hand, because it is longer than a piece."""
        return len(self.text) == SIZE and "\n" not in self.text


def outline(text: str, language: str) -> Outline:
    """Return what a text in this language defines. `language` is a name that `languages.language` accepts.

    A method belongs to its class and is not listed. It is listed with the name of its class if the class is not in the
    text, and in Java, which has nothing else. A text with errors gives what can be read of it. A language without
    definitions gives nothing. Pure and total.
    """
    supported = languages.language(language)
    return Outline() if supported is None else _read(text[:LARGEST], supported.name)


@lru_cache(maxsize=4)  # a text is shortened several times in a row, to different sizes
def _read(text: str, language: str) -> Outline:
    parsed = None if looks_like_diff(text) else _parse(text, language)  # a parser takes long to find no code
    return _outline(line_rules.defined(text, language) if parsed is None else parsed)


def _outline(defined: Iterable[Definition]) -> Outline:
    valid = [definition for definition in defined if definition.name and len(definition.name) <= LONGEST]
    classes = dict.fromkeys(definition.name for definition in valid if definition.is_class)
    functions = [
        definition
        for definition in valid  # the class of an owner has neither a namespace nor parameters
        if not definition.is_class and definition.owner.rpartition("::")[2].partition("<")[0] not in classes
    ]
    names = (
        f"{function.owner}{function.joiner}{function.name}" if function.owner else function.name
        for function in functions
    )
    return Outline(tuple(dict.fromkeys(names)), tuple(classes))


def _parse(text: str, language: str) -> list[Definition] | None:
    """Return what the syntax trees of the pieces define; None if there is no grammar or it is not installed."""
    if language not in GRAMMARS or any(_load(grammar.module, grammar.loader) is None for grammar in GRAMMARS[language]):
        return None
    defined: list[Definition] = []
    garbled = 0.0
    for piece in pieces(text):
        may_be_code = garbled < MOST_GARBLED and not piece.is_within_line
        read, has_error = _parse_piece(piece, GRAMMARS[language]) if may_be_code else (None, True)
        garbled += 1 if read is None else DAMAGED * has_error
        if read is None:
            read = [] if piece.continues else list(line_rules.defined(piece.text, language))
        defined += read
    return defined


def _parse_piece(piece: Piece, dialects: tuple[Grammar, ...]) -> tuple[list[Definition] | None, bool]:
    """Return what one piece defines, in the dialect that reads it best, None if none can; and whether it has errors."""
    if piece.continues and not dialects[0].nested:
        return [], False
    from tree_sitter import Parser

    source = piece.text.encode("utf-8", "replace")
    least, best = GARBLED, None
    for grammar in dialects:
        # Each call makes a parser, because they are cheap and two threads must not share one.
        root = Parser(_load(grammar.module, grammar.loader)).parse(source).root_node
        unread = _unread_share(root)
        if unread <= least:
            least, best = unread, list(definitions(root, grammar, inside=piece.continues))
        if not root.has_error:
            return best, False
    return best, True


def _unread_share(root: "Node") -> float:
    """Return the share of a text that its tree could not parse."""
    if not root.has_error:
        return 0.0
    wrong = [node for node in root.children if node.has_error]
    if root.type == "ERROR" or len(wrong) > ERRORS:
        return 1.0
    unread = sum(node.end_byte - node.start_byte for node in wrong if node.type == "ERROR")
    return unread / max(1, root.end_byte - root.start_byte)


@cache
def _load(module: str, loader: str) -> "Language | None":
    try:
        from tree_sitter import Language

        return Language(getattr(import_module(module), loader)())
    except (ImportError, AttributeError, ValueError, TypeError):  # not installed, or a version that does not fit
        return None


# ---------------------------------------------------------------------- pieces


def pieces(text: str) -> Iterator[Piece]:
    """Yield the text in pieces, cut before lines without indentation, or else before the least indented line.

    A parser that recovers from errors takes time that grows with the square of what it cannot read: a minute for 64 KB
    of quotation marks. In small pieces the time is bounded whatever the text is. Code loses little by it, because a
    line without indentation usually begins something new.
    """
    whole = text.splitlines(keepends=True)
    lines = [line[at : at + SIZE] for line in whole for at in range(0, len(line), SIZE)]
    start, continues = 0, False
    while start < len(lines):
        end = _find_end(lines, start, continues=continues)
        yield Piece("".join(lines[start:end]), continues)
        start, continues = end, end < len(lines) and not _starts_definition(lines[end])


def _starts_definition(line: str) -> bool:
    return _CONTINUES.match(line) is None


def _find_end(lines: Sequence[str], start: int, *, continues: bool) -> int:
    """Return where the piece that begins here ends: before the line with this number."""
    size, end = 0, start
    while end < len(lines) and (size + len(lines[end]) <= SIZE or end == start):
        if continues and end > start and _starts_definition(lines[end]):
            return end
        size += len(lines[end])
        end += 1
    if end == len(lines):
        return end
    starts = [at for at in range(start + 1, end + 1) if _starts_definition(lines[at])]
    if starts and not continues:
        return next((at for at in reversed(starts) if not lines[at - 1].strip()), starts[-1])
    later = range((start + end) // 2 + 1, end + 1)
    return min(later, key=lambda at: (_indentation(lines[at]), -at), default=end)


def _indentation(line: str) -> int:
    text = line.lstrip()
    # A line that closes a block or is empty is not a place to begin.
    return len(line) - len(text) if text and text[0] not in ")]}" else len(line) + SIZE
