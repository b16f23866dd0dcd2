"""Google's `generateContent`, beyond what every wire promises: signatures, calls without ids, what only it knows."""

from base64 import b64decode
from typing import Any, Literal

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from sightline import wire
from sightline.errors import BadInput
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore
from sightline.values.items import Call, File, Image, Message, Result, Role, Text, ToolDefinition, Usage
from sightline.wire import common, gemini
from sightline.wire.call_ids import result_of

Json = dict[str, Any]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"


def written(contents: list[Json]) -> list[Json]:
    """What is sent for contents that are shown in full."""
    with Session(MemoryStore("s")) as session:
        session.extend(contents)
        result: list[Json] = msgspec.json.decode(session.compose(Budget(1 << 20)).json("gemini"))["contents"]
    return result


def called(*parts: Json, responses: tuple[Json, ...] = ()) -> list[Json]:
    """A question, the model's parts, and the responses."""
    said = {"role": "user", "parts": [{"text": "go"}]}
    return [said, {"role": "model", "parts": list(parts)}, {"role": "user", "parts": list(responses)}]


def response(name: str, value: Any, **more: Any) -> Json:
    """A response of a function."""
    return {"functionResponse": {**more, "name": name, "response": value}}


SAME = [
    called(
        {"text": "Let me see.", "thought": True, "thoughtSignature": "dGhpbms="},
        {"text": "I look."},
        {"functionCall": {"name": "look", "args": {"at": "a"}}, "thoughtSignature": "c2lnbmVk"},
        {"functionCall": {"name": "look", "args": {"at": "b"}}},
        {"functionCall": {"name": "wait", "args": {}}},
        responses=(
            response("look", {"output": "one"}),
            response("look", {"error": "two"}),
            response("wait", {"result": "three"}),
        ),
    ),
    called(
        {"functionCall": {"id": "f1", "name": "look", "args": {}}, "thoughtSignature": "c2lnbmVk"},
        responses=(response("look", {"lines": [1, 2], "more": {"a": None}}, id="f1"),),
    ),
    called({"text": "Done."}, {"text": "", "thoughtSignature": "ZW5k"}, responses=({"text": "thanks"},)),
    called(
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
        {"text": "It is 1."},
        responses=({"fileData": {"mimeType": "video/mp4", "fileUri": "files/x"}, "videoMetadata": {"fps": 1}},),
    ),
    called({"text": "Ok."}, responses=({"inlineData": {"mimeType": "image/png", "data": PNG}}, {"text": "this"})),
    called(
        {"functionCall": {"id": "f1", "name": "look", "args": {}}},
        responses=(
            response(
                "look", {"output": "seen"}, id="f1", parts=[{"inlineData": {"mimeType": "image/png", "data": PNG}}]
            ),
        ),
    ),
    called(
        {"functionCall": {"id": "f1", "name": "look", "args": {}, "willContinue": True}, "partMetadata": {"a": "b"}},
        responses=(response("look", {"output": ""}, id="f1", scheduling="SILENT"),),
    ),
]


def sorted_keys(value: Any) -> Any:
    """The same values: the order of keys means nothing."""
    return msgspec.json.decode(msgspec.json.encode(value, order="deterministic"))


@pytest.mark.parametrize("contents", SAME, ids=["no ids", "values", "end", "code", "image", "nested", "fields"])
def test_what_was_read_is_written_as_it_came(contents: list[Json]) -> None:
    """Signatures stand at the parts that had them, and a call without an id has none."""
    assert sorted_keys(written(contents)) == sorted_keys(contents)


def test_calls_without_ids_pair_by_order_and_name() -> None:
    """Each response belongs to the first call of its name that waits, in each turn anew."""
    turn = called(
        {"functionCall": {"name": "look", "args": {"at": "a"}}},
        {"functionCall": {"name": "wait", "args": {}}},
        {"functionCall": {"name": "look", "args": {"at": "b"}}},
        responses=(
            response("wait", {"output": "w"}),
            response("look", {"output": "a"}),
            response("look", {"output": "b"}),
        ),
    )
    for contents in (written(turn * 2), written(written(turn * 2))):
        results = [part["functionResponse"] for part in contents[5]["parts"]]
        assert [(result["name"], result["response"]["output"]) for result in results] == [
            ("look", "a"),
            ("wait", "w"),
            ("look", "b"),
        ]
        assert all("id" not in part.get("functionCall", part.get("functionResponse", {})) for part in results)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("read_file__f1", "f1"),
        ("f1", "f1"),
        ("read_file__read_file_1763500000000_0", "noid_read_file"),
        ("read_file__synth_prompt########0_1763500000000_3", "noid_read_file"),
        (None, "noid_read_file"),
    ],
)
def test_the_ids_of_gemini_cli_are_those_of_the_model(given: str | None, expected: str) -> None:
    """It puts the function's name before an id, and makes one up where there was none: the log knows the model's."""
    call: Json = {"name": "read_file", "args": {}} | ({"id": given} if given else {})
    contents = called({"functionCall": call}, responses=(response("read_file", {"output": "x"}, id=given),))
    parts = [part for message in gemini.read(contents) for part in message.parts if isinstance(part, Call | Result)]
    assert [part.id for part in parts] == [expected] * 2


