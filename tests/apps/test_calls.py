"""Calls in an assistant's text: which are meant, which are only shown, and what they say."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.apps.calls import parameters, read_calls
from sightline.values.items import Call

CREATE = '<tool_call>{"name": "create", "arguments": {"name": "todo"}}</tool_call>'
OPEN_TODO = Call("", "create", {"name": "todo"})


def readable_calls(text: str) -> list[Call]:
    return [call for call in read_calls(text) if call is not None]


def tag(**said: Any) -> str:
    return f"<tool_call>{json.dumps(said)}</tool_call>"


@pytest.mark.parametrize(
    "text",
    [
        CREATE,
        f"Sure.\n{CREATE}\nThere it is.",
        '<tool_call>\n{"NAME": "create",\n "Arguments": {"Name": "todo"}}\n</tool_call>',
        '<tool_call>{"name": "create", "arguments": "{\\"name\\": \\"todo\\"}"}</tool_call>',
        f"`code` before {CREATE} `and` after",
        f"```python\nprint()\n```\n{CREATE}",
        f"~~~\n```\n~~~\n{CREATE}",
        f"> ```\n> quoted\n> ```\n{CREATE}",
        f"```not a fence``` {CREATE}",
        f"a lone ` in one paragraph\n\n{CREATE}\n\nand ` in another",
        f'"To do", as you say: {CREATE} opens "to do"',
        f'It is 5" wide. {CREATE}',
        f"I'll open it, it's the user's: {CREATE} That's it.",
        f"> I said so\n\n{CREATE}",
        f"“quoted” {CREATE} “and” more",
        f'A 5" screen. {CREATE} Then "ok".',
        f"«a» {CREATE} «b», »c« and ”d”",
        f"The users' list, it's ’tis:\n\n{CREATE}\n\nthe 'end'",
        f"    \n   {CREATE}",
        f"<pre>x</pre> {CREATE} <code>y</code>",
        f"“never closed\n{CREATE}",
    ],
    ids=[
        "alone", "in prose", "spread out, keys in any case", "arguments as text", "between inline code",
        "after a fence", "after a fence of another kind", "after a fence in a quotation", "after inline code of three",
        "other paragraphs", "between quotations", "a lone quotation mark", "apostrophes", "after a quoted line",
        "between quotations of another kind", "a length", "between guillemets", "apostrophes in paragraphs",
        "after blanks", "between tags", "after a quotation without end",
    ],
)  # fmt: skip
def test_a_call_outside_code_is_meant(text: str) -> None:
    """It is read, whatever stands around it."""
    assert readable_calls(text) == [OPEN_TODO]


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{CREATE}\n```",
        f"```xml\n{CREATE}\n",
        f"~~~~\n```\n{CREATE}\n```\n~~~\n{CREATE}\n~~~~",
        f"   ```\n{CREATE}\n   ```",
        f"1. like this:\n    ```\n    {CREATE}\n    ```",
        f"- ```\n  {CREATE}\n  ```",
        f"> ```\n> {CREATE}\n> ```",
        f"````\n```\n{CREATE}\n```\n{CREATE}\n````",
        f"Write `{CREATE}` to open it.",
        f"Write ``a ` b {CREATE}`` to open it.",
        f"Write `one\n{CREATE}\ntwo` to open it.",
    ],
)
def test_a_call_in_code_is_only_shown(text: str) -> None:
    """In a fence, closed or not, in a list or a quotation, or between backticks, it is text about a call."""
    assert readable_calls(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f'"{CREATE}"', f"'{CREATE}'", f"“{CREATE}”", f"‘{CREATE}’", f"«{CREATE}»", f"「{CREATE}」", f"『{CREATE}』",
        f'The page says "to go on, write {CREATE} now", which I will not do.',
        f'"{CREATE} and {CREATE}"',
        f'The page says "first\n{CREATE}\nthen", no more.',
        f"I'd not write 'do {CREATE}' here.",
        f"> {CREATE}", f">{CREATE}", f"  > {CREATE}", f"> > {CREATE}", f"- > {CREATE}", f"> The page says:\n> {CREATE}",
        f'He wrote: "Hello\n\n{CREATE}\n\nBye"', f'He wrote:"\n{CREATE}\n"', f'"One.\n\n"Two.\n\n{CREATE}\n\n"Three."',
        f"‘Hello\n\n{CREATE}\n\nBye’", f"他写道：“你好\n\n{CREATE}\n\n再见”", f'他写道"你好{CREATE}再见"',
        f"> quoted\n{CREATE}", f"> quoted\nand more\n{CREATE}", f"\xa0> {CREATE}", f"\u200b> {CREATE}",
        f"x\r> {CREATE}", f"\x0b> {CREATE}", f"x\u2028> {CREATE}", f"＞ {CREATE}", f"»{CREATE}«", f"»{CREATE}»",
        f"＂{CREATE}＂",
        f"”{CREATE}”", f"‚{CREATE}‘", f"‚{CREATE}’", f"„{CREATE}“", f"〝{CREATE}〞", f"›{CREATE}‹", f"｢{CREATE}｣",
        f"〈{CREATE}〉",
        f"<blockquote>\n{CREATE}\n</blockquote>", f"<PRE class='x'>{CREATE}</pre >", f"<q>{CREATE}</q>",
        f"Like this:\n\n    {CREATE}", f"\t{CREATE}",
    ],
)  # fmt: skip
def test_a_call_in_a_quotation_is_only_shown(text: str, caplog: pytest.LogCaptureFixture) -> None:
    """Between quotation marks, alone or with other words, or behind `>`, it is another's. The log has it."""
    assert list(read_calls(text)) == []
    assert caplog.messages == [f"{text.count('<tool_call>')} <tool_call> in code or in a quotation: not carried out"]


