"""Windows survive what sessions survive."""

import json
import subprocess
import sys
from pathlib import Path

from windowed import APPS, BUDGET

from sightline.compose.verify import verify
from sightline.session.session import Session
from sightline.values.items import plain_text


def test_a_killed_session_shows_its_live_windows_as_they_are_now(tmp_path: Path) -> None:
    """A model opens three apps, acts in each and closes one; after SIGKILL the other two are there, up to date."""
    project, root = tmp_path / "ship", tmp_path / "home"
    project.mkdir()
    (project / "plan.txt").write_text("monday: nothing\ntuesday: sail\n")
    script = Path(__file__).with_name("windowed.py")
    child = subprocess.Popen([sys.executable, script, root, project], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child.stdout:
        done = json.loads(child.stdout.readline())
        child.kill()
        child.wait()
    assert done["asked"] == 10
    assert (project / "plan.txt").read_text() == "monday: hull\ntuesday: sail\n"
    (project / "plan.txt").write_text("monday: hull\ntuesday: sail\nwednesday: rest\n")  # somebody else goes on
    with Session.resume("windows", project, root=root, apps=APPS) as session:
        shown = [plain_text(message.parts) for message in session.compose(BUDGET).tail]
        assert sorted(text.split('"')[1] for text in shown) == ["editor_1", "todo_1"]
        todo, editor = sorted(shown, key=lambda text: "editor_1" in text)
        assert "paint the hull" in todo
        assert "buy rope" in todo
        assert "wednesday: rest" in editor
        assert session.windows.act("todo_1", "toggle", index=2).success
        assert all(each.good for each in verify(session.log))
