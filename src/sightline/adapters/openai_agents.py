"""Sightline in the OpenAI Agents SDK: a session that loses nothing, and a filter that composes before every model call.

    Runner.run(agent, input, **run_options("id"))

The session keeps every item that the SDK gives it. The filter hands the model those that fit, also inside a long loop
of tool calls. Needs the extra `openai-agents`.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakKeyDictionary

import msgspec

from sightline.adapters.openai_agents_items import ItemList, in_messages, items_of, plain_items
from sightline.adapters.version import check_version
from sightline.apps.app import App
from sightline.errors import BadInput, SightlineError
from sightline.follow.conversations import Conversations, Sessions
from sightline.follow.history import History
from sightline.follow.list_call import ListCall, shows_all, usual_budget
from sightline.follow.windows import WINDOW_TOOLS, AppNames, load_apps
from sightline.plan import Budget
from sightline.providers.windows import window_of
from sightline.session.attention import own_tools
from sightline.session.session import Session
from sightline.values.finish import finish
from sightline.values.items import ToolDefinition
from sightline.values.recall_tools import RECALL_NAMES, RECALL_TOOLS, offered
from sightline.values.settings import Settings
from sightline.wire.payload import Payload

check_version("openai-agents", oldest=(0, 22), before=1)

from agents import (  # noqa: E402
    Agent,
    AgentOutputSchema,
    AgentOutputSchemaBase,
    FunctionTool,
    Handoff,
    Model,
    RunConfig,
    RunContextWrapper,
    handoff,
)
from agents.memory import SessionSettings  # noqa: E402
from agents.memory.session_settings import coerce_session_settings, resolve_session_limit  # noqa: E402
from agents.models import get_default_model  # noqa: E402
from agents.run_config import CallModelData, CallModelInputFilter, ModelInputData  # noqa: E402
from agents.tool_context import ToolContext  # noqa: E402

if TYPE_CHECKING:
    from agents import TResponseInputItem

__all__ = ["SightlineSession", "recall_tools", "run_options"]

_R = TypeVar("_R")


class SightlineSession:
    """A `Session` of the Agents SDK: every item that was added, and what the model gets of them.

    Pass it as `session`, and its `input_filter` as `RunConfig(call_model_input_filter=…)`; `run_options` does both.
    Each item is kept in the log as it was given, and the conversation is followed there. An item that was popped, or
    an input that was edited, goes on as a branch.
    """

    def __init__(
        self,
        session_id: str,
        budget: Budget | None = None,
        *,
        sessions: Sessions = ".",
        settings: Settings | None = None,
        apps: AppNames = (),
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        """`budget`: without one, the context window of the agent's model, if its name is known.

        `sessions`: where they are kept: a project's folder, `Stores`, a function that opens a session by its id, or one
        session. `settings` are those of a new session. `apps`: those whose windows the model sees, names or classes, if
        its agent has `tools`. `session_settings` are the SDK's: a limit is not needed here.
        Raises BadInput for an app that there is not.
        """
        self.session_id, self.budget = session_id, budget
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or {})
        if isinstance(sessions, str | Path) and settings is None:
            self._conversations = _in_folder(Path(sessions).resolve(), load_apps(apps))
        else:
            self._conversations = Conversations(sessions, settings=settings, apps=apps)
        self.knows_runs = False  # the SDK has said for which run it reads the items
        self._lacks_tools = False  # the last call showed less than everything, and had no tools of ours

    @property
    def input_filter(self) -> CallModelInputFilter:
        """What composes before every model call, for `RunConfig(call_model_input_filter=…)`."""
        return _Filter(self)

    @property
    def tools(self) -> list[FunctionTool]:
        """`expand` and `recall`, and with apps `create` and `action`: `Agent(tools=[…, *session.tools])`."""
        own = self._conversations.own_tools
        is_late = WINDOW_TOOLS.isdisjoint(tool.name for tool in own)  # windows need theirs at once
        return [_make_tool(tool, late=is_late) for tool in own]

    @property
    def session(self) -> Session:
        """The session of Sightline, on the branch of the input that it had last."""
        with self._conversations.use(self.session_id, self) as history:
            return history.session

    def close(self) -> None:
        """Close the session of Sightline, unless another object of this class uses it. The next call opens it again."""
        self._conversations.close(self)

    # ------------------------------------------------------------------ the protocol of the SDK

    async def get_items(
        self,
        limit: int | None = None,
        *,
        wrapper: RunContextWrapper[Any] | None = None,  # the SDK gives it to all four, or to none
    ) -> "list[TResponseInputItem]":
        """Return the items, oldest first; with a limit, the newest ones."""
        if wrapper is not None:
            _of_runs[wrapper], self.knows_runs = self, True
        limit = resolve_session_limit(limit, self.session_settings)
        return cast("list[TResponseInputItem]", await self._run(lambda kept: kept.newest(limit)))

    async def add_items(
        self, items: "list[TResponseInputItem]", *, wrapper: RunContextWrapper[Any] | None = None
    ) -> None:
        """Add items at the end. They are durable when this returns."""
        if items and wrapper is None:  # a program's own, in the middle of a run perhaps
            await self._run(lambda kept: kept.add(plain_items(items)))
        elif items and wrapper is not None:
            usage = wrapper.usage.request_usage_entries[-1:]
            await self._run(lambda kept: kept.add_turn(plain_items(items), usage[0] if usage else None))

    async def pop_item(
        self,
        *,
        wrapper: RunContextWrapper[Any] | None = None,  # noqa: ARG002
    ) -> "TResponseInputItem | None":
        """Take the newest item out of the conversation and return it. The log keeps it."""
        return cast("TResponseInputItem | None", await self._run(ItemList.pop))

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:  # noqa: ARG002
        """Begin again without any item. The log keeps those of before."""
        await self._run(ItemList.clear)

    # ------------------------------------------------------------------ what the model sees

    def compose(
        self, data: ModelInputData, budget: Budget, tools: Sequence[Any], *, own: Collection[str], last: Any = None
    ) -> ModelInputData:
        """Take in what is new in an input, and return what fits. Raises what `Session.compose` raises.

        `own`: the names of our tools that the agent has. `last`: the last item of the input as the SDK made it, if a
        filter of the program has changed that.
        """

        def write(history: History, payload: Payload) -> list[Any]:
            kept = items_of(history)
            kept.ask(data.input, last)
            return kept.write(payload)

        call = ListCall(
            self._conversations,
            self.session_id,
            in_messages(data.input),
            write,
            system=data.instructions,
            tools=tools,
            recall=not RECALL_NAMES.isdisjoint(own),
            windows={tool.name for tool in self._conversations.own_tools} & {*own} >= WINDOW_TOOLS,
            owner=self,
        )
        composed = ModelInputData(call.compose(budget), data.instructions)
        self._lacks_tools = not (own or shows_all(call.payload))
        return composed

    def offers(self, name: str, *, late: bool) -> bool:
        """Whether the model gets this tool of ours with the next call. `late`: only when something was shortened."""
        with self._conversations.use(self.session_id, self) as history:
            session = history.session
            is_there = name in WINDOW_TOOLS or any(tool.name == name for tool in own_tools(session.strategy))
            return is_there and (not late or self._lacks_tools or bool(offered(session.log.tools.definitions)))

    def answer(self, name: str, arguments: dict[str, Any], call_id: str = "") -> str:
        """Return the answer to the model's call of one of our tools."""
        return self._conversations.answer(self.session_id, name, arguments, call_id=call_id, owner=self)

    async def _run(self, work: Callable[[ItemList], _R]) -> _R:
        def run() -> _R:
            with self._conversations.use(self.session_id, self) as history:
                return work(items_of(history))

        return await finish(asyncio.to_thread(run))