@pytest.mark.parametrize("mark", ["'a ", '"a ', "“", "»", "<pre>", "‘a ", "'a\n\n", '" ', "> a\n"])
def test_thousands_of_quotation_marks_are_read_like_one(mark: str) -> None:
    """Each is looked at once, closed or not: what follows in a paragraph of its own is read in no time."""
    began = time.process_time()
    list(read_calls(f"{mark * 50_000}\n\n{CREATE * 500}"))
    assert time.process_time() - began < 5


def test_the_log_is_silent_about_calls_that_are_carried_out(caplog: pytest.LogCaptureFixture) -> None:
    """Also if their arguments show a call; one in code is counted."""
    said = tag(name="action", arguments={"text": "<tool_call>"})
    assert len(list(read_calls(f"{said} {CREATE}"))) == 2
    assert caplog.messages == []
    assert len(list(read_calls(f"{said} `{CREATE}`"))) == 1
    assert caplog.messages == ["1 <tool_call> in code or in a quotation: not carried out"]


@pytest.mark.parametrize(
    "inside",
    ["", "{", "[1]", '"create"', "{}", '{"name": ""}', '{"name": 3}', '{"name": "create", "arguments": [1]}',
     '{"name": "create", "arguments": "todo"}', '{"name": "a"} {"name": "b"}', "[" * 100_000],
)  # fmt: skip
def test_what_is_no_call_is_only_text(inside: str) -> None:
    """Nothing is raised; `read_calls` says that something was there, and a good call after it is still read."""
    text = f"<tool_call>{inside}</tool_call>"
    assert list(read_calls(text)) == [None]
    assert readable_calls(text) == []
    assert readable_calls(text + CREATE) == [OPEN_TODO]


def test_several_calls_come_in_order() -> None:
    """Each once, the ones in code left out."""
    said = [tag(name=f"call{number}", arguments={"n": number}) for number in range(5)]
    text = f"{said[0]} and {said[1]}\n```\n{said[2]}\n```\n`{said[3]}`\n{said[4]}{said[0]}"
    assert [(call.name, call.input["n"]) for call in readable_calls(text)] == [
        ("call0", 0), ("call1", 1), ("call4", 4), ("call0", 0),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["run `ls` now", "```python\nx\n```", "a ` b", "~~~\n`", "<tool_call>", "` `` ```"])
def test_what_arguments_say_is_kept_as_it_is(text: str) -> None:
    """Backticks and fences in an argument are the argument's: they make no code of the call and lose nothing."""
    said = tag(name="action", arguments={"window_id": "w", "params": {"text": text}})
    assert [parameters(call.input) for call in readable_calls(f"Done. {said} {CREATE}")] == [
        {"text": text},
        {"name": "todo"},
    ]


@pytest.mark.slow
@given(text=st.text().filter(lambda text: "</tool_call>" not in text))
def test_any_argument_comes_back(text: str) -> None:
    """What a model writes as JSON is what the action is given."""
    [call] = readable_calls(tag(name="action", arguments={"params": {"text": text}}))
    assert parameters(call.input) == {"text": text}


@given(text=st.text(st.sampled_from(list('`~> \n<tool_call>/{}"name:ab')), max_size=200))
def test_no_text_breaks_the_reading(text: str) -> None:
    """Whatever is written, it is read without an error, and a call in a paragraph of its own after it or not at all."""
    assert readable_calls(f"{text}\n\n{CREATE}")[-1:] in ([], [OPEN_TODO])


def test_thousands_of_open_tags_are_read_like_one() -> None:
    """A model that repeats itself costs no time: the rest after a tag without end is looked at once."""
    assert readable_calls(f"{CREATE}{'<tool_call>' * 200_000}") == [OPEN_TODO]


@pytest.mark.parametrize(
    ("given", "read"),
    [({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1}), (None, {}), ("", None), ("a", None), ("[1]", None), ([1], None),
     (3, None), ("[" * 100_000, None)],
)  # fmt: skip
def test_parameters_are_an_object_or_none(given: Any, read: dict[str, Any] | None) -> None:
    """As an object, or as text of one; where they are left out, what stands beside the ids."""
    assert parameters({"window_id": "w", "params": given}) == read
    assert parameters({}) == {}
    assert parameters({"window_id": "w", "action_id": "a", "text": "x"}) == {"text": "x"}


def test_a_call_ends_where_its_json_does() -> None:
    """What its arguments say may hold the closing tag; what cannot be read is told apart from what is not there."""
    said = json.dumps({"name": "create", "arguments": {"name": "todo", "target": "</tool_call>"}})
    [call] = read_calls(f"<tool_call>{said}</tool_call>")
    assert call is not None
    assert call.input["target"] == "</tool_call>"
    assert list(read_calls(f"<tool_call>{{broken,}}</tool_call>{CREATE}")) == [None, OPEN_TODO]
    assert list(read_calls("<tool_call>{} trailing</tool_call><tool_call>never closed")) == [None, None]
