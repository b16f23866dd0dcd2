"""The REST interface over real sessions, through a real server."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from rest_server import ROOM, RestServer, converse

from sightline import Session
from sightline.agent import Agent
from sightline.agent.models import RetryScheduled, TextDelta
from sightline.errors import BadInput, ModelRefused
from sightline.log.entries import decode, encode
from sightline.log.stores.session_folder import Folder
from sightline.server.app import create_app
from sightline.server.config import Config
from sightline.server.rest_chat import EquippedModel
from sightline.testing import ScriptedModel, calling
from sightline.view.catalog.log_count import LogCount

TALK = "/api/sessions/talk"


def test_sessions_are_listed_in_pages_and_found_by_their_words(server: RestServer, project: Path) -> None:
    """Newest first; `next` leads to the rest; a search looks at ids and first questions."""
    for number in range(3):
        converse(project, f"more{number}", turns=1, lines=2)
    first = server.get("/api/sessions?limit=3")
    assert [each["id"] for each in first["sessions"]] == ["more2", "more1", "more0"]
    assert (first["total"], first["next"]) == (4, 3)
    rest = server.get(f"/api/sessions?limit=3&start={first['next']}")
    assert ([each["id"] for each in rest["sessions"]], rest["next"]) == (["talk"], None)
    [found] = server.get("/api/sessions?q=TALK")["sessions"]
    assert (found["turns"], found["calls"], found["branches"]) == (6, 12, ["main"])
    assert found["title"].startswith("Question 1")


def test_a_session_that_has_not_changed_is_not_read_to_be_listed(
    server: RestServer, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once is enough, until something is written to it: then only what is new is read."""
    converse(project, "second", turns=1, lines=2)
    server.get("/api/sessions")
    read: list[tuple[str, int]] = []
    real = LogCount.read
    monkeypatch.setattr(
        LogCount, "read", lambda self, file, most: read.append((file.stem, self.offset)) or real(self, file, most)
    )
    assert len(server.get("/api/sessions")["sessions"]) == 2
    assert read == []
    size = Folder(project).file("second").stat().st_size
    with Session.resume("second", project) as session:
        session.user("More")
    [found] = server.get("/api/sessions?q=second")["sessions"]
    assert (read, found["turns"]) == ([("second", size)], 2)


def test_a_session_that_cannot_be_read_is_listed_with_the_reason(server: RestServer, project: Path) -> None:
    """It does not hide the others."""
    server.post("/api/sessions", {"id": "newer", "strategy": "sliding"}, 201)
    log = Folder(project).file("newer")
    lines = log.read_bytes().replace(b"sliding", b"gliding").splitlines(keepends=True)
    log.write_bytes(b"".join(encode(decode(line)) for line in lines))  # as a version that has it would write it
    listed = {each["id"]: each["error"] for each in server.get("/api/sessions")["sessions"]}
    assert listed["talk"] == ""
    assert "gliding" in listed["newer"]


def test_a_session_is_created_described_and_deleted(server: RestServer) -> None:
    """201, 200, 204, then 404; an id that exists is refused."""
    made = server.post("/api/sessions", {"id": "fresh", "strategy": "sliding"}, 201)
    assert made == {"id": "fresh", "branch": "main"}
    assert server.get("/api/sessions/fresh")["settings"]["strategy"] == "sliding"
    assert "exists" in server.post("/api/sessions", {"id": "fresh"}, 400)["error"]["message"]
    assert "fresh" in [each["id"] for each in server.get("/api/sessions")["sessions"]]
    assert server.client.delete("/api/sessions/fresh").status_code == 204
    assert server.get("/api/sessions/fresh", 404)["error"]["type"] == "session_not_found"
    assert server.client.delete("/api/sessions/fresh").status_code == 404


