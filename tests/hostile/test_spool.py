"""What cannot be logged while the database is away waits on the server's disk, and is brought in once."""

import json
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from tenant_servers import Tenancy
from through_proxy import Talk, Through
from upstream_script import answer

from postgres_server import PostgresServer
from sightline import PostgresStores, Session
from sightline.fleet.database import Database
from sightline.fleet.errors import Unreachable
from sightline.follow.turns import Turns
from sightline.log.stores.disk import OsFile

WIRES = ("anthropic", "chat", "responses", "gemini")
STREAMED = [(wire, stream) for wire in WIRES for stream in (False, True)]


@contextmanager
def away(stores: PostgresStores) -> Iterator[None]:
    """The database is away while the block runs."""

    def refuse(self: Database) -> Any:
        raise Unreachable(self.address.shown, "the database is away")

    stores.database.patience = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "_opened", refuse)
        yield


@contextmanager
def served(home: Path, stores: PostgresStores, script: Any = None, **config: Any) -> Iterator[Through]:
    """A proxy over this database. The pause between two attempts is none."""
    with pytest.MonkeyPatch.context() as patch, Through(home, script or numbered()) as through:
        patch.setattr("sightline.server.spool._PAUSE", 0.0)
        through.server.stop()  # type: ignore[union-attr]
        through.start(stores=stores, **config)
        yield through


def numbered() -> Callable[[Any], Any]:
    """A model that says something else each time."""
    said = iter(range(1, 1_000))
    return lambda _asked: answer(f"Answer {next(said)}.")


def files(folder: Path) -> list[Path]:
    return sorted((folder / "logs" / "spool").rglob("*.jsonl"))


def logged(stores: PostgresStores, folder: Path) -> list[list[str]]:
    """The texts of each branch of the one session there is."""
    [name] = [name for name in stores.sessions() if name.startswith("proxy-")]
    texts = []
    with Session.inspect(name, folder, stores=stores) as session:
        branches = session.branches
    for branch in branches:
        with Session.inspect(name, folder, stores=stores, branch=branch) as session:
            texts.append([session.items.text(item.id) for item in session.items])
    return texts


def metric(through: Through, name: str) -> float:
    text = through.server.request("GET", "/metrics", {}).text  # type: ignore[union-attr]
    return float(next(line for line in text.splitlines() if line.startswith(f"{name} ")).split()[1])


@pytest.mark.slow
@pytest.mark.parametrize(("wire", "stream"), STREAMED)
def test_calls_of_an_outage_are_in_the_log_afterwards(
    wire: str, stream: bool, tmp_path: Path, stores: PostgresStores
) -> None:
    """Each once, in order, on one branch, when the conversation goes on."""
    with served(tmp_path, stores) as through:
        talk = Talk(through, wire, stream=stream)
        talk.say("One")
        with away(stores):
            talk.say("Two")
            talk.say("Three")
            [file] = files(tmp_path)
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert not file.parent.stat().st_mode & 0o077
            assert metric(through, "sightline_spool_bytes") == file.stat().st_size
        talk.say("Four")
        assert files(tmp_path) == []
        assert metric(through, "sightline_spool_bytes") == 0
        assert metric(through, "sightline_brought_in_total") == 2
        assert through.totals.unlogged == 2
        assert through.totals.calls == 4
    said = ["One", "Answer 1.", "Two", "Answer 2.", "Three", "Answer 3.", "Four", "Answer 4."]
    assert logged(stores, tmp_path) == [said]


def talked_during_outage(through: Through, stores: PostgresStores, wire: str = "chat") -> Talk:
    talk = Talk(through, wire)
    talk.say("One")
    with away(stores):
        talk.say("Two")
        talk.say("Three")
    return talk


SAID = ["One", "Answer 1.", "Two", "Answer 2.", "Three", "Answer 3."]


def wait_until(is_done: Callable[[], bool], through: Through) -> None:
    """The server works in the background; it runs while it answers anything."""
    end = time.monotonic() + 60
    while not is_done():
        assert time.monotonic() < end, "it still waits"
        through.server.request("GET", "/healthz", {})  # type: ignore[union-attr]


