"""The agent: a question goes in, context, model and tools take turns, the answer comes out. Everything is logged."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, TypeVar

from sightline.agent.call_protocol import CallProtocol, protocol_named
from sightline.agent.constraint_reader import ConstraintReader
from sightline.agent.events import Answer, Event, PayloadComposed, ReplyReceived, ToolFinished, ToolStarted
from sightline.agent.extension import Extension
from sightline.agent.extraction import Extraction
from sightline.agent.light_model import BackgroundRequests, LightModel, Summarizer
from sightline.agent.loop import Loop, run
from sightline.agent.models import Model, Reply, TextDelta, full_reply
from sightline.agent.models.errors import TransientFailure
from sightline.agent.toolbox import MOST_CALLS, Output, Toolbox, unique_call_ids
from sightline.agent.tools import Tool
from sightline.agent.tools.from_function import tool_of
from sightline.agent.turn import Spent, Turn, cost_of
from sightline.compaction.compactor import Compacted
from sightline.compose import layout, reused_tokens
from sightline.errors import BadInput, ContextOverflow, ModelError, StoreError
from sightline.log import retry_on_conflict
from sightline.plan import Budget
from sightline.providers.windows import answer_room
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.values.clock import Ids, nanoid
from sightline.values.finish import finish
from sightline.values.items import Call, Opaque, Result, Text, plain_text
from sightline.values.profiles import profile
from sightline.wire import read_reply
from sightline.wire.payload import Payload

ROUNDS = 12  # model calls in which a model may ask for tools before it answers
_LAST_SECONDS = 20.0  # that work in the background has left when the agent is closed,
_READ_SECONDS = 3.0  # and the reading of constraints, which goes on the next time
_LOG = logging.getLogger("sightline.agent")

Protocol = Literal["native", "json"]
T = TypeVar("T")


class Agent:
    """Answers questions with a model and tools, in a session. One question at a time."""

    def __init__(
        self,
        session: Session | AsyncSession,
        model: Model,
        *,
        tools: Sequence[Tool | Callable[..., Any]] | None = (),
        extension: Extension | None = None,
        budget: Budget | None = None,
        rounds: int = ROUNDS,
        protocol: Protocol | None = None,
        instructions: str = "",
        light: Model | None = None,
        ids: Ids = nanoid,
    ) -> None:
        """`protocol`: tool calls are native or in the JSON of a structured response; None: what the model supports.

        A tool is a `Tool`, or a function with type hints and a docstring, which the model reads. `expand` and `recall`
        are added to the tools, unless `tools` is None.
        `extension` is called in each turn, such as `SavedCode` of `sightline.documents.saved_code`.
        `instructions` open the conversation, as a system message. The agent adds nothing else, except the form of a
        structured response, which is in every request of the JSON protocol.
        `light` is the model that summarises and extracts; None: `model` does. Only a light model also reads, in the
        background, what the user's messages lay down: see `session.items.add_found`.
        """
        if rounds < 1:
            raise BadInput(f"rounds must be at least 1, not {rounds}")
        session = session.session if isinstance(session, AsyncSession) else session
        if not hasattr(model, "stream"):
            wanted = "an object such as Endpoint(…), with info, stream(request) and close()"
            raise BadInput(f"a model is {wanted}, not {model!r}")
        self.session, self.model, self.rounds = session, model, rounds
        self.spent = Spent()  # summaries included
        self.question = ""  # the item of the last question; empty while it is not in the log
        self.stopped = ""  # the item of the reply that was stopped in the last turn; empty: none, or nothing was said
        self.payload: Payload | None = None  # what the model was shown last; None: not known
        self.tools = tuple(tool_of(tool) for tool in tools or ())  # its own: those of a session are not among them
        self._toolbox, self._ids = Toolbox(self.tools), ids
        self.warnings: list[str] = []  # about work in the background, for whoever talks to the user to take away
        self._recalls = tools is not None
        self._given, self._protocol, self._instructions = budget, protocol, instructions
        self.replaces_instructions = False  # whether they replace the session's system prompt if that is another
        self._light = LightModel(model, light, session, self.warnings.append)
        self.extraction = Extraction(session, self._light, self._count_summary, self.warnings.append)
        self._constraints = ConstraintReader(session, light, self._count_summary)
        self._busy = asyncio.Lock()
        self._extension = extension or Extension()
        self._protocols: dict[str, CallProtocol] = {}  # those that were used
        self._background = BackgroundRequests()  # for summaries
        self.loop: Loop = run  # the steps of a turn
        self._steps = {"context": self._context, "model": self._model, "tools": self._tools, "answer": self._answer}

    @property
    def budget(self) -> Budget:
        """The token budget of a payload."""
        info = self.model.info
        return self._given or Budget(window=info.window, output=answer_room(info.window, info.output))

    @property
    def protocol(self) -> Protocol:
        """How the model calls tools. Without tools it is "native", because then the model answers in plain text."""
        tools = self._recalls or self.tools or self.session.windows.apps
        return self._protocol or ("native" if self.model.info.native or not tools else "json")

    @property
    def _calls(self) -> CallProtocol:
        name = self.protocol
        if name not in self._protocols:
            self._protocols[name] = protocol_named(name)(self.session, self._ids)
        return self._protocols[name]

    # ------------------------------------------------------------------ a question

    async def query(self, text: str, *, note: str = "") -> Answer:
        """Return the answer to a question. `stream` also yields what happens meanwhile."""
        answer = Answer(False, error="the question was not answered")
        async for event in self.stream(text, note=note):
            if isinstance(event, Answer):
                answer = event
        return answer

    def stream(self, text: str, *, note: str = "") -> AsyncGenerator[Event, None]:
        """Yield what happens while a question is answered, the Answer last. The model is told the `note` before it.

        Closing the iterator, or cancelling whoever reads it, stops the answer. The text that has come is kept in the
        log, marked as stopped (`stopped` is its item); a call that it made is not. Running calls are given up, and
        `proceed` goes on.

        Raises:
            PinnedOverflow: what may not be reduced is larger than the model's context window.
            StoreError: the log cannot be written.
        """
        return self._events(partial(self._ask, text, note), is_new=True)

    def proceed(self) -> AsyncGenerator[Event, None]:
        """Continue where the last turn stopped: after a failed or cut model call, a limit, or an interruption."""
        return self._events(partial(self._write, self._prepare))

    def _one_at_a_time(self) -> asyncio.Lock:
        if self._busy.locked():
            raise BadInput("this agent is answering a question; wait for its Answer, or close that stream first")
        return self._busy

    def _ask(self, text: str, note: str) -> None:
        self._write(self._prepare)
        if note:
            is_system = layout(self.session.settings.layout).states
            self._write(lambda: self.session.note(note, system=is_system))
        self.question = self._write(lambda: self.session.user(text))

    def _write(self, write: Callable[[], T]) -> T:
        """Write to the session; once more if another program wrote first, because nothing here depends on its text."""
        return retry_on_conflict(write, self.session.refresh)

    async def _log(self, write: Callable[[], T]) -> T:
        return await asyncio.to_thread(self._write, write)

    async def _open_calls(self) -> list[Call]:
        return await asyncio.to_thread(lambda: self.session.open_calls)

    def _prepare(self) -> None:
        """Append the instructions and the tool definitions, if they have changed."""
        session = self.session
        if self._instructions:
            session.system(self._instructions, replace=self.replaces_instructions)
        windows = session.windows.tools() if set(session.windows.apps) - set(self._extension.apps) else ()
        session.tools([*(tool.definition for tool in self.tools), *windows], recall=self._recalls)

    async def _events(self, begin: Callable[[], None], *, is_new: bool = False) -> AsyncGenerator[Event, None]:
        """Log what a turn begins with, run it, and yield its events."""
        async with self._one_at_a_time():
            if is_new:
                self.question = ""
            self.stopped = ""
            await finish(asyncio.to_thread(begin))
            self.extraction.begin()
            self._constraints.begin()
            await asyncio.to_thread(self.session.interrupt)  # calls that a stopped turn may have left
            self._turn = turn = Turn(asyncio.Queue())
            running = asyncio.create_task(self.loop(self._steps))
            running.add_done_callback(lambda _: turn.events.put_nowait(None))
            try:
                while (event := await turn.events.get()) is not None:
                    yield event
                await running
            finally:
                running.cancel()
                try:
                    await asyncio.gather(running, return_exceptions=True)
                finally:
                    with suppress(StoreError):  # if the log cannot be written, the next turn tries again
                        await finish(asyncio.to_thread(self.session.interrupt))

    # ------------------------------------------------------------------ the steps of a turn; each returns the next

    async def _context(self) -> str:
        """Compose what the model sees."""
        await asyncio.to_thread(self._extension.prepare)
        has_receipt = self.session.receipt is not None  # of this agent, or of one before it
        sent = await asyncio.to_thread(self._calls.compose, self.budget)
        reused = None
        if self.payload is not None or not has_receipt:
            rules = profile(self.session.settings.profile)
            reused = min(reused_tokens(self.payload, sent.payload, rules), sent.tokens)
        self.payload = sent.payload
        _LOG.info("context built: %d tokens, %s", sent.tokens, sent.reason)
        self._sent = sent
        self._turn.round += 1
        self._turn.say(PayloadComposed(sent.tokens, sent.limit, reused, sent.reason))
        return "model"

    async def _model(self) -> str:
        """Ask the model, and log its reply."""
        turn = self._turn
        try:
            reply = await self._reply()
        except asyncio.CancelledError:
            await finish(asyncio.to_thread(self._keep_stopped))
            raise
        except ContextOverflow as error:
            if turn.overflowed:
                return turn.end(str(error))
            extra = self._sent.extra_tokens
            await asyncio.to_thread(self.session.overflowed, error.input_tokens, extra_tokens=extra)
            turn.overflowed, turn.round = True, turn.round - 1
            return "context"
        except ModelError as error:
            _LOG.warning("the model could not be asked: %s", error)
            return turn.end(str(error), error.kind if isinstance(error, TransientFailure) else "")
        self.spent, turn.spent, turn.stop = self.spent.plus(reply), turn.spent.plus(reply), reply.stop
        parts = read_reply(reply.raw).parts
        if not plain_text(parts).strip() and all(isinstance(part, Text | Opaque) for part in parts):
            # An empty reply, or one with thinking only, is not logged: asking again sends the same request.
            return turn.end(f"{reply.model} {'refused to answer' if reply.stop == 'refused' else 'said nothing'}")
        return await self._take(reply)

    async def _reply(self) -> Reply:
        calls, turn = self._calls, self._turn
        request = calls.request(self._sent, self.budget.output)
        return await full_reply(self.model, request, turn.say if calls.streams_text else turn.say_but_text)

    def _keep_stopped(self) -> None:
        """Log the text of a reply that was stopped. Of a structured response nothing is kept: half of it is no text."""
        if (text := "".join(self._turn.coming)).strip():
            with suppress(StoreError):  # nothing more can be done while the turn ends
                self.stopped = self._write(partial(self.session.reply, text, stopped=True))

    async def _take(self, reply: Reply) -> str:
        """Log a reply as the protocol reads it. If it cannot be acted on, ask once more and tell the model why."""
        turn = self._turn
        reading = self._calls.read(reply, self._sent, is_second=turn.told)
        turn.told, turn.overflowed = bool(reading.again), False
        await self._log_reply(reply, reading.raw)
        if reading.text is not None:
            turn.response, turn.text = reading.response, reading.text
            turn.warn(*reading.warnings)
            if turn.text:
                turn.say(TextDelta(turn.text))
        if reading.response is not None:
            await self._extension.after_reply(reading.response, turn)
        if not reading.again:
            return await self._after_reply()
        await self._log(partial(self.session.note, reading.again))
        return self._go_on("context", "the model's last response is not in the form asked for")

    async def _after_reply(self) -> str:
        """Return the step after a reply that counts."""
        if self.session.answered or await self._open_calls():
            return self._go_on("tools", f"the model asked for tools {self.rounds} times")
        return "answer"

    def _go_on(self, step: str, error: str) -> str:
        """Return the next step; if the model has been asked often enough, the end of the turn with this error."""
        if self._turn.round < self.rounds:
            return step
        return self._turn.end(f"{error}; let it go on, or ask anew", "rounds")

    async def _log_reply(self, reply: Reply, raw: dict[str, Any]) -> None:
        """Log a reply; the session answers its calls of windows, `expand` and `recall`."""
        turn = self._turn
        extra_tokens = self._sent.extra_tokens if reply.model == self.model.info.name else None
        item = await self._log(partial(self.session.reply, unique_call_ids(raw), extra_tokens=extra_tokens))
        turn.text = await asyncio.to_thread(self.session.items.text, item)
        turn.say(ReplyReceived(reply.model, item, read_reply(reply.raw).usage, cost_of(reply)))
        for answered in self.session.answered:
            turn.say(ToolStarted(answered.call))
            turn.say(ToolFinished(answered.call, plain_text(answered.result.parts), answered.result.error))

    async def _tools(self) -> str:
        """Run the pending calls at the same time; each result is logged when it comes."""
        calls, most = await self._open_calls(), MOST_CALLS
        names = [tool.name for tool in self._sent.payload.tools]
        for call in calls[most:]:
            await self._log_output(
                call, Output(f"not run: at most {most} calls in one response; make this one again", failed=True)
            )
        try:
            async with asyncio.TaskGroup() as group:
                for call in calls[:most]:
                    self._turn.say(ToolStarted(call))
                    group.create_task(self._run_tool(call, names))
        except ExceptionGroup as failed:  # tools raise nothing: the log could not be written, and the others stopped
            raise failed.exceptions[0] from None
        return "context"

    async def _run_tool(self, call: Call, names: Sequence[str]) -> None:
        await self._log_output(call, await self._toolbox.run(call, names))

    async def _log_output(self, call: Call, output: Output) -> None:
        failed = output.failed
        try:
            item = await self._log(partial(self.session.tool_result, call.id, output.value, error=failed))
        except BadInput as error:  # the tool returned what no result can hold
            failed = True
            item = await self._log(partial(self.session.tool_result, call.id, str(error), error=True))
        parts = await asyncio.to_thread(lambda: self.session.items[item].parts)
        text = plain_text(tuple(part for part in parts if isinstance(part, Result)) or parts)
        self._turn.say(ToolFinished(call, text, "failed" if failed else ""))
        if not failed:
            await self._extension.after_call(call, self._turn)

    async def _answer(self) -> str:
        turn = self._turn
        if not turn.error and not turn.text.strip() and not turn.saved:
            turn.error = "the model's report is empty"
        if turn.error:
            await asyncio.to_thread(self.session.interrupt)
        await asyncio.to_thread(self.session.flush)
        turn.say(turn.answer())
        return ""

    # ------------------------------------------------------------------ summaries

    async def compact(self) -> Compacted:
        """Replace the oldest messages by a summary: the model's, if it can be trusted with one.

        Cancelling it while the model writes leaves everything as it was.

        Raises:
            BadInput: there is too little to compact; its subclass NotShorter if a summary would save nothing.
        """
        async with self._one_at_a_time():
            return await self._summarizer().compact()

    def compact_in_background(self) -> bool:
        """Summarise the oldest part while the conversation goes on, if that is wanted and the model can."""
        return self._light.info.capable and self._summarizer().begin()

    def _summarizer(self) -> Summarizer:
        calls = self._calls
        budget = calls.summary_budget(self.budget)
        return Summarizer(
            self.session, self._light, budget, self._count_summary, calls.summary_payload, self._background
        )

    async def finish(self) -> None:
        """Wait for the extraction that is going on, at most some seconds. What it leaves unread stays in the prompt."""
        await asyncio.gather(self.extraction.finish(_LAST_SECONDS), self._constraints.finish(_READ_SECONDS))

    async def close(self, *, keep_model: bool = False) -> None:
        """`finish`, and close the models; with `keep_model`, only the light one. The session stays open.

        A summary that is being made in the background is given up.
        """
        await self.finish()
        background, self._background = self._background, BackgroundRequests()
        await background.close()
        for model in (self._light,) if keep_model else (self._light, self.model):
            await model.close()

    def _count_summary(self, reply: Reply) -> None:
        self.spent = self.spent.plus(reply)
