"""Finds out which lines of a Claude Code log are its conversation, without keeping their texts in memory."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from sightline.imports.conversation import Line
from sightline.imports.source import value_of
from sightline.values.items import Usage
from sightline.wire import anthropic

LINKED = frozenset({"user", "assistant", "system", "attachment", "progress"})
"""Types of lines that are linked by `parentUuid`."""


class Node(NamedTuple):
    """One linked line."""

    line: int
    uuid: str
    parent: str | None
    speaks: bool  # it is a message of the user or of the model
    main: bool  # of the main line: no side chain, no team member's, not written by the harness
    side: bool  # of a side chain or a team member
    message: str = ""  # id of the model's message that it is a part of
    logical: str = ""  # of a compaction: the last line before it
    summarises: bool = False
    keeps: bool = False  # a compaction that left some messages as they were


class Tree:
    """The links between the lines of a log.

    active: the numbers of the lines that are the conversation. usages: by the id of the model's message.
    ends: the uuids from the newest message on, one of which the next message names as its parent.
    outside: the uuids that lines of the conversation come after and that are not among these lines.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.session_id = self.agent_id = ""
        self.usages: dict[str, Usage] = {}
        self._nodes: list[Node] = []
        self._at: dict[str, int] = {}  # uuid → the index of its node
        self._calls: dict[str, int] = {}  # call id → the index of the node that makes it
        self._results: list[tuple[int, str]] = []  # index of a node and the id of the call that it answers
        for line in lines:
            if isinstance(value := value_of(line), dict):
                self._add(line.number, value)
        before = {index: node.logical or node.parent for index, node in enumerate(self._nodes)}
        if self._nodes and all(node.side for node in self._nodes if node.speaks):  # the file of a subagent
            self._nodes = [node._replace(main=True, side=False) for node in self._nodes]
        else:
            self.agent_id = ""
        if not any(node.parent in self._at for node in self._nodes):  # nothing is linked: the lines follow each other
            self._nodes = [*_linked(self._nodes)]
        self._spoken = [index for index, node in enumerate(self._nodes) if node.main and node.speaks]
        chain = self._stitched(self._chain())
        self.active = {self._nodes[index].line for index in chain}
        self.outside = {uuid for index in chain if (uuid := before[index]) and uuid not in self._at}
        newest = max((index for index in chain if self._nodes[index].speaks), default=len(self._nodes))
        self.ends = [node.uuid for node in self._nodes[newest:]]

    def _add(self, number: int, value: dict[str, Any]) -> None:
        self.session_id = str(value.get("sessionId") or self.session_id)
        if value.get("type") not in LINKED:
            return
        message = value.get("message") if isinstance(value.get("message"), dict) else {}
        assert isinstance(message, dict)
        uuid = str(value.get("uuid") or f"line {number}")
        if uuid in self._at:
            return  # written again after a compaction
        index = self._at[uuid] = len(self._nodes)
        side = bool(value.get("isSidechain") or value.get("teamName"))
        self.agent_id = str(value.get("agentId") or self.agent_id)
        boundary = value.get("subtype") == "compact_boundary"
        facts = value.get("compactMetadata") or {}
        previous = self._nodes[-1].uuid if self._nodes else None
        answer = str(message.get("id") or "") if value["type"] == "assistant" else ""
        self._nodes.append(Node(
            number, uuid, value.get("parentUuid", previous), value["type"] in ("user", "assistant"),
            not (side or value.get("isMeta")), side, answer,
            str(value.get("logicalParentUuid") or "?") if boundary else "", bool(value.get("isCompactSummary")),
            boundary and bool(facts.get("preservedSegment") or facts.get("preservedMessages")),
        ))  # fmt: skip
        if answer and (usage := anthropic.read_usage(message.get("usage"))) is not None:
            self.usages[answer] = usage
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            match block:
                case {"type": "tool_use", "id": str(call)}:
                    self._calls[call] = index
                case {"type": "tool_result", "tool_use_id": str(call)}:
                    self._results.append((index, call))

    def _chain(self) -> set[int]:
        """Return the nodes from the newest message back to the first."""
        chain: set[int] = set()
        summaries: defaultdict[str | None, list[int]] = defaultdict(list)  # by what they follow
        for at, node in enumerate(self._nodes):
            if node.summarises:
                summaries[node.parent].append(at)
        index = self._newest_leaf()
        while index is not None and index not in chain:
            chain.add(index)
            index = self._before(index)
        for at, node in enumerate(self._nodes):
            if node.keeps and at not in chain and self._at.get(node.logical) in chain:
                chain.add(at)  # what it kept is linked to the messages after it directly
                chain.update(summaries[node.uuid])
        return chain

    def _newest_leaf(self) -> int | None:
        parents = {self._at[node.parent] for node in self._nodes if node.parent in self._at}
        silent: set[int] = set()  # nodes from which a message was looked for: each is passed once
        leaves = [self._speaker(index, silent) for index in range(len(self._nodes)) if index not in parents]
        return max((leaf for leaf in leaves if leaf is not None and self._nodes[leaf].main), default=None)

    def _speaker(self, index: int, silent: set[int]) -> int | None:
        """Return the nearest message from here backwards; None if there is none, or another leaf has led to it."""
        while not self._nodes[index].speaks:
            silent.add(index)
            parent = self._at.get(self._nodes[index].parent or "")
            if parent is None or parent in silent:
                return None
            index = parent
        return index

    def _before(self, index: int) -> int | None:
        """Return what comes before a node; where a link leads out of the file, the last message before it."""
        node = self._nodes[index]
        wanted = node.logical or node.parent
        if wanted is None:
            return None
        if (before := self._at.get(wanted)) is not None:
            return before
        at = bisect_left(self._spoken, index) - 1
        return self._spoken[at] if at >= 0 else None

    def _stitched(self, chain: set[int]) -> set[int]:
        """Return the chain with the other parts of its messages, and the results of all its calls."""
        messages = {node.message for index in chain if (node := self._nodes[index]).message}
        chain = chain | {index for index, node in enumerate(self._nodes) if node.message in messages and not node.side}
        answered = {call for index, call in self._results if index in chain}
        for index, call in self._results:
            if call not in answered and self._calls.get(call) in chain:
                answered.add(call)
                chain.add(index)
        return chain


def _linked(nodes: list[Node]) -> Iterator[Node]:
    """Yield the nodes, each of the main line with the one before it as its parent."""
    before: str | None = None
    for node in nodes:
        yield node._replace(parent=before) if node.main else node
        before = node.uuid if node.main else before
