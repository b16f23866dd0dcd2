"""Sightline in pydantic-ai: a capability that composes before every model request, and a history processor.

    agent = Agent(model, capabilities=[SightlineCapability()])
    agent.run_sync("…", conversation_id="id")

The run keeps every message; the model gets those that fit. Needs the extra `pydantic-ai`.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from sightline.adapters.version import check_version
from sightline.errors import BadInput, SightlineError
from sightline.follow.conversations import Conversations, Sessions
from sightline.follow.list_call import ListCall, usual_budget
from sightline.follow.windows import WINDOW_TOOLS, AppNames
from sightline.plan import Budget
from sightline.providers.windows import window_of
from sightline.session.session import Session
from sightline.values.finish import finish
from sightline.values.recall_tools import RECALL_NAMES
from sightline.values.settings import Settings

# In earlier versions a request that is changed replaces the messages of the run.
check_version("pydantic-ai-slim", oldest=(2, 55), before=3, extra="pydantic-ai")

from pydantic_ai import RunContext, Tool  # noqa: E402
from pydantic_ai.capabilities import AbstractCapability  # noqa: E402
from pydantic_ai.messages import InstructionPart, ModelMessage, ModelResponse  # noqa: E402
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters  # noqa: E402
from pydantic_ai.toolsets import FunctionToolset  # noqa: E402

from sightline.adapters.pydantic_ai_messages import read, write  # noqa: E402

__all__ = ["SightlineCapability", "history_processor"]


class SightlineCapability(AbstractCapability[Any]):  # type: ignore[misc]  # see pyproject.toml
    """Composes what the model sees, in an agent of pydantic-ai: `Agent(model, capabilities=[…])`.

    Before each model request the new messages of the run are appended to the session of its `conversation_id`, and the
    model gets what fits the budget, with instructions, tools and output schema counted. The run keeps every message.
    The model's response goes to the log at once. `expand` and `recall` are tools of the agent, by which the model sees
    again what was shortened. Messages that were edited or taken back go on as a branch of the session.
    Put it last in the list of capabilities, so that it sees the request as the others leave it.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        sessions: Sessions = ".",
        settings: Settings | None = None,
        apps: AppNames = (),
    ) -> None:
        """`budget`: without one, the context window of the agent's model, if it is known.

        `sessions`: where they are kept: a project's folder, `Stores`, a function that opens a session by its id, or one
        session for one conversation. `settings` are those of new sessions. `apps`: those whose windows the model sees,
        names or classes; it has `create` and `action` then. Raises BadInput for an app that there is not.
        """
        self.budget = budget
        self._conversations = Conversations(sessions, settings=settings, program="pydantic-ai", apps=apps)
        self._call: ListCall | None = None  # the last request of the run

    def session_of(self, conversation_id: str) -> Session:
        """Return the session of a conversation, on the branch of the messages that it had last."""
        return self._conversations.session_of(conversation_id)

    def close(self) -> None:
        """Close the sessions that were opened here. The next call opens them again."""
        self._conversations.close()

    # ------------------------------------------------------------------ what pydantic-ai calls

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return that no specification in a file can name it: stores and sessions are objects."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> "SightlineCapability":  # noqa: ARG002
        """Return a capability for one run, with the same sessions."""
        return copy(self)

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return our tools. The model gets them with the first request that shows less than everything."""
        made = [
            Tool.from_schema(self._answering(tool.name), tool.name, tool.description, tool.schema, takes_ctx=True)
            for tool in self._conversations.own_tools
        ]
        return FunctionToolset(made)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put what fits into the request. Raises what `Session.compose` raises."""
        messages = list(request_context.messages)
        if messages and isinstance(messages[-1], ModelResponse):  # it is resumed as it is
            return request_context
        parameters, model = request_context.model_request_parameters, request_context.model
        budget = self.budget or _budget_of(model, request_context.model_settings)
        request_context.messages = await asyncio.to_thread(self._compose, ctx, messages, parameters, budget)
        if (call := self._call) is not None:
            tools = [tool for tool in parameters.function_tools if tool.name in call.own or not self._is_ours(tool)]
            request_context.model_request_parameters = replace(parameters, function_tools=tools)
        return request_context

    async def after_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002
        *,
        request_context: ModelRequestContext,  # noqa: ARG002
        response: ModelResponse,
    ) -> ModelResponse:
        """Log the response."""
        if (call := self._call) is not None and (reply := read([response]).reads):
            await finish(asyncio.to_thread(call.reply, *reply))
        return response

    # ------------------------------------------------------------------ the session

    def _compose(
        self, ctx: RunContext[Any], messages: list[ModelMessage], parameters: ModelRequestParameters, budget: Budget
    ) -> list[ModelMessage]:
        listed = read(messages)
        instructions = [part.content for part in parameters.instruction_parts or ()]
        ours = [tool for tool in parameters.function_tools if self._is_ours(tool)]
        own = {tool.name for tool in ours}
        self._call = ListCall(
            self._conversations,
            _name(ctx),
            listed.reads,
            lambda history, payload: write(payload, history, listed),
            system="\n\n".join(filter(None, [*instructions, listed.head_text])),
            tools=_define(parameters, ours),
            recall=bool(own & RECALL_NAMES),
            windows=own >= WINDOW_TOOLS,
            late=True,
        )
        return self._call.compose(budget)

    def _is_ours(self, tool: Any) -> bool:
        """Whether a tool is ours, and not one of the program that has its name."""
        return any(
            (tool.name, tool.description) == (own.name, own.description) for own in self._conversations.own_tools
        )

    def _answering(self, name: str) -> Callable[..., str]:
        def answer(ctx: RunContext[Any], **arguments: Any) -> str:
            try:
                return self._conversations.answer(_name(ctx), name, arguments, call_id=ctx.tool_call_id or "")
            except SightlineError as error:  # the model may try again
                return f"[{name} failed: {error}]"

        return answer


