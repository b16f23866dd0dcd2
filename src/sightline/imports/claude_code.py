"""Reads the logs of Claude Code: one JSON object per line, linked by `parentUuid`.

A log is a tree: rewinding makes branches, and so do parallel tool calls, whose results are children of their own call.
The conversation is the branch with the newest message; results that answer its calls are part of it. A compaction
begins a new tree, whose messages come after those before it. Every other line is kept as it is.
"""

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any

import msgspec

from sightline.errors import BadInput
from sightline.imports.claude_tree import LINKED, Tree
from sightline.imports.conversation import ClearedResults, Compaction, Line, Step, Turn, Use, summed
from sightline.imports.harness_text import divided
from sightline.imports.recorded_log import RecordedLog
from sightline.values.items import Message, Role, Text, Usage
from sightline.wire import anthropic

TYPES = LINKED | {
    "summary", "custom-title", "ai-title", "file-history-snapshot", "file-history-delta", "last-prompt",
    "continued-in", "marble-origami-commit", "marble-origami-snapshot", "marble-origami-reset", "queue-operation",
    "content-replacement", "fork-context-ref", "frame-link", "artifact-comment-monitor", "ended-by-model", "tag",
    "relocated", "agent-name", "agent-color", "agent-setting", "pr-link", "artifact-autoreact-ledger",
    "bridge-session", "history-suppression", "attribution-snapshot", "mode", "permission-mode", "isolation-latch",
    "atis-latch", "worktree-state", "cost-state", "observer-ref", "task-summary", "speculation-accept", "turn_end",
    "agent_metadata",
}  # fmt: skip
"""The types of lines that are known, by which such a log is recognised. Others are kept too."""

_MOST_LINES = 64  # of a step that says nothing: so many are kept in memory at most


def recognises(value: Any) -> bool:
    """Whether this is a line of such a log."""
    match value:
        case {"type": "user" | "assistant", "message": {"role": _} | {"content": _}}:
            return "sessionId" in value or "uuid" in value or "parentUuid" in value
        case {"type": str(kind), "sessionId": str()}:
            return kind in TYPES or "uuid" in value
        case {"type": "summary", "leafUuid": _} | {"type": "file-history-snapshot", "snapshot": _}:
            return True
        case _:
            return False


class ClaudeLog(RecordedLog):
    """The conversation of one log."""

    kind = "Claude Code"
    profile = "anthropic"

    @cached_property
    def _tree(self) -> Tree:
        return Tree(self._source.lines())

    @property
    def key(self) -> str:
        """The id of its session: that of the log, and of a subagent its own too."""
        ids = [part for part in (self._tree.session_id or self._source.stem, self._tree.agent_id) if part]
        return "claude-" + "-".join(ids)

    @property
    def usage(self) -> Usage | None:
        return summed(iter(self._tree.usages.values()))

    @property
    def ends(self) -> list[str]:
        """The uuids of which the next message of the conversation will name one as its parent."""
        return self._tree.ends

    def continues(self, ends: Collection[str]) -> bool:
        """Whether this part of a log goes on where one with these `ends` stopped: nothing was taken back since."""
        return self._tree.outside.issubset(ends)

    def is_active(self, number: int) -> bool:
        return number in self._tree.active

    def _type_of(self, value: Any) -> str:
        match value:
            case {"type": str(kind), "subtype": str(more)} | {"type": str(kind), "attachment": {"type": str(more)}}:
                return f"{kind}/{more}"
            case {"type": str(kind)}:
                return kind
            case _:
                return "unreadable" if value is None else "unknown"

    def _assembly(self) -> "_Assembly":
        return _Assembly(self._tree)