@cache
def _in_folder(folder: Path, apps: tuple[type[App], ...]) -> Conversations:
    """Return the conversations of a folder: one for all sessions there, because each run makes a session anew."""
    return Conversations(folder, apps=apps)


@dataclass(frozen=True)
class _Filter:
    """Composes the input of a model call. `first`: the program's own filter, which runs before it."""

    session: SightlineSession
    first: CallModelInputFilter | None = None
    model: str | Model | None = None  # that of the run, instead of the agents' own

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        last = data.model_data.input[-1] if data.model_data.input else None
        if self.first is not None:
            filtered = self.first(data)
            data = replace(data, model_data=filtered if isinstance(filtered, ModelInputData) else await filtered)
        context = RunContextWrapper(data.context)
        if self.session.knows_runs:  # else the run has asked for the tools without it, and has them
            _of_runs[context] = self.session
        tools = await data.agent.get_all_tools(context)
        ours = [tool for tool in tools if isinstance(tool, _OwnTool)]
        definitions = [_define(tool) for tool in tools if tool not in ours]
        definitions += [_define(to if isinstance(to, Handoff) else handoff(to)) for to in data.agent.handoffs]
        definitions += _define_output(data.agent)
        budget = self.session.budget or _budget_of(data.agent, self.model)
        compose = partial(self.session.compose, data.model_data, budget, definitions)
        return await asyncio.to_thread(compose, own={tool.name for tool in ours}, last=last)


