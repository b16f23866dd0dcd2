"""Bodies at the limit and above it, and a client that goes on with half an answer."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import anthropic
import httpx2
import openai
import pytest
from serve_process import assistant, shown_text
from through_proxy import HEADERS, PATHS, TALKERS, Talk, Through, events_of, text_of
from upstream_script import answer, cut

from sightline.server.config import MAX_BODY

WIRES = list(PATHS)
SMALL = 200_000  # bytes
LONG = "The valve opens at noon. " * 8


def sized(talk: Talk, size: int) -> bytes:
    """A request of exactly this size."""
    talk.list = [{"role": "user", "content": ""}]
    empty = len(json.dumps(talk.body()).encode())
    talk.list[0]["content"] = "valve " * ((size - empty) // 6) + "." * ((size - empty) % 6)
    return json.dumps(talk.body()).encode()


@pytest.mark.parametrize("wire", TALKERS)
def test_a_body_at_the_limit_passes_and_one_above_it_is_refused(wire: str, tmp_path: Path, soak: bool) -> None:
    """At the limit it goes up byte for byte. One byte more is refused in the provider's shape, and nothing goes up."""
    limit = MAX_BODY if soak else SMALL
    with Through(tmp_path, lambda _: answer("Yes."), sockets=True) as through:
        through.upstream._window = 1 << 30
        assert through.server is not None
        through.server.stop()
        through.start(max_body=limit)
        talk = Talk(through, wire, model="nobody-knows-it")
        body = sized(talk, limit)
        assert through.post(wire, body).status_code == 200
        assert [asked.raw for asked in through.upstream.asked] == [body]
        refused = through.post(wire, sized(talk, limit + 1))
        assert refused.status_code == 413
        error = refused.json()["error"]
        assert "body is too large: send less" in error["message"]
        assert error["type"] == ("request_too_large" if wire == "anthropic" else "invalid_request_error")
        assert (refused.json().get("type") == "error") == (wire == "anthropic")
        assert len(through.upstream.asked) == 1
        counted = httpx2.get(f"{through.url}/metrics", trust_env=False, verify=False).text
        assert 'status="413"' in counted
        talk.list[0]["content"] = "Short"
        assert text_of(wire, talk.ask()) == "Yes."  # the next one is answered


@pytest.mark.slow
def test_a_client_that_sends_all_of_a_body_before_it_reads_is_told(tmp_path: Path) -> None:
    """Not a broken connection: what is refused is read and thrown away, whether it says its length or not."""
    with Through(tmp_path, [], sockets=True) as through:
        assert through.server is not None
        through.server.stop()
        through.start(max_body=SMALL)
        body = sized(Talk(through, "anthropic"), 20_000_000)
        pieces: list[dict[str, object]] = [
            {"body": body},
            {"body": iter([body[at : at + 65536] for at in range(0, len(body), 65536)]), "encode_chunked": True},
        ]
        for sent in pieces:
            connection = http.client.HTTPConnection("127.0.0.1", through.server.port, timeout=60)
            told = HEADERS["anthropic"] | ({"transfer-encoding": "chunked"} if "encode_chunked" in sent else {})
            connection.request("POST", PATHS["anthropic"], headers=told, **sent)  # type: ignore[arg-type]
            response = connection.getresponse()
            assert (response.status, json.load(response)["error"]["type"]) == (413, "request_too_large")
            connection.close()
        assert through.upstream.asked == []


def test_the_sdks_understand_a_refusal(tmp_path: Path) -> None:
    """They raise their error for this status, with what to do."""
    with Through(tmp_path, [], sockets=True) as through:
        assert through.server is not None
        through.server.stop()
        through.start(max_body=SMALL)
        text = "valve " * SMALL
        claude = anthropic.Anthropic(api_key="any", base_url=through.url)
        with pytest.raises(anthropic.RequestTooLargeError, match="send less"):
            claude.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": text}])
        gpt = openai.OpenAI(api_key="any", base_url=f"{through.url}/v1")
        with pytest.raises(openai.APIStatusError, match="send less"):
            gpt.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
        claude.close()
        gpt.close()


@pytest.mark.parametrize("wire", TALKERS)
def test_a_client_goes_on_with_half_an_answer(wire: str, tmp_path: Path) -> None:
    """It is the same conversation: the half is known again, is marked as stopped, and goes up as the client has it."""
    with Through(tmp_path, [cut(answer(LONG), 8), answer("Now."), answer("Then.")], sockets=True) as through:
        talk = Talk(through, wire, stream=True)
        talk.list.append({"role": "user", "content": "Hello"})
        half = shown_text(wire, events_of(b"".join(stream_until_cut(through, wire, talk))))
        assert LONG.startswith(half)
        assert half
        talk.list += [assistant(wire, half), {"role": "user", "content": "Go on."}]
        sent = json.dumps(talk.body()).encode()
        assert b"Now." in through.post(wire, sent).content
        assert through.upstream.asked[-1].raw == sent
        talk.list += [assistant(wire, "Now."), {"role": "user", "content": "And?"}]
        assert talk.ask()
        assert through.upstream.invalid == []
        hello, said, note, *rest = through.texts()
        assert (hello, said, rest) == ("Hello", half, ["Go on.", "Now.", "And?", "Then."])
        assert "stopped" in note
        with through.session() as session:
            assert len(session.branches) == 1


def stream_until_cut(through: Through, wire: str, talk: Talk) -> Iterator[bytes]:
    """The pieces of a stream that breaks off."""
    told = HEADERS[wire] | {"content-type": "application/json"}
    try:
        with httpx2.stream("POST", through.url + PATHS[wire], content=json.dumps(talk.body()), headers=told,
                           timeout=60, trust_env=False, verify=False) as response:  # fmt: skip
            yield from response.iter_bytes()
    except httpx2.RemoteProtocolError:
        return
    raise AssertionError("the stream came to its end")
