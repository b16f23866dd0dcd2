"""The ClawdCode document's context management: a session's messages in memory, in JSONL files and in a cache.

The files are the core's logs, one per session, in the document's own folder. Messages that memory drops stay in the
file. Messages are saved in the background, in order; `flush` waits until they are saved and raises if they cannot be.
When a context is larger than its threshold, a summary replaces all but the newest messages, in memory and in what is
read back. The file keeps everything.
"""

from sightline.files.mentions import FileReference
from sightline.log.entries import CompactMetadata as CompactMetadata
from sightline.log.entries import Entry as JSONLEntry
from sightline.log.stores.session_folder import escape_project_path
from sightline.origins.clawdcode.command import (
    CommandConfig,
    CommandContext,
    CommandResult,
    CommandSession,
    SlashCommand,
    compact_command,
)
from sightline.origins.clawdcode.compaction import (
    CompactionOptions,
    CompactionResult,
    CompactionService,
    ContextCompressor,
    FileAnalyzer,
    Summarizer,
)
from sightline.origins.clawdcode.manager import ContextManager
from sightline.origins.clawdcode.messages import (
    ContextFilter,
    TokenCounter,
    filter_orphan_tool_messages,
    provider_messages,
)
from sightline.origins.clawdcode.stores import (
    CacheStore,
    JSONLStore,
    MemoryStore,
    PersistentStore,
    get_project_storage_path,
    get_session_file_path,
    get_storage_root,
)
from sightline.origins.clawdcode.values import (
    ContextData,
    ContextLayer,
    ContextManagerOptions,
    ContextMessage,
    ContextMetadata,
    ConversationContext,
    FilterOptions,
    NoContext,
    NoSession,
    SessionContext,
    StorageOptions,
    SystemContext,
    ToolCallRecord,
    ToolContext,
    ToolState,
    WorkspaceContext,
)

__all__ = [
    "CacheStore", "CommandConfig", "CommandContext", "CommandResult", "CommandSession", "CompactMetadata",
    "CompactionOptions", "CompactionResult", "CompactionService", "ContextCompressor",
    "ContextData", "ContextFilter", "ContextLayer", "ContextManager", "ContextManagerOptions", "ContextMessage",
    "ContextMetadata", "ConversationContext", "FileAnalyzer", "FileReference", "FilterOptions",
    "JSONLEntry", "JSONLStore", "MemoryStore", "NoContext", "NoSession", "PersistentStore", "SessionContext",
    "SlashCommand", "StorageOptions", "Summarizer", "SystemContext", "TokenCounter", "ToolCallRecord", "ToolContext",
    "ToolState", "WorkspaceContext", "compact_command", "escape_project_path", "filter_orphan_tool_messages",
    "get_project_storage_path", "get_session_file_path", "get_storage_root", "provider_messages",
]  # fmt: skip
