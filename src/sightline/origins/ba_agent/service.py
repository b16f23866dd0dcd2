"""The document's BAAgentService: a conversation is a durable session, a query is one turn of an agent in it.

What `ContextManager` does with lists, the session does when it composes, and the same is sent: the strategy `rounds`
shows earlier file reads as gists and, beyond twenty messages, only the newest; the layout `ba-agent` has the document's
order. The log keeps everything.
"""

import asyncio
import json
import logging
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sightline.agent.agent import Agent
from sightline.agent.events import Answer, CodeSaved, Event, PayloadComposed, ReplyReceived, ToolStarted
from sightline.agent.models import Model
from sightline.agent.tools import Tool
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.files.read import file_reader
from sightline.documents.code.references import Upload, announcement, marked, references, resolved
from sightline.documents.code.store import CodeStore, Saved
from sightline.documents.json_protocol import prompt
from sightline.documents.saved_code import SavedCode, response_of, saved_in
from sightline.documents.structured_response import StructuredResponse
from sightline.documents.uploads import UnknownUpload, UploadStore
from sightline.errors import BadInput, StoreError
from sightline.follow.conversations import resume_or_begin
from sightline.log.stores.session_folder import sightline_home
from sightline.origins.ba_agent.code_store import metadata
from sightline.origins.ba_agent.context import LAYOUTS, ContextManager, FileContext, Summarize, uploads_of
from sightline.origins.ba_agent.graph import langgraph, run
from sightline.origins.given_session import plain_session, prepare
from sightline.plan import Budget, Reduction
from sightline.providers.windows import answer_room
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.values.clock import Ids, nanoid
from sightline.values.items import Call, Message, Result, Role, plain_text
from sightline.values.phrases import Phrases, texts
from sightline.values.recall_tools import LOOK, RECALL_TOOLS
from sightline.values.settings import Settings

MOST_OPEN = 64  # conversations with open files; the others are resumed when they are used again

logger = logging.getLogger("sightline.ba_agent")

_say = Phrases(texts("ba_agent"))
_HTML = re.compile(r"<(?:!doctype html|(?:html|body|div|table|p|span|ul|ol|h[1-6]|img|svg|style|script)\b)[^>]*>", re.I)


class QueryResult(Struct, frozen=True):
    """The answer to a query: the report for the user, and the structured fields as `metadata`."""

    success: bool
    session_id: str
    response: str  # with references as {{CODE:0}}, {{FILE:0}}, and at the end a marker for each saved code
    metadata: dict[str, Any]
    error: str = ""


class _Conversation(NamedTuple):
    agent: Agent
    turn: asyncio.Lock  # held by the query that runs; others wait
    uploads: dict[str, Upload]  # all that were announced to the model