def run_options(
    session_id: str,
    budget: Budget | None = None,
    *,
    sessions: Sessions = ".",
    settings: Settings | None = None,
    apps: AppNames = (),
    run_config: RunConfig | None = None,
) -> dict[str, Any]:
    """Return the `session` and the `run_config` for `Runner.run`, `run_sync` and `run_streamed`.

    Options as for `SightlineSession`. `run_config`: your own; a `call_model_input_filter` in it runs before ours.
    """
    session = SightlineSession(session_id, budget, sessions=sessions, settings=settings, apps=apps)
    config = run_config or RunConfig()
    made = _Filter(session, config.call_model_input_filter, config.model)
    return {"session": session, "run_config": replace(config, call_model_input_filter=made)}


# ---------------------------------------------------------------------- the tools


def _answer_with(name: str) -> Callable[[ToolContext[Any], str], Any]:
    async def answer(context: ToolContext[Any], arguments: str) -> str:
        composed_by = context.run_config.call_model_input_filter if context.run_config else None
        if not isinstance(composed_by, _Filter):
            raise BadInput(f"{name} needs the session of the run: pass **run_options(…) to Runner.run")
        try:
            values = msgspec.json.decode(arguments or "{}")
            return await asyncio.to_thread(composed_by.session.answer, name, values, context.tool_call_id)
        except (msgspec.DecodeError, UnicodeError, SightlineError) as error:  # the model may try again
            return f"[{name} failed: {error}]"

    return answer


class _OwnTool(FunctionTool):  # type: ignore[misc]  # see pyproject.toml
    """A tool of ours."""


_of_runs: WeakKeyDictionary[RunContextWrapper[Any], SightlineSession] = WeakKeyDictionary()


def _make_tool(tool: ToolDefinition, *, late: bool = True) -> FunctionTool:
    """A tool of ours. If it is `late`, the model has it after the first call that showed less than everything.

    The SDK asks before it composes, so that call itself has none.
    """

    async def is_wanted(context: RunContextWrapper[Any], _agent: Any) -> bool:
        session = _of_runs.get(context)
        return session is None or await asyncio.to_thread(session.offers, tool.name, late=late)

    answer = _answer_with(tool.name)
    return _OwnTool(tool.name, tool.description, tool.schema, answer, strict_json_schema=False, is_enabled=is_wanted)


recall_tools: list[FunctionTool] = [_make_tool(tool) for tool in RECALL_TOOLS]
"""`expand`, `recall` and `look`, by which the model sees again what was shortened: `Agent(tools=[…, *recall_tools])`.

It gets them after the first call that showed less than everything."""


# ---------------------------------------------------------------------- what is counted besides the input


def _define(tool: Any) -> dict[str, Any]:
    """Return the definition of a tool or a handoff, to be counted."""
    schema = getattr(tool, "params_json_schema", None) or getattr(tool, "input_json_schema", None) or {}
    name = getattr(tool, "tool_name", None) or tool.name
    about = getattr(tool, "tool_description", None) or getattr(tool, "description", "")
    return {"type": "function", "name": name, "description": about, "parameters": schema}


def _define_output(agent: Agent[Any]) -> list[dict[str, Any]]:
    """Return what a structured output adds to the request, as the definition of a tool, so that it is counted."""
    kind = agent.output_type
    if kind is None:
        return []
    schema = kind if isinstance(kind, AgentOutputSchemaBase) else AgentOutputSchema(kind)
    return (
        [] if schema.is_plain_text() else [{"type": "function", "name": "output", "parameters": schema.json_schema()}]
    )


def _budget_of(agent: Agent[Any], model: str | Model | None) -> Budget:
    """Return the budget of a model whose name is known: that of the run, or the agent's. Raises BadInput for others."""
    model = model or agent.model or get_default_model()
    name = model if isinstance(model, str) else str(getattr(model, "model", ""))
    if not (window := window_of(name)):
        raise BadInput(f"the context window of the model {name!r} is not known: pass Budget(window=…, output=…)")
    return usual_budget(window, agent.model_settings.max_tokens)