def wait_until_brought_in(through: Through, folder: Path) -> None:
    """The server brings in what waits without being asked."""
    wait_until(lambda: not files(folder), through)


@pytest.mark.slow
def test_what_a_killed_server_left_is_brought_in_by_the_next(tmp_path: Path, stores: PostgresStores) -> None:
    """Without a request of that conversation, also where the end of a line never reached the disk."""
    with served(tmp_path, stores) as through:
        talked_during_outage(through, stores)
        through.server.stop()  # type: ignore[union-attr]
        with files(tmp_path)[0].open("ab") as file:
            file.write(b'0123456789abcdef {"format":["ope')
        through.start(stores=stores)
        wait_until_brought_in(through, tmp_path)
    assert logged(stores, tmp_path) == [SAID]


@pytest.mark.slow
def test_what_is_brought_in_twice_is_there_once(tmp_path: Path, stores: PostgresStores) -> None:
    """A server may be killed after the log has it and before the spool is rid of it."""
    with served(tmp_path, stores) as through:
        talk = talked_during_outage(through, stores)
        [file] = files(tmp_path)
        shutil.copy(file, kept := tmp_path / "kept")
        talk.say("Four")
        through.server.stop()  # type: ignore[union-attr]
        shutil.copy(kept, file)
        through.start(stores=stores)
        wait_until_brought_in(through, tmp_path)
    assert logged(stores, tmp_path) == [[*SAID, "Four", "Answer 4."]]


