"""Sightline in Google's ADK: a plug-in that composes what the model sees, and a session service that loses nothing.

    plugin = SightlinePlugin()
    Runner(app=App(name=…, root_agent=agent, plugins=[plugin]), session_service=plugin.session_service)

The session keeps every event. The model gets the contents that fit, at every call. Needs the
extra `google-adk`.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from sightline.adapters import google_adk_messages
from sightline.adapters.version import check_version
from sightline.errors import BadInput, SightlineError
from sightline.follow.conversations import Sessions
from sightline.follow.list_call import ListCall, usual_budget, writer_of
from sightline.plan import Budget
from sightline.providers.errors import overflow_tokens
from sightline.providers.windows import window_of
from sightline.session.session import Session
from sightline.values.items import ToolDefinition
from sightline.values.recall_tools import RECALL_TOOLS
from sightline.values.settings import Settings

check_version("google-adk", oldest=(2, 13), before=3)

from google.adk.models import LlmRequest, LlmResponse  # noqa: E402
from google.adk.plugins.base_plugin import BasePlugin  # noqa: E402
from google.adk.tools.base_tool import BaseTool  # noqa: E402
from google.genai import types  # noqa: E402

from sightline.adapters.google_adk_sessions import SightlineSessionService, name_of  # noqa: E402

__all__ = ["SightlinePlugin", "SightlineSessionService"]

_CLIENT_ID = "adk-"  # how the ids begin that ADK gives to calls of a model that gives none
_ATTEMPTS = 4  # at a call that the provider refuses as too long


class SightlinePlugin(BasePlugin):  # type: ignore[misc]
    """Composes the contents of each model call, of every agent of an app. Put it last in the list of plug-ins.

    Each agent's contents are followed in the session of their conversation: what another agent sees is a branch there.
    The events of the session stay as they are. If the provider refuses a call as too long, it is made smaller and
    called again. The tools `expand`, `recall` and `look`, by which the model sees again what was shortened, are added
    to requests that have tools: from the first one on that shows less than everything.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        sessions: Sessions | SightlineSessionService = ".",
        settings: Settings | None = None,
        name: str = "sightline",
    ) -> None:
        """`budget`: without one, the context window of the agent's model, if its name is known.

        `sessions`: a session service of Sightline, or where sessions are kept: a project's folder, `Stores`, or a
        function that opens a session by its id. `settings` are those of new sessions.
        """
        super().__init__(name)
        own = sessions if isinstance(sessions, SightlineSessionService) else None
        self.budget = budget
        self.session_service = own or SightlineSessionService(sessions, settings=settings)
        self._conversations = self.session_service.conversations
        self._calls: dict[tuple[str, ...], ListCall] = {}  # that are being made

    def session_of(self, app_name: str, user_id: str, session_id: str) -> Session:
        """Return the session of Sightline, on the branch of the contents that it had last."""
        return self._conversations.session_of(name_of(app_name, user_id, session_id))

    async def close(self) -> None:
        """Close the sessions that were opened here. The next call opens them again."""
        await asyncio.to_thread(self._conversations.close)

    # ------------------------------------------------------------------ one call

    async def before_model_callback(self, *, callback_context: Any, llm_request: LlmRequest) -> None:
        """Put the contents that fit into a request. Raises what `Session.compose` raises."""
        if not llm_request.contents or getattr(llm_request, "previous_interaction_id", None):
            return  # there is nothing, or the provider keeps the history
        name = _name_of(callback_context)
        tools = llm_request.config.tools or ()
        definitions = [_define(declaration) for tool in tools for declaration in _declarations(tool)]
        free = [tool for tool in RECALL_TOOLS if tool.name not in llm_request.tools_dict]
        call = ListCall(
            self._conversations,
            name,
            llm_request.contents,
            writer_of(google_adk_messages),
            system=_text_of(llm_request.config.system_instruction),
            tools=definitions,
            recall=bool(llm_request.tools_dict and free),
            late=True,
        )
        llm_request.contents = await asyncio.to_thread(call.compose, self.budget or _budget_of(llm_request))
        answer = partial(self._conversations.answer, name)
        if own := [_RecallTool(tool, answer) for tool in free if tool.name in call.own]:
            llm_request.append_tools(own)
        self._calls[_call_of(callback_context)] = call

    async def after_model_callback(self, *, callback_context: Any, llm_response: LlmResponse) -> None:
        """Log what the model has answered, and learn from its usage."""
        if llm_response.partial or not llm_response.content or not llm_response.content.parts:
            return
        if (call := self._calls.pop(_call_of(callback_context), None)) is not None:
            usage = google_adk_messages.read_usage(llm_response.usage_metadata)
            await asyncio.to_thread(call.reply, _without_client_ids(llm_response.content), usage=usage)

    async def on_model_error_callback(
        self, *, callback_context: Any, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Call again with less, if the provider refuses a call as too long."""
        model = callback_context._invocation_context.agent.canonical_model
        call, refusal = self._calls.get(_call_of(callback_context)), error
        for _ in range(_ATTEMPTS):
            counted = overflow_tokens(400, str(refusal))
            if call is None or counted is None:
                return None
            if (contents := await asyncio.to_thread(call.refused, counted)) is None:
                return None  # it cannot be smaller
            llm_request.contents = contents
            try:
                return [response async for response in model.generate_content_async(llm_request, stream=False)][-1]
            except Exception as again:
                refusal = again
        return None


def _without_client_ids(content: Any) -> Any:
    """Return a content without the ids that ADK gives to calls: the model gets it back without them."""
    calls = [part.function_call for part in content.parts if part.function_call]
    if not any((call.id or "").startswith(_CLIENT_ID) for call in calls):
        return content
    content = content.model_copy(deep=True)
    for part in content.parts:
        if part.function_call and (part.function_call.id or "").startswith(_CLIENT_ID):
            part.function_call.id = None
    return content


def _name_of(context: Any) -> str:
    session = context.session
    return name_of(session.app_name, session.user_id, session.id)


def _call_of(context: Any) -> tuple[str, ...]:
    """Return what names a call that is being made: agents may run at once in one session."""
    inner = context._invocation_context
    return _name_of(context), context.invocation_id, context.agent_name, str(inner.branch or "")


# ---------------------------------------------------------------------- tools, system prompt, budget


class _RecallTool(BaseTool):  # type: ignore[misc]
    """`expand` or `recall`, for the session of one conversation."""

    def __init__(self, tool: ToolDefinition, answer: Callable[[str, Any], str]) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._tool, self._answer = tool, answer

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._tool.schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:  # noqa: ARG002
        try:
            return {"result": await asyncio.to_thread(self._answer, self.name, args)}
        except SightlineError as error:  # the model may try again
            return {"error": f"[{self.name} failed: {error}]"}


def _declarations(tool: Any) -> list[Any]:
    return list(getattr(tool, "function_declarations", None) or ())


def _define(declaration: Any) -> ToolDefinition:
    dumped = declaration.model_dump(mode="json", exclude_none=True)
    schema = dumped.get("parameters_json_schema") or dumped.get("parameters") or {}
    return ToolDefinition(declaration.name, declaration.description or "", schema)


def _text_of(instruction: Any) -> str:
    """Return the text of a system instruction: text, a content, or a list of these."""
    if isinstance(instruction, str):
        return instruction
    if isinstance(instruction, list):
        return "\n".join(map(_text_of, instruction))
    parts = getattr(instruction, "parts", None) or ([instruction] if instruction is not None else [])
    return "\n".join(str(part.text) for part in parts if getattr(part, "text", None))


def _budget_of(request: LlmRequest) -> Budget:
    if not (window := window_of(request.model or "")):
        raise BadInput(
            f"the context window of the model {request.model!r} is not known: pass SightlinePlugin(Budget(window=…, "
            "output=…))"
        )
    return usual_budget(window, request.config.max_output_tokens)