class _Announced(Mapping[str, Path]):
    """The uploads of a store. Each is read by its id, but only those of one conversation are listed."""

    def __init__(self, store: UploadStore, announced: Mapping[str, Upload]) -> None:
        self._store, self._announced = store, announced

    def __getitem__(self, file_id: str) -> Path:
        return self._store[file_id]

    def __iter__(self) -> Iterator[str]:
        return (file_id for file_id in self._announced if file_id in self._store)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class BAAgentService:
    """Answers queries, each in its conversation.

    Context is left to the session, code to the store, calls of the model and of tools to LangGraph.
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        model: Model,
        code_store: CodeStore | None = None,
        *,
        sessions: str | Path | Callable[[str], Session | AsyncSession] | None = None,
        project: str | Path = ".",
        tools: Sequence[Tool] | None = None,
        locale: str = "zh",
        layout: str = "document",
        summarize: Summarize | None = None,
        budget: Budget | None = None,
        uploads: UploadStore | str | Path | None = None,
        ids: Ids = nanoid,
    ) -> None:
        """`sessions` opens the session of an id, or is the root of the sessions' files, as for `Session.new`. A session
        gets the document's strategy, layout and locale; one that was opened with a strategy of its own is refused.

        The default of `tools` is `file_reader`, which reads the project's files, and code and uploads by their id.
        `uploads` has what users upload, or is its folder; by default `uploads` beside the sessions. `summarize`, such
        as a function that asks a model, replaces the rule for more than twenty messages; what it returns is logged.

        Raises:
            BadInput: LangGraph is not installed.
        """
        langgraph()  # now, because importing it takes a second or two
        self.model, self.code_store, self.locale = model, code_store, locale
        self._project, self._sessions = project, sessions
        if not isinstance(uploads, UploadStore):
            home = sightline_home() if sessions is None or callable(sessions) else Path(sessions)
            uploads = UploadStore(uploads or home / "uploads")
        self.uploads, self._own_tools = uploads, tools
        self.context_manager = ContextManager(
            code_store,
            locale=locale,
            layout=layout,
            summarize=summarize,
            tools=[*(tool.definition for tool in self._tools({})), *(tool for tool in RECALL_TOOLS if tool != LOOK)],
        )
        self._summarizes = summarize is not None
        self._settings = Settings(locale=locale, strategy="rounds", layout=LAYOUTS[layout])
        if budget is None:
            info = model.info
            budget = Budget(info.window, answer_room(info.window, info.output), recall=0.0)  # as in the document
        self._budget = budget
        self._ids = ids
        self._open: dict[str, _Conversation] = {}
        self._opening = asyncio.Lock()

    # ------------------------------------------------------------------ a query

    async def query(
        self,
        message: str,
        session_id: str = "",
        history_messages: Sequence[Mapping[str, Any]] | None = None,
        file_context: FileContext | None = None,
    ) -> QueryResult:
        """Answer a user's message in a conversation. Without an id it is a new one.

        `history_messages` are the messages of a conversation that began elsewhere. They are added once, when the
        conversation is new here. The order of steps is the document's: compose the context, cleaned and summarised;
        call the model and tools; read the response; save its code.

        Raises:
            BadInput: the message, the id, the history or the files cannot be used.
            PinnedOverflow, StoreError: as of `Agent.stream`.
        """
        if not isinstance(message, str) or not message.strip():
            raise BadInput("there is no message: say what the user asks")
        uploads, missing = await asyncio.to_thread(self._find_uploads, file_context)
        session_id = session_id or f"conv_{sha256(self._ids().encode()).hexdigest()[:12]}"
        async with self._turn(session_id, history_messages) as talk:
            talk.uploads.update({upload.file_id: upload for upload in uploads})
            calls: list[Call] = []
            answer = Answer(False)
            warnings = await asyncio.to_thread(self._summarise, talk.agent.session, message, file_context)
            warnings = (*missing, *warnings)
            note = announcement(uploads, talk.agent.session.settings.locale)
            async with aclosing(talk.agent.stream(message, note=note)) as events:
                async for event in events:
                    self._trace(event, talk.agent)
                    match event:
                        case ToolStarted(call):
                            calls.append(call)
                        case Answer():
                            answer = replace(event, warnings=(*warnings, *event.warnings))
            return await asyncio.to_thread(
                self._extract_response_content, answer, session_id, calls, list(talk.uploads.values())
            )

    def _find_uploads(self, file_context: FileContext | None) -> tuple[list[Upload], list[str]]:
        """Return the files of a query, with what the store knows of them, and a warning for each that it lacks.

        Whether the caller's own tools can read a file is the caller's to know.
        """
        uploads, missing = [], []
        for upload in uploads_of(file_context):
            try:
                stored = self.uploads.find(upload.file_id)
                uploads.append(replace(stored, description=upload.description or stored.description))
            except UnknownUpload as error:
                uploads.append(upload)
                missing += [str(error)] if self._own_tools is None else []
        return uploads, missing

    def _tools(self, announced: Mapping[str, Upload]) -> Sequence[Tool]:
        """Return the tools of a conversation, whose model is told of its own uploads only."""
        if self._own_tools is not None:
            return self._own_tools
        uploads = _Announced(self.uploads, announced)
        return [file_reader(Folders([self._project]), self.code_store, uploads, self.locale)]

    def _summarise(self, session: Session, message: str, file_context: FileContext | None) -> tuple[str, ...]:
        """Let `summarize`, if there is one, shorten a session that is too long with this question. Return warnings.

        If it fails, the strategy shows the newest messages, as without it.
        """
        if not self._summarizes:
            return ()
        try:
            _summarise_if_long(session, self.context_manager, message, file_context, self._budget)
        except StoreError:
            raise
        except Exception as error:  # whatever the caller's function raises: the question matters more
            logger.warning("context not summarised: %s", error)
            return (_say("not summarised", self.locale, why=f"{type(error).__name__}: {error}"),)
        return ()

    def _extract_response_content(
        self, answer: Answer, session_id: str, calls: Sequence[Call] = (), uploads: Sequence[Upload] = ()
    ) -> QueryResult:
        """Return the report as it is displayed, with markers of the saved code, and the structured fields."""
        displayed = resolved(answer.text, self.code_store, [*self._uploads_in(answer.text), *uploads])
        html = _HTML.search(answer.text) is not None
        response = response_of(answer) or StructuredResponse()
        fields = {
            "action_type": response.action.type,
            "current_round": response.current_round,
            "task_analysis": response.task_analysis,
            "execution_plan": response.execution_plan,
            "recommended_questions": list(response.action.recommended_questions),
            "download_links": list(response.action.download_links),
            "tool_calls": [
                {"tool_name": call.name, "tool_call_id": call.id, "arguments": call.input} for call in calls
            ],
            "status": "complete" if answer.success else "processing",
            "saved_codes": [self._with_code(metadata(saved)) for saved in saved_in(answer)],
            "code_refs": [self._with_code(msgspec.to_builtins(code)) for code in displayed.codes],
            "file_refs": msgspec.to_builtins(displayed.files),
            "warnings": list(answer.warnings),
            "contains_html": html,
            "content_type": "html" if html else "markdown",
        }
        return QueryResult(answer.success, session_id, marked(displayed.text, saved_in(answer)), fields, answer.error)

    def _uploads_in(self, text: str) -> Iterator[Upload]:
        """Yield the uploads that a report refers to, whenever they were announced."""
        for file_id in {tag.id for tag in references(text) if tag.kind == "file"}:
            with suppress(UnknownUpload):
                yield self.uploads.find(file_id)

    def _with_code(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Return the facts of a code with its text; with None if its file is gone."""
        code = None
        with suppress(StoreError, BadInput):
            assert self.code_store is not None, "it has this code"
            code = self.code_store.read(facts["code_id"], facts.get("version"))
        return facts | {"code": code}

    def _trace(self, event: Event, agent: Agent) -> None:
        match event:
            case PayloadComposed(tokens=tokens, limit=limit) if logger.isEnabledFor(logging.INFO):
                removed = _removed(agent)
                if gists := removed.get("gists"):
                    logger.info("history cleaned: %d items as gists, %d tokens saved", len(gists.removed), gists.tokens)
                if agent.session.windows.window("code_list") is not None:
                    logger.info("code list built: it shows what there is now")
                logger.info("context built: %d of %d tokens", tokens, limit)
                if trim := removed.get("trim"):
                    logger.info(
                        "context summarised: %d items left out, %d tokens saved", len(trim.removed), trim.tokens
                    )
            case ReplyReceived(model=model, item=item):
                logger.info("model called: %s", model)
                logger.info("response extracted: #%s", item)
            case CodeSaved(Saved() as saved):
                logger.info("code saved: %s, version %d", saved.code_id, saved.version)
            case Answer(success=success, rounds=rounds):
                logger.info("query answered: %s after %d model calls", "complete" if success else "failed", rounds)

    # ------------------------------------------------------------------ conversations

    @asynccontextmanager
    async def _turn(
        self, session_id: str, history: Sequence[Mapping[str, Any]] | None
    ) -> AsyncGenerator[_Conversation, None]:
        """Give a conversation to one query at a time."""
        while True:
            talk = await self._conversation(session_id, history)
            async with talk.turn:
                if self._open.get(session_id) is talk:  # else it was closed while this query waited
                    yield talk
                    return

    async def _conversation(self, session_id: str, history: Sequence[Mapping[str, Any]] | None) -> _Conversation:
        async with self._opening:
            talk = self._open.pop(session_id, None) or await self._begin(session_id, history)
            self._open[session_id] = talk  # at the end: the order is that of last use
            idle = [name for name, other in self._open.items() if other is not talk and not other.turn.locked()]
            for name in idle:
                if len(self._open) <= MOST_OPEN:
                    break
                await asyncio.to_thread(self._open.pop(name).agent.session.close)
            return talk

    async def _begin(self, session_id: str, history: Sequence[Mapping[str, Any]] | None) -> _Conversation:
        session = await asyncio.to_thread(self._session, session_id, history)
        uploads: dict[str, Upload] = {}
        agent = Agent(
            session,
            self.model,
            tools=self._tools(uploads),
            extension=SavedCode(self.code_store, session) if self.code_store is not None else None,
            budget=self._budget,
            protocol="json",
            instructions=prompt(self.locale),  # in the log, because the document has it among the system messages
            ids=self._ids,
        )
        agent.loop = run
        return _Conversation(agent, asyncio.Lock(), uploads)

    def _session(self, session_id: str, history: Sequence[Mapping[str, Any]] | None = None) -> Session:
        """Open the session of a conversation; a new one begins with the history."""
        if callable(self._sessions):
            session = plain_session(self._sessions(session_id))
        else:
            session = resume_or_begin(session_id, self._project, root=self._sessions, settings=self._settings)
        try:
            prepare(session, "BA-Agent", self._settings)
            if history and not len(session.items):
                session.extend([dict(message) for message in history], in_place=True)
                logger.info("history taken in: %d messages", len(history))
        except BaseException:
            session.close()
            raise
        return session

    async def close(self) -> None:
        """Close the conversations. A later query opens its conversation again."""
        async with self._opening:
            while self._open:
                _, talk = self._open.popitem()
                async with talk.turn:
                    await asyncio.to_thread(talk.agent.session.close)