def test_items_come_in_pages_and_in_full(server: RestServer) -> None:
    """Every item once, in order; one item with its text at each level, as the library has it."""
    ids: list[str] = []
    start: int | None = 0
    while start is not None:
        page = server.get(f"{TALK}/items?limit=7&start={start}")
        ids += [each["id"] for each in page["items"]]
        start = page["next"]
    with Session.inspect("talk", server.project) as session:
        assert ids == [item.id for item in session.items]
        result = next(item for item in session.items.table() if item.kind.name == "RESULT")
        text, info = session.items.text(result.id), session.items.info(result.id)
    whole = server.get(f"{TALK}/items/{result.id}")
    assert whole["levels"]["full"] == whole["item"]["text"] == text
    assert whole["item"]["gist_tokens"] == info.gist
    assert len(whole["levels"]["gist"]) < len(text)
    listed = server.get(f"{TALK}/items?limit=1000")["items"]
    assert all(len(each["text"]) <= 400 for each in listed)
    full = server.get(f"{TALK}/items?limit=1000&text=full")["items"]
    assert next(each for each in full if each["id"] == result.id)["text"] == text


def test_every_call_that_was_sent_can_be_looked_at(server: RestServer) -> None:
    """Its levels, tokens and reason; made again from the log, it is what was sent."""
    page = server.get(f"{TALK}/calls?limit=5")
    assert (page["total"], page["next"], [each["number"] for each in page["calls"]]) == (12, 5, [1, 2, 3, 4, 5])
    assert page["calls"][0]["usage"]["input_tokens"] == 100
    calls = [server.get(f"{TALK}/calls/{number}") for number in range(1, 13)]
    assert all(each["same"] for each in calls)
    swept = [each for each in calls if each["call"]["reason"]]
    assert swept
    assert any("gist" in each["call"]["tokens"]["result"] for each in swept)
    for wrong in ("0", "13", "x", "1e3", "9" * 40):
        assert server.get(f"{TALK}/calls/{wrong}", 404)["error"]["type"] == "not_found"


def test_the_raw_input_is_what_the_library_writes(server: RestServer) -> None:
    """In each provider's format, of the next call and of an earlier one."""
    with Session.inspect("talk", server.project) as session:
        assert session.budget is not None
        payload = session.preview(session.budget)
        for wire in ("openai", "anthropic", "responses"):
            raw = server.get(f"{TALK}/llm-input/raw?wire={wire}")
            assert raw == json.loads(payload.json(wire))
    assert "part_6.py" not in json.dumps(server.get(f"{TALK}/llm-input/raw?call=3"))
    assert server.get(f"{TALK}/llm-input/raw?call=99", 404)
    assert server.get(f"{TALK}/llm-input/raw?wire=telex", 400)


@pytest.mark.slow
def test_another_budget_is_tried_without_writing(server: RestServer, project: Path) -> None:
    """More room shows more, less room less; an earlier call is recomposed as it would have been. The log stays."""
    log = Folder(project).file("talk")
    before = log.read_bytes()
    now = server.get(f"{TALK}/context")
    large, small = (server.post(f"{TALK}/preview", {"window": window}) for window in (60_000, 4_000))
    assert large["tokens"] > now["tokens"] > small["tokens"]
    assert {line["level"] for line in large["lines"]} == {"full"}
    assert small["tokens"] <= small["limit"]
    third = server.post(f"{TALK}/preview", {"call": 3, "window": 60_000})
    assert 0 < len(third["lines"]) < len(large["lines"])
    sliding = server.post(f"{TALK}/preview", {"strategy": "sliding"})
    assert (sliding["strategy"], sliding["tokens"] != now["tokens"]) == ("sliding", True)
    assert server.post(f"{TALK}/preview", {"economy": "thrifty"})["strategy"] == "focus"
    assert server.post(f"{TALK}/preview", {"call": 99}, 404)
    assert server.post(f"{TALK}/preview", {"strategy": "sliding", "economy": "off"}, 400)
    assert server.post(f"{TALK}/preview", {"window": 20}, 422)["error"]["type"] == "pinned_overflow"
    assert log.read_bytes() == before


@pytest.mark.slow
def test_an_earlier_call_tried_as_it_was_is_what_was_sent(server: RestServer) -> None:
    """With nothing changed an earlier call has the same items, also after a sweep; so has the next one."""
    assert server.post(f"{TALK}/preview", {}) == server.get(f"{TALK}/context")
    calls = server.get(f"{TALK}/timeline?limit=100")["calls"]
    assert any(call["reason"] for call in calls)
    for number in [call["number"] for call in calls]:
        sent, again = server.get(f"{TALK}/calls/{number}"), server.post(f"{TALK}/preview", {"call": number})
        body = {line["id"] for line in sent["lines"] if line["block"]}
        assert {line["id"] for line in again["lines"]} <= body  # that has the engine's own lines too
        assert (again["tokens"], again["limit"]) == (sent["call"]["total"], sent["call"]["limit"])


