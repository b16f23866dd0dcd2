"""The structured response: what a model's text says, and what is wrong with it."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.agent.toolbox import MOST_CALLS
from sightline.agent.tools.from_function import tool_of
from sightline.documents.structured_response import again, parse, schema
from sightline.values.items import ToolDefinition

GOOD = {
    "task_analysis": "The user wants the sales of May.",
    "execution_plan": "R1: read the file; R2: report",
    "current_round": 1,
    "action": {
        "type": "tool_call",
        "content": [{"tool_name": "file_reader", "tool_call_id": "call_1", "arguments": {"path": "sales.csv"}}],
    },
}
DONE = GOOD | {
    "current_round": 2,
    "action": {
        "type": "complete",
        "content": "Sales rose. <code_ref>code_sales</code_ref>",
        "code_blocks": [{"code_id": "code_sales", "language": "sql", "code": "SELECT 1"}],
        "recommended_questions": ["And in June?"],
        "download_links": None,
    },
}

AROUND = (
    "Here it is:\n```json\n{}\n```\nDone.",
    "I think {so} … {} and that is all.",
    "{}\n\ntrailing words",
    "```json\n{}\n```\n```json\n{}\n```",
)


@pytest.mark.accepts(341)
@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        f"```json\n{json.dumps(GOOD, indent=1)}\n```",
        f"\n ```\n{json.dumps(GOOD)}\n```\n\n",
        "  \n" + json.dumps(GOOD) + "\n\n",
    ],
)
def test_a_response_is_the_whole_text_or_one_fence(text: str) -> None:
    """White space and a fence around it aside, nothing else stands there: then its calls are made."""
    found = parse(text, ["file_reader"])
    assert not found.problems
    assert found.response.calls[0].arguments == {"path": "sales.csv"}
    assert found.response.current_round == 1


@pytest.mark.accepts(341)
@pytest.mark.parametrize("around", AROUND)
def test_the_report_among_words_is_read(around: str) -> None:
    """A complete response is found wherever it stands, as long as there is nothing in it to act on."""
    found = parse(around.replace("{}", json.dumps(GOOD | {"action": {"type": "complete", "content": "Sales rose."}})))
    assert (found.problems, found.response.report) == ((), "Sales rose.")


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("quoted", [GOOD, DONE, {"action": GOOD, "task_analysis": DONE}])
def test_what_is_quoted_among_words_is_not_acted_on(around: str, quoted: dict[str, object]) -> None:
    """Calls and code of an object that is not the whole answer are a problem to tell; the text is the report."""
    text = around.replace("{}", json.dumps(quoted))
    found = parse(text, ["file_reader"])
    assert found.problems
    assert not found.response.calls
    assert not found.response.action.code_blocks
    assert found.response.report == text.strip()


@pytest.mark.accepts(297, 341)
def test_a_final_response_has_report_code_and_questions() -> None:
    """What the user reads and the code to keep are told apart; what is null was left out."""
    found = parse(json.dumps(DONE)).response
    assert found.report.startswith("Sales rose.")
    assert [(block.code_id, block.language) for block in found.action.code_blocks] == [("code_sales", "sql")]
    assert found.action.recommended_questions == ("And in June?",)
    assert not found.calls


@pytest.mark.accepts(344)
def test_a_text_without_json_is_the_report() -> None:
    """Nothing the model said is lost, and the user is asked to say it again, in the language of the session."""
    found = parse("Sorry, I can't do JSON.", locale="zh")
    assert found.response.report == "Sorry, I can't do JSON."
    assert found.response.action.recommended_questions == ("请重新描述您的需求",)
    assert found.problems


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"action": {"type": "complete", "content": GOOD["action"]["content"]}}, "complete"),  # type: ignore[index]
        ({"action": {"type": "tool_call", "content": "words"}}, "tool_call"),
        ({"action": {"type": "tool_call", "content": [{"tool_name": "file_reader"}] * 7}}, "at most 6"),
        ({"action": {"type": "tool_call", "content": [{"tool_name": "rm"}]}}, "no tool rm"),
        ({"action": {"type": "complete", "code_blocks": [{"code_id": "x", "code": "1"}]}}, "the report is empty"),
        ({"action": {"type": "complete", "code_blocks": [{"code_id": "code_x"}]}}, "the report is empty"),
        ({"action": {"type": "dance"}}, "dance"),
        ({"action": {"type": "complete", "content": " "}}, "the report is empty"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, object], said: str) -> None:
    """What keeps a response from being acted on is told to the model in words it can act on."""
    problems = parse(json.dumps(GOOD | change), ["file_reader"]).problems
    assert any(said in problem for problem in problems), problems
    for locale in ("en", "zh"):
        assert all(problem in again(problems, locale) for problem in problems)


@pytest.mark.parametrize(
    ("change", "warned"),
    [
        ({"task_analysis": "short"}, ()),
        ({"task_analysis": ""}, ()),
        ({"execution_plan": "read it"}, ()),
        ({"current_round": 0}, ("current_round",)),
        ({"current_round": "one", "execution_plan": 3}, ("execution_plan", "current_round")),
        ({"action": DONE["action"] | {"code_blocks": {"code_id": "code_x"}}}, ("action.code_blocks",)),  # type: ignore[operator]
        ({"action": DONE["action"] | {"code_blocks": [None, {"code_id": 1}]}}, ("action.code_blocks",)),  # type: ignore[operator]
        ({"action": {"type": "complete", "content": {"total": 3}}}, ()),
        ({"action": {"type": "complete", "content": ["Sales rose."]}}, ()),
    ],
)
def test_a_part_that_cannot_be_read_costs_only_itself(change: dict[str, object], warned: tuple[str, ...]) -> None:
    """The response is acted on; each part that was left out is named. Content of another kind is shown as it is."""
    for locale in ("en", "zh"):
        found = parse(json.dumps(DONE | change), ["file_reader"], locale)
        assert found.problems == ()
        assert found.response.report
        assert [part in warning for part, warning in zip(warned, found.warnings, strict=True)] == [True] * len(warned)


def test_calls_and_code_that_can_be_read_stay() -> None:
    """Of a list, what cannot be read is left out, and the others are as they were."""
    good, odd = GOOD["action"]["content"][0], {"tool_name": 7}  # type: ignore[index]
    found = parse(json.dumps(GOOD | {"action": {"type": "tool_call", "content": [odd, good]}}), ["file_reader"])
    assert (found.problems, [call.tool_name for call in found.response.calls]) == ((), ["file_reader"])
    assert "action.content[0]" in found.warnings[0]
    blocks = [{"code_id": "code_a", "code": "1"}, {"code_id": "code_b", "code": 2}, {"code_id": "code_c", "code": "3"}]
    found = parse(json.dumps(DONE | {"action": {"type": "complete", "content": "x", "code_blocks": blocks}}))
    assert [block.code_id for block in found.response.action.code_blocks] == ["code_a", "code_c"]
    assert "action.code_blocks[1]" in found.warnings[0]


@given(st.text() | st.text(alphabet='{}[]",:ab `\njson'))
def test_no_text_makes_it_raise(text: str) -> None:
    """Whatever a model says can be read, and what it said is in the response or it had a form."""
    found = parse(text)
    assert found.problems or found.response.report or found.response.action.code_blocks


def test_without_tools_every_call_is_of_an_unknown_one() -> None:
    """That there are none is known, and told."""
    assert "there are: none" in parse(json.dumps(GOOD), []).problems[0]


def test_nesting_without_end_is_no_response() -> None:
    """A text that would exhaust a parser is the report."""
    text = '{"action":' * 50_000
    assert parse(text).response.report == text


def test_the_schema_allows_only_the_tools_there_are() -> None:
    """Names of tools are constants and their own schemas hold for the arguments, six calls at most."""
    paths = {"type": "object", "properties": {"path": {"enum": ["a.py"]}}, "required": ["path"]}
    made = schema([ToolDefinition("file_reader", schema=paths)])
    calls = made["properties"]["action"]["anyOf"][0]["properties"]["content"]
    assert calls["maxItems"] == MOST_CALLS
    assert calls["items"]["anyOf"][0]["properties"]["arguments"] == paths
    assert len(schema([])["properties"]["action"]["anyOf"]) == 1


@dataclass
class Place:
    """Where something is."""

    city: str
    near: "Place | None" = None


def weather(place: Place) -> str:
    """Tell the weather."""
    return place.city


def test_what_a_tools_schema_refers_to_is_found_from_the_top() -> None:
    """Definitions of every tool stand at the top, under names of their own, and each reference leads to one."""
    old = {"definitions": {"Place": {"type": "string"}}, "properties": {"to": {"$ref": "#/definitions/Place"}}}
    literal = {"type": "object", "properties": {"x": {"description": 'say "$ref": "#/$defs/Place"'}}}
    definitions = [
        tool_of(weather).definition,
        ToolDefinition("travel", schema=old),
        ToolDefinition("x", schema=literal),
    ]
    made = schema(definitions)
    assert set(made["$defs"]) == {"weather.Place", "travel.Place"}
    assert all(reference.removeprefix("#/$defs/") in made["$defs"] for reference in references(made))
    assert len(references(made)) == 3
    assert (
        made["properties"]["action"]["anyOf"][0]["properties"]["content"]["items"]["anyOf"][2]
        == (schema(definitions[2:])["properties"]["action"]["anyOf"][0]["properties"]["content"]["items"]["anyOf"][0])
    )
    assert "$defs" in definitions[0].schema  # which is as it was
    assert "$defs" not in schema(definitions[2:])


def references(value: Any) -> list[str]:
    """All that a schema refers to."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value["$ref"]] if isinstance(value, dict) and "$ref" in value else []
    return [*own, *(found for each in inside for found in references(each))]


@pytest.mark.parametrize("around", ["{}", "Here: {}"])
def test_half_a_character_is_no_text(around: str) -> None:
    """An escape for one half of a pair, which is valid JSON and no text, is read as something that can be written."""
    action = {"type": "complete", "content": "x \ud800 y"}
    if around == "{}":
        action["code_blocks"] = [{"code_id": "code_x", "code": "1", "description": "\udfff"}]  # type: ignore[assignment]
    found = parse(around.replace("{}", json.dumps(GOOD | {"action": action})))
    assert not found.problems
    assert found.response.report.startswith("x ")
    for text in (found.response.report, *(block.description for block in found.response.action.code_blocks)):
        assert text.encode()
