"""What the model is told of the tools, and what happens when it calls them wrongly."""

from typing import Any

import jsonschema
import pytest
from tool_project import Project, called

from sightline.errors import ToolFailed

NAMES = ["file_reader", "list_files", "search_files", "write_code", "run_python", "run_shell"]


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_exact(here: Project, name: str) -> None:
    """Each is a valid schema of an object that takes nothing else, and describes everything in both languages."""
    english, chinese = (here.tools(locale)[name].definition for locale in ("en", "zh"))
    for definition in (english, chinese):
        jsonschema.Draft202012Validator.check_schema(definition.schema)
        assert definition.schema["additionalProperties"] is False
        assert set(definition.schema["required"]) <= set(definition.schema["properties"])
        assert all(each["description"] for each in definition.schema["properties"].values())
    assert english.name == chinese.name
    assert english.description.isascii() or "…" in english.description
    assert not chinese.description.isascii()


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("file_reader", {}, "'path' is missing"),
    ("file_reader", {"path": 3}, "'path' must be text, not int"),
    ("file_reader", {"path": ["a"]}, "'path' must be text, not list"),
    ("file_reader", {"path": "a", "start": "1"}, "'start' must be a whole number, not str"),
    ("file_reader", {"path": "a", "start": 1.5}, "'start' must be a whole number, not float"),
    ("file_reader", {"path": "a", "start": True}, "'start' must be a whole number, not bool"),
    ("file_reader", {"path": "a", "start": 0}, "'start' must be at least 1"),
    ("file_reader", {"path": "a", "nrows": -1}, "'nrows' must be at least 1"),
    ("file_reader", {"path": "a", "format": "exe"}, "'format' must be one of: csv, excel"),
    ("file_reader", {"path": "a", "mode": "w"}, "no argument 'mode'; there are: path, format"),
    ("search_files", {"query": "a", "regex": "yes"}, "'regex' must be true or false"),
    ("search_files", {"query": ""}, "the query is empty"),
    ("list_files", {"path": {}}, "'path' must be text"),
    ("run_python", {}, "either 'code' or 'code_id'"),
    ("run_python", {"code": "1", "code_id": "code_a"}, "either 'code' or 'code_id'"),
    ("run_python", {"code": "1", "files": "a"}, "'files' must be a list of texts"),
    ("run_python", {"code": "1", "files": [1]}, "'files' must be a list of texts"),
    ("run_python", {"code": "1", "seconds": 9999}, "'seconds' must be at most 30"),
    ("write_code", {"code_id": "code_a", "language": "python"}, "'code' is missing"),
]


@pytest.mark.parametrize(("name", "arguments", "said"), WRONG, ids=range(len(WRONG)))
def test_wrong_arguments_are_answered_with_what_is_right(
    here: Project, name: str, arguments: dict[str, Any], said: str
) -> None:
    """The model is told in words, in its language; nothing is done."""
    with pytest.raises(ToolFailed, match=said.replace("(", r"\(")):
        called(here.tools()[name], **arguments)
    with pytest.raises(ToolFailed) as failed:
        called(here.tools("zh")[name], **arguments)
    assert not str(failed.value).isascii()


def test_null_is_left_out(here: Project) -> None:
    """Models send null for what they do not want to say."""
    answer = called(here.tools()["file_reader"], path="notes.txt", format=None, start=None, sheet_name=None)
    assert answer == "[file] notes.txt\nfirst\nsecond\nthird\n"
