"""Until the first sweep the proxy is not noticed: requests and answers pass byte for byte."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import httpx2
import pytest
from in_process import InProcess
from through_proxy import HEADERS, MODELS, PATHS, TALKERS, Talk, Through, said
from upstream import zstd
from upstream_script import Failure, answer, call, fail, slow, think, zip_body

from sightline.errors import BadInput, Unwritable
from sightline.follow.model_request import FORMATS, parse
from sightline.follow.turns import Prepared, Turns
from sightline.plan.economies import ECONOMIES
from sightline.server.config import Config
from sightline.server.upstream import passed_back
from sightline.session.session import Session

WIRES = list(PATHS)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("wire", TALKERS)
def test_the_bodies_pass_byte_for_byte(wire: str, stream: bool, tmp_path: Path) -> None:
    """Also where the JSON has blanks, escapes and an unusual order, and whatever pieces the answer comes in."""
    script = [slow(answer(think("Hm."), "Grüße.", call("read", {"path": "a"})), chunk=11), answer("Done.")]
    with Through(tmp_path, script) as through:
        talk = Talk(through, wire, stream=stream)
        talk.list.append({"content": "Grüße  é", "role": "user"})
        sent = []
        for _ in range(2):
            sent.append(json.dumps(talk.body(), indent=1).encode() + b"\n ")
            assert through.post(wire, sent[-1]).status_code == 200
            talk.list += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": "more"}]
        assert [asked.raw for asked in through.upstream.asked] == sent
        assert through.upstream.invalid == []


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
@pytest.mark.parametrize("value", ["项目".encode(), "é".encode("latin-1"), b"", b"plain"])
def test_the_values_of_headers_pass_byte_for_byte(path: str, value: bytes, tmp_path: Path) -> None:
    """Such as the name of a project, in whatever encoding it came."""
    with Through(tmp_path, [answer("Yes.")]) as through:
        talk = Talk(through, "anthropic")
        talk.list.append({"role": "user", "content": "Hello"})
        headers: Any = HEADERS["anthropic"] | {"content-type": "application/json", "x-title": value}
        assert isinstance(through.server, InProcess)
        assert through.server.post(path, json.dumps(talk.body()).encode(), headers).status_code == 200
        [asked] = through.upstream.asked
        assert asked.headers["x-title"].encode("latin-1") == value


@pytest.mark.parametrize("economy", ECONOMIES)
def test_every_economy_passes_until_its_window_is_full(economy: str, tmp_path: Path) -> None:
    """Also a file that was read twice and a long output of a command; then it is composed."""
    read = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            ],
        }
        for number, (name, arguments) in enumerate(
            [("read", '{"path": "a"}'), ("read", '{"path": "a"}'), ("bash", '{"command": "make"}')]
        )
    ]
    with Through(tmp_path, lambda _: answer("Yes."), economy=economy, window=20_000) as through:
        talk, sent = Talk(through, "chat"), []
        talk.list.append({"role": "user", "content": "Look."})
        for number, asked in enumerate(read):
            talk.list += [asked, {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} word " * 1_500}]
            sent.append(json.dumps(talk.body()).encode())
            assert through.post("chat", sent[-1]).status_code == 200
        assert [asked.raw for asked in through.upstream.asked] == sent
        talk.list += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "more words " * 6_000}]
        assert through.post("chat", talk.body()).status_code == 200
        assert {tool["function"]["name"] for tool in through.bodies[-1]["tools"]} == {
            "read",
            "expand",
            "recall",
            "look",
        }


@pytest.mark.parametrize(("economy", "tokens", "passes"), [
    ("safe", 120_000, True), ("off", 120_000, True), ("thrifty", 120_000, False), ("thrifty", 30_000, True),
    ("safe", 200_000, False),
])  # fmt: skip
def test_what_certainly_fits_is_not_composed(economy: str, tokens: int, passes: bool, tmp_path: Path) -> None:
    """The limit is that of the economy: of the model's window, or of the smaller one that thrifty works in."""
    body = {"model": MODELS["anthropic"], "max_tokens": 500, "messages": [{"role": "user", "content": "a " * tokens}]}
    config = Config(folder=tmp_path, root=tmp_path / "logs", economy=economy)
    asked = parse(FORMATS["/v1/messages"], json.dumps(body).encode(), {})._replace(most_tokens=tokens)
    assert Turns(config).passes(asked) is passes


