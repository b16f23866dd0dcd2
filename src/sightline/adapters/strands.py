"""Sightline in Strands: a conversation manager that composes what the model sees, and takes nothing out of the list.

    Agent(model, tools=[…], conversation_manager=SightlineConversationManager("id"))

`agent.messages` keeps every message. The model gets those that fit, at every call. Needs the
extra `strands-agents`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from sightline.adapters import strands_messages
from sightline.adapters.version import check_version
from sightline.errors import BadInput, SightlineError
from sightline.follow.conversations import Conversations, Sessions
from sightline.follow.list_call import ListCall, usual_budget, writer_of
from sightline.plan import Budget
from sightline.providers.errors import overflow_tokens
from sightline.providers.windows import window_of
from sightline.session.session import Session
from sightline.values.items import ToolDefinition
from sightline.values.recall_tools import RECALL_TOOLS
from sightline.values.settings import Settings

check_version("strands-agents", oldest=(1, 62), before=2, module="strands")

from strands import Agent  # noqa: E402
from strands.agent.conversation_manager import ConversationManager  # noqa: E402
from strands.hooks import AgentInitializedEvent, HookRegistry, MessageAddedEvent  # noqa: E402
from strands.middleware import InvokeModelStage  # noqa: E402
from strands.tools.tools import PythonAgentTool  # noqa: E402

__all__ = ["SightlineConversationManager"]

Json = dict[str, Any]


class SightlineConversationManager(ConversationManager):  # type: ignore[misc]
    """Composes what the model sees, in an agent of Strands. For one agent: its conversation is the session's.

    The messages of each model call are composed in the middleware of the call, for this call only: `agent.messages` and
    what a session manager of Strands stores keep every message. Messages that were edited or taken back go on as a
    branch. If the provider refuses a call as too long, the next attempt is smaller.
    """

    def __init__(
        self,
        session_id: str,
        budget: Budget | None = None,
        *,
        sessions: Sessions = ".",
        settings: Settings | None = None,
        recall: bool = True,
    ) -> None:
        """`budget`: without one, the context window of the agent's model, if it is known.

        `sessions`: where they are kept: a project's folder, `Stores`, a function that opens a session by its id, or one
        session. `settings` are those of a new session. `recall`: whether the agent gets the tools `expand`, `recall`
        and `look`, by which the model sees again what was shortened. The model gets them with the first call that shows
        less than everything, and then with each.
        """
        super().__init__()
        self.session_id, self.budget = session_id, budget
        self._conversations = Conversations(sessions, settings=settings, wire=strands_messages, program="strands")
        answer = partial(self._conversations.answer, session_id)
        self._tools = [_tool_of(tool, answer) for tool in RECALL_TOOLS] if recall else []
        self._calls: WeakKeyDictionary[Any, ListCall] = WeakKeyDictionary()  # agent → its call that waits for a reply
        self._last: ListCall | None = None

    @property
    def session(self) -> Session:
        """The session of Sightline, on the branch of the messages that it had last."""
        return self._conversations.session_of(self.session_id)

    def messages(self) -> list[Json]:
        """Return every message of the conversation, from the log."""
        return strands_messages.write(self.session.transcript().body)

    def close(self) -> None:
        """Close the session. The next call opens it again."""
        self._conversations.close()

    # ------------------------------------------------------------------ the protocol of Strands

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Join an agent: by its middleware, and by what is added to its messages."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._join)
        registry.add_callback(MessageAddedEvent, self._add_reply)

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Do nothing: each call is composed when it is made, and the list keeps every message."""

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:  # noqa: ARG002
        """Make the next call smaller, if the provider refused the last one as too long; raise `e` if it cannot be."""
        if e is None:
            return  # the next call is composed anyway
        if self._last is None or self._last.refused(overflow_tokens(400, str(e)) or 0) is None:
            raise e

    def get_state(self) -> Json:
        """Return what a session manager of Strands stores: nothing was removed, and the log is Sightline's."""
        return {**super().get_state(), "session_id": self.session_id}

    # ------------------------------------------------------------------ one call

    def _join(self, event: AgentInitializedEvent) -> None:
        agent = event.agent
        agent.add_middleware(InvokeModelStage, self._call_model)
        taken = set(agent.tool_names)
        agent.tool_registry.process_tools([tool for tool in self._tools if tool.tool_name not in taken])
        if not agent.messages and getattr(agent, "_session_manager", None) is None:
            agent.messages.extend(self._restore())  # a new process goes on

    def _restore(self) -> list[Json]:
        with self._conversations.use(self.session_id) as history:
            messages = strands_messages.write(history.session.transcript().body)
            history.adopt(messages)  # other programs may have gone on with the session
            return messages

    async def _call_model(self, context: Any, call: Callable[[Any], AsyncIterator[Any]]) -> AsyncIterator[Any]:
        composed, unwanted = await asyncio.to_thread(self._compose, context)
        specs = [spec for spec in context.tool_specs if spec["name"] not in unwanted]
        async for event in call(context.replace(messages=composed, tool_specs=specs)):
            yield event

    def _is_ours(self, agent: Agent, tool: PythonAgentTool) -> bool:
        """Whether an agent has this tool under its name, and not one of the program."""
        return agent.tool_registry.registry.get(tool.tool_name) is tool

    def _compose(self, context: Any) -> tuple[list[Json], set[str]]:
        """Return what is sent, and which of our tools do not go with it."""
        messages, changing = _split(context.messages, getattr(context, "dynamic_trailing_blocks", 0))
        own = {tool.tool_name for tool in self._tools if self._is_ours(context.agent, tool)}
        tools = [spec for spec in context.tool_specs if spec["name"] not in own]
        budget = self.budget or _budget_of(context.model)
        if changing:
            extra = self.session.count(str(changing))
            budget = replace(budget, window=max(budget.window - extra, budget.output + 1))
        call = ListCall(
            self._conversations,
            self.session_id,
            messages,
            writer_of(strands_messages),
            system=_text_of(context.system_prompt),
            tools=[*map(_define, tools)],
            recall=bool(own),
            late=True,
        )
        written = call.compose(budget)
        self._calls[context.agent] = self._last = call
        if changing:
            last = {"role": "user", "content": changing}
            merged = strands_messages.merge(written[-1], last) if written else None
            written[len(written) - (merged is not None) :] = [merged or last]
        return written, own - call.own

    async def _add_reply(self, event: MessageAddedEvent) -> None:
        """Log the model's reply at once, so that the log is whole when a run ends, and learn from its usage."""
        if event.message["role"] == "assistant" and (call := self._calls.pop(event.agent, None)) is not None:
            await asyncio.to_thread(call.reply, event.message)


