"""A chat without tools: for a model that is too small for them, or where somebody said so. Plain text, both ways."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from chat_place import allow, configured, talked
from stub import Stub, answer

QUESTION = [{"role": "user", "content": "Hello?"}]
SMALL = """native = false
tools = false
"""


def shop(tmp_path: Path, url: str, more: str = "") -> Path:
    """A project with the usual models, and one that is too small for tools."""
    project = configured(tmp_path / "shop", url, more)
    with (project / "sightline.toml").open("a") as file:
        file.write(f'[models.small]\nname = "small"\nbase_url = "{url}/v1"\nattempts = 1\n{SMALL}')
    return allow(project)


def asked(stub: Stub, number: int = -1) -> dict[str, Any]:
    """What the model was told: the messages, and whatever gives them a form."""
    return {
        name: value
        for name, value in stub.asked[number].body.items()
        if name in ("messages", "tools", "response_format")
    }


@pytest.mark.parametrize("how", [{"model": "small"}, {"no_tools": True}, {"model": "small", "no_tools": True}])
def test_it_is_sent_the_question_and_nothing_else(tmp_path: Path, how: dict[str, Any]) -> None:
    """No tools, no windows, nothing to recall with, no form of an answer; what it says is the answer."""
    with Stub([answer("Hello.")]) as stub:
        talked(shop(tmp_path, stub.url), ["Hello?"], **how)
    assert asked(stub) == {"messages": QUESTION}


@pytest.mark.slow
def test_a_small_model_is_greeted_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the language of the chat; not where somebody wanted no tools anyway, nor to a script."""
    with Stub([]) as stub:
        project = shop(tmp_path, stub.url)
        talked(project, [], model="small")
        assert "small is too small to use tools" in capsys.readouterr().err
        talked(project, [], model="small", language="zh")
        assert "small 太小，无法使用工具" in capsys.readouterr().err
        talked(project, [])
        talked(project, [], model="small", no_tools=True)
        talked(project, [], model="small", question="Hello?")
        told = capsys.readouterr().err
        assert "too small" not in told
        assert "small does not tell its context window: 8,192 tokens are assumed. Set `window`" in " ".join(
            told.split()
        )


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_is_not_told_of_tools_that_it_has_not(tmp_path: Path, language: str) -> None:
    """However long the chat is: neither where messages are left out nor above a summary. Another model is."""
    named = re.compile(r"\brecall\b|\bexpand\b|展开")
    lines = [f"question {n}: " + " ".join(f"word{n}x{k}" for k in range(36)) for n in range(50)]
    with Stub([answer("A short answer, number one."), *(answer(f"Short answer {n}.") for n in range(120))]) as stub:
        project = shop(tmp_path, stub.url)
        chat = talked(project, [*lines, "/compact", *lines[:6]], no_tools=True, window=8_000, language=language)
        bodies = [json.dumps(each.body, ensure_ascii=False) for each in stub.asked]
        assert any("left out here" in body or "此处省略了" in body for body in bodies)
        assert any("summary of the conversation up to here" in body or "对话总结" in body for body in bodies)
        assert not [body for body in bodies if named.search(body)]
        talked(project, ["And now?"], resume=chat.session.id, language=language)
        assert "recall(query)" in json.dumps(stub.asked[-1].body["messages"])


@pytest.mark.slow
@pytest.mark.parametrize("said", [[], ["Hello?"]])
def test_tools_come_and_go_with_the_model(tmp_path: Path, said: list[str]) -> None:
    """In one session, whether something has been said in it or not."""
    with Stub([answer("Hello.") for _ in range(4)]) as stub:
        project = shop(tmp_path, stub.url)
        before = talked(project, [*said, "/model small", "Hello?", "/model stub", "Hello?"])
        asked_small, asked_big = asked(stub, -2), asked(stub)
        again = talked(project, [], continue_=True)
    assert before.session.id == again.session.id
    assert not {"tools", "response_format"} & set(asked_small)
    names = {each["function"]["name"] for each in asked_big["tools"]}
    assert {"file_reader", "create", "recall"} <= names
    assert "Hello." in json.dumps(asked_big["messages"])


@pytest.mark.slow
def test_servers_are_started_for_a_model_that_gets_their_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not for one that gets none; once another model is chosen, they are."""
    more = '[mcp.gone]\ncommand = "no-such-server-anywhere"'
    with Stub([]) as stub:
        project = shop(tmp_path, stub.url, more)
        talked(project, [], model="small", trust=True)
        assert "no-such-server-anywhere" not in capsys.readouterr().err
        talked(project, ["/model stub"], model="small")
        assert "gone" in capsys.readouterr().err


@pytest.mark.slow
def test_the_tiny_model_is_offered_where_it_is(tmp_path: Path) -> None:
    """Beside those of the configuration, for `/model` to complete."""
    with Stub([]) as stub:
        project = shop(tmp_path, stub.url)
        assert talked(project, []).setup.model_names == ["stub", "other", "small"]
        file = tmp_path / "home" / "models" / "smollm2" / "Tiny.gguf"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"GGUF")
        assert talked(project, []).setup.model_names == ["stub", "other", "small", "tiny"]