def test_a_conversation_goes_on_with_the_economy_of_the_server(tmp_path: Path) -> None:
    """Also one that began with another."""
    body = {"model": MODELS["anthropic"], "max_tokens": 500, "messages": [{"role": "user", "content": "Hello"}]}
    asked = parse(FORMATS["/v1/messages"], json.dumps(body).encode(), {})
    for economy in ("off", "thrifty", "safe"):
        turns = Turns(Config(folder=tmp_path, root=tmp_path / "logs", economy=economy))
        turns.prepare(asked)
        turns.close()
        with Session.inspect(asked.name, tmp_path, root=tmp_path / "logs") as session:
            assert session.settings.config == {"economy": economy}


def test_a_branch_goes_on_with_the_economy_of_the_server(tmp_path: Path) -> None:
    """Also one that leaves the conversation where it still had another economy."""

    def prepared(turns: Turns, words: list[str]) -> Prepared:
        messages = [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(words)]
        body = {"model": MODELS["anthropic"], "max_tokens": 500, "messages": messages}
        return turns.prepare(parse(FORMATS["/v1/messages"], json.dumps(body).encode(), {}))

    said = [f"{at} " + "a word " * 8_000 for at in range(7)]
    for economy in ("safe", "thrifty"):
        turns = Turns(Config(folder=tmp_path, root=tmp_path / "logs", economy=economy))
        asked = prepared(turns, said)
        rewound = prepared(turns, [said[0], "another answer", *said[2:]]) if economy == "thrifty" else asked
        turns.close()
        assert [each.sent < 60_000 < each.offered for each in (asked, rewound)] == [economy == "thrifty"] * 2


def test_an_economy_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    """At once, and with what each of them does: a session would refuse it at the first request."""
    with pytest.raises(BadInput, match=r"no economy 'greedy'; safe shows everything in full until .*; thrifty works"):
        Config(folder=tmp_path, economy="greedy")