def test_the_context_can_list_what_is_not_shown(server: RestServer) -> None:
    """Shown and hidden items together are all that the model could see."""
    shown, hidden = server.get(f"{TALK}/context"), server.get(f"{TALK}/context?includeObsolete=true")["hidden"]
    assert shown["hidden"] == []
    assert hidden
    assert {each["level"] for each in hidden} == {"hidden"}
    assert not {each["id"] for each in hidden} & {each["id"] for each in shown["lines"]}


def test_items_are_pinned_collapsed_and_brought_back(server: RestServer) -> None:
    """As the library does it; a pinned item is not collapsed."""
    item = next(each["id"] for each in server.get(f"{TALK}/items")["items"] if each["kind"] == "result")
    assert server.post(f"{TALK}/items/{item}/pin") == {"id": item, "done": "pin"}
    assert server.get(f"{TALK}/items/{item}")["item"]["pinned"] is True
    assert server.get(TALK)["facts"]["pins"] == 1
    assert "pinned" in server.post(f"{TALK}/items/{item}/collapse", status=400)["error"]["message"]
    server.post(f"{TALK}/items/{item}/unpin")
    server.post(f"{TALK}/items/{item}/collapse")
    lines = server.post(f"{TALK}/items/{item}/expand", {"start": 3, "lines": 2})["text"]
    assert "step_1_2" in lines
    assert "step_1_9" not in lines
    found = server.get(f"{TALK}/search?q=part_2")["found"]
    assert any("step_2_1" in each["text"] for each in found)
    count = server.get(TALK)["facts"]["items"]
    server.post(f"{TALK}/recall", {"query": "part_2", "tokens": 300})
    assert server.get(TALK)["facts"]["items"] == count + 1
    assert server.get(f"{TALK}/constraints")["constraints"][0]["text"].endswith("port 8001.")


def test_a_compaction_is_made_reported_and_undone(server: RestServer) -> None:
    """What it covers and hides is listed; undone, all is shown again."""
    made = server.post(f"{TALK}/compactions", {"window": 8_000}, 201)
    assert made["state"] == "holds"
    assert made["by_rule"] is True
    [listed] = server.get(f"{TALK}/compactions")["compactions"]
    assert listed["boundary"] == made["boundary"]
    assert listed["loss"] is not None
    assert server.get(f"{TALK}/items/{made['first']}")["compacted_by"] == made["boundary"]
    tried = server.post(f"{TALK}/preview", {"window": 60_000})
    assert made["first"] not in [line["id"] for line in tried["lines"]]
    server.post(f"{TALK}/compactions/undo")
    assert server.get(f"{TALK}/compactions")["compactions"][0]["state"] == "undone"
    assert server.post(f"{TALK}/compactions/undo", status=409)["error"]["type"] == "nothing_compacted"


def test_a_branch_is_begun_and_looked_at(server: RestServer) -> None:
    """It is the current one from then on; the first is called main."""
    items = server.get(f"{TALK}/items")["items"]
    assert server.post(f"{TALK}/fork", {"at": items[8]["id"], "name": "other"}, 201)["branch"] == "other"
    assert server.get(f"{TALK}/branches") == {"current": "other", "branches": ["main", "other"]}
    assert server.get(f"{TALK}/items")["total"] < server.get(f"{TALK}/items?branch=main")["total"]
    assert server.get(f"{TALK}/items?branch=nowhere", 404)["error"]["type"] == "not_found"
    assert server.post(f"{TALK}/fork", {"at": "999999"}, 404)