def _removed(agent: Agent) -> dict[str, Reduction]:
    """Return what the last payload newly left out or shortened, by kind; empty if it only appended."""
    receipt, payload = agent.session.receipt, agent.payload
    if receipt is None or receipt.plan is None or payload is None:
        return {}
    return {reduction.kind: reduction for reduction in payload.reductions() if reduction.removed}


def _summarise_if_long(
    session: Session, manager: ContextManager, question: str, file_context: FileContext | None, budget: Budget
) -> None:
    """Summarise a session if its messages and this question, which it does not have yet, are too many.

    As in the strategy `rounds`, system messages of earlier rounds, such as lists of uploads, do not count.

    The messages that stay unchanged at the end are shown as before. Those before them are covered: by what the
    manager's function put in their place, or else by a digest.
    """
    payload = session.preview(budget)
    messages = [
        message
        for message in (*payload.system, *payload.body)
        if message.id and plain_text(message.parts) not in (*payload.shown_windows.values(), prompt(manager.locale))
        if message.role is not Role.SYSTEM or session.receipt is None
    ]
    built = manager.build_context(question, [_listed(message) for message in messages], session.id, file_context)
    if not manager.should_clean_context(built):
        return
    kept = manager.summarize_context(built)
    said = [message for message in messages if message.role is not Role.SYSTEM]
    before, after = ([chat for chat in some if chat.get("role") != "system"] for some in (built, kept))
    same = next(
        (n for n, pair in enumerate(zip(reversed(before), reversed(after), strict=False)) if pair[0] != pair[1]),
        min(len(before), len(after)),
    )
    end = len(before) - same
    while 0 < end < len(said) and said[end].role is Role.TOOL:  # results stay with their calls
        end -= 1
    texts = [str(chat.get("content") or "") for chat in kept if chat not in built]
    if end:
        session.summaries.cover(said[0].id, said[end - 1].id, "\n\n".join(filter(None, texts)), budget=budget)


def _listed(message: Message) -> dict[str, Any]:
    """Return a message as an entry of a message list."""
    written: dict[str, Any] = {"role": message.role.value, "content": plain_text(message.parts)}
    calls = [part for part in message.parts if isinstance(part, Call)]
    results = [part for part in message.parts if isinstance(part, Result)]
    if calls:
        written["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.input)}}
            for call in calls
        ]
    return written | {"tool_call_id": results[0].id, "content": plain_text(results[0].parts)} if results else written
