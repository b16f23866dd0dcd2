"""The ClawdCode document's context management: a session's messages in memory, in JSONL files and in a cache.

The files are core logs, one per session, under the document's own root. What memory lets go of stays in the file.
Saving happens in the background, in order; `flush` waits for it and says what could not be saved.
"""

from sightline.log import CompactMetadata as CompactMetadata
from sightline.log import Entry as JSONLEntry
from sightline.origins.clawdcode.counting import TokenCounter
from sightline.origins.clawdcode.manager import ContextManager
from sightline.origins.clawdcode.stores import (
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
    WorkspaceContext,
)
from sightline.stores.cache import CacheStore
from sightline.stores.folder import escape_project_path

__all__ = [
    "CacheStore", "CompactMetadata", "ContextData", "ContextLayer", "ContextManager", "ContextManagerOptions",
    "ContextMessage", "ContextMetadata", "ConversationContext", "FilterOptions", "JSONLEntry", "JSONLStore",
    "MemoryStore", "NoContext", "NoSession", "PersistentStore", "SessionContext", "StorageOptions", "SystemContext",
    "TokenCounter", "ToolCallRecord", "ToolContext", "WorkspaceContext", "escape_project_path",
    "get_project_storage_path", "get_session_file_path", "get_storage_root",
]  # fmt: skip
