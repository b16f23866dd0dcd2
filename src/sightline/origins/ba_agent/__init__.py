"""The BA-Agent document's context management: file gists, a code store, and a service that answers queries.

`ContextManager` works on plain message lists; `BAAgentService` on durable sessions, where the core does the same. It
needs the extra `ba-agent`.
"""

from sightline.documents.code.references import Upload
from sightline.documents.structured_response import Action, CodeBlock, StructuredResponse, ToolCall
from sightline.documents.uploads import UploadStore
from sightline.origins.ba_agent.api import application, handle, openapi
from sightline.origins.ba_agent.code_store import CodeStore
from sightline.origins.ba_agent.context import ContextManager, newest, system_first
from sightline.origins.ba_agent.service import BAAgentService, QueryResult

__all__ = [
    "Action", "BAAgentService", "CodeBlock", "CodeStore", "ContextManager", "QueryResult", "StructuredResponse",
    "ToolCall", "Upload", "UploadStore", "application", "handle", "newest", "openapi", "system_first",
]  # fmt: skip
