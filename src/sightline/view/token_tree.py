"""Where the tokens of a session, or of one call, are: by kind, tool and file; and what was read again."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from msgspec import Struct

from sightline.errors import BadInput
from sightline.log import NONE, Journal
from sightline.session.session import Session
from sightline.values.items import Kind
from sightline.view.call_contents import CallContents
from sightline.view.call_values import ContentLine
from sightline.view.model_calls import call_index, kind_parts
from sightline.view.repeated_reads import RereadFile, repeated_reads
from sightline.view.tool_calls import ToolCalls, tool_calls

GROUPS = ("kind", "tool", "file", "level")
_MOST_CHILDREN = 100  # of a node; the rest is one more
_MOST_FILES = 200
_LONGEST = 300  # characters of a name: a command may be a whole script
_MOST_KNOWN = 8  # trees of a session that are kept, because a page asks for the same again


class Node(Struct):
    """Tokens of some items. `by` says what they have in common: the `name` of a kind, tool, file or level."""

    name: str = ""
    by: str = ""
    tokens: int = 0
    items: int = 0
    reread_tokens: int = 0  # of them, those that had been read before
    children: "list[Node]" = []


class Rereads(Struct, frozen=True):
    """What was read again: readings of files that showed nothing new."""

    results: int
    tokens: int
    faults: int  # results that were fetched again because Sightline had shortened them
    files: list[RereadFile]


class TokenTree(Struct, frozen=True):
    """Where the tokens are, and what was read again."""

    total: int
    call: int | None  # that they are of; null: all items in full
    root: Node
    rereads: Rereads


_known: "WeakKeyDictionary[Session, dict[tuple[Any, ...], TokenTree]]" = WeakKeyDictionary()


class _Leaf(NamedTuple):
    """Items that have all names in common."""

    keys: dict[str, str]  # group → name
    tokens: int
    items: int
    reread_tokens: int


def token_tree(session: Session, by: Sequence[str] = ("kind", "tool", "file"), number: int | None = None) -> TokenTree:
    """Return where the tokens are: of all items in full, or as one call showed them.

    Raises:
        BadInput: `by` names something else than `GROUPS`.
        UnknownCallNumber: no call has this number.
    """
    if not by or any(group not in GROUPS for group in by):
        raise BadInput(f"by: tokens are grouped by {', '.join(GROUPS)}, in any order, such as kind,tool,file")
    with session._lock:
        journal = session.log
        key = (journal.branch, len(journal.timeline), len(journal.timeline.receipt_offset), tuple(by), number)
        trees = _known.setdefault(session, {})
        if key not in trees:
            while len(trees) >= _MOST_KNOWN:
                del trees[next(iter(trees))]
            trees[key] = _make_tree(session, by, number)
        return trees[key]


def _make_tree(session: Session, by: Sequence[str], number: int | None) -> TokenTree:
    journal, calls = session.log, tool_calls(session)
    reads = repeated_reads(session)
    again, files = set(reads.rows), reads.files()
    if number is None:
        leaves, faults = _all_leaves(session, journal, calls, again), len(session.items.faults)
    else:
        contents = CallContents(session, number)
        lines = [(line, contents.row(line)) for line in contents.lines]
        rows = {row for _, row in lines}
        again &= rows
        leaves = [_leaf(line, is_again=row in again) for line, row in lines]
        files = [file for file in files if not rows.isdisjoint(map(session.items.row, file.items))]
        faults = sum(session.items.row(item_id) in rows for item_id in session.items.faults)
    root = _grown(leaves, by)
    rereads = Rereads(len(again), root.reread_tokens, faults, files[:_MOST_FILES])
    return TokenTree(root.tokens, number, root, rereads)


def _all_leaves(session: Session, journal: Journal, calls: ToolCalls, again: set[int]) -> list[_Leaf]:
    timeline, index = journal.timeline, call_index(session)
    index.read_all()
    sums: dict[tuple[str, str, int], list[int]] = {}  # kind, tool, subject → tokens, items, tokens read again
    for row in timeline.rows_on(journal.path, range(len(timeline))):
        if timeline.kind[row] == Kind.WINDOW:
            continue
        *parts, (kind, tokens) = kind_parts(index, row)
        for part, size in parts:
            sums.setdefault((part, "", NONE), [0, 0, 0])[0] += size
        leaf = sums.setdefault((kind, calls.name(row), timeline.subject[row]), [0, 0, 0])
        leaf[0] += tokens
        leaf[1] += 1
        leaf[2] += tokens if row in again else 0
    subjects = timeline.subjects
    return [
        _Leaf(
            {"kind": kind, "tool": tool, "file": subjects[at][:_LONGEST] if at != NONE else "", "level": "full"}, *sizes
        )
        for (kind, tool, at), sizes in sums.items()
    ]


def _leaf(line: ContentLine, *, is_again: bool) -> _Leaf:
    keys = {"kind": line.kind, "tool": line.tool, "file": line.subject[:_LONGEST], "level": line.level}
    return _Leaf(keys, line.framed, 1, line.framed if is_again else 0)


def _grown(leaves: Iterable[_Leaf], by: Sequence[str]) -> Node:
    root = Node()
    inner: dict[tuple[str, ...], Node] = {(): root}
    for leaf in leaves:
        path: tuple[str, ...] = ()
        nodes = [root]
        for group in by:
            if not (name := leaf.keys[group]):
                continue
            path = (*path, group, name)
            if (node := inner.get(path)) is None:
                node = inner[path] = Node(name, group)
                nodes[-1].children.append(node)
            nodes.append(node)
        for node in nodes:
            node.tokens += leaf.tokens
            node.items += leaf.items
            node.reread_tokens += leaf.reread_tokens
    for node in inner.values():
        _sort(node)
    return root


def _sort(node: Node) -> None:
    """Order the children by size. Many small ones become one."""
    node.children.sort(key=lambda child: -child.tokens)
    if rest := node.children[_MOST_CHILDREN:]:
        del node.children[_MOST_CHILDREN:]
        sums = (sum(getattr(child, field) for child in rest) for field in ("tokens", "items", "reread_tokens"))
        node.children.append(Node("", "rest", *sums))
