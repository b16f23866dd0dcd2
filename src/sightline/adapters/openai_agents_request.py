"""What Sightline counts of a request of the OpenAI Agents SDK besides its input: tools, output, budget."""

from typing import Any

from agents import Agent, AgentOutputSchema, AgentOutputSchemaBase, Model
from agents.models import get_default_model

from sightline.errors import BadInput
from sightline.follow.list_call import usual_budget
from sightline.plan import Budget
from sightline.providers.catalog import window_of


def define(tool: Any) -> dict[str, Any]:
    """Return the definition of a tool or a handoff, to be counted."""
    schema = getattr(tool, "params_json_schema", None) or getattr(tool, "input_json_schema", None) or {}
    name = getattr(tool, "tool_name", None) or tool.name
    about = getattr(tool, "tool_description", None) or getattr(tool, "description", "")
    return {"type": "function", "name": name, "description": about, "parameters": schema}


def define_output(agent: Agent[Any]) -> list[dict[str, Any]]:
    """Return what a structured output adds to the request, as the definition of a tool, so that it is counted."""
    kind = agent.output_type
    if kind is None:
        return []
    schema = kind if isinstance(kind, AgentOutputSchemaBase) else AgentOutputSchema(kind)
    return (
        [] if schema.is_plain_text() else [{"type": "function", "name": "output", "parameters": schema.json_schema()}]
    )


def budget_of(agent: Agent[Any], model: str | Model | None) -> Budget:
    """Return the budget of a model whose name is known: that of the run, or the agent's. Raises BadInput for others."""
    model = model or agent.model or get_default_model()
    name = model if isinstance(model, str) else str(getattr(model, "model", ""))
    if not (window := window_of(name)):
        raise BadInput(f"the context window of the model {name!r} is not known: pass Budget(window=…, output=…)")
    return usual_budget(window, agent.model_settings.max_tokens)
