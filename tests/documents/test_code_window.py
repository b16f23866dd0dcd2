"""The list of code as a window."""

import asyncio
import json
from pathlib import Path

import pytest

from sightline.agent.agent import Agent
from sightline.documents.code.store import CodeStore
from sightline.documents.code_window import code_list
from sightline.documents.saved_code import SavedCode
from sightline.session.session import Session
from sightline.testing import MemoryStore, ScriptedModel, Ticking
from sightline.values.items import Lod

pytestmark = pytest.mark.slow


def test_a_long_list_is_shortened_and_never_gone(tmp_path: Path) -> None:
    """With more code than fits, the newest are listed, the newest of them first, and how many more there are."""
    store = CodeStore(tmp_path, clock=Ticking())
    for number in range(60):
        store.store(f"code_number_{number:02}", "x = 1\n", description="does something " * 8, session_id="s")
    model = ScriptedModel(["a"], window=2_000, output=200)
    made = Session(MemoryStore("s"), clock=Ticking())
    asyncio.run(Agent(made, model, extension=SavedCode(store, made)).query("hi"))
    shown = json.dumps(model.asked[0]["messages"][-1])
    assert "code_number_59" in shown
    assert "code_number_10" not in shown
    assert "older: file_reader reads each by its id" in shown


def test_each_level_says_how_many_more(tmp_path: Path) -> None:
    """In full all of them, in the order they were stored; twenty and five of the newest below that."""
    store = CodeStore(tmp_path, clock=Ticking())
    for number in range(30):
        store.store(f"code_number_{number:02}", "x = 1\n", session_id="s")
    session = Session(MemoryStore("s"), apps=[code_list(store, "s")], clock=Ticking())
    window = session.windows.window(session.windows.open("code_list"))
    assert window is not None
    listed = {lod: [element.text for element in window.app.page(lod).elements] for lod in Lod}
    assert [len(listed[lod]) for lod in (Lod.FULL, Lod.SUMMARY, Lod.GIST)] == [32, 23, 8]
    assert "code_number_00" in listed[Lod.FULL][1]
    assert "code_number_29" in listed[Lod.GIST][1]
    assert "25 older" in listed[Lod.GIST][-2]
    assert listed[Lod.GIST][-1] == listed[Lod.FULL][-1]
