"""A window that all sessions of a project share: one log, several writers, nothing lost."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from sightline import Budget, MemoryStore, PostgresStores, Refused, Session
from sightline.apps.shared_windows import SharingWindowLog
from sightline.cli.main import app
from sightline.compose.verify import verify
from sightline.errors import BadInput
from sightline.log.stores import Stores
from sightline.log.stores.memory import MemoryStores
from sightline.log.stores.session_folder import Folder
from sightline.values.items import Call, Message, Role, plain_text

BUDGET = Budget(20_000)
APPS = ["notebook", "todo"]


@pytest.fixture(params=["memory", "files", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """The stores of one project, in each kind of place."""
    match request.param:
        case "memory":
            yield MemoryStores()
        case "files":
            yield Folder(tmp_path / "project", tmp_path / "root")
        case _:
            with closing(PostgresStores(request.getfixturevalue("url"))) as stores:
                yield stores


def begun(stores: Stores, session_id: str, project: str = "/shop") -> Session:
    session = Session.new(project, stores=stores, session_id=session_id, apps=APPS, shared=["notebook"])
    session.user("Keep notes.")
    return session


def add(session: Session, entry: str) -> None:
    assert session.windows.act("notebook", "add", entry_id=entry, title=f"About {entry}").success


def tail(session: Session) -> str:
    return "\n".join(plain_text(message.parts) for message in session.compose(BUDGET).tail)


def test_sessions_of_a_project_see_each_others_notes(places: Stores) -> None:
    """Each records the version that it showed, so what it sent still follows from its log."""
    with begun(places, "one") as one, begun(places, "two") as two:
        assert one.windows.open("notebook") == two.windows.open("notebook") == "notebook"
        add(one, "milk")
        assert "milk" in tail(two)
        add(two, "bread")
        assert "About bread" in tail(one)
        add(one, "salt")
        assert all(f"About {entry}" in tail(two) for entry in ("milk", "bread", "salt"))
        assert [window.document.version.major for window in map(_notebook, (one, two))] == [4, 4]
        assert is_verified(one)
        assert is_verified(two)
    assert set(places.sessions()) == {"one", "two"}


def test_the_window_outlives_its_sessions(places: Stores) -> None:
    """A later session has the notes at once; one of another project has none."""
    with begun(places, "one") as one:
        one.windows.open("notebook")
        add(one, "milk")
    with begun(places, "two") as two:
        two.windows.open("notebook")
        assert "About milk" in tail(two)
        two.windows.close("notebook", "the list")
    with Session.resume("one", "/shop", stores=places, apps=APPS, shared=["notebook"]) as one:
        add(one, "bread")
        assert "About bread" in tail(one)
        assert is_verified(one)
    if not isinstance(places, Folder):  # a folder is of one project
        with begun(places, "three", "/garden") as three:
            three.windows.open("notebook")
            assert "milk" not in tail(three)


def test_a_closed_shared_window_is_read_as_this_session_saw_it(places: Stores) -> None:
    """Its handle leads to the version at which it was closed here, whatever others write later."""
    with begun(places, "one") as one, begun(places, "two") as two:
        handle = _opened(one)
        two.windows.open("notebook")
        add(one, "milk")
        one.windows.close("notebook")
        add(two, "bread")
        text = one.items.expand(handle)
        assert "About milk" in text
        assert "bread" not in text


def test_a_call_is_not_carried_out_twice(places: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program ended after the shared log had the note, and before the session's own log had it."""
    arguments = {"window_id": "notebook", "action_id": "add", "params": {"entry_id": "milk", "title": "Milk"}}
    call = Call("c1", "action", arguments)

    def end(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    with begun(places, "one") as one:
        one.windows.open("notebook")
        one.tools([*one.windows.tools()])
        one.add(Message(Role.ASSISTANT, (call,)))
        with monkeypatch.context() as patch:
            patch.setattr(SharingWindowLog, "_note_change", end)
            with pytest.raises(KeyboardInterrupt):
                one.windows.call(call)
    with Session.resume("one", "/shop", stores=places, apps=APPS, shared=["notebook"]) as one:
        assert not one.answer_own_calls()
        assert [answered.outcome.success for answered in one.answered if answered.outcome] == [True]
        assert [entry.id for entry in _notebook(one).app.entries] == ["milk"]


def test_only_what_is_meant_for_it_is_shared(places: Stores) -> None:
    """The project names apps, and their classes allow it."""
    with (
        Session.new("/shop", stores=places, apps=APPS, shared=["todo"]) as session,
        pytest.raises(Refused, match="todo"),
    ):
        session.windows.open("todo")
    with pytest.raises(BadInput, match="shared="):
        Session.new("/shop", stores=places, shared="notebook")
    with pytest.raises(BadInput, match=r"Session\.open, new and resume"):
        Session(MemoryStore(), shared=["notebook"])  # type: ignore[arg-type]


def test_a_project_says_which_apps_its_sessions_share(tmp_path: Path) -> None:
    """In its `sightline.toml`, for every session that says nothing else; a session may still name its own."""
    (tmp_path / "sightline.toml").write_text('[tools]\nshared = ["notebook"]\n')
    stores = MemoryStores()
    opened = [Session.new(tmp_path, stores=stores, apps=APPS, session_id=name, **options)
              for name, options in {"one": {}, "two": {}, "own": {"shared": []}}.items()]  # fmt: skip
    one, two, own = opened
    try:
        assert [session.windows.open("notebook") for session in opened] == ["notebook", "notebook", "notebook_1"]
        assert one.windows.open("todo") == "todo_1"
        add(one, "milk")
        assert "About milk" in tail(two)
        assert "milk" not in tail(own)
    finally:
        for session in opened:
            session.close()


@pytest.mark.parametrize("shared", ['"notebook"', "[1]", "{}"])
def test_what_names_no_apps_is_refused_when_one_is_opened(shared: str, tmp_path: Path) -> None:
    """The error names the file and the key; the model is told, and its session goes on."""
    (tmp_path / "sightline.toml").write_text(f"[tools]\nshared = {shared}\n")
    with Session.new(tmp_path, stores=MemoryStores(), apps=["notebook"]) as session:
        with pytest.raises(BadInput, match=r"sightline\.toml: tools\.shared are names of apps"):
            session.windows.open("notebook")
        outcome = session.windows.call(Call("", "create", {"name": "notebook"}))
        assert not outcome.success
        assert "tools.shared" in outcome.message


def test_a_shared_window_stays_shared_in_a_session_that_does_not_name_it(places: Stores) -> None:
    """It was opened as one: who resumes the session, or looks at it, sees what is in it and adds to it."""
    with begun(places, "one") as one, begun(places, "two") as two:
        one.windows.open("notebook")
        two.windows.open("notebook")
        add(one, "milk")
    with Session.resume("one", "/shop", stores=places, apps=APPS) as one:
        assert "About milk" in tail(one)
        add(one, "bread")
    with Session.inspect("two", "/shop", stores=places, apps=APPS) as two:
        assert "About bread" in two.items.expand(two.log.timeline.id(two.log.timeline.windows["notebook"][-1]))
    with Session.resume("two", "/shop", stores=places, apps=APPS) as two:
        assert "About bread" in tail(two)
        assert is_verified(two)


_WRITER = """
import sys
from sightline import PostgresStores, Session
from sightline.log.stores.session_folder import Folder

place, name = sys.argv[1:]
stores = PostgresStores(place) if "://" in place else Folder(place + "/project", place + "/root")
session = Session.new("/shop", stores=stores, session_id=name, apps=["notebook"], shared=["notebook"])
session.windows.open("notebook")
number = 0
while number < 400:
    number += 1
    outcome = None
    while outcome is None or outcome.reason == "stale":  # the other one was quicker a hundred times: look again
        outcome = session.windows.act("notebook", "add", entry_id=f"{name}{number}", title="note")
    assert outcome.success, outcome
    print(f"{name}{number}", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["files", "postgres"])
def test_two_writers_and_a_kill_lose_nothing_acknowledged(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Two processes write at once. One is killed in between; all that either was told is written is there."""
    place = str(tmp_path) if kind == "files" else request.getfixturevalue("url")
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, place, name], stdout=subprocess.PIPE, text=True, env=env)
        for name in "ab"
    ]
    told = [_read(writers[0], 12), _read(writers[1], 12)]
    writers[0].send_signal(signal.SIGKILL)
    told[0] += (writers[0].communicate()[0] or "").split()
    told[1] += _read(writers[1], 12)
    writers[1].kill()
    told[1] += (writers[1].communicate()[0] or "").split()
    stores: Stores = Folder(tmp_path / "project", tmp_path / "root") if kind == "files" else PostgresStores(place)
    with begun(stores, "reader") as session:
        session.windows.open("notebook")
        kept = [entry.id for entry in _notebook(session).app.entries]
    if isinstance(stores, PostgresStores):
        stores.close()
    assert {*told[0], *told[1]} <= {*kept}
    assert len(kept) == len({*kept})
    assert [entry for entry in kept if entry[0] == "b"] == [
        f"b{at}" for at in range(1, 1 + sum(e[0] == "b" for e in kept))
    ]


