"""Every name that one of the five documents gives is found here: under that name, or under its snake_case form."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ACCEPTANCE = ROOT / "docs" / "origins" / "acceptance.md"  # a list of demands: what only stands there is not found here
NAMES = ROOT / "docs" / "origins" / "names.md"

# Classes and their members, functions, enumerations and their values, fields, commands, errors, tags, files. Not the
# locals of an example, nor what belongs to a language or its library.
CONTEXTUI = """
    Context ContextUI ContextItem Id Type Content Seq IsObsolete ContextItemType System User Assistant Window
    IContextManager ContextManager CurrentSeq Add GetAll GetActive MarkWindowObsolete windowId SeqClock Next
    IContextRenderer ContextRenderer Render items IWindowManager WindowManager Get RenderOptions MaxTokens
    IncludeSystemPrompt IncludeObsolete LlmMessage role content system user assistant WindowItem
    InteractionController Trim maxTokens EstimateTokens ContextStats TotalItems ActiveItems ObsoleteItems WindowItems
    EstimatedTokens GetStats Truncate tool_call create name arguments Description Actions action params item todo add
    delete close summary text index Application Obsolete
"""
DOCUI = """
    Context DocUI Header AppId SessionId Version Timestamp State CurrentLod FocusId Custom Content Markdown Anchors type
    actions target History round action result timestamp SourceData LodState InteractionHistory IContextBuilder Build
    FrozenContent ContextVersion Major Minor Patch IsCompatibleWith LodLevel Gist Summary Full ContextHeader
    ContextState AnchorInfo AnchorType Params Target Button Form Reference InvalidSourceDataError VersionMismatchError
    AnchorConflictError ContextTooLargeError MemoryNotebook TextEditor SystemMonitor header appId sessionId version
    major minor patch state currentLod focusId custom anchors params history notebook button:expand
"""
CLAWDCODE = """
    ContextManager MemoryStore PersistentStore CacheStore TokenCounter ContextFilter ContextCompressor CompactionService
    FileAnalyzer ContextMessage id role content timestamp metadata ToolCallRecord name input output status error pending
    success ContextLayer system session conversation tool workspace SystemContext SessionContext ConversationContext
    ToolContext WorkspaceContext ContextData layers totalTokens priority relevanceScore lastUpdated JSONLEntry uuid
    parentUuid sessionId type tool_use tool_result subtype compact_boundary cwd gitBranch version message model usage
    input_tokens output_tokens toolResult isCompactSummary compactMetadata trigger auto manual preTokens postTokens
    filesIncluded ContextManagerOptions storage maxMemorySize persistentPath cacheSize compressionEnabled defaultFilter
    maxTokens maxMessages timeWindow compressionThreshold getStorageRoot memory persistent cache currentSessionId
    createSession userId preferences nanoid startTime messages topics lastActivity recentCalls toolStates dependencies
    createSystemContext createWorkspaceContext setContext getContext saveContext addMessage shouldCompress
    compressCurrentContext saveCurrentSessionAsync maxSize enforceMemoryLimit JSONLStore filePath append readAll
    readStream escapeProjectPath getProjectStoragePath getSessionFilePath projectPath countTokens modelName getEncoding
    encodingCache countToolCallTokens tool_calls shouldCompact thresholdPercent estimateTokens THRESHOLD_PERCENT
    RETAIN_PERCENT FALLBACK_RETAIN_PERCENT compact CompactionOptions CompactionResult actualPreTokens generateSummary
    filterOrphanToolMessages createSummaryMessage fallbackCompact summary compactedMessages MAX_FILES
    MAX_LINES_PER_FILE analyzeFiles FileReference path extractFilePathsFromContent extractFilePathsFromToolCall
    updateFileReference wasModified mentions lastMentioned readFilesContent Read Write Edit file_path compactCommand
    SlashCommand description aliases handler args sessionContext currentModel maxContextTokens warning retainPercent
    tool_call_id /compact --continue clawdcode ~/.clawdcode/projects .jsonl {sessionId}.jsonl test:context
    src/context/types.ts src/context/ContextManager.ts src/context/storage/MemoryStore.ts
    src/context/storage/JSONLStore.ts src/context/storage/pathUtils.ts src/context/TokenCounter.ts
    src/context/CompactionService.ts src/context/FileAnalyzer.ts src/slash-commands/compact.ts src/context/test.ts
    js-tiktoken encodingForModel gpt-4 contextConfig
"""
OPENSTARRY = """
    OpenStarry IContextManager ContextManager composePayload systemPrompt history ChatMessage tools ToolDefinition
    ragContext LLMPayload onTurnComplete newHistory System Tools Dynamic History Remaining_Tokens Summary_Buffer
    destination date plugin.json id contextStrategy type plugin pluginId std-summarization-strategy config
    compressionModel threshold gemini-1.5-flash
"""
BA_AGENT = """
    BAAgentService query ContextManager build_context LangGraph StructuredResponse code_blocks CodeStore store
    clean_file_contents should_clean_context summarize_context _extract_response_content history_messages read_file
    file_reader tool_call_id call_read_file_ code_ref file_ref code_id language description line_count char_count
    created_at CODE_SAVED data/ .py .js .html .css .sql .sh .md TypeScript JSON YAML XML Java Go Rust PHP Ruby
    JavaScript Python Shell Bash Markdown CSV Excel SQLite API
"""
DOCUMENTS = {
    "ContextUI": CONTEXTUI,
    "DocUI": DOCUI,
    "ClawdCode": CLAWDCODE,
    "OpenStarry": OPENSTARRY,
    "BA-Agent": BA_AGENT,
}


def snake(name: str) -> str:
    """A name as Python writes it: `GetActive` and `JSONLStore` as get_active and jsonl_store."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return parted.lower()


@cache
def text() -> str:
    """The product and its documentation."""
    pages = [page for page in ROOT.glob("docs/**/*.md") if page != ACCEPTANCE]
    files = [*ROOT.glob("src/sightline/**/*.py"), *pages, ROOT / "README.md"]
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(files))


@cache
def words() -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text()))


def found(name: str) -> bool:
    """As a whole word, in the document's spelling or ours; what is private here has an underscore before it."""
    if re.fullmatch(r"\w+", name):
        return not words().isdisjoint({name, snake(name), f"_{snake(name)}"})
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text()) is not None


@pytest.mark.slow
@pytest.mark.accepts(369)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_name_of_the_document_is_here(document: str) -> None:
    """In the code or in a page of its documentation."""
    assert [name for name in DOCUMENTS[document].split() if not found(name)] == []


@pytest.mark.slow
@pytest.mark.accepts(369)
def test_the_page_of_names_points_at_what_there_is() -> None:
    """Every file that docs/origins/names.md names exists, and every name it gives for ours is a word of the source."""
    source = "\n".join(file.read_text(encoding="utf-8") for file in ROOT.glob("src/sightline/**/*.py"))
    known = set(re.findall(r"\w+", source))
    rows = re.findall(r"^\| `[^|]+` \| (.+?) \|$", NAMES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(rows) > 20
    for here in (each for row in rows for each in re.findall(r"`([^`]+)`", row)):
        if here.startswith(("src/", "tests/")):
            assert (ROOT / here).is_file(), here
        else:
            assert set(re.findall(r"[A-Za-z_]\w*", here)) <= known, here


@pytest.mark.parametrize(
    ("name", "form"),
    [("GetActive", "get_active"), ("JSONLStore", "jsonl_store"), ("toolResult", "tool_result"), ("c", "c")],
)
def test_how_names_become_ours(name: str, form: str) -> None:
    """Words are parted where a capital begins one."""
    assert snake(name) == form