@pytest.mark.parametrize("wire", WIRES)
def test_half_a_character_is_logged_and_passes(wire: str, tmp_path: Path) -> None:
    """The escape of an emoji that was cut in two passes as it came, at first and later; the log has U+FFFD for it."""
    with Through(tmp_path, [answer("One."), answer("Two."), answer("Three.")]) as through:
        talk, sent = Talk(through, wire), []
        talk.list.append({"role": "user", "content": "Hello"})
        for text in ("cut \ud83d", "again \ude00"):
            sent.append(json.dumps(talk.body()).encode())
            assert through.post(wire, sent[-1]).status_code == 200
            talk.list += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": text}]
        sent.append(json.dumps(talk.body()).encode())
        through.post(wire, sent[-1])
        assert [asked.raw for asked in through.upstream.asked] == sent
        assert [text for text in through.texts() if "\ufffd" in text] == ["cut \ufffd", "again \ufffd"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("wire", WIRES)
def test_half_a_character_in_an_answer_is_logged_and_passes(wire: str, stream: bool, tmp_path: Path) -> None:
    """Halves that come in two events are one character in the log; one alone is U+FFFD. The conversation goes on."""
    text = "A ship \ud83d\udea2 and half of one \ud83d"
    with Through(tmp_path, [answer(text), answer("Two.")]) as through:
        talk = Talk(through, wire, stream=stream)
        talk.list.append({"role": "user", "content": "Hello"})
        assert through.post(wire, talk.body()).content.count(rb"\ud83d") >= 2
        assert through.texts()[-1] == "A ship 🚢 and half of one \ufffd"  # before the client sends it back
        talk.list += [{"role": "assistant", "content": text}, {"role": "user", "content": "more"}]
        assert through.post(wire, talk.body()).status_code == 200
        [name] = through.names
        with through.session(name) as session:
            assert session.branches == [""]
        assert through.texts(name)[-4:] == ["Hello", "A ship 🚢 and half of one \ufffd", "more", "Two."]


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_is_what_the_upstream_sent(wire: str, tmp_path: Path) -> None:
    """The same bytes in the same order, two choices at once included."""
    import upstream_delivery

    sent: list[bytes] = []
    more, end = upstream_delivery.Delivery._more, upstream_delivery.Delivery._end

    async def note_more(self: upstream_delivery.Delivery, data: bytes) -> None:
        sent.append(data)
        await more(self, data)

    async def note_end(self: upstream_delivery.Delivery, data: bytes = b"") -> None:
        sent.append(data)
        await end(self, data)

    with pytest.MonkeyPatch.context() as patch, Through(tmp_path, [answer(think("Hm."), "Yes. " * 9)]) as through:
        patch.setattr(upstream_delivery.Delivery, "_more", note_more)
        patch.setattr(upstream_delivery.Delivery, "_end", note_end)
        talk = Talk(through, wire, stream=True)
        talk.list.append({"role": "user", "content": "Hello"})
        response = through.post(wire, talk.body())
        assert response.content == b"".join(sent)
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["request-id"].startswith("req")


TWO_CHOICES = [
    {"index": 0, "delta": {"role": "assistant", "content": "A"}, "finish_reason": None},
    {"index": 0, "delta": {}, "finish_reason": "stop"},
    {"index": 1, "delta": {"role": "assistant", "content": "B"}, "finish_reason": None},
    {"index": 1, "delta": {}, "finish_reason": "stop"},
]


def test_two_choices_of_a_stream_keep_their_order(tmp_path: Path) -> None:
    """The end of the first choice comes before the second one, as the upstream sent it."""
    chunks = [{"id": "c", "object": "chat.completion.chunk", "choices": [each]} for each in TWO_CHOICES]
    body = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in chunks) + b"data: [DONE]\n\n"
    script = [Failure(200, headers={"content-type": "text/event-stream"}, body=body)]
    with Through(tmp_path, script) as through:
        talk = Talk(through, "chat", stream=True, n=2)
        talk.list.append({"role": "user", "content": "Hello"})
        assert through.post("chat", talk.body()).content == body
        assert through.texts() == ["Hello", "A"]


@pytest.mark.parametrize("wire", WIRES)
def test_headers_query_and_unknown_fields_pass(wire: str, tmp_path: Path) -> None:
    """What nobody here knows goes up as it came: the upstream says what it thinks of it."""
    with Through(tmp_path, [answer("Yes.")], sockets=True) as through:
        body = Talk(through, wire).body() | {"brand_new": {"a": [1, None]}, "stream": False}
        body["messages" if wire != "responses" else "input"] = [{"role": "user", "content": "Hello"}]
        headers = HEADERS[wire] | {"anthropic-beta": "one,two", "x-other": "kept", "content-type": "application/json"}
        url = f"{through.url}{PATHS[wire]}?beta=true&x=%2F"
        response = httpx2.post(url, content=json.dumps(body), headers=headers, trust_env=False, verify=False)
        assert response.status_code == 400
        asked = through.upstream.asked[-1]
        assert (asked.query, json.loads(asked.raw)) == ("beta=true&x=%2F", body)
        assert (asked.headers["anthropic-beta"], asked.headers["x-other"]) == ("one,two", "kept")
        assert "brand_new" in response.text


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 529])
@pytest.mark.parametrize("wire", WIRES)
def test_errors_keep_status_headers_and_body(wire: str, status: int, tmp_path: Path) -> None:
    """So that a client waits, retries and tells its user as it would without us."""
    body = json.dumps({"error": {"type": "some", "message": "é no"}}).encode()
    with Through(tmp_path, [fail(status, {"retry-after": "7"}, body), answer("Now.")]) as through:
        talk = Talk(through, wire)
        talk.list.append({"role": "user", "content": "Hello"})
        response = through.post(wire, talk.body())
        assert (response.status_code, response.content, response.headers["retry-after"]) == (status, body, "7")
        assert talk.ask()
        assert through.texts() == ["Hello", "Now."]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_compressed_answer_is_read(wire: str, stream: bool, tmp_path: Path) -> None:
    """An upstream that compresses though nobody asked: the client gets what it can read."""
    with Through(tmp_path, [zip_body(answer("Yes."))]) as through:
        talk = Talk(through, wire, stream=stream)
        assert talk.say("Hello") == "Yes."
        assert through.texts() == ["Hello", "Yes."]