def _read(writer: "subprocess.Popen[str]", count: int) -> list[str]:
    assert writer.stdout is not None
    return [writer.stdout.readline().strip() for _ in range(count)]


def _opened(session: Session) -> str:
    session.windows.open("notebook")
    return session.log.timeline.id(session.log.timeline.windows["notebook"][-1])


def _notebook(session: Session):  # type: ignore[no-untyped-def]
    window = session.windows.window("notebook")
    assert window is not None
    return window


def is_verified(session: Session) -> bool:
    """Whether the session sent something, and all of it still follows from its log."""
    payloads = [payload.good for payload in verify(session.log)]
    return bool(payloads) and all(payloads)


@pytest.mark.slow
def test_a_copy_of_a_place_has_the_shared_windows(tmp_path: Path, url: str) -> None:
    """From a project's files into a database and back into a backup: each session goes on with the same notes."""
    project, root = tmp_path / "shop", tmp_path / "root"
    project.mkdir()
    with begun(Folder(project, root), "one", str(project)) as session:
        session.windows.open("notebook")
        add(session, "milk")

    def copy(source: str, target: str) -> str:
        done = CliRunner().invoke(
            app, ["--project", str(project), "--root", str(root), "store", "copy", source, target]
        )
        assert done.exit_code == 0, done.output
        return done.output

    assert "notebook: copied" in copy(str(project), url)
    with closing(PostgresStores(url)) as database:
        assert database.sessions() == ["one"]
        with Session.resume("one", project, stores=database, apps=APPS) as session:
            assert "About milk" in tail(session)
            add(session, "bread")
            assert is_verified(session)
    copy(url, str(tmp_path / "backup"))
    with Session.resume("one", project, stores=Folder.at(tmp_path / "backup"), apps=APPS) as session:
        assert "About bread" in tail(session)
        add(session, "salt")
    assert "is there already" in copy(url, str(tmp_path / "backup2")) + copy(url, str(tmp_path / "backup2"))