@contextmanager
def lost_after(steps: int, stores: PostgresStores, *, is_known: bool = False) -> Iterator[list[str]]:
    """The database goes away again after so many steps of logging; `is_known`: the last one is known to be done.

    Gives the steps that were done.
    """
    done: list[str] = []
    with pytest.MonkeyPatch.context() as patch, ExitStack() as outage:
        for name, step in [(name, getattr(Turns, name)) for name in ("prepare", "reply", "expect")]:

            def act(self: Turns, *args: Any, step: Any = step, name: str = name, **more: Any) -> Any:
                result = step(self, *args, **more)
                done.append(name)
                if len(done) == steps:
                    outage.enter_context(away(stores))
                    if not is_known:
                        stores.check()  # raises
                return result

            patch.setattr(Turns, name, act)
        yield done


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("steps", range(1, 7))
def test_a_server_that_ends_while_it_brings_in(
    steps: int, elsewhere: bool, tmp_path: Path, stores: PostgresStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any step: all is there once, also where the agent went on at another server before the rest was there."""
    monkeypatch.setattr("sightline.server.late_log._BRING_SECONDS", 0.01)
    with served(tmp_path / "a", stores, folder=tmp_path) as one, served(tmp_path / "b", stores, folder=tmp_path) as two:
        talk = Talk(one, "chat")
        talk.say("One")
        with away(stores):
            talk.say("Two")
            talk.say("Three")
            one.server.stop()  # type: ignore[union-attr]
        with lost_after(steps, stores) as done:
            one.start(stores=stores, folder=tmp_path)
            wait_until(lambda: len(done) == steps, one)
            one.server.stop()  # type: ignore[union-attr]
        assert done == (["prepare", "reply", "expect"] * 2)[:steps]
        assert files(tmp_path / "a")
        if elsewhere:
            talk.through = two
            talk.say("Four")
        one.start(stores=stores, folder=tmp_path)
        wait_until_brought_in(one, tmp_path / "a")
        talk.say("Five")
    assert logged(stores, tmp_path) == [[message["content"] for message in talk.list]]


@pytest.mark.slow
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_an_answer_in_the_log_is_there_once_when_the_database_is_lost_after_it(
    wire: str, is_known: bool, tmp_path: Path, stores: PostgresStores
) -> None:
    """Before the server could note how its client knows it; also what goes on from an id of the provider's."""

    def post(text: str, **goes_on: str) -> dict[str, str]:
        if wire == "chat":
            talk.say(text)
            return {}
        body = {"model": "gpt-5.2", "input": text, "store": True} | goes_on
        return {"previous_response_id": through.post(wire, body).json()["id"]}

    with served(tmp_path, stores) as through:
        talk = Talk(through, wire)
        goes_on = post("One")
        with lost_after(2, stores, is_known=is_known):  # the request and its answer
            goes_on = post("Two", **goes_on)
        assert files(tmp_path)
        goes_on = post("Three", **goes_on)
        assert files(tmp_path) == []
    assert logged(stores, tmp_path) == [SAID]


@pytest.mark.slow
def test_a_spool_of_two_servers_is_there_once(tmp_path: Path, stores: PostgresStores) -> None:
    """The agent went on at another server, which got its whole list, before the first one brought in what it had."""
    with served(tmp_path / "a", stores, folder=tmp_path) as one, served(tmp_path / "b", stores, folder=tmp_path) as two:
        talk = talked_during_outage(one, stores)
        talk.through = two
        talk.say("Four")
        assert files(tmp_path / "a")
        wait_until_brought_in(one, tmp_path / "a")
    assert logged(stores, tmp_path) == [[*SAID, "Four", "Answer 1."]]


@pytest.mark.slow
@pytest.mark.parametrize("first", ["a", "b", "a, as it is asked", "b, as it is asked"])
@pytest.mark.parametrize("turns", ["abab", "aabb", "abba", "bbaab"])
def test_two_servers_that_took_turns_have_one_conversation(
    turns: str, first: str, tmp_path: Path, stores: PostgresStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a part in its spool, and whole lists with the answers of the other, in whatever order they come."""
    monkeypatch.setattr("sightline.server.late_log._BRING_SECONDS", 0.01)
    with served(tmp_path / "a", stores, folder=tmp_path) as one, served(tmp_path / "b", stores, folder=tmp_path) as two:
        servers = {"a": one, "b": two}
        talk = Talk(one, "chat")
        talk.say("One")
        with away(stores):
            for number, turn in enumerate(turns):
                talk.through = servers[turn]
                talk.say(f"Question {number}")
            for through in servers.values():
                through.server.stop()  # type: ignore[union-attr]
        if "asked" in first:  # only then
            monkeypatch.setattr("sightline.server.late_log.LateLog.begin", lambda _: None)
        for name in sorted(servers, reverse=first.startswith("b")):
            servers[name].start(stores=stores, folder=tmp_path)
            talk.through = servers[name]
            if "asked" in first:
                talk.say(f"And now, {name}?")
            else:
                wait_until_brought_in(servers[name], tmp_path / name)
        assert files(tmp_path / "a") == files(tmp_path / "b") == []
    assert logged(stores, tmp_path) == [[message["content"] for message in talk.list]]


@pytest.mark.slow
def test_a_conversation_that_went_on_elsewhere_has_both(tmp_path: Path, stores: PostgresStores) -> None:
    """From another point: what waited is a branch."""
    with served(tmp_path / "a", stores, folder=tmp_path) as one, served(tmp_path / "b", stores, folder=tmp_path) as two:
        talk = talked_during_outage(one, stores)
        other = Talk(two, "chat")
        other.list = talk.list[:2]
        other.say("Elsewhere")
        wait_until_brought_in(one, tmp_path / "a")
    assert sorted(logged(stores, tmp_path)) == sorted([SAID, ["One", "Answer 1.", "Elsewhere", "Answer 1."]])


@pytest.mark.slow
def test_two_processes_of_one_machine_have_a_spool_each(tmp_path: Path, stores: PostgresStores) -> None:
    """None takes what a living one waits with; what both had is in the log."""
    with served(tmp_path, stores) as one, served(tmp_path, stores) as two:
        talks = [Talk(one, "chat"), Talk(two, "anthropic")]
        with away(stores):
            for talk in talks:
                talk.say("Hello")
        assert len({file.parent for file in files(tmp_path)}) == 2
        talks[0].say("Again")
        assert len(files(tmp_path)) == 1
        talks[1].say("Again")
        assert files(tmp_path) == []
    for name in stores.sessions():
        with Session.inspect(name, tmp_path, stores=stores) as session:
            texts = [session.items.text(item.id) for item in session.items]
            assert texts == ["Hello", "Answer 1.", "Again", "Answer 2."]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["no room", "a disk that refuses"])
def test_what_can_be_kept_nowhere_is_refused(how: str, tmp_path: Path, stores: PostgresStores) -> None:
    """503 and when to try again; nothing goes up. With the database everything works again."""
    if how != "no room":
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs" / "spool").write_bytes(b"a file, and no folder")
    with served(tmp_path, stores, **({"spool_bytes": 8_000} if how == "no room" else {})) as through:
        talk = Talk(through, "chat")
        talk.say("One")
        with away(stores):
            answers = []
            for number in range(8):
                talk.list.append({"role": "user", "content": f"Question {number}: {'why ' * 200}"})
                response = through.post("chat", talk.body())
                answers.append(response)
                if response.status_code != 200:
                    talk.list.pop()
                    continue
                talk.list.append({"role": "assistant", "content": response.json()["choices"][0]["message"]["content"]})
            refused = [response for response in answers if response.status_code == 503]
            assert refused
            assert all(response.headers["retry-after"] == "10" for response in refused)
            asked = len(through.upstream.asked)
            assert through.post("chat", talk.body()).status_code == 503
            assert len(through.upstream.asked) == asked
            assert asked <= 2 + len(answers) - len(refused), "only the first one went up before that was known"
        talk.say("Last")
        said = [text["content"] for text in talk.list]
        assert said in logged(stores, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("window", [None, 3_000])
@pytest.mark.parametrize("stream", [False, True])
def test_a_database_that_goes_away_while_the_model_answers(
    stream: bool, window: int | None, tmp_path: Path, stores: PostgresStores
) -> None:
    """The request may be in the log already, with its receipt, and the answer waits."""
    outage: list[Any] = []

    def respond(asked: Any) -> Any:
        if "Away" in str(asked.body["messages"][-1]):
            outage.append(away(stores))
            outage[-1].__enter__()
        return answer(f"Answer to {len(asked.body['messages'])} messages.")

    with served(tmp_path, stores, respond, window=window) as through:
        talk = Talk(through, "chat", stream=stream)
        for number in range(30):
            talk.say(f"Part {number}: " + "the valve opens and shuts again, " * 20)
        talk.say("Away")
        outage.pop().__exit__(None, None, None)
        assert files(tmp_path)
        talk.say("Back")
        assert files(tmp_path) == []
    [texts] = [texts for texts in logged(stores, tmp_path) if "Back" in texts]
    at = texts.index("Away")
    assert texts[at + 1].startswith("Answer to ")
    assert texts[at + 2] == "Back"
    assert sum(text == "Away" for branch in logged(stores, tmp_path) for text in branch) == 1


@pytest.mark.slow
def test_what_the_provider_keeps_is_logged_where_it_goes_on(tmp_path: Path, stores: PostgresStores) -> None:
    """Requests that have only what is new, and the id of a reply before: their chain is whole."""

    def post(listed: str, **fields: Any) -> str:
        response = through.post("responses", {"model": "gpt-5.2", "input": listed, "store": True} | fields)
        assert response.status_code == 200, response.text
        return str(response.json()["id"])

    with served(tmp_path, stores) as through:
        last = post("One")
        with away(stores):
            last = post("Two", previous_response_id=last)
            last = post("Three", previous_response_id=last)
            assert b"Bearer" not in b"".join(file.read_bytes() for file in files(tmp_path))
        post("Four", previous_response_id=last)
        assert files(tmp_path) == []
    assert logged(stores, tmp_path) == [[*SAID, "Four", "Answer 4."]]


@pytest.mark.slow
def test_a_damaged_spool_is_told_and_kept(
    tmp_path: Path, stores: PostgresStores, caplog: pytest.LogCaptureFixture
) -> None:
    """What was written before the damage is logged, nothing of it or after it. Others are brought in."""
    with served(tmp_path, stores) as through:
        talked_during_outage(through, stores)
        [file] = files(tmp_path)
        file.write_bytes(file.read_bytes().replace(b"Three", b"Thrxe"))
        with away(stores):
            Talk(through, "anthropic").say("Another")
        wait = [one for one in files(tmp_path) if one != file]
        assert wait
        wait_until(lambda: not wait[0].exists(), through)
    assert files(tmp_path) == [file]
    assert "is not as it was written" in caplog.text
    names = [name for name in stores.sessions() if name.startswith("proxy-")]
    sessions = [Session.inspect(name, tmp_path, stores=stores) for name in names]
    texts = [[session.items.text(item.id) for item in session.items] for session in sessions]
    for session in sessions:
        session.close()
    assert sorted(texts) == sorted([SAID[:4], ["Another", "Answer 4."]])


@pytest.mark.slow
def test_a_body_in_several_lines_is_one_line(tmp_path: Path, stores: PostgresStores) -> None:
    """However a client writes its JSON."""
    with served(tmp_path, stores) as through:
        body = {"model": "gpt-5.2", "messages": [{"role": "user", "content": "One\n\u2028two \U0001f600"}]}
        with away(stores):
            assert through.post("chat", json.dumps(body, indent=2).encode()).status_code == 200
        wait_until_brought_in(through, tmp_path)
    assert logged(stores, tmp_path) == [["One\n\u2028two \U0001f600", "Answer 1."]]


@pytest.mark.slow
def test_each_tenant_has_a_spool_of_its_own(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What waits when the server ends is brought in by the next one, without a request of the tenant."""
    monkeypatch.setattr("sightline.server.spool._PAUSE", 0.0)
    monkeypatch.setattr("sightline.server.late_log._BRING_SECONDS", 0.01)
    with Tenancy(tmp_path, postgres, servers=0) as tenancy:
        first = tenancy.start(tmp_path / "machine")
        for name in ("acme", "globex"):
            tenancy.tenant(name)
            assert tenancy.ask(tenancy.client(name), f"I am {name}").status_code == 200
        with away(tenancy.stores):
            for name in ("acme", "globex"):
                said = (f"I am {name}", "Understood.", f"A secret of {name}")
                assert tenancy.ask(tenancy.client(name), *said).status_code == 200
            spools = [*(tmp_path / "machine").rglob("*.jsonl")]
            assert len({spool.parents[3] for spool in spools}) == len(spools) == 2
            assert all((b"acme" in spool.read_bytes()) != (b"globex" in spool.read_bytes()) for spool in spools)
            first.stop()
        assert "Traceback" not in caplog.text
        tenancy.start(tmp_path / "machine")
        somebody, end = tenancy.client("", server=1), time.monotonic() + 60
        while any(spool.exists() for spool in spools):
            assert time.monotonic() < end, "it still waits"
            somebody.get("/healthz")
        for name in ("acme", "globex"):
            stores = tenancy.stores.for_tenant(name)
            [session_id] = stores.sessions()
            with Session.inspect(session_id, tmp_path, stores=stores) as session:
                texts = [session.items.text(item.id) for item in session.items]
            assert texts == [f"I am {name}", "Understood.", f"A secret of {name}", "Understood."]


@pytest.mark.slow
def test_a_server_may_keep_nothing(tmp_path: Path, stores: PostgresStores) -> None:
    """Then calls pass and are counted."""
    with served(tmp_path, stores, spool_bytes=0) as through:
        talked_during_outage(through, stores)
        assert files(tmp_path) == []
        assert through.totals.unlogged == 2
    assert logged(stores, tmp_path) == [["One", "Answer 1."]]


@pytest.mark.slow
def test_each_line_is_synced_before_the_call_goes_on(
    tmp_path: Path, stores: PostgresStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request before its answer is shown, and the answer before its end is."""
    sync, synced = OsFile.sync, list[int]()

    def note(file: OsFile) -> None:
        sync(file)
        synced.append(file.size())

    with served(tmp_path, stores) as through:
        talk = Talk(through, "chat")
        talk.say("One")
        monkeypatch.setattr(OsFile, "sync", note)
        with away(stores):
            talk.say("Two")
            [file] = files(tmp_path)
            ends = list(accumulate(len(line) for line in file.read_bytes().splitlines(keepends=True)))
            assert synced == ends