class _Assembly:
    """Puts lines together to steps: the lines of one model call with the results of its calls."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._lines: list[Line] = []
        self._blocks: list[Any] = []  # of the model's message that is being read
        self._first: dict[str, Any] = {}  # its first line
        self._after: list[Turn] = []  # results and attachments that follow it
        self._boundary: dict[str, Any] | None = None  # a compaction whose summary has not come yet
        self._cleared: set[str] = set()  # calls whose results were taken out of the prompt
        self._edited = self._edited_before = 0  # results that the provider took out of this prompt, and of the last

    def add(self, line: Line, value: Any, *, is_active: bool) -> Iterator[Step]:
        """Add a line; `is_active`: it belongs to the conversation. Yield the steps that end before it."""
        use = _use_of(value)
        match value if is_active else None:
            case {"type": "assistant", "message": {"content": content} as message}:
                if not self._first or message.get("id") is None or message.get("id") != self._message_id():
                    yield from self.end()
                    self._first = value
                use = Use.MESSAGE
                self._blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content or []
                self._edited = max(self._edited, _edited_results(message))
            case {"type": "user", "isCompactSummary": True, "message": {"content": content}}:
                yield from self.end(keep_boundary=True)
                yield self._compacted(line, value, content)
                return
            case {"type": "user", "message": {"content": content}}:
                results = isinstance(content, list) and all(_is_result(block) for block in content)
                if not (results and self._first):
                    yield from self.end()
                turns = [*_user_turns(value, content)]
                use = Use.MESSAGE if turns else Use.METADATA if _says_nothing(value, content) else Use.UNKNOWN
                self._after += turns
            case {"type": "attachment", "attachment": {} as attachment}:
                turns = [*_attached(value, attachment)]
                use = Use.MESSAGE if turns else use
                self._after += turns
            case {"type": "system", "subtype": "compact_boundary"}:
                yield from self.end()
                self._boundary = value
            case {"type": "system", "subtype": "microcompact_boundary", "microcompactMetadata": {} as facts}:
                yield from self.end(keep_boundary=True)
                calls = facts.get("compactedToolIds")
                self._cleared.update(filter(_is_text, calls if isinstance(calls, list) else ()))
            case _:
                if len(self._lines) >= _MOST_LINES and not self._first and not self._after:
                    yield from self.end(keep_boundary=True)
        self._lines.append(line._replace(use=use))

    def end(self, *, keep_boundary: bool = False) -> Iterator[Step]:
        """Yield the step of the lines so far."""
        turns = [*self._answer(), *self._after]
        if self._lines:
            yield Step(tuple(self._lines), tuple(turns), cleared=self._cleared_now())
        self._lines, self._blocks, self._after, self._first = [], [], [], {}
        if not keep_boundary:
            self._boundary = None

    def _cleared_now(self) -> ClearedResults | None:
        """Return what was taken out of the prompt of these lines, and not of the one before."""
        cleared, edited = frozenset(self._cleared), self._edited
        if self._first:
            edited = 0 if edited == self._edited_before else edited
            self._edited_before = self._edited
        self._cleared, self._edited = set(), 0
        return ClearedResults(cleared, edited) if cleared or edited else None

    def _message_id(self) -> Any:
        return self._first["message"].get("id")

    def _answer(self) -> Iterator[Turn]:
        if not self._first:
            return
        message = self._first["message"]
        try:
            read = anthropic.read_reply({"model": message.get("model"), "content": self._blocks})
        except BadInput:
            self._lines = [
                line._replace(use=Use.UNKNOWN) if line.type == "assistant" and line.use is Use.MESSAGE else line
                for line in self._lines
            ]
            return  # the lines are kept
        yield _turn(self._first, msgspec.structs.replace(read, usage=self._tree.usages.get(str(message.get("id")))))

    def _compacted(self, line: Line, value: dict[str, Any], content: Any) -> Step:
        """Return the step of a summary. Without its boundary it replaces everything before it, as with one."""
        facts = (self._boundary or {}).get("compactMetadata") or {}
        text = content if isinstance(content, str) else "\n".join(block.get("text") or "" for block in content)
        kept = facts.get("preservedSegment") or {}
        uuids = (facts.get("preservedMessages") or {}).get("uuids") or [kept.get("headUuid") or ""]
        compaction = Compaction(
            summary=text,
            trigger=str(facts.get("trigger") or "auto"),
            pre_tokens=facts.get("preTokens") or 0,
            post_tokens=facts.get("postTokens"),
            kept_from=uuids[0],
            uuid=value.get("uuid") or "",
            timestamp=value.get("timestamp") or "",
        )
        use = Use.SUMMARY if text.strip() else Use.METADATA
        lines = (*self._lines, line._replace(use=use))
        step = Step(lines, (), compaction if text.strip() else None)
        self._lines, self._boundary = [], None
        return step


def _edited_results(message: dict[str, Any]) -> int:
    """Return of how many results the provider says that it has taken them out of the prompt of this answer."""
    match message:
        case {"context_management": {"applied_edits": [*edits]}}:
            counts = (edit.get("cleared_tool_uses") for edit in edits if isinstance(edit, dict))
            return max((count for count in counts if type(count) is int), default=0)
        case _:
            return 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _use_of(value: Any) -> Use:
    """Return what becomes of a line that says nothing in the conversation."""
    match value:
        case None:
            return Use.UNREADABLE
        case {"type": "user" | "assistant", "message": _}:
            return Use.ASIDE
        case {"type": str(kind)} if kind in TYPES:
            return Use.METADATA
        case _:
            return Use.UNKNOWN


def _says_nothing(value: dict[str, Any], content: Any) -> bool:
    """Whether a user's line is not meant for the model, or is empty."""
    return not content or bool(value.get("isVisibleInTranscriptOnly"))


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _user_turns(value: dict[str, Any], content: Any) -> Iterator[Turn]:
    """Yield the results of a user's line, then what the user and what the harness said, in order."""
    if value.get("isVisibleInTranscriptOnly"):
        return
    blocks = content if isinstance(content, list) else [content] if content else []
    results = [block for block in blocks if _is_result(block)]
    others = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    runs = [(False, results)] if results else []
    runs += divided([block for block in others if not _is_result(block)])
    number = 0
    for by_harness, run in runs:
        try:
            read = anthropic.read([{"role": "user", "content": run}])
        except BadInput:
            continue  # the line is kept
        for message in read:
            number += 1
            by_program = message.role is Role.USER and (by_harness or _is_injected(value))
            yield _turn(value, message, number, by_program=by_program)


