"""Requests that repeat what an earlier one said are taken apart as if they were read whole."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import BadInput
from sightline.follow.model_request import FORMATS, ModelRequest, parse
from sightline.server import recent_requests
from sightline.server.recent_requests import RecentRequests

CHAT, RESPONSES, MESSAGES = (FORMATS[path] for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages"))

texts = st.sampled_from(["a", 'quote " and \\ slash', "ü", "]", '{"role":"user"}', "x" * 50])
users = st.builds(lambda text: {"role": "user", "content": text}, texts)
answers = st.builds(lambda text: {"role": "assistant", "content": [{"type": "text", "text": text}]}, texts)
systems = st.builds(lambda text: {"role": "system", "content": text}, texts)
lists = st.lists(users | answers | systems, min_size=1, max_size=8)
fields = st.fixed_dictionaries(
    {"model": st.just("m")},
    optional={
        "system": texts,
        "tools": st.lists(st.builds(lambda name: {"name": name, "messages": [{"role": "user"}]}, texts), max_size=2),
        "metadata": st.builds(lambda user: {"user_id": user, "input": []}, texts),
    },
)


def body_of(messages: list, around: dict, *, key: str, first: bool, spaced: bool) -> bytes:
    body = {key: messages, **around} if first else {**around, key: messages}
    return json.dumps(body, separators=None if spaced else (",", ":")).encode()


def plain(asked: ModelRequest) -> tuple:
    """What a request is taken apart to, without how."""
    return asked.format, asked.body, asked.fields, asked.listed, asked.first, asked.opening, asked.session, asked.name


@pytest.mark.slow
@given(st.data())
def test_a_matched_request_is_the_parsed_one(data: st.DataObject) -> None:
    """Whatever two requests have in common, the second one has the parts that reading it whole gives."""
    asked_format = data.draw(st.sampled_from([CHAT, RESPONSES, MESSAGES]))
    form = {"key": asked_format.messages, "first": data.draw(st.booleans()), "spaced": data.draw(st.booleans())}
    recent = RecentRequests()
    before, around = data.draw(lists), data.draw(fields)
    first = parse(asked_format, body_of(before, around, **form), {})
    assert first.pieces is not None
    recent.keep(first, 100)
    after = [*before[: data.draw(st.integers(0, len(before)))], *data.draw(lists | st.just([]))] or before
    around = data.draw(fields) if data.draw(st.booleans()) else around
    body = body_of(after, around, **form)
    matched = recent.match(asked_format, body, {})
    if matched is not None:
        assert plain(matched) == plain(parse(asked_format, body, {}))


@pytest.mark.parametrize("asked_format", [CHAT, RESPONSES, MESSAGES], ids=lambda each: each.wire)
@pytest.mark.parametrize("spaced", [False, True])
def test_the_next_step_of_an_agent_is_matched(asked_format, spaced: bool) -> None:
    """A list that goes on is known by its beginning, also where the last messages changed their markers."""
    form = {"key": asked_format.messages, "first": False, "spaced": spaced}
    first = [{"role": "user", "content": "begin"}, {"role": "assistant", "content": "yes"}]
    marked = {"role": "user", "content": "go", "cache_control": {"type": "ephemeral"}}
    recent = RecentRequests()
    recent.keep(parse(asked_format, body_of([*first, marked], {"model": "m"}, **form), {}), 100)
    body = body_of(
        [*first, {"role": "user", "content": "go"}, {"role": "assistant", "content": "on"}], {"model": "m"}, **form
    )
    matched = recent.match(asked_format, body, {})
    assert matched is not None
    assert plain(matched) == plain(parse(asked_format, body, {}))
    new = matched.listed[2:]
    assert matched.most_tokens == 100 + sum(len(message) + recent_requests._FRAME for message in new)


def test_what_may_be_more_tokens_than_bytes_is_not_bounded() -> None:
    """A picture by its address has few bytes and many tokens, so nobody says how many the request has at most."""
    form = {"key": "messages", "first": True, "spaced": False}
    first = [{"role": "user", "content": "begin"}, {"role": "assistant", "content": "yes"}]
    recent = RecentRequests()
    recent.keep(parse(CHAT, body_of(first, {"model": "m"}, **form), {}), 100)
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}]}
    matched = recent.match(CHAT, body_of([*first, picture], {"model": "m"}, **form), {})
    assert matched is not None
    assert matched.most_tokens is None


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]}',
        b'{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"a"}]}',
        b'{"metadata":{"messages":[{"role":"user","content":"a"}]},"messages":[{"role":"user","content":"a"}]}',
        b'{"messages":[ {"role":"user","content":"a"} , {"role":"user","content":"b"},{"role":"user","content":"c"}]}',
        b'{"mess\\u0061ges":[{"role":"user","content":"a"}]}',
    ],
)
def test_bodies_that_could_be_misread_are_read_whole(body: bytes) -> None:
    """Keys twice, lists inside of others, uneven blanks, escaped keys: the messages are those that JSON says."""
    asked = parse(MESSAGES, body, {})
    assert [msgspec.json.decode(each) for each in asked.listed] == json.loads(body)["messages"]
    assert "messages" not in asked.fields


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"messages":[]}', b'{"messages":["a"]}', b'{"messages":{}}', b"{", b'{"messages":[{]}']
)
def test_no_request_is_refused(body: bytes) -> None:
    """What is no request of the format is said to be none."""
    with pytest.raises(BadInput):
        parse(MESSAGES, body, {})


def test_a_new_part_that_is_no_json_is_refused() -> None:
    """Bytes after a known beginning are read as strictly as the beginning was."""
    recent = RecentRequests()
    whole = b'{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"model":"m"}'
    recent.keep(parse(MESSAGES, whole, {}), 10)
    with pytest.raises(msgspec.DecodeError):
        recent.match(MESSAGES, whole[: whole.index(b"],")] + b',{"role":"user","content":]}', {})


def test_the_oldest_are_forgotten() -> None:
    """Memory stays bounded by number and by bytes, and the one used last stays."""
    bodies = [
        b'{"messages":[{"role":"user","content":"%d"},{"role":"assistant","content":"b"}]}' % at for at in range(4)
    ]
    recent = RecentRequests(2 * 2 * len(bodies[0]))
    for body in bodies:
        recent.keep(parse(MESSAGES, body, {}), 10)
    assert [recent.match(MESSAGES, body, {}) is not None for body in bodies] == [False, False, True, True]