def history_processor(
    budget: Budget | None = None, *, sessions: Sessions = ".", settings: Settings | None = None
) -> Callable[[RunContext[Any], list[ModelMessage]], list[ModelMessage]]:
    """Return a history processor: `Agent(model, capabilities=[ProcessHistory(history_processor())])`.

    For agents that take nothing else. It composes as the capability does, without `expand` and `recall`, and without
    what only the capability sees: instructions are counted by the last request, tools are not, so leave room for them
    in the budget; responses are logged at the next request. Options as for `SightlineCapability`.
    """
    capability = SightlineCapability(budget, sessions=sessions, settings=settings)

    def process(ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
        limits = capability.budget or _budget_of(ctx.model, ctx.model_settings)
        instructions = getattr(messages[-1], "instructions", None) if messages else None
        parameters = ModelRequestParameters(instruction_parts=_as_parts(instructions))
        return _Sent(messages, capability._compose(ctx, messages, parameters, limits))

    return process


class _Sent(list[ModelMessage]):
    """The messages of a run, whose copy is what is sent.

    `ProcessHistory` sends a copy of what a processor returns, and puts the list itself into the run's messages: so they
    stay whole.
    """

    def __init__(self, whole: Sequence[ModelMessage], sent: list[ModelMessage]) -> None:
        super().__init__(whole)
        self._sent = sent

    def copy(self) -> list[ModelMessage]:
        return list(self._sent)


# ---------------------------------------------------------------------- what is counted


def _name(ctx: RunContext[Any]) -> str:
    return ctx.conversation_id or ""


def _as_parts(instructions: str | None) -> Any:
    return [InstructionPart(content=instructions)] if instructions else None


def _define(parameters: ModelRequestParameters, ours: Collection[Any]) -> list[dict[str, Any]]:
    """Return the definitions of the tools that are not ours, and of what a structured output adds, to be counted."""
    defined = [
        _function(tool.name, tool.description, tool.parameters_json_schema)
        for tool in (*parameters.function_tools, *parameters.output_tools)
        if tool not in ours
    ]
    defined += [{"type": tool.kind} for tool in parameters.native_tools]
    if (output := parameters.output_object) is not None and not parameters.output_tools:
        defined.append(_function(output.name or "output", output.description, output.json_schema))
    return defined


def _function(name: str, about: str | None, schema: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": about or "", "parameters": schema}


def _budget_of(model: Any, model_settings: Any) -> Budget:
    window = getattr(model, "context_window", None) or window_of(str(getattr(model, "model_name", "")))
    if not window:
        raise BadInput(
            f"the context window of the model {getattr(model, 'model_name', model)!r} is not known: pass "
            "Budget(window=…, output=…), or give the model a profile with context_window"
        )
    return usual_budget(window, (model_settings or {}).get("max_tokens"))
