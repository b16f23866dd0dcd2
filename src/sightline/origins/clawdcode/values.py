"""The document's types and errors. JSON names are the document's own."""

from math import floor
from typing import Any, Literal

from msgspec import Struct

from sightline.errors import SightlineError

ContextRole = Literal["user", "assistant", "system", "tool"]
Trigger = Literal["auto", "manual"]


class ContextMessage(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One message. `timestamp` is milliseconds; `metadata` may hold OpenAI's `tool_calls` or `tool_call_id`."""

    id: str
    role: ContextRole
    content: str
    timestamp: int
    metadata: dict[str, Any] | None = None


class ToolCallRecord(Struct, omit_defaults=True, rename="camel"):
    id: str
    name: str
    input: Any
    timestamp: int
    status: Literal["pending", "success", "error"]
    output: Any = None
    error: str | None = None


class SystemContext(Struct, rename="camel"):
    """The machine the session runs on."""

    os_type: str
    os_version: str
    shell: str
    cwd: str


class SessionContext(Struct, omit_defaults=True, rename="camel"):
    """The session's user and preferences."""

    session_id: str
    preferences: dict[str, Any]
    start_time: int
    user_id: str | None = None


class ConversationContext(Struct, rename="camel"):
    """The messages that are in memory. `topics` are the files and identifiers that the user named, the newest last."""

    messages: list[ContextMessage]
    topics: list[str]
    last_activity: int


class ToolState(Struct, frozen=True, rename="camel"):
    """How a tool does: the status of its newest call, how many calls it had and how many failed, its last use."""

    status: Literal["pending", "success", "error"]
    calls: int
    errors: int
    last_used: int


class ToolContext(Struct, rename="camel"):
    """The newest tool calls, and the state of each tool by its name. `dependencies` are the caller's to fill."""

    recent_calls: list[ToolCallRecord]
    tool_states: dict[str, ToolState]
    dependencies: dict[str, Any]


class WorkspaceContext(Struct, omit_defaults=True, rename="camel"):
    """The project of the session."""

    project_path: str
    git_branch: str | None = None


class ContextLayer(Struct, rename="camel"):
    system: SystemContext
    session: SessionContext
    conversation: ConversationContext
    tool: ToolContext
    workspace: WorkspaceContext


class ContextMetadata(Struct, omit_defaults=True, rename="camel"):
    """Facts about a whole context. `total_tokens` counts the messages in memory."""

    total_tokens: int
    priority: int
    last_updated: int
    relevance_score: float | None = None


class ContextData(Struct, rename="camel"):
    layers: ContextLayer
    metadata: ContextMetadata


DEFAULT_THRESHOLD = 6000  # tokens


class StorageOptions(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Where sessions are stored, and sizes. An empty `persistent_path` is the storage root."""

    max_memory_size: int = 1000
    persistent_path: str = ""
    cache_size: int = 100
    compression_enabled: bool = True


class FilterOptions(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The limits of a filtered context. `time_window` is milliseconds."""

    max_tokens: int = 32_000
    max_messages: int = 50
    time_window: int = 24 * 60 * 60 * 1000


class ContextManagerOptions(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How a ContextManager works. A `compression_threshold` up to 1 is a share of `max_context_tokens`.

    A compaction retains the newest messages: the share `retain_percent`, which is between 0 and 1 in spite of its name.
    """

    storage: StorageOptions = StorageOptions()
    default_filter: FilterOptions = FilterOptions()
    compression_threshold: float = DEFAULT_THRESHOLD
    max_context_tokens: int = 128_000
    retain_percent: float = 0.2

    @property
    def threshold_tokens(self) -> int:
        """The tokens beyond which a context is compressed."""
        is_share = self.compression_threshold <= 1
        return floor(self.compression_threshold * self.max_context_tokens if is_share else self.compression_threshold)


class NoSession(SightlineError):
    """There is no current session."""

    def __init__(self) -> None:
        super().__init__("没有活动会话")


class NoContext(SightlineError):
    """There is no context in memory."""

    def __init__(self) -> None:
        super().__init__("上下文数据未初始化")