def test_the_spelling_with_underscores_is_read() -> None:
    """As many examples for curl have it; what is in arguments and responses stays as it is."""
    contents: list[Json] = [
        {"parts": [{"inline_data": {"mime_type": "image/png", "data": PNG}}, {"text": "see"}]},
        {
            "role": "model",
            "parts": [{"function_call": {"name": "look", "args": {"in_line": 1}}, "thought_signature": "c2ln"}],
        },
        {"role": "user", "parts": [{"function_response": {"name": "look", "response": {"an_answer": 1}}}]},
    ]
    assert wire.read_messages(contents) == gemini.read(contents)
    asked, answered, result = written(contents)
    assert asked["parts"][0] == {"inlineData": {"mimeType": "image/png", "data": PNG}}
    assert answered["parts"] == [{"functionCall": {"name": "look", "args": {"in_line": 1}}, "thoughtSignature": "c2ln"}]
    assert result["parts"][0]["functionResponse"]["response"] == {"an_answer": 1}
    [tool] = wire.read_tools([{"function_declarations": [{"name": "look"}]}])
    assert tool.name == "look"


def test_usage_has_the_thoughts_in_its_output_and_the_cache_in_its_input() -> None:
    """As it is billed; what a tool of the provider has read is input."""
    used = {
        "promptTokenCount": 100, "toolUsePromptTokenCount": 7, "cachedContentTokenCount": 60,
        "candidatesTokenCount": 5, "thoughtsTokenCount": 20, "totalTokenCount": 132,
    }  # fmt: skip
    assert gemini.read_usage(used) == Usage(107, 25, 60)
    assert gemini.read_usage({"totalTokenCount": 0}) is None


@pytest.mark.parametrize(
    ("reply", "end"),
    [
        ({"candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model"}}]}, "length"),
        ({"candidates": [{"finishReason": "SAFETY"}]}, "refused"),
        ({"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": {"promptTokenCount": 3}}, "refused"),
        ({"candidates": []}, ""),
    ],
)
def test_a_reply_without_parts_is_read(reply: Json, end: str) -> None:
    """It says nothing, and why it ended."""
    assert wire.read_reply(reply).parts == ()
    assert wire.why_ended(reply) == end


def test_schemas_are_read_from_both_fields_and_types_from_capitals() -> None:
    """Another provider gets a schema that it knows, this one the declaration as it came."""
    capital = {"type": "OBJECT", "properties": {"at": {"type": "ARRAY", "items": {"type": "STRING"}}}}
    plain = {"type": "object", "properties": {"at": {"type": "array", "items": {"type": "string"}}}}
    functions = [{"name": "a", "parameters": capital}, {"name": "b", "parametersJsonSchema": plain}, {"name": "c"}]
    tools: list[Json] = [{"functionDeclarations": functions}, {"googleSearch": {}}]
    read = wire.read_tools(tools)
    assert [tool.schema for tool in read[:2]] == [plain, plain]
    head = gemini.write_head((), read, first=None, cached=False)
    assert head.arguments["tools"] == tools
    odd = ToolDefinition("d", schema={"type": "object", "properties": {"x": {"const": 1}}})
    [declared] = gemini.write_head((), [odd], first=None).arguments["tools"]
    assert "parametersJsonSchema" in declared["functionDeclarations"][0]


def test_tools_join_the_list_of_declarations_that_is_there() -> None:
    """Some models take one list only; what stood in the request stays before ours, in its own spelling."""
    own: list[Json] = [{"function_declarations": [{"name": "a"}]}, {"url_context": {}}]
    joined = gemini.join_tools(own, [{"functionDeclarations": [{"name": "recall"}]}])
    assert joined == [{"function_declarations": [{"name": "a"}, {"name": "recall"}]}, {"url_context": {}}]
    assert own[0] == {"function_declarations": [{"name": "a"}]}