def test_a_conversation_is_exported(server: RestServer, project: Path) -> None:
    """The log byte for byte; for people as text only; for a provider as its SDK takes it."""
    assert server.client.get(f"{TALK}/export").content == Folder(project).file("talk").read_bytes()
    page = server.client.get(f"{TALK}/export?format=html&lang=zh")
    assert page.headers["content-type"].startswith("text/html")
    assert "sandbox" in page.headers["content-security-policy"]
    assert "会话" in page.text
    assert server.client.get(f"{TALK}/export?format=markdown").text.startswith("# Session talk")
    assert "messages" in server.get(f"{TALK}/export?format=openai")
    assert server.get(f"{TALK}/export?format=docx", 400)
    assert server.get("/api/sessions/none/export", 404)
    assert server.get(f"{TALK}/verify")["good"] is True


def test_the_request_of_a_call_is_exported(server: RestServer) -> None:
    """As a file, in the format of the session's provider or another; it says what the request itself says."""
    path = f"{TALK}/calls/2/export"
    given = server.client.get(path)
    assert given.headers["content-disposition"] == 'attachment; filename="talk-call-2-openai.json"'
    assert "sandbox" in given.headers["content-security-policy"]
    assert given.json() == server.get(f"{TALK}/llm-input/raw?call=2")
    assert "contents" in server.get(f"{path}?wire=gemini")
    assert "anthropic" in server.get(f"{path}?wire=docx", 400)["error"]["message"]
    assert server.get(f"{TALK}/calls/99/export", 404)
    assert server.get(f"{TALK}/calls/last/export", 404)
    assert server.get("/api/sessions/none/calls/1/export", 404)
    assert server.stranger.get(path).status_code == 401


def test_windows_are_shown_and_acted_on(project: Path) -> None:
    """An app that ships runs in the server; its actions are described, done, and seen by all who follow."""
    with Session.new(project, session_id="apps", apps=["todo"]) as session:
        window = session.windows.open("todo")
        session.user("Hi")
        session.compose(ROOM)
    with RestServer(project) as server:
        [shown] = server.get("/api/sessions/apps/windows")["windows"]
        assert (shown["id"], shown["app"], shown["running"]) == (window, "todo", True)
        add = next(each for each in shown["actions"] if each["id"] == "add")
        assert "text" in add["parameters"]["properties"]
        path = f"/api/sessions/apps/windows/{window}/actions"
        done = server.post(f"{path}/add", {"params": {"text": "buy milk"}})
        assert done["success"] is True
        assert "buy milk" in server.get(f"/api/sessions/apps/windows/{window}")["text"]
        assert server.post(f"{path}/fly")["reason"] == "unknown action"
        assert server.post(f"{path}/add", {"params": {"self": 1, "window_id": 2}})["reason"] == "bad parameters"
        assert server.get("/api/sessions/apps/windows/none", 404)
    with RestServer(project, apps=()) as server:
        [shown] = server.get("/api/sessions/apps/windows")["windows"]
        assert (shown["running"], shown["actions"]) == (False, [])
        assert server.post(f"/api/sessions/apps/windows/{window}/actions/add", status=501)


def test_a_model_answers_if_the_server_has_one(project: Path) -> None:
    """The question and the answer are in the log; an empty message is a 400, an unknown session a 404."""
    with RestServer(project, model=ScriptedModel(["All is well."], window=30_000)) as server:
        answer = server.post(f"{TALK}/interact", {"message": "How is it?"})
        assert (answer["success"], answer["response"]) == (True, "All is well.")
        texts = [each["text"] for each in server.get(f"{TALK}/items?start=25")["items"]]
        assert texts[-2:] == ["How is it?", "All is well."]
        assert server.post(f"{TALK}/interact", {"message": " \n"}, 400)
        assert server.post(f"{TALK}/interact", {"message": ""}, 400)
        assert server.post("/api/sessions/none/interact", {"message": "Hi"}, 404)


def test_an_answer_can_be_streamed(project: Path) -> None:
    """Its payloads, tools and texts as they come, and the whole answer last; an error comes as an event too."""
    model = ScriptedModel([calling(("nothing", {"a": 1})), "All is well."], window=30_000)
    with RestServer(project, model=model) as server:
        found = streamed(server, "How is it?")
        kinds = [kind for kind, _ in found]
        assert kinds[0] == "payload"
        assert [kind for kind in kinds if kind != "text"][1:5] == ["reply", "tool_started", "tool_finished", "payload"]
        assert "".join(data["text"] for kind, data in found if kind == "text") == "All is well."
        kind, answer = found[-1]
        assert (kind, answer["success"], answer["response"], answer["rounds"]) == ("answer", True, "All is well.", 2)
        kind, told = streamed(server, "And now?")[-1]  # the script has ended
        assert (kind, told["type"]) == ("error", "model_failed")
        assert server.get(f"{TALK}/timeline")["total"] >= 14