def test_a_compressed_body_that_nobody_asked_for_is_read(tmp_path: Path) -> None:
    """Some servers compress always."""
    reply = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Yes."}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    script = [Failure(200, {"content-encoding": "gzip"}, gzip.compress(json.dumps(reply).encode()))]
    with Through(tmp_path, script) as through:
        assert Talk(through, "anthropic").say("Hello") == "Yes."


PACKED = {
    "gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstd.compress, "identity": bytes,
    "gzip, zstd": lambda body: zstd.compress(gzip.compress(body)),
    "Deflate": lambda body: zlib.compress(body, wbits=-15),
}  # fmt: skip


@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("wire", WIRES)
def test_a_compressed_request_is_read_and_goes_up_as_it_came(wire: str, encoding: str, tmp_path: Path) -> None:
    """Codex packs its requests if it has a login with ChatGPT. What is shortened goes up plain, and says so."""
    with Through(tmp_path, lambda _: answer("Yes."), window=3000) as through:
        talk = Talk(through, wire)
        for number in range(2):
            talk.list.append({"role": "user", "content": f"Hello {number}"})
            packed = PACKED[encoding](json.dumps(talk.body()).encode())
            response = through.post(wire, packed, **{"content-encoding": encoding})
            assert response.status_code == 200
            talk.list += said(wire, response.json())
            asked = through.upstream.asked[-1]
            assert (asked.raw, asked.headers["content-encoding"]) == (packed, encoding)
        talk.list.append({"role": "user", "content": "Read this:\n" + "\n".join(map(str, range(2000)))})
        packed = PACKED[encoding](json.dumps(talk.body()).encode())
        assert through.post(wire, packed, **{"content-encoding": encoding}).status_code == 200
        asked = through.upstream.asked[-1]
        assert "content-encoding" not in asked.headers
        assert len(asked.raw) < len(json.dumps(talk.body()))
        assert through.upstream.invalid == []
        assert [text[:7] for text in through.texts()[::2]] == ["Hello 0", "Hello 1", "Read th"]


UNREADABLE = {
    "another encoding": ("br", b"any"), "no gzip": ("gzip", b"any"), "no zstd": ("zstd", b"any"),
    "cut off": ("gzip", gzip.compress(b"{}")[:-9]), "two pieces": ("zstd", zstd.compress(b"{}") * 2),
    "far longer": ("gzip", gzip.compress(bytes(3 << 20))), "nothing": ("deflate", b""),
}  # fmt: skip


@pytest.mark.parametrize(("encoding", "packed"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_unpacked_passes_as_it_is(encoding: str, packed: bytes, tmp_path: Path) -> None:
    """Also what would take a thousand times its bytes; it is counted as what is in no log."""
    with Through(tmp_path, lambda _: answer("Yes.")) as through:
        through.post("chat", packed, **{"content-encoding": encoding})
        [asked] = through.upstream.asked
        assert (asked.raw, asked.headers["content-encoding"]) == (packed, encoding)
        assert through.names == []


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"messages": 3}', b'{"messages": [1]}', b"\xff\xfe", b'{"messages":[{"role":"user"}]}',
     b'{"messages":[{"role":"user","content":"\\ud800"}]}', b'{"messages":[{"role":7,"content":{}}]}',
     b'{"messages":[{"role":"user","content":"a\xff"}]}', b'{"model":7,"messages":[{"role":"user","content":"a"}]}',
     b'{"tools":[7],"messages":[{"role":"user","content":"a"}]}',
     b'{"tools":7,"messages":[{"role":"user","content":"a"}]}',
     b'{"system":{"a":[7]},"messages":[{"role":"user","content":"a"}]}', b'{"input":[],"messages":[]}'],
)  # fmt: skip
@pytest.mark.parametrize("wire", WIRES)
def test_what_is_no_request_is_refused_by_the_upstream(wire: str, body: bytes, tmp_path: Path) -> None:
    """It passes as it came: the provider says what is wrong."""
    if wire == "responses":
        body = body.replace(b'"messages"', b'"input"')
    with Through(tmp_path, [answer("Yes.")]) as through:
        response = through.post(wire, body)
        assert response.status_code == 400
        assert "error" in response.json()
        assert through.upstream.asked[-1].raw == body


