"""The query service: a question goes in, context, model and tools take turns, the answer comes out. All is logged."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Literal, NamedTuple

from sightline.agent import as_json, response
from sightline.agent.code_list import code_list
from sightline.agent.events import Answer, Called, Calling, CodeSaved, Composed, Event, Replied
from sightline.agent.graph import ContextNode, State, loop
from sightline.agent.models import Model, Price, Reply, Request, Said
from sightline.agent.running import Output, Toolbox
from sightline.agent.tools import Tool
from sightline.agent.tools.code import WRITE_CODE
from sightline.clock import Ids, nanoid
from sightline.code.references import Upload, announcement
from sightline.code.store import CodeStore, Saved
from sightline.compaction.compactor import Compacted
from sightline.errors import BadInput, ContextOverflow, ModelError, SightlineError
from sightline.items import Result, Usage, plain_text
from sightline.payload import Payload
from sightline.plan import Budget
from sightline.profiles import profile
from sightline.replay import reused_tokens
from sightline.session import Session
from sightline.wire import read_reply

ROUNDS = 12  # that a model may ask for tools before its answer
_STEPS = 4  # nodes of the graph in one round, with one to spare
_LOG = logging.getLogger("sightline.agent")

Protocol = Literal["native", "json"]


class Spent(NamedTuple):
    """What this run of the program has used."""

    usage: Usage = Usage(0, 0)
    cost: float | None = None  # in the currency of the prices; None where no price is known
    calls: int = 0

    def and_also(self, usage: Usage | None, price: Price | None) -> "Spent":
        """With one more call."""
        if usage is None:
            return self._replace(calls=self.calls + 1)
        cost = self.cost if price is None else (self.cost or 0.0) + cost_of(usage, price)
        return Spent(_sum(self.usage, usage), cost, self.calls + 1)


class Agent:
    """Answers questions with a model and tools, in a session. One question at a time."""

    def __init__(
        self,
        session: Session,
        model: Model,
        *,
        tools: Sequence[Tool] = (),
        code: CodeStore | None = None,
        budget: Budget | None = None,
        rounds: int = ROUNDS,
        protocol: Protocol | None = None,
        instructions: str = "",
        ids: Ids = nanoid,
    ) -> None:
        """`protocol`: how the model calls tools, natively or in the JSON of a structured response; else as it can.

        `instructions` open the conversation; without them the model is told what it needs for its tools and code.
        """
        if rounds < 1:
            raise BadInput(f"rounds must be at least 1, not {rounds}")
        self.session, self.model, self.code, self.rounds = session, model, code, rounds
        self.spent = Spent()
        self._toolbox, self._ids = Toolbox(tools), ids
        self._given, self._protocol, self._instructions = budget, protocol, instructions
        self._busy = asyncio.Lock()
        self._saved: list[Saved] = []
        self._warnings: list[str] = []
        self._turn = Spent()
        self._text = ""
        self._response: response.StructuredResponse | None = None
        self._before: Payload | None = None
        self._say: Callable[[Event], None] = _to_nobody
        self._graph = loop(self._context, self._model, self._tools, self._answer)
        if code is not None:
            session.host.register(code_list(code, session.id))

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What it can do."""
        return self._toolbox.tools

    @property
    def budget(self) -> Budget:
        """What a payload may hold."""
        facts = self.model.facts
        return self._given or Budget(window=facts.window, output=min(facts.output, facts.window // 4))

    @property
    def protocol(self) -> Protocol:
        """How the model calls tools."""
        return self._protocol or ("native" if self.model.facts.native else "json")

    @property
    def payload(self) -> Payload | None:
        """What the model was shown last; None before the first call."""
        return self._before

    def use(self, model: Model) -> None:
        """Ask this model from now on."""
        self.model = model

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
            await asyncio.to_thread(self._ask, text, uploads)
            async with aclosing(self._answered()) as events:
                async for event in events:
                    yield event

    async def proceed(self) -> AsyncGenerator[Event, None]:
        """Go on where the last turn stopped: after a failed or cut call, a limit, or an interruption."""
        async with self._one_at_a_time(), aclosing(self._answered()) as events:
            async for event in events:
                yield event

    def _one_at_a_time(self) -> asyncio.Lock:
        if self._busy.locked():
            raise BadInput("this agent is answering a question; wait for its Answer, or close that stream first")
        return self._busy

    def _ask(self, text: str, uploads: Sequence[Upload]) -> None:
        self._prepare()
        if uploads:
            self.session.tell(announcement(uploads, self._locale))
        self.session.user(text)

    def _prepare(self) -> None:
        """Say how to answer and with which tools. Saying it again changes nothing."""
        session = self.session
        if self._instructions:
            session.system(self._instructions)
        if self.protocol == "json":
            session.system(as_json.prompt(self._locale))
        definitions = [tool.definition for tool in self._toolbox.tools]
        windows = session.host.tools() if set(session.host.apps) - {"code_list"} else ()
        session.tools([*definitions, *windows])

    async def _answered(self) -> AsyncGenerator[Event, None]:
        await asyncio.to_thread(self.session.interrupt)  # what a stopped turn may have left
        self._saved, self._warnings, self._turn, self._text, self._response = [], [], Spent(), "", None
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._say = events.put_nowait
        running = asyncio.create_task(self._run(events))
        try:
            while (event := await events.get()) is not None:
                yield event
            await running
        finally:
            if not running.done():
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                self.session.interrupt()
            self._say = _to_nobody

    async def _run(self, events: "asyncio.Queue[Event | None]") -> None:
        try:
            await self._graph.ainvoke({"round": 0}, {"recursion_limit": _STEPS * (self.rounds + 2) * 2})
        finally:
            events.put_nowait(None)

    # ------------------------------------------------------------------ the nodes

    async def _context(self, state: State) -> State:
        if self.code is not None:
            await asyncio.to_thread(self._show_code_list)
        found = await ContextNode(self.session, self.budget)({})
        payload, receipt = found["payload"], self.session.receipt
        reused = reused_tokens(self._before, payload, profile(self.session.settings.profile))
        self._before = payload
        _LOG.info("context built: %d tokens, %s", payload.tokens, receipt.reason if receipt else "")
        if receipt is not None:
            self._say(Composed(payload.tokens, receipt.limit, min(reused, payload.tokens), receipt.reason))
        return {"payload": payload, "round": state["round"] + 1}

    def _show_code_list(self) -> None:
        """Open the list of code once there is any. It shows what there is from then on."""
        assert self.code is not None
        if self.session.host.window("code_list") is None and self.code.list(self.session.id):
            self.session.open_window("code_list")

    async def _model(self, state: State) -> State:
        try:
            reply = await self._reply_to(state)
        except ContextOverflow as error:
            if state.get("overflowed"):
                return {"next": "answer", "error": str(error)}
            await asyncio.to_thread(self.session.overflowed, error.input_tokens)
            return {"next": "context", "overflowed": True, "round": state["round"] - 1}
        except ModelError as error:
            _LOG.warning("the model could not be asked: %s", error)
            return {"next": "answer", "error": str(error)}
        return await (self._spoken if self.protocol == "json" else self._called)(reply, state)

    async def _reply_to(self, state: State) -> Reply:
        payload, output = state["payload"], self.budget.output
        if self.protocol == "native":
            return await _whole(self.model, Request(payload, output), self._say)
        request = Request(as_json.written(payload, self._locale), output, response.schema(payload.tools))
        return await _whole(self.model, request, self._say_but_text)

    def _say_but_text(self, event: Event) -> None:
        """Tell what happens while a response in JSON comes: its text is for the parser, its report for the user."""
        if not isinstance(event, Said) or event.thinking:
            self._say(event)

    async def _called(self, reply: Reply, state: State) -> State:
        """A reply whose calls are native."""
        await self._take_in(reply, reply.raw)
        if self.session.open_calls or self.session.answered:
            return self._on("tools", state)
        return {"next": "answer"}

    async def _spoken(self, reply: Reply, state: State) -> State:
        """A reply that is a structured response."""
        text = plain_text(read_reply(reply.raw).parts)
        names = [tool.name for tool in state["payload"].tools]
        parsed = response.parse(text, names, self._locale)
        if parsed.problems and not state.get("told"):
            await self._take_in(reply, reply.raw)
            await asyncio.to_thread(self.session.tell, response.again(parsed.problems, self._locale))
            return self._on("context", state) | {"told": True}
        await self._take_in(reply, as_json.read(reply.raw, parsed, self._ids))
        self._response, self._text = parsed.response, parsed.response.report
        if self._text:
            self._say(Said(self._text))
        await self._keep(parsed.response.action.code_blocks)
        calls = bool(self.session.open_calls or self.session.answered)
        return (self._on("tools", state) if calls else State(next="answer")) | {"told": False}

    def _on(self, node: str, state: State) -> State:
        """The next node, unless the model has been asked often enough."""
        if state["round"] < self.rounds:
            return {"next": node}
        return {"next": "answer", "error": f"the model asked for tools {self.rounds} times; let it go on, or ask anew"}

    async def _take_in(self, reply: Reply, raw: dict[str, Any]) -> None:
        """Log a reply, answer what is the session's to answer, and count what it cost."""
        item = await asyncio.to_thread(self.session.reply, raw)
        usage, price = read_reply(reply.raw).usage, self.model.facts.price
        self.spent, self._turn = self.spent.and_also(usage, price), self._turn.and_also(usage, price)
        self._text = self.session.text(item)
        cost = cost_of(usage, price) if usage is not None and price is not None else None
        self._say(Replied(reply.model, item, usage, cost))
        for answered in self.session.answered:
            self._say(Calling(answered.call))
            self._say(Called(answered.call, plain_text(answered.result.parts), answered.result.error))

    async def _keep(self, blocks: Sequence[response.CodeBlock]) -> None:
        """Store the code of a response. What cannot be stored is a warning: the answer counts more."""
        for block in blocks if self.code is not None else ():
            assert self.code is not None
            try:
                saved = await asyncio.to_thread(
                    self.code.store,
                    block.code_id,
                    block.code,
                    language=block.language,
                    description=block.description,
                    session_id=self.session.id,
                )
            except (SightlineError, OSError) as error:
                _LOG.warning("code %s was not saved: %s", block.code_id, error)
                self._warnings.append(str(error))
                continue
            self._note_saved(saved)

    def _note_saved(self, saved: Saved) -> None:
        _LOG.info("code saved: %s (%s, version %d)", saved.code_id, saved.language, saved.version)
        self._saved.append(saved)
        self._say(CodeSaved(saved))

    async def _tools(self, _: State) -> State:
        """Run the calls that wait, side by side; each result is logged when it comes."""
        calls = self.session.open_calls
        run, beyond = calls[: response.MOST_CALLS], calls[response.MOST_CALLS :]
        for call in beyond:
            why = f"not run: at most {response.MOST_CALLS} calls in one response; make this one again"
            await self._log_output(Output(call, why, failed=True))
        async with asyncio.TaskGroup() as group:
            for call in run:
                self._say(Calling(call))
                group.create_task(self._run_one(call))
        return {"next": "context"}

    async def _run_one(self, call: Any) -> None:
        await self._log_output(await self._toolbox.run(call))

    async def _log_output(self, output: Output) -> None:
        call, failed = output.call, output.failed
        try:
            item = await asyncio.to_thread(self.session.tool_result, call.id, output.value, error=failed)
        except BadInput as error:  # a tool gave what no result can hold
            item = await asyncio.to_thread(self.session.tool_result, call.id, str(error), error=True)
            failed = True
        parts = self.session.item(item).parts
        text = plain_text(tuple(part for part in parts if isinstance(part, Result)) or parts)
        self._say(Called(call, text, "failed" if failed else ""))
        if call.name == WRITE_CODE and self.code is not None and not failed:
            self._note_saved(await asyncio.to_thread(self.code.find, call.input["code_id"]))

    async def _answer(self, state: State) -> State:
        error, turn = state.get("error", ""), self._turn
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
            )
        )
        return {}

    # ------------------------------------------------------------------ summaries

    async def compact(self) -> Compacted:
        """Put a summary in the place of the oldest messages: the model's, where its words can be trusted with one.

        Raises:
            BadInput: there is too little to compact.
        """
        model = self._summarizer() if self.model.facts.capable else None
        return await asyncio.to_thread(self.session.compact, self.budget, model=model)

    def compact_in_background(self) -> bool:
        """Have the oldest part summarised while the conversation goes on, if that is wanted and the model can."""
        return self.model.facts.capable and self.session.compact_in_background(self._summarizer())

    def _summarizer(self) -> Callable[[Any], Any]:
        """The model as a plain function, for the thread that summarises."""
        running = asyncio.get_running_loop()

        def summarize(payload: Any) -> Any:
            request = Request(payload, self.budget.output)
            return asyncio.run_coroutine_threadsafe(_whole(self.model, request), running).result().raw

        return summarize

    @property
    def _locale(self) -> str:
        return self.session.settings.locale


def cost_of(usage: Usage, price: Price) -> float:
    """What a call cost."""
    fresh = usage.input_tokens - usage.cached_tokens - usage.written_tokens
    paid = fresh * price.input + usage.cached_tokens * price.cached
    return (paid + usage.written_tokens * price.written + usage.output_tokens * price.output) / 1_000_000


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cached_tokens + other.cached_tokens,
        one.written_tokens + other.written_tokens,
    )


def _to_nobody(_: Event) -> None:
    """Nobody asks."""


async def _last(events: AsyncGenerator[Event, None]) -> Answer:
    answer = Answer(False, error="the question was not answered")
    async for event in events:
        if isinstance(event, Answer):
            answer = event
    return answer


async def _whole(model: Model, request: Request, say: Callable[[Event], None] | None = None) -> Reply:
    """The model's reply, its pieces told as they come."""
    async with aclosing(model.stream(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Reply):
                return piece
            if say is not None:
                say(piece)
    raise ModelError(f"{model.facts.name} ended without an answer")
