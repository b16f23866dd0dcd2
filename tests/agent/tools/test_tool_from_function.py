"""A plain function as a tool."""

import asyncio
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from sightline.agent.tools.from_function import function_tool, tool_of
from sightline.errors import BadInput, ToolFailed


def add(
    a: int, b: Annotated[int, Meta(description="the other one")] = 1, how: Literal["sum", "product"] = "sum"
) -> int:
    """Put two numbers together."""
    return a + b if how == "sum" else a * b


def test_hints_are_the_schema_and_the_docstring_is_what_is_told() -> None:
    """What the model is told follows from the function alone."""
    made = tool_of(add).definition
    assert (made.name, made.description) == ("add", "Put two numbers together.")
    assert made.schema["required"] == ["a"]
    assert made.schema["properties"]["b"]["description"] == "the other one"
    assert made.schema["properties"]["how"]["enum"] == ["product", "sum"]
    assert made.schema["additionalProperties"] is False


def test_it_is_called_with_what_the_model_gives() -> None:
    """Plain and async functions alike; a number as text is a number."""

    async def later(a: int) -> int:
        """Add one, later."""
        return a + 1

    assert asyncio.run(tool_of(add).run({"a": "2", "b": 3, "how": "product"})) == 6
    assert asyncio.run(function_tool(later, name="soon").run({"a": 1})) == 2


@pytest.mark.parametrize("given", [{}, {"a": "x"}, {"a": 1, "c": 2}, {"a": 1, "how": "guess"}])
def test_what_does_not_fit_is_told_to_the_model(given: dict[str, Any]) -> None:
    """The function is not called."""
    with pytest.raises(ToolFailed, match="add cannot be called like this"):
        asyncio.run(tool_of(add).run(given))


def test_what_is_no_tool_is_refused_with_what_is_one() -> None:
    """A definition alone can do nothing, and a function must say what it takes."""
    with pytest.raises(BadInput, match="a function with type hints"):
        tool_of({"name": "add"})
    with pytest.raises(BadInput, match="'x' needs a name and a type hint"):
        tool_of(lambda x: x)
    with pytest.raises(BadInput, match="needs a name"):
        tool_of(print)