def _is_injected(value: dict[str, Any]) -> bool:
    """Whether the harness and not the user wrote a line."""
    return bool(value.get("isMeta") or (value.get("origin") or {}).get("kind") not in (None, "human", "user"))


def _attached(value: dict[str, Any], attachment: dict[str, Any]) -> Iterator[Turn]:
    """Yield what the model saw of an attachment, as far as the log says it. A queued message is the user's own."""
    text_seen = value.get("rendered") or attachment.get("rendered") or attachment.get("renderedInHumanTurn")
    match attachment:
        case {"type": "queued_command", "prompt": str() | list() as prompt} if prompt:
            own = attachment.get("commandMode") in (None, "prompt") and not value.get("isMeta")
            for by_harness, run in divided(prompt):
                for message in anthropic.read([{"role": "user", "content": run}]):
                    yield _turn(value, message, by_program=by_harness or not own)
            return
        case {"type": "file", "content": {"file": {"content": str(text)}}} if not text_seen:
            text_seen = f"{attachment.get('displayPath') or attachment.get('filename') or ''}\n{text}"
        case {"type": "hook_additional_context", "content": str() | list() as content} if not text_seen:
            text_seen = content if isinstance(content, str) else "\n".join(map(str, content))
    if isinstance(text_seen, str) and text_seen.strip():
        yield _turn(value, Message(Role.USER, (Text(text_seen),)), by_program=True)


def _turn(value: dict[str, Any], message: Message, number: int = 1, *, by_program: bool = False) -> Turn:
    uuid = str(value.get("uuid") or "")
    return Turn(
        message=message,
        uuid=uuid if number == 1 or not uuid else f"{uuid}.{number}",
        timestamp=str(value.get("timestamp") or ""),
        by_program=by_program,
        cwd=str(value.get("cwd") or ""),
        git_branch=str(value.get("gitBranch") or ""),
    )
