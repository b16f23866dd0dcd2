"""Google's own SDK, in an environment of its own: through the proxy in a small window, and with `payload.gemini()`."""

import json
import textwrap
from pathlib import Path

import pytest
from clients import Conversation, Job, count_requests, last_words
from environment import make_environment, run_in
from through_proxy import OWN, Through, asked_names

TURNS, CALLS, WINDOW = 12, 2, 7_000

pytestmark = pytest.mark.soak


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the SDK."""
    return make_environment(tmp_path_factory, "google-genai", ["google-genai>=1.30,<4"])


@pytest.mark.parametrize(("how", "call_ids"), [("whole", True), ("whole", False), ("stream", True)])
def test_a_chat_of_the_sdk_stays_valid_over_sweeps(how: str, call_ids: bool, python: Path, tmp_path: Path) -> None:
    """The answers are the model's, none of our tools is seen, and all is in one conversation without branches."""
    job = Job(tmp_path, "", "", turns=TURNS, calls=CALLS)
    script = Conversation(TURNS, CALLS)
    with Through(tmp_path, script, window=WINDOW, sockets=True, call_ids=call_ids) as through:
        program = str(Path(__file__).parent / "gemini_program.py")
        done = run_in(python, program, f"{through.url}/gemini", how, str(TURNS), folder=tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        assert json.loads(done.stdout) == last_words(job)
        assert through.upstream.invalid == []
        assert len(through.upstream.calls) == count_requests(job)
        assert through.totals.sweeps >= 2
        assert OWN & {*asked_names(through.upstream.calls[-1])}
        assert max(asked.bill.given for asked in through.upstream.calls if asked.bill) <= WINDOW
        [name] = through.names
        with through.session(name) as session:
            assert (session.branches, session.open_calls) == ([""], [])


def test_the_sdk_takes_a_payload(python: Path, tmp_path: Path) -> None:
    """As the arguments of `client.models.generate_content`; the reply, an object, goes into the session."""
    program = """
        import sys
        import sightline as sl
        from google import genai
        from google.genai import types

        client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=sys.argv[1]))
        session = sl.Session(sl.MemoryStore())
        session.system("You read the pages of a manual.")
        schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
        session.tools([{"functionDeclarations": [{"name": "read_page", "parameters": schema}]}])
        for turn in range(3):
            session.user(f"Question {turn}")
            while True:
                request = session.compose(sl.Budget(8_000, output=500)).gemini(model="gemini-3-pro")
                reply = client.models.generate_content(**request)
                session.reply(reply)
                if not reply.function_calls:
                    break
                for call in session.open_calls:
                    session.tool_result(call.id, "page " * 20)
        print(session.items.text(session.items.last_said), session.branches)
    """
    with Through(tmp_path, Conversation(3, 2), sockets=True) as through:
        command = textwrap.dedent(program)
        done = run_in(python, "-c", command, through.upstream.gemini_url, folder=tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        assert done.stdout.startswith("Answer 2: the valves open.")
        assert through.upstream.invalid == []
        assert {asked.body["generationConfig"]["maxOutputTokens"] for asked in through.upstream.calls} == {500}
