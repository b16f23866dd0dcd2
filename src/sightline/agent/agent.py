"""The query service: a question goes in, context, model and tools take turns, the answer comes out. All is logged."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Literal, TypeVar

from sightline.agent import json_budget, json_protocol, structured_response
from sightline.agent.asking import distinct, says_nothing, to_the_end, whole
from sightline.agent.code.references import Upload, announcement
from sightline.agent.code.store import CodeStore, Saved
from sightline.agent.code_window import code_list, kept
from sightline.agent.events import Answer, CodeSaved, Event, PayloadComposed, ReplyReceived, ToolFinished, ToolStarted
from sightline.agent.langgraph_loop import ContextNode, State, loop
from sightline.agent.models import Model, Reply, Request, TextDelta
from sightline.agent.summarizer import Summarizing
from sightline.agent.toolbox import Output, Toolbox
from sightline.agent.tools import Tool
from sightline.agent.tools.from_function import tool_of
from sightline.agent.tools.write_code import WRITE_CODE
from sightline.agent.usage import Spent, cost_of
from sightline.compaction.compactor import Compacted
from sightline.errors import BadInput, Conflict, ContextOverflow, ModelError, SightlineError, StoreError
from sightline.plan.budget import Budget
from sightline.replay.replay import reused_tokens
from sightline.session.session import Session
from sightline.values.clock import Ids, nanoid
from sightline.values.items import Call, Result, plain_text
from sightline.values.profiles import profile
from sightline.wire import read_reply
from sightline.wire.payload import Payload

ROUNDS = 12  # that a model may ask for tools before its answer
_STEPS = 4  # nodes of the graph in one round, with one to spare
_LOG = logging.getLogger("sightline.agent")

Protocol = Literal["native", "json"]
T = TypeVar("T")


class Agent:
    """Answers questions with a model and tools, in a session. One question at a time."""

    def __init__(
        self,
        session: Session,
        model: Model,
        *,
        tools: Sequence[Tool | Callable[..., Any]] | None = (),
        code: CodeStore | None = None,
        budget: Budget | None = None,
        rounds: int = ROUNDS,
        protocol: Protocol | None = None,
        instructions: str = "",
        ids: Ids = nanoid,
    ) -> None:
        """`protocol`: how the model calls tools, natively or in the JSON of a structured response; else as it can.

        A tool is a `Tool`, or a function with type hints and a docstring, which the model is told. `expand` and
        `recall` come with them, unless `tools` is None.
        `instructions` open the conversation, as a system message. Nothing else is said unasked, but for the form of a
        structured response, which every request has where the protocol is JSON.
        """
        if rounds < 1:
            raise BadInput(f"rounds must be at least 1, not {rounds}")
        self.session, self.model, self.code, self.rounds = session, model, code, rounds
        self.spent = Spent()  # summaries included
        self.question = ""  # the item of the last question; empty while it is not in the log
        self._toolbox, self._ids = Toolbox([tool_of(tool) for tool in tools or ()]), ids
        self._recalls = tools is not None
        self._given, self._protocol, self._instructions = budget, protocol, instructions
        self._busy = asyncio.Lock()
        self._saved: list[Saved] = []
        self._warnings: list[str] = []
        self._turn = Spent()
        self._text = ""
        self._response: structured_response.StructuredResponse | None = None
        self._stop = ""
        self._reserve = 0  # tokens of the budget kept for what the JSON protocol adds to a payload
        self.payload: Payload | None = None  # what the model was shown last; None: nothing yet, as far as is known
        self._say: Callable[[Event], None] = _to_nobody
        self._graph = loop(self._context, self._model, self._tools, self._answer)
        if code is not None:
            session.windows.register(code_list(code, session.id))

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What it can do."""
        return self._toolbox.tools

    @property
    def budget(self) -> Budget:
        """What a payload may hold."""
        facts = self.model.info
        return self._given or Budget(window=facts.window, output=min(facts.output, facts.window // 4))

    @property
    def protocol(self) -> Protocol:
        """How the model calls tools. One that has none to call answers in plain words."""
        tools = self._recalls or self._toolbox.tools or self.session.windows.apps or self.code
        return self._protocol or ("native" if self.model.info.native or not tools else "json")

    # ------------------------------------------------------------------ a question

    async def query(self, text: str, *, uploads: Sequence[Upload] = ()) -> Answer:
        """The answer to a question. `stream` tells what happens meanwhile."""
        return await _last(self.stream(text, uploads=uploads))

    async def stream(self, text: str, *, uploads: Sequence[Upload] = ()) -> AsyncGenerator[Event, None]:
        """What happens while a question is answered, the Answer last.

        Closing the iterator, or cancelling who reads it, stops the answer: what the model was saying is not in the
        log, calls under way are given up on, and `proceed` asks again.

        Raises:
            PinnedOverflow: what may not be reduced is larger than the model's window.
            StoreError: the log cannot be written.
        """
        async with self._one_at_a_time():
            self.question = ""
            await to_the_end(asyncio.to_thread(self._ask, text, uploads))
            async with aclosing(self._answered()) as events:
                async for event in events:
                    yield event

    async def proceed(self) -> AsyncGenerator[Event, None]:
        """Go on where the last turn stopped: after a failed or cut call, a limit, or an interruption."""
        async with self._one_at_a_time():
            await asyncio.to_thread(self._insisting, self._prepare)
            async with aclosing(self._answered()) as events:
                async for event in events:
                    yield event

    def _one_at_a_time(self) -> asyncio.Lock:
        if self._busy.locked():
            raise BadInput("this agent is answering a question; wait for its Answer, or close that stream first")
        return self._busy

    def _ask(self, text: str, uploads: Sequence[Upload]) -> None:
        self._insisting(self._prepare)
        if uploads:
            self._insisting(lambda: self.session.note(announcement(uploads, self._locale)))
        self.question = self._insisting(lambda: self.session.user(text))

    def _insisting(self, write: Callable[[], T]) -> T:
        """Write; once more where another program wrote to the session first: none of this depends on what it said."""
        try:
            return write()
        except Conflict:
            self.session.refresh()
            return write()

    def _prepare(self) -> None:
        """Say how to answer and with which tools. Saying it again changes nothing."""
        session = self.session
        if self._instructions:
            session.system(self._instructions)
        definitions = [tool.definition for tool in self._toolbox.tools]
        windows = session.windows.tools() if set(session.windows.apps) - {"code_list"} else ()
        session.tools([*definitions, *windows], recall=self._recalls)

    async def _answered(self) -> AsyncGenerator[Event, None]:
        await asyncio.to_thread(self.session.interrupt)  # what a stopped turn may have left
        self._saved, self._warnings, self._turn, self._text, self._stop, self._response = [], [], Spent(), "", "", None
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._say = events.put_nowait
        running = asyncio.create_task(self._run(events))
        try:
            while (event := await events.get()) is not None:
                yield event
            await running
        finally:
            self._say = _to_nobody
            running.cancel()
            try:
                await asyncio.gather(running, return_exceptions=True)
            finally:
                with suppress(StoreError):  # of a log that cannot be written: the next turn tries again
                    self.session.interrupt()

    async def _run(self, events: "asyncio.Queue[Event | None]") -> None:
        try:
            await self._graph.ainvoke({"round": 0}, {"recursion_limit": _STEPS * (self.rounds + 2) * 2})
        finally:
            events.put_nowait(None)

    # ------------------------------------------------------------------ the nodes

    async def _context(self, state: State) -> State:
        if self.code is not None:
            await asyncio.to_thread(self._show_code_list)
        earlier = self.session.receipt is not None  # of this agent, or of one before it
        sent = await self._composed()
        reused = None if earlier and self.payload is None else self._reused(sent)
        self.payload = sent.payload
        _LOG.info("context built: %d tokens, %s", sent.tokens, sent.reason)
        self._say(PayloadComposed(sent.tokens, sent.limit, reused, sent.reason))
        return {"sent": sent, "round": state["round"] + 1}

    def _reused(self, sent: json_budget.Sent) -> int:
        shared = reused_tokens(self.payload, sent.payload, profile(self.session.settings.profile))
        return min(shared, sent.tokens)

    async def _composed(self) -> json_budget.Sent:
        if self.protocol == "native":
            return json_budget.native(self.session, (await ContextNode(self.session, self.budget)({}))["payload"])
        sent = await asyncio.to_thread(json_budget.fitted, self.session, self.budget, self._written, self._reserve)
        self._reserve = sent.reserve
        return sent

    def _written(self, payload: Payload, form: bool = True) -> Payload:
        return json_protocol.written(payload, self._locale, form=form, stores=self.code is not None)

    def _show_code_list(self) -> None:
        """Open the list of code once there is any. It shows what there is from then on."""
        assert self.code is not None
        if self.session.windows.window("code_list") is None and self.code.list(self.session.id):
            self.session.windows.open("code_list")

    async def _model(self, state: State) -> State:
        try:
            reply = await self._reply_to(state)
        except ContextOverflow as error:
            if state.get("overflowed"):
                return {"next": "answer", "error": str(error)}
            await asyncio.to_thread(
                self.session.overflowed, error.input_tokens, extra_tokens=state["sent"].extra_tokens
            )
            return {"next": "context", "overflowed": True, "round": state["round"] - 1}
        except ModelError as error:
            _LOG.warning("the model could not be asked: %s", error)
            return {"next": "answer", "error": str(error)}
        self.spent, self._turn, self._stop = self.spent.and_also(reply), self._turn.and_also(reply), reply.stop
        if says_nothing(reply):  # it is not logged: asking again is asking the same
            did = "refused to answer" if reply.stop == "refused" else "said nothing"
            return {"next": "answer", "error": f"{reply.model} {did}"}
        return await (self._spoken if self.protocol == "json" else self._called)(reply, state) | {"overflowed": False}

    async def _reply_to(self, state: State) -> Reply:
        sent, output = state["sent"], self.budget.output
        if self.protocol == "native":
            return await whole(self.model, Request(sent.written, output), self._say)
        request = Request(sent.written, output, structured_response.schema(sent.payload.tools))
        return await whole(self.model, request, self._say_but_text)

    def _say_but_text(self, event: Event) -> None:
        """Tell what happens while a response in JSON comes: its text is for the parser, its report for the user."""
        if not isinstance(event, TextDelta) or event.thinking:
            self._say(event)

    async def _called(self, reply: Reply, state: State) -> State:
        """A reply whose calls are native."""
        await self._take_in(reply, reply.raw, state)
        if self.session.open_calls or self.session.answered:
            return self._on("tools", state)
        return {"next": "answer"}

    async def _spoken(self, reply: Reply, state: State) -> State:
        """A reply that is a structured response; or, of a model that calls natively all the same, one with calls."""
        parts = read_reply(reply.raw).parts
        if any(isinstance(part, Call) for part in parts):
            return await self._called(reply, state) | {"told": False}
        text = plain_text(parts)
        parsed = structured_response.parse(text, _tools_of(state), self._locale)
        if parsed.problems and not state.get("told"):
            await self._take_in(reply, reply.raw, state)
            again = partial(self.session.note, structured_response.again(parsed.problems, self._locale))
            await asyncio.to_thread(self._insisting, again)
            return self._on("context", state, "the model's last response is not in the form asked for") | {"told": True}
        await self._take_in(reply, json_protocol.read(reply.raw, parsed, self._ids), state)
        self._response, self._text = parsed.response, parsed.response.report
        if self._text:
            self._say(TextDelta(self._text))
        await self._keep(parsed.response.action.code_blocks)
        calls = bool(self.session.open_calls or self.session.answered)
        return (self._on("tools", state) if calls else State(next="answer")) | {"told": False}

    def _on(self, node: str, state: State, why: str = "") -> State:
        """The next node, unless the model has been asked often enough. `why`: to be told then, if not of tools."""
        if state["round"] < self.rounds:
            return {"next": node}
        why = why or f"the model asked for tools {self.rounds} times"
        return {"next": "answer", "error": f"{why}; let it go on, or ask anew"}

    async def _take_in(self, reply: Reply, raw: dict[str, Any], state: State) -> None:
        """Log a reply, and answer what is the session's to answer."""
        extra_tokens = state["sent"].extra_tokens if reply.model == self.model.info.name else None
        item = await asyncio.to_thread(
            self._insisting, partial(self.session.reply, distinct(raw), extra_tokens=extra_tokens)
        )
        self._text = self.session.items.text(item)
        self._say(ReplyReceived(reply.model, item, read_reply(reply.raw).usage, cost_of(reply)))
        for answered in self.session.answered:
            self._say(ToolStarted(answered.call))
            self._say(ToolFinished(answered.call, plain_text(answered.result.parts), answered.result.error))

    async def _keep(self, blocks: Sequence[structured_response.CodeBlock]) -> None:
        """Store the code of a response. What cannot be stored is a warning: the answer counts more."""
        for block in blocks if self.code is not None else ():
            assert self.code is not None
            try:
                self._note_saved(await asyncio.to_thread(kept, block, self.code, self.session.id))
            except (SightlineError, OSError) as error:
                _LOG.warning("code %s was not saved: %s", block.code_id, error)
                self._warnings.append(str(error))

    def _note_saved(self, saved: Saved) -> None:
        _LOG.info("code saved: %s (%s, version %d)", saved.code_id, saved.language, saved.version)
        self._saved.append(saved)
        self._warnings += [saved.warning] if saved.warning else []
        self._say(CodeSaved(saved))

    async def _tools(self, state: State) -> State:
        """Run the calls that wait, side by side; each result is logged when it comes."""
        calls = self.session.open_calls
        run, beyond = calls[: structured_response.MOST_CALLS], calls[structured_response.MOST_CALLS :]
        for call in beyond:
            why = f"not run: at most {structured_response.MOST_CALLS} calls in one response; make this one again"
            await self._log_output(Output(call, why, failed=True))
        try:
            async with asyncio.TaskGroup() as group:
                for call in run:
                    self._say(ToolStarted(call))
                    group.create_task(self._run_one(call, _tools_of(state)))
        except ExceptionGroup as failed:  # tools raise nothing: the log could not be written, and the others stopped
            raise failed.exceptions[0] from None
        return {"next": "context"}

    async def _run_one(self, call: Call, given: Sequence[str]) -> None:
        await self._log_output(await self._toolbox.run(call, given))

    async def _log_output(self, output: Output) -> None:
        call, failed = output.call, output.failed
        try:
            write = partial(self.session.tool_result, call.id, output.value, error=failed)
            item = await asyncio.to_thread(self._insisting, write)
        except BadInput as error:  # a tool gave what no result can hold
            write, failed = partial(self.session.tool_result, call.id, str(error), error=True), True
            item = await asyncio.to_thread(self._insisting, write)
        parts = self.session.items[item].parts
        text = plain_text(tuple(part for part in parts if isinstance(part, Result)) or parts)
        self._say(ToolFinished(call, text, "failed" if failed else ""))
        if call.name == WRITE_CODE and self.code is not None and not failed:
            self._note_saved(await asyncio.to_thread(self.code.find, call.input["code_id"]))

    async def _answer(self, state: State) -> State:
        error, turn = state.get("error", ""), self._turn
        if not error and not self._text.strip() and not self._saved:
            error = "the model's report is empty"
        if error:
            await asyncio.to_thread(self.session.interrupt)
        await asyncio.to_thread(self.session.flush)
        self._say(
            Answer(
                success=not error,
                text=self._text,
                error=error,
                response=self._response,
                saved=tuple(self._saved),
                warnings=tuple(self._warnings),
                rounds=turn.calls,
                usage=turn.usage if turn.calls else None,
                cost=turn.cost,
                stop=self._stop,
            )
        )
        return {}

    # ------------------------------------------------------------------ summaries

    async def compact(self) -> Compacted:
        """Put a summary in the place of the oldest messages: the model's, where its words can be trusted with one.

        Cancelling it while the model writes leaves everything as it was.

        Raises:
            BadInput: there is too little to compact.
        """
        async with self._one_at_a_time():
            return await self._summarizing().compact()

    def compact_in_background(self) -> bool:
        """Have the oldest part summarised while the conversation goes on, if that is wanted and the model can."""
        return self.model.info.capable and self._summarizing().begin()

    def _summarizing(self) -> Summarizing:
        budget = json_budget.less(self.budget, self._reserve if self.protocol == "json" else 0)
        written = partial(self._written, form=False) if self.protocol == "json" else None
        return Summarizing(self.session, self.model, budget, self._count_summary, written)

    def _count_summary(self, reply: Reply) -> None:
        self.spent = self.spent.and_also(reply)

    @property
    def _locale(self) -> str:
        return self.session.settings.locale


def _tools_of(state: State) -> list[str]:
    """The names of the tools that the model was told of."""
    return [tool.name for tool in state["sent"].payload.tools]


def _to_nobody(_: Event) -> None:
    """Nobody asks."""


async def _last(events: AsyncGenerator[Event, None]) -> Answer:
    answer = Answer(False, error="the question was not answered")
    async for event in events:
        if isinstance(event, Answer):
            answer = event
    return answer
