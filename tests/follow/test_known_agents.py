"""The table of agents: what it says is read where requests are, and the page about them says the same."""

import re
from pathlib import Path

import pytest

from sightline.follow.model_request import session_of
from sightline.follow.own_lists import is_list
from sightline.imports.harness_text import divided
from sightline.providers.agents import AGENTS, Agent
from sightline.shorten.digest.speech import user_texts
from sightline.shorten.digest.steps import Utterance
from sightline.values.items import Call

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "agents.md").read_text(encoding="utf-8")
RULE = "Never touch the folder vendor."
COMPACTS = {"answer": "asks in the same conversation", "shown": "shows the summary as an answer", "apart": "asks apart",
            "never": "not known"}  # fmt: skip
INSTALLS = {"npm": "npm install -g", "pypi": "pip install"}
EVERY = pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)


def own_texts(agent: Agent) -> list[str]:
    """Messages that an agent writes in the user's role, each with a sentence that a person could have said."""
    elements = [f"<{name}>\n{RULE}\n</{name}>" for name in agent.elements]
    openings = [*agent.openings, *([agent.summary] if agent.summary else [])]
    return elements + [f"{opening}\n{RULE}\n" for opening in openings]


@EVERY
def test_what_an_agent_writes_itself_is_no_request_of_the_person(agent: Agent) -> None:
    """Alone it says nothing; what the person wrote beside an element stays."""
    for text in own_texts(agent):
        assert user_texts([Utterance(0, text)]) == [], text
    for name in agent.elements:
        text = f"<{name}>{RULE}</{name}>\nShow a.py"
        assert user_texts([Utterance(0, text)]) == ["Show a.py"]
        assert [by_harness for by_harness, _ in divided(text)] == [True, False]
    for opening in agent.openings:
        assert [by_harness for by_harness, _ in divided(f"{opening} x")] == [True]


@EVERY
def test_an_agent_is_known_by_its_headers_and_lists(agent: Agent) -> None:
    """The session that it names, and the list of steps that it replaces as a whole."""
    for header in agent.session:
        assert session_of({}, {header: "one"}) == "one"
    for key in agent.lists:
        assert is_list(Call("1", "tool", {key: [{"content": "x", "status": "pending"}]}))


@EVERY
def test_the_page_says_what_the_table_says(agent: Agent) -> None:
    """Where it is from, the version, its keys, its session, and how it compacts."""
    titles = {line: line.split("|")[1].strip().split(", ") for line in PAGE.splitlines() if line.startswith("|")}
    rows = [line for line, named in titles.items() if agent.title in named]
    assert rows
    if agent.program:
        assert f"`{agent.package.partition(':')[2]}`" in rows[0].replace("npm install -g ", "").replace(
            "pip install ", ""
        )
        assert agent.tried in rows[0]
        assert all(f"`{'.'.join(setting.keys)}`" in rows[0] for setting in agent.settings)
        assert re.sub(r"\.jsonc?$", "", agent.files[-1]) in rows[0].replace(".json`", "`")
    told = rows[-1].lower()
    assert all(f"`{header}`" in told for header in agent.session[:1])
    assert COMPACTS[agent.compacts] in told or agent.name in ("qwen", "continue")
