"""Where the tokens of a session, or of one call, are: by kind, tool and file; and what was read again."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from sightline.errors import BadInput, Damaged
from sightline.log import FAILED, NONE, Journal, entries
from sightline.session.session import Session
from sightline.values.items import Call, Kind, Result, plain_text
from sightline.view.branch_index import BranchIndex
from sightline.view.call_contents import CallContents
from sightline.view.call_values import HIDDEN, ContentLine
from sightline.view.file_reads import READS, FileReads
from sightline.view.ledger import Ledger
from sightline.view.model_calls import call_index
from sightline.view.tool_calls import ToolCalls, tool_calls

GROUPS = ("kind", "tool", "file", "level")
_MOST_CHILDREN = 100  # of a node; the rest is one more
_MOST_FILES = 200
_LONGEST = 300  # characters of a name: a command may be a whole script
_READ_AT_ONCE = 256  # entries
_MOST_TREES = 8  # trees of a session that are kept, because a page asks for the same again


class Node(Struct):
    """Tokens of some items. `by` says what they have in common: the `name` of a kind, tool, file or level."""

    name: str = ""
    by: str = ""
    tokens: int = 0
    items: int = 0
    reread_tokens: int = 0  # of them, those that had been read before
    children: "list[Node]" = []


class RereadFile(Struct):
    """A file of which readings showed nothing new."""

    name: str
    times: int = 0  # such readings
    tokens: int = 0  # of these, with what a provider adds to each
    items: list[str] = []  # all readings


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


_trees: "WeakKeyDictionary[Session, dict[tuple[Any, ...], TokenTree]]" = WeakKeyDictionary()


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
        trees = _trees.setdefault(session, {})
        if key not in trees:
            while len(trees) >= _MOST_TREES:
                del trees[next(iter(trees))]
            trees[key] = _make_tree(session, by, number)
        return trees[key]


def _make_tree(session: Session, by: Sequence[str], number: int | None) -> TokenTree:
    journal, calls = session.log, tool_calls(session)
    reads = repeated_reads(session)
    again, files = set(reads.rows), reads.files()
    if number is None:
        leaves, faults = _all_leaves(call_index(session).ledger, journal, calls, again), len(session.items.faults)
    else:
        contents = CallContents(session, number)
        lines = [(line, contents.row(line)) for line in contents.lines if line.level != HIDDEN]
        rows = {row for _, row in lines}
        again &= rows
        leaves = [leaf for line, row in lines for leaf in _leaves(line, contents.parts(line), is_again=row in again)]
        files = [file for file in files if not rows.isdisjoint(map(session.items.row, file.items))]
        faults = sum(session.items.row(item_id) in rows for item_id in session.items.faults)
    root = _grown(leaves, by)
    rereads = Rereads(len(again), root.reread_tokens, faults, files[:_MOST_FILES])
    return TokenTree(root.tokens, number, root, rereads)


def _all_leaves(ledger: Ledger, journal: Journal, calls: ToolCalls, again: set[int]) -> list[_Leaf]:
    timeline = journal.timeline
    sums: dict[tuple[str, str, int], list[int]] = {}  # kind, tool, subject → tokens, items, tokens read again
    for row in timeline.rows_on(journal.path, range(len(timeline))):
        if timeline.kind[row] == Kind.WINDOW:
            continue
        *parts, (kind, tokens) = ledger.parts(row)
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


def _leaves(line: ContentLine, parts: Sequence[tuple[str, int]], *, is_again: bool) -> Iterator[_Leaf]:
    *others, (kind, tokens) = parts
    for part, size in others:
        yield _Leaf({"kind": part, "tool": "", "file": "", "level": line.level}, size, 0, 0)
    keys = {"kind": kind, "tool": line.tool, "file": line.subject[:_LONGEST], "level": line.level}
    yield _Leaf(keys, tokens, 1, tokens if is_again else 0)


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


# ---------------------------------------------------------------------- what was read again


class RepeatedReads(BranchIndex):
    """What was read again on a branch. Each result that reads a file is read from the log once."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.rows: set[int] = set()  # results that showed nothing new
        self._files: dict[str, RereadFile] = {}
        self._reads = FileReads()

    def update(self, calls: ToolCalls) -> None:
        """Look at the results that are new in the log."""
        timeline, reader = self.timeline, self._journal.reader
        rows = iter(
            [row for row in timeline.rows_on(self._path, range(self._next_row, len(timeline))) if self._reads_at(row)]
        )
        while batch := list(islice(rows, _READ_AT_ONCE)):
            reader.prefetch(batch)
            for row in batch:
                self._add(row, calls)
        self._next_row = len(timeline)

    def files(self) -> list[RereadFile]:
        """Return the files that were read again, those with the most such tokens first."""
        return sorted((file for file in self._files.values() if file.times), key=lambda file: -file.tokens)

    def _reads_at(self, row: int) -> bool:
        timeline = self.timeline
        is_result = timeline.kind[row] == Kind.RESULT and timeline.purpose[row] in READS
        return is_result and timeline.partner[row] != NONE and not timeline.state[row] & FAILED

    def _add(self, row: int, calls: ToolCalls) -> None:
        timeline, partner = self.timeline, self.timeline.partner[row]
        try:
            arguments = msgspec.json.decode(calls.arguments.get(partner, b"null"))
            parts = entries.parts_of(self._journal.reader.entry(row))
        except (Damaged, *entries.UNREADABLE):
            return
        self._reads.add_call(Call("", calls.name(row), arguments))
        text = next((plain_text(part.parts) for part in parts if isinstance(part, Result)), "")
        if (reading := self._reads.add_result("", text, failed=False)) is None:
            return
        file = self._files.setdefault(reading.file, RereadFile(reading.file[:_LONGEST], items=[]))
        file.items.append(timeline.id(row))
        if reading.is_known:
            self.rows.add(row)
            file.times += 1
            file.tokens += timeline.full[row] + self._journal.reader.profile.framing(Kind.RESULT)


def repeated_reads(session: Session) -> RepeatedReads:
    """Return what was read again on a session's branch as it is now. Hold the session's lock while you use it."""
    reads = RepeatedReads.of(session)
    reads.update(tool_calls(session))
    return reads