def streamed(server: RestServer, message: str) -> list[tuple[str, Any]]:
    """The events of an answer: kind and data."""
    found, kind = [], ""
    headers = {"accept": "text/event-stream"}
    with server.client.stream("POST", f"{TALK}/interact", json={"message": message}, headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        for line in response.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                found.append((kind, json.loads(line.removeprefix("data: "))))
    return found


def test_what_a_provider_says_of_a_failure_is_told_without_keys(project: Path) -> None:
    """To who asked and to all who follow: on one line, not long, and without headers or keys that it quotes."""
    secrets = ("sk-ant-api03-verysecret", "abcdef0123456789")
    said = f"401:\n\x1b[31mAuthorization: Bearer {secrets[0]}\nx-api-key: {secrets[1]}\n{'<p>' * 5000}"

    class Refusing(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            yield RetryScheduled("m", said, 0.0, 2, detail=said)
            raise ModelRefused(said)

    with RestServer(project, model=Refusing([], window=30_000)) as server:
        with server.client.stream("GET", "/api/events") as following:
            lines = following.iter_lines()
            next(lines)
            told = streamed(server, "Hello?")
            kinds = dict(told)
            assert (kinds["answer"]["success"], "retry" in kinds) == (False, True)
            event = next(line for line in lines if line.startswith("data:") and '"error"' in line)
        whole = server.post(f"{TALK}/interact", {"message": "Again?"})
    for text in (json.dumps(told), event, json.dumps(whole)):
        assert "[hidden]" in text
        assert not [secret for secret in secrets if secret in text]
        assert "x1b" not in text
        assert "u001b" not in text
    assert len(whole["error"]) <= 400
    assert "\n" not in whole["error"]


def test_closing_a_streamed_answer_stops_it(project: Path) -> None:
    """The next question is answered; nothing waits for the one that was given up."""
    asked = threading.Event()

    class Endless(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            if not asked.is_set():
                yield TextDelta("Let me think")
                asked.set()
                await asyncio.sleep(3600)
            async for each in super().stream(request):
                yield each

    with RestServer(project, model=Endless(["Second."], window=30_000)) as server:
        headers = {"accept": "text/event-stream"}
        with server.client.stream("POST", f"{TALK}/interact", json={"message": "One?"}, headers=headers) as response:
            lines = response.iter_lines()  # kept, because the connection ends with it
            while next(lines) != "event: text":
                pass
            assert asked.wait(60)
            assert server.post(f"{TALK}/interact", {"message": "Two?"}, 409)["error"]["type"] == "in_use"
        while (sent := server.client.post(f"{TALK}/interact", json={"message": "Two?"})).status_code == 409:
            pass  # until the server has noticed
        assert sent.json()["response"] == "Second."
        texts = [each["text"] for each in server.get(f"{TALK}/items?start=25")["items"]]
        assert texts.index("Let me think") < texts.index("Two?")  # it had ended before the next one began


def test_one_question_at_a_time(project: Path) -> None:
    """A second one while the model answers is told to wait; afterwards it is answered."""
    asked, may_answer = threading.Event(), threading.Event()

    class Slow(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            asked.set()
            await asyncio.to_thread(may_answer.wait, 60)
            async for each in super().stream(request):
                yield each

    with RestServer(project, model=Slow(["First.", "Second."], window=30_000)) as server:
        answers: list[Any] = []
        first = threading.Thread(target=lambda: answers.append(server.post(f"{TALK}/interact", {"message": "One?"})))
        first.start()
        assert asked.wait(60)
        assert server.post(f"{TALK}/interact", {"message": "Two?"}, 409)["error"]["type"] == "in_use"
        may_answer.set()
        first.join(60)
        assert answers[0]["response"] == "First."
        assert server.post(f"{TALK}/interact", {"message": "Two?"})["response"] == "Second."


def test_only_sessions_of_the_own_project_get_tools_of_the_machine(project: Path, tmp_path: Path) -> None:
    """The model of another project's session is asked without them, though the same server shows it."""
    made: list[str] = []

    def agent(session: Session) -> Agent:
        made.append(session.id)
        return Agent(session, model, tools=[now])

    model = ScriptedModel(["Here.", "There."], window=30_000)
    converse(tmp_path / "elsewhere", "far", turns=1, lines=2)
    with RestServer(project, model=EquippedModel(model, ["now"], agent), everywhere=True) as server:
        far = next(row["id"] for row in server.get("/api/sessions")["sessions"] if row["name"] == "far")
        assert far.startswith("far@")
        told = [server.get(path)["chat_tools"] for path in (TALK, f"/api/sessions/{far}")]
        assert told == [["now"], []]
        assert server.post(f"{TALK}/interact", {"message": "Where?"})["response"] == "Here."
        assert server.post(f"/api/sessions/{far}/interact", {"message": "Where?"})["response"] == "There."
    offered = [{tool["function"]["name"] for tool in asked["tools"]} for asked in model.asked]
    assert ("now" in offered[0], "now" in offered[1], made) == (True, False, ["talk"])


def test_tools_of_the_machine_are_only_for_loopback(tmp_path: Path) -> None:
    """A server that other machines reach does not start with them."""
    model = ScriptedModel([])
    config = Config(folder=tmp_path, host="0.0.0.0", token_hash="x" * 64)
    create_app(config, model=model)
    with pytest.raises(BadInput, match=r"only for 127\.0\.0\.1"):
        create_app(config, model=EquippedModel(model, [], lambda session: Agent(session, model)))


def now() -> str:
    """The time."""
    return "noon"


def test_without_a_model_asking_it_says_what_to_do(server: RestServer) -> None:
    """No 500, and nothing is written."""
    refused = server.post(f"{TALK}/interact", {"message": "Hi"}, 501)["error"]
    assert refused["type"] == "unavailable"
    assert server.get(TALK)["facts"]["turns"] == 6


def test_what_another_program_writes_is_seen(server: RestServer, project: Path) -> None:
    """A session that is open in the server is read on when another process appended to it."""
    count = server.get(TALK)["facts"]["items"]
    with Session.resume("talk", project) as session:
        session.user("One more thing")
    assert server.get(TALK)["facts"]["items"] == count + 1
    assert server.get(f"{TALK}/items?start={count}")["items"][0]["text"] == "One more thing"


def test_an_unchanged_answer_is_not_sent_again(server: RestServer) -> None:
    """304 for who has it; 200 again after a change."""
    tag = server.client.get(f"{TALK}/items").headers["etag"]
    for known in (tag, f'"x", W/{tag}', "*"):
        assert server.client.get(f"{TALK}/items", headers={"if-none-match": known}).status_code == 304
    server.post(f"{TALK}/items/3/pin")
    assert server.client.get(f"{TALK}/items", headers={"if-none-match": tag}).status_code == 200


def test_the_server_says_that_it_runs(server: RestServer) -> None:
    """Health, readiness and an unknown path or method."""
    assert server.get("/health")["status"] == server.get("/healthz")["status"] == "ok"
    assert server.get("/readyz")["status"] == "ready"
    assert server.get("/api/nothing", 404)["error"]["what_to_do"]
    refused = server.client.put(TALK)
    assert (refused.status_code, refused.headers["allow"]) == (405, "DELETE, GET")
    assert server.client.head(TALK).status_code == 200


@pytest.mark.parametrize("path", ["items/999999", "items/3/pin", "calls/1", "context"])
def test_an_unknown_session_is_a_404(server: RestServer, path: str) -> None:
    """Whatever is asked of it; also of ids that no session can have."""
    method = "POST" if path.endswith("pin") else "GET"
    for session_id in ("none", "..", ".hidden", "%2e%2e%2f%2e%2e%2fetc", "a b", "x" * 500, "%00", "%ff"):
        response = server.client.request(method, f"/api/sessions/{session_id}/{path}")
        assert response.status_code == 404, (session_id, response.text)
        assert response.json()["error"]["type"]
