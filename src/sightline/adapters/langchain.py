"""Sightline in LangChain and LangGraph: a middleware for `create_agent`, and a node for graphs of your own.

Both take the messages of the graph's state into a session, one for each `thread_id`, and give the model those that fit.
The state keeps every message. Needs the extra `langchain`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from sightline.adapters.version import check_version
from sightline.errors import BadInput
from sightline.follow.conversations import Conversations, Sessions
from sightline.follow.history import History
from sightline.follow.list_call import ListCall, usual_budget
from sightline.follow.windows import WINDOW_TOOLS, AppNames
from sightline.plan import Budget
from sightline.providers.windows import USUAL_OUTPUT
from sightline.session.session import Session
from sightline.values.items import Message, Role
from sightline.values.recall_tools import RECALL_NAMES
from sightline.values.settings import Settings
from sightline.wire import openai_chat
from sightline.wire.call_ids import joins, shown_messages
from sightline.wire.payload import Payload

check_version("langchain", oldest=(1, 1), before=2)

from langchain.agents.middleware import AgentMiddleware  # noqa: E402
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy  # noqa: E402
from langchain_core.messages import (  # noqa: E402
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    convert_to_messages,
)
from langchain_core.runnables import RunnableConfig  # noqa: E402
from langchain_core.tools import BaseTool, StructuredTool  # noqa: E402
from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: E402
from langgraph.config import get_config  # noqa: E402
from langgraph.prebuilt import ToolRuntime  # noqa: E402

if TYPE_CHECKING:  # earlier versions of LangChain have other type parameters
    from langchain.agents.middleware.types import ModelRequest, ModelResponse

    _Request: TypeAlias = ModelRequest[None]
    _Response: TypeAlias = ModelResponse[Any]

__all__ = ["ContextNode", "SightlineMiddleware"]


class _Threads:
    """The sessions of a graph's threads, and what is composed from them: the part that middleware and node share."""

    def __init__(self, sessions: Sessions, settings: Settings | None, apps: AppNames) -> None:
        self.conversations = Conversations(sessions, settings=settings, program="langchain", apps=apps)
        self._writers: WeakKeyDictionary[History, _MessageWriter] = WeakKeyDictionary()
        self._defined: tuple[list[Any], list[Any]] = ([], [])  # tools, and their definitions
        self.tools: list[BaseTool] = [
            StructuredTool(
                name=tool.name, description=tool.description, args_schema=tool.schema, func=self._answering(tool.name)
            )
            for tool in self.conversations.own_tools
        ]

    def call(
        self, messages: Sequence[Any], system: str | None, tools: Sequence[Any], *, late: bool = False
    ) -> ListCall:
        """Return a model call with these messages. `late` as for `ListCall`.

        The system text is counted, and not among the messages; None: it is that of the session or of the messages.
        """

        def write(history: History, payload: Payload) -> list[AnyMessage]:
            writer = self._writers.setdefault(history, _MessageWriter())
            return writer.write(payload, history, with_system=system is None)

        own = {tool.name for tool in tools if self._is_ours(tool)}
        return ListCall(
            self.conversations,
            self._name(messages),
            messages,
            write,
            system=system,
            tools=self.define(tools),
            recall=bool(own & RECALL_NAMES),
            windows=own >= WINDOW_TOOLS,
            late=late,
            in_place=bool(system),
        )

    def _name(self, messages: Sequence[Any], config: RunnableConfig | None = None) -> str:
        """Return the name of the conversation: its thread and, in a graph within a graph, the nodes that it runs in.

        Without a thread it is named by its first message.
        """
        try:
            configurable = (config or get_config()).get("configurable") or {}
        except RuntimeError:  # called outside of a graph
            configurable = {}
        nodes = [place.partition(":")[0] for place in str(configurable.get("checkpoint_ns") or "").split("|")[:-1]]
        thread = configurable.get("thread_id")
        if thread is None:
            if self.conversations.is_one:
                return ""
            first = repr([str(message.content) for message in messages[:1]])
            thread = blake2b(first.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        return "/".join([str(thread), *nodes])

    def _is_ours(self, tool: Any) -> bool:
        return any(tool is own for own in self.tools)

    def offered(self, tools: Sequence[Any], own: Collection[str] = ()) -> list[Any]:
        """Return these tools, of ours only those with these names."""
        return [tool for tool in tools if not self._is_ours(tool) or tool.name in own]

    def define(self, tools: Sequence[Any]) -> list[Any]:
        """Return the definitions of tools that are not ours. They are made again only for other tools."""
        others = self.offered(tools)
        defined, definitions = self._defined
        if len(others) != len(defined) or any(one is not other for one, other in zip(others, defined, strict=True)):
            try:
                definitions = [tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in others]
            except (TypeError, ValueError) as error:
                raise BadInput(
                    f"a tool of a graph is a LangChain tool or a function with a docstring: {error}"
                ) from error
            self._defined = (others, definitions)
        return definitions

    def _answering(self, name: str) -> Callable[..., str]:
        def answer(runtime: ToolRuntime, **arguments: Any) -> str:
            conversation = self._name(_messages_in(runtime.state), runtime.config)
            call_id = runtime.tool_call_id or ""
            return self.conversations.answer(conversation, name, arguments, call_id=call_id)

        return answer


class SightlineMiddleware(AgentMiddleware):
    """Composes what the model sees, in an agent of LangChain: `create_agent(model, tools, middleware=[…])`.

    Before each model call the new messages of the state are appended to the session of the thread, and the model gets
    what fits the budget, with system prompt and tools counted. The state keeps every message. The model's reply goes to
    the log at once. `tools` are `expand`, `recall` and `look`, by which the model sees again what was shortened: it
    gets them with the first call that shows less than everything, and then with each.
    Each `thread_id` has a session of that name. Messages that were edited or taken back go on as a branch of it.
    Put it last in the list of middlewares, so that it sees the request as the others leave it.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        sessions: Sessions = ".",
        settings: Settings | None = None,
        apps: AppNames = (),
    ) -> None:
        """`budget`: without one, the context window that the model's `profile` states.

        `sessions`: where they are kept: a project's folder, `Stores`, a function that opens a session by its id, or one
        session for one thread. `settings` are those of new sessions. `apps`: those whose windows the model sees, names
        or classes: then `tools` are also `create` and `action`. Raises BadInput for an app that there is not.
        """
        super().__init__()
        self.budget = budget
        self._threads = _Threads(sessions, settings, apps)
        self.tools = self._threads.tools

    def wrap_model_call(self, request: "_Request", handler: "Callable[[_Request], _Response]") -> "_Response":
        """Call the model with what fits. Raises what `Session.compose` raises."""
        call, budget = self._begin(request)
        response = handler(self._changed(request, call, call.compose(budget)))
        call.reply(*response.result)
        return response

    async def awrap_model_call(
        self, request: "_Request", handler: "Callable[[_Request], Awaitable[_Response]]"
    ) -> "_Response":
        """The same for `ainvoke` and `astream`. The session's work is done in a thread."""
        call, budget = await asyncio.to_thread(self._begin, request)
        messages = await asyncio.to_thread(call.compose, budget)
        response = await handler(self._changed(request, call, messages))
        await asyncio.to_thread(call.reply, *response.result)
        return response

    def session_of(self, thread_id: str) -> Session:
        """Return the session of a thread, on the branch of the messages that it had last."""
        return self._threads.conversations.session_of(thread_id)

    def close(self) -> None:
        """Close the sessions that were opened here. The next call opens them again."""
        self._threads.conversations.close()

    def _begin(self, request: "_Request") -> tuple[ListCall, Budget]:
        system = str(request.system_message.text) if request.system_message else ""
        tools = [*request.tools, *_response_tools(request.response_format)]
        call = self._threads.call(request.messages, system, tools, late=True)
        return call, self.budget or _budget_of(request.model)

    def _changed(self, request: "_Request", call: ListCall, messages: list[Any]) -> "_Request":
        """Return a request with these messages, and of our tools those that go with this call."""
        return request.override(messages=messages, tools=self._threads.offered(request.tools, call.own))


class ContextNode:
    """The node that composes what the model sees, in a LangGraph graph of yours.

    It appends the new `messages` of the state to the session of the thread, and returns a `payload`, and the messages
    that fit as `llm_input_messages`. The state keeps every message. Runs in graphs of both kinds: `invoke` and
    `ainvoke`, `stream` and `astream`. Messages that were edited or taken back go on as a branch of the session.
    """

    def __init__(
        self,
        sessions: Sessions,
        budget: Budget,
        tools: Sequence[Any] | None = None,
        *,
        prompt: str | SystemMessage | None = None,
        settings: Settings | None = None,
        apps: AppNames = (),
    ) -> None:
        """`sessions`, `settings` and `apps` as for `SightlineMiddleware`; one session is for one thread.

        `tools`: those of your model, as LangChain tools or functions. The attribute `tools` then has also `expand` and
        `recall`, and with apps `create` and `action`: bind all of them to your model, and run them by your `ToolNode`.
        Without `tools`, nothing in the payload speaks of ours. `prompt`: the system text that your graph puts before
        `llm_input_messages` itself; it is counted. Raises BadInput if something among the tools is none.
        """
        self.budget, self._threads = budget, _Threads(sessions, settings, apps)
        self.tools: list[Any] = [] if tools is None else [*tools, *self._threads.tools]
        self._threads.define(self.tools)
        self._prompt = str(prompt.text) if isinstance(prompt, SystemMessage) else prompt

    def __call__(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Compose. Raises what `Session.compose` raises."""
        if (messages := state.get("messages")) is None:
            return {"payload": self.session_of("").compose(self.budget)}
        call = self._threads.call(convert_to_messages(messages), self._prompt, self.tools)
        written = call.compose(self.budget)
        return {"payload": call.payload, "llm_input_messages": written}

    def session_of(self, thread_id: str) -> Session:
        """Return the session of a thread, on the branch of the messages that it had last."""
        return self._threads.conversations.session_of(thread_id)

    def close(self) -> None:
        """Close the sessions that were opened here. The next call opens them again."""
        self._threads.conversations.close()


def _messages_in(state: Any) -> Sequence[Any]:
    messages = state.get("messages", ()) if isinstance(state, Mapping) else getattr(state, "messages", state)
    return messages if isinstance(messages, Sequence) else ()


# ---------------------------------------------------------------------- what is put into a request, and counted of it


class _MessageWriter:
    """Writes the payloads of one history. A message that the last payload had too is not made again.

    What is shown unchanged is the program's own message, with all that it carries.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[Message, list[BaseMessage]]] = {}  # by the id of the object, which is kept alive

    def write(self, payload: Payload, history: History, *, with_system: bool) -> list[AnyMessage]:
        """Return the messages of a payload. `with_system`: also a system prompt that is not from the program's list."""
        written: list[BaseMessage] = []
        media: list[BaseMessage] = []  # of results: written after all results of their calls
        made, last = {}, None
        head = [prompt for prompt in payload.system if with_system or history.original(prompt) is not None]
        for message in (*head, *shown_messages(payload)):
            before, own = self._made.get(id(message), (None, []))
            if before is not message:
                own = _write(message, history)
            made[id(message)] = (message, own)
            if message.role is not Role.TOOL:
                written += media
                media = []
            if joins(message, last) and isinstance(written[-1], HumanMessage):
                written[-1] = HumanMessage([*_blocks(written[-1]), *_blocks(own[0])])
            else:
                written += own[:1]
                media += own[1:]
            last = message.role
        self._made = made
        return [*written, *media]  # type: ignore[list-item]


def _write(message: Message, history: History) -> list[BaseMessage]:
    """Return the message of the program, or one that is made: the first, and media of a result after it."""
    if (original := history.original(message)) is not None:
        return [original]
    made = openai_chat.write_messages([message])
    return convert_to_messages([{**fields, "content": fields["content"] or ""} for fields in made])


def _blocks(message: BaseMessage) -> list[str | dict[Any, Any]]:
    content = message.content
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _budget_of(model: Any) -> Budget:
    """Return the budget of a chat model that says how large its context window is. Raises BadInput for others."""
    profile = getattr(model, "profile", None) or {}
    if not (window := profile.get("max_input_tokens")):
        raise BadInput(
            "this model does not say how large its context window is (model.profile has no max_input_tokens): pass "
            "SightlineMiddleware(Budget(window=…, output=…))"
        )
    return usual_budget(window, min(profile.get("max_output_tokens") or USUAL_OUTPUT, USUAL_OUTPUT))


def _response_tools(response_format: Any) -> list[dict[str, Any]]:
    """Return what a structured response adds to the request, as definitions of tools, so that it is counted."""
    if response_format is None:
        return []
    if isinstance(response_format, ProviderStrategy):
        specs = [response_format.schema_spec]
    else:
        schema = response_format.schema if isinstance(response_format, AutoStrategy) else response_format
        specs = (schema if isinstance(schema, ToolStrategy) else ToolStrategy(schema)).schema_specs
    return [{"name": spec.name, "description": spec.description, "parameters": spec.json_schema} for spec in specs]