def test_other_paths_pass(tmp_path: Path) -> None:
    """With method, body, query and the bytes of the path."""
    with Through(tmp_path, [], sockets=True) as through:
        for wire in ("anthropic", "chat"):
            models = httpx2.get(f"{through.url}/v1/models", headers=HEADERS[wire], trust_env=False, verify=False).json()
            assert MODELS[wire] in [each["id"] for each in models["data"]]
        told = {"model": MODELS["anthropic"], "messages": [{"role": "user", "content": "Hello"}]}
        url = f"{through.url}/v1/messages/count_tokens"
        counted = httpx2.post(url, json=told, headers=HEADERS["anthropic"], trust_env=False, verify=False)
        assert counted.json()["input_tokens"] > 0
        url = f"{through.url}/v1/files/a%2Fb%3Fc?purpose=x%20y"
        refused = httpx2.request(
            "DELETE", url, content=b"\x00\xff", headers=HEADERS["chat"], trust_env=False, verify=False
        )
        asked = through.upstream.asked[-1]
        assert refused.status_code == 404
        assert (asked.method, asked.path, asked.query) == ("DELETE", "/v1/files/a/b%3Fc", "purpose=x%20y")
        assert asked.raw == b"\x00\xff"


def test_headers_that_come_several_times_stay_several() -> None:
    """Cookies are not joined into one, and headers of one connection are left out."""
    got = httpx2.Headers([("set-cookie", "a=1"), ("Set-Cookie", "b=2"), ("connection", "close"), ("x-other", "yes")])
    passed = passed_back(got, x_sightline_session="one")
    assert passed.getlist("set-cookie") == ["a=1", "b=2"]
    assert dict(passed.items()).keys() == {"set-cookie", "x-other", "x-sightline-session"}


@pytest.mark.parametrize("wire", WIRES)
def test_a_cookie_is_its_clients_own(wire: str, tmp_path: Path) -> None:
    """The client gets it, and it goes up only if the client sends it: another caller of this server never has it."""
    set_cookie = {"set-cookie": "who=first; Path=/"}
    with Through(tmp_path, [fail(400, set_cookie, b"{}"), answer("Yes."), answer("Yes.")], sockets=True) as through:
        first, second = Talk(through, wire), Talk(through, wire)
        first.list.append({"role": "user", "content": "Hello"})
        second.list.append({"role": "user", "content": "Good morning"})
        assert through.post(wire, first.body()).headers["set-cookie"] == set_cookie["set-cookie"]
        through.post(wire, second.body())
        headers = HEADERS[wire] | {"cookie": "who=second"}
        httpx2.post(
            f"{through.url}{PATHS[wire]}", json=second.body(), headers=headers, trust_env=False, verify=False
        ).raise_for_status()
        assert [asked.headers.get("cookie") for asked in through.upstream.asked] == [None, None, "who=second"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_answer_names_no_session_if_nothing_is_logged(tmp_path: Path, stream: bool) -> None:
    """A stream begins before that is known: it is what happened to the request before it that counts."""
    named = "x-sightline-session"
    with Through(tmp_path, lambda _: answer("Yes.")) as through, pytest.MonkeyPatch.context() as patch:
        talk = Talk(through, "chat", stream=stream)
        talk.list.append({"role": "user", "content": "Hello"})
        assert named in through.post("chat", talk.body()).headers

        def refuse(*_: object, **__: object) -> None:
            raise Unwritable("here", "it is read-only")

        patch.setattr(Turns, "prepare", refuse)
        talk.list[0] = {"role": "user", "content": "Another"}
        told = [through.post("chat", talk.body()) for _ in range(2)]
        assert [each.status_code for each in told] == [200, 200]
        assert named not in told[-1].headers
        assert stream or named not in told[0].headers
        patch.undo()
        through.post("chat", talk.body())
        assert named in through.post("chat", talk.body()).headers