# ---------------------------------------------------------------------- tools and budgets


def _tool_of(tool: ToolDefinition, answer: Callable[[str, Any], str]) -> PythonAgentTool:
    def run(tool_use: Json, **_: Any) -> Json:
        try:
            status, text = "success", answer(tool.name, tool_use["input"])
        except SightlineError as error:  # the model may try again
            status, text = "error", f"[{tool.name} failed: {error}]"
        return {"toolUseId": tool_use["toolUseId"], "status": status, "content": [{"text": text}]}

    spec = {"name": tool.name, "description": tool.description, "inputSchema": {"json": tool.schema}}
    return PythonAgentTool(tool.name, spec, run)


def _define(spec: Json) -> ToolDefinition:
    schema: Json = spec.get("inputSchema") or {}
    return ToolDefinition(spec["name"], spec.get("description") or "", schema.get("json") or {})


def _text_of(system: Any) -> str:
    """Return the text of a system prompt, which may be blocks."""
    return system if isinstance(system, str) else "\n".join(block["text"] for block in system or () if "text" in block)


def _split(messages: list[Json], count: int) -> tuple[list[Json], list[Any]]:
    """Return the list without the last blocks that another middleware makes anew for each call, and these blocks."""
    if not count or not messages or messages[-1]["role"] != "user":
        return messages, []
    *others, last = messages
    kept, changing = last["content"][:-count], last["content"][-count:]
    return [*others, *([{**last, "content": kept}] if kept else [])], changing


def _budget_of(model: Any) -> Budget:
    config = model.get_config() or {}
    name = str(config.get("model_id", "")) if isinstance(config, dict) else ""
    if not (window := getattr(model, "context_window_limit", None) or window_of(name)):
        raise BadInput(
            f"the context window of the model {name!r} is not known: pass SightlineConversationManager(id, "
            "Budget(window=…, output=…)), or set context_window_limit for the model"
        )
    return usual_budget(window, config.get("max_tokens") if isinstance(config, dict) else None)
