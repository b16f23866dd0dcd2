"""A real model, a real terminal: chat, tool call, file read, gist, code, compaction, kill, and on with everything."""

import json
from pathlib import Path
from typing import Any

import pytest
from chat_place import allow
from chat_terminal import Terminal
from shaping import Shaped, reads, reports

from sightline import Budget, Session
from sightline.agent.models.endpoint import Endpoint
from sightline.documents.code.store import CodeStore
from sightline.log.stores.session_folder import Folder
from sightline.values.clock import wall_clock
from sightline.values.items import Kind, plain_text

SOURCE = "".join(
    f"def total_{n}(rows):\n    return sum(row.amount for row in rows if row.month == {n})\n\n\n" for n in range(6)
)
MARK = "row.month == 3"  # stands in the file, and in no gist of it


def configured(project: Path, url: str) -> None:
    """The project: one file, and where the model is."""
    project.mkdir()
    (project / "sales.py").write_text(SOURCE, encoding="utf-8")
    settings = "window = 4096\noutput = 300\nnative = false\ncapable = false\nattempts = 1\nseconds = 300\n"
    settings += '[tools]\nonly = ["file_reader"]'
    (project / "sightline.toml").write_text(
        f'[model]\nname = "tiny"\nbase_url = "{url}"\n{settings}\n', encoding="utf-8"
    )
    allow(project)


def said(request: dict[str, Any]) -> str:
    """All that a request says."""
    return json.dumps(request["messages"], ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.accepts(313, 351, 368)
def test_a_person_talks_to_a_real_model_and_nothing_is_lost(tmp_path: Path, tiny_model: Endpoint, soak: bool) -> None:
    """What the machinery does is in the log, in the requests and on the screen; what the model says is its own."""
    project = tmp_path / "shop"
    refers = reports("See <code_ref>code_sum_sales</code_ref>", code="code_sum_sales")
    shapes = [reads("sales.py"), reports(), refers]
    with Shaped(tiny_model.gguf, shapes, reads_all=soak) as model:
        configured(project, model.url)
        chat = Terminal(project, "--strategy", "rounds", starts_anew=True)
        chat.prompt("rounds")
        for question in ("What is in sales.py?", "Go ahead, please."):
            chat.type(f"{question}\r")
            chat.prompt("rounds")
        chat.type("/compact\r")
        chat.prompt("rounds")
        chat.kill()
        again = Terminal(project, "--continue", starts_anew=True)
        again.prompt("rounds")
        again.type("/code code_sum_sales\r")
        again.prompt("rounds")
        again.type("\x04")
        assert again.end() == 0

    read, reported, wrote = map(said, model.asked)
    assert "file_reader" in read
    assert MARK in reported  # this round in full
    assert "[file read] sales.py (python, " in wrote  # the next as its gist
    assert "functions: total_0, total_1" in wrote
    assert MARK not in wrote

    folder = Folder(project)
    [session_id] = folder.sessions()
    code = CodeStore(folder.path / "code", clock=wall_clock)
    assert [saved.code_id for saved in code.list(session_id)] == ["code_sum_sales"]
    for shown in (chat.shown, again.shown):  # referred to, and asked for after the restart
        assert code.read("code_sum_sales").split()[0] in shown
    with Session.resume(session_id, project) as session:
        items = list(session.items)
        texts = [plain_text(item.parts) for item in items if item.kind is Kind.USER]
        assert texts == ["What is in sales.py?", "Go ahead, please."]
        assert any(SOURCE in plain_text(item.parts) for item in items if item.kind is Kind.RESULT)
        assert [item.kind for item in items].count(Kind.SUMMARY) == 1
        shown = str(session.preview(Budget(window=4096, output=300)).openai())
        assert "code_sum_sales" in shown
        assert MARK not in shown