def test_the_arguments_of_the_sdk_have_bytes_and_one_config() -> None:
    """Where a request has base64, the SDK has bytes, and it writes them again; own arguments win."""
    with Session(MemoryStore("s")) as session:
        session.system("be brief")
        session.extend(SAME[0])
        session.extend(SAME[4])
        arguments = session.compose(Budget(1 << 20, output=500)).gemini(
            model="gemini-3-pro", config={"temperature": 0, "maxOutputTokens": 9}
        )
    assert arguments.keys() == {"model", "contents", "config"}
    assert arguments["config"]["systemInstruction"] == {"parts": [{"text": "be brief"}]}
    assert (arguments["config"]["temperature"], arguments["config"]["maxOutputTokens"]) == (0, 9)
    assert arguments["contents"][1]["parts"][2]["thoughtSignature"] == b"signed"
    [image] = [part for content in arguments["contents"] for part in content["parts"] if "inlineData" in part]
    assert image["inlineData"]["data"] == b64decode(PNG)


class SdkPart(BaseModel):
    """A part as Google's SDK has it, with spellings of both kinds."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    text: str | None = None
    function_call: dict[str, Any] | None = None


class SdkContent(BaseModel):
    """A content as Google's SDK has it."""

    parts: list[SdkPart] | None = None
    role: str | None = None
    cached: bool | None = None
    tries: int = 3


class SdkModelContent(SdkContent):
    """A content whose class gives it its role, so that nobody sets it."""

    role: Literal["model"] = Field(default="model", init=False, frozen=True)


class SdkCandidate(BaseModel):
    """A candidate as Google's SDK has it."""

    content: SdkContent


class SdkReply(BaseModel):
    """A reply as Google's SDK has it."""

    candidates: list[SdkCandidate]


@pytest.mark.parametrize("part", [SdkPart(text="hello"), SdkPart(function_call={"name": "read", "args": {"a": 1}})])
def test_a_role_that_a_class_of_the_sdk_gives_is_read(part: SdkPart) -> None:
    """The model's words are not taken for the user's, inside of others neither; what else was not set is not sent."""
    for content in (SdkModelContent(parts=[part]), SdkContent(parts=[part], role="model")):
        [read] = wire.read_messages([content], "gemini")
        assert read == wire.read_messages([{"role": "model", "parts": [part.model_dump(exclude_none=True)]}])[0]
        assert read.role is Role.ASSISTANT
        assert common.plain({"list": [content]}, "here")["list"][0].keys() == {"parts", "role"}
    reply = SdkReply(candidates=[SdkCandidate(content=SdkModelContent(parts=[part]))])
    assert common.plain(reply, "here")["candidates"][0]["content"]["role"] == "model"


def test_media_of_results_stand_behind_them_unless_they_stood_inside() -> None:
    """Each after the name of its function; a result that another wire has read has them beside it too."""
    messages = [
        Message(Role.ASSISTANT, (Call("f1", "look", {}), Call("f2", "look", {}))),
        Message(Role.TOOL, (Result("f1", (Text("seen"), Image("image/png", PNG))),)),
        Message(Role.TOOL, (Result("f2", (File("application/pdf", PNG, name="a.pdf"),)),)),
    ]
    _, results, media = gemini.write_messages(messages)
    assert len(results["parts"]) == 2
    assert [part.get("text") for part in media["parts"]] == ["[from f1]", None, "[from f2]", None]
    assert result_of(gemini.read([results])[0]).parts[0] == Text("seen")


@pytest.mark.parametrize(
    "contents",
    [
        [{"role": "system", "parts": [{"text": "x"}]}],
        [{"role": "user", "parts": "x"}],
        [{"role": "user", "parts": [5]}],
        ["x"],
    ],
)
def test_what_is_no_content_is_refused(contents: list[Any]) -> None:
    """The error says where it is and what is accepted."""
    with pytest.raises(BadInput, match=r"contents\[0\].*accepted"):
        gemini.read(contents)


def test_other_forms_with_parts_are_not_taken_for_contents() -> None:
    """Such as the messages of a page, whose parts have a type, and those of pydantic-ai, which have a kind."""
    assert not gemini.recognises({"role": "user", "parts": [{"type": "text", "text": "x"}]})
    assert not gemini.recognises({"kind": "request", "parts": [{"content": "x", "part_kind": "user-prompt"}]})
    assert gemini.recognises({"role": "user", "parts": [{"text": "x"}]})
