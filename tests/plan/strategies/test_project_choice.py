"""Choosing a strategy: by name, by file, from an installed package; and what is said when that cannot be."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sightline import BadInput, Budget, Plan, Session, Settings, View
from sightline.log.stores.memory import MemoryStores
from sightline.plan import strategies
from sightline.plan.strategies import GROUP, STRATEGIES, config_schema, names, strategy
from sightline.plan.strategies.entities import Entities
from sightline.plan.strategies.focus import Focus
from sightline.plan.strategies.project_choice import IDS, Choice, chosen, from_agent, from_plugin
from sightline.plan.strategies.sliding import Sliding
from sightline.plan.strategies.summary import Summary
from sightline.testing import MemoryStore, WordCounter

DOCUMENT = {
    "id": "my-complex-agent",
    "contextStrategy": {
        "type": "plugin",
        "pluginId": "std-summarization-strategy",
        "config": {"compressionModel": "gemini-1.5-flash", "threshold": 20},
    },
}


def plugin(**strategy: Any) -> dict[str, Any]:
    return {"id": "agent", "contextStrategy": {"type": "plugin", **strategy}}


# ------------------------------------------------------------------ plugin.json


@pytest.mark.accepts(285, 286)
def test_the_documents_plugin_chooses_summarising() -> None:
    """The sample of the document, word for word: its strategy, with its configuration."""
    choice = from_plugin(DOCUMENT)
    assert choice[:2] == ("summary", {"compressionModel": "gemini-1.5-flash", "threshold": 20})
    made: Any = strategy(*choice[:2])
    assert (made.compression_model, made.threshold, made.batch) == ("gemini-1.5-flash", 20, 5)


@pytest.mark.accepts(285)
@pytest.mark.parametrize(
    ("plugin_id", "config", "expected"),
    [
        ("std-sliding-window-strategy", {}, Sliding()),
        ("std-summarization-strategy", {"threshold": 7}, Summary(threshold=7)),
        ("std-entity-extraction-strategy", {"schema": {"date": "string"}}, Entities(schema={"date": "string"})),
        ("focus", {"keep": 9}, Focus(keep=9)),
    ],
)
def test_a_session_begins_with_the_strategy_of_its_projects_plugin(
    tmp_path: Path, plugin_id: str, config: dict[str, Any], expected: Any
) -> None:
    """Of the file's `pluginId`, with the file's `config`; without an `id` the file is refused."""
    file, written = tmp_path / "plugin.json", plugin(pluginId=plugin_id, config=config)
    file.write_text(json.dumps(written))
    with Session.new(tmp_path, root=tmp_path / "sessions") as session:
        assert type(session.strategy) is type(expected)
        assert session.strategy == expected
    file.write_text(json.dumps({"contextStrategy": written["contextStrategy"]}))
    with pytest.raises(BadInput, match=r'plugin\.json: "id" must be'):
        Session.new(tmp_path, root=tmp_path / "sessions")


@pytest.mark.accepts(287)
def test_every_standard_strategy_has_an_id() -> None:
    """All three; ours and installed ones go by their names."""
    assert set(IDS.values()) == {"sliding", "summary", "entities"}
    schema = {"schema": {"date": "string"}}
    for plugin_id, name in IDS.items():
        config = schema if name == "entities" else {}
        assert from_plugin(plugin(pluginId=plugin_id, config=config)).name == name
    assert from_plugin(plugin(pluginId="focus")).name == "focus"


@pytest.mark.accepts(262, 287)
def test_a_plugin_without_a_choice_means_the_sliding_window() -> None:
    """The document's default."""
    assert from_plugin({"id": "agent"})[:2] == ("sliding", {})
    assert from_plugin({"id": "agent", "contextStrategy": None})[:2] == ("sliding", {})


@pytest.mark.accepts(287, 288)
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (plugin(pluginId="std-magic"), "contextStrategy.pluginId is 'std-magic'; choose one of std-sliding-window-str"),
        (plugin(), "contextStrategy.pluginId is None"),
        ({"id": "a", "contextStrategy": {"type": "native", "pluginId": "focus"}}, "type is 'native'; the only one is"),
        ({"id": "a", "contextStrategy": "focus"}, "contextStrategy is an object"),
        ({"contextStrategy": {}}, '"id" must be'),
        (plugin(pluginId="focus", config=[1]), "config is an object"),
        (plugin(pluginId="focus", settings={}), "unknown key 'settings'; choose among type, pluginId, config"),
        (plugin(pluginId="std-summarization-strategy", config={"threshold": "20"}), "Expected `int`.*threshold"),
        (plugin(pluginId="std-summarization-strategy", config={"threshold": 5}), "more than batch"),
        (plugin(pluginId="std-entity-extraction-strategy"), "schema"),
        (plugin(pluginId="std-sliding-window-strategy", config={"n": 1}), "it takes constraints"),
    ],
)
def test_a_plugin_that_cannot_be_mounted_is_refused(wrong: dict[str, Any], told: str) -> None:
    """When it is loaded: the file, the key, and what could be said instead."""
    with pytest.raises(BadInput, match=told) as caught:
        from_plugin(wrong, "agents/a/plugin.json")
    assert str(caught.value).startswith("agents/a/plugin.json: ")


def test_the_agents_form_is_understood() -> None:
    """`agent.json` names the id as the type, under cognition; one that says nothing chooses nothing."""
    agent = {"cognition": {"context_strategy": {"type": "std-summarization-strategy", "config": {"threshold": 20}}}}
    assert from_agent(agent) == Choice("summary", {"threshold": 20}, "agent.json")
    assert from_agent({"identity": {}}) is None
    with pytest.raises(BadInput, match=r"cognition\.context_strategy\.type is 'x'; choose one of"):
        from_agent({"cognition": {"context_strategy": {"type": "x"}}})


# ------------------------------------------------------------------ files


def test_a_project_without_a_file_has_focus(tmp_path: Path) -> None:
    """And so has one whose files are about something else."""
    assert chosen(tmp_path) == Choice("focus", {})
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 120\n")
    (tmp_path / "plugin.json").write_text('{"name": "an editor extension"}')
    (tmp_path / "agent.json").write_text('{"name": "another program"}')
    (tmp_path / "sightline.toml").write_text("")
    assert chosen(tmp_path) == Choice("focus", {})
    (tmp_path / "plugin.json").write_text("// with comments\n{}")
    (tmp_path / "agent.json").write_text("[]")
    assert chosen(tmp_path) == Choice("focus", {})


@pytest.mark.accepts(285)
def test_the_files_in_their_order(tmp_path: Path) -> None:
    """Sightline's own file before pyproject.toml, that before plugin.json, that before agent.json."""
    files = [
        ("agent.json", json.dumps({"cognition": {"context_strategy": {"type": "focus", "config": {"keep": 9}}}}),
         ("focus", {"keep": 9})),
        ("plugin.json", json.dumps(DOCUMENT), ("summary", DOCUMENT["contextStrategy"]["config"])),  # type: ignore[index]
        ("pyproject.toml", '[tool.sightline]\nstrategy = "summary"\n[tool.sightline.config]\nthreshold = 12\n',
         ("summary", {"threshold": 12})),
        ("sightline.toml", '[strategy]\nname = "entities"\n[strategy.config.schema]\ndate = "string"\n',
         ("entities", {"schema": {"date": "string"}})),
    ]  # fmt: skip
    for name, text, expected in files:
        (tmp_path / name).write_text(text)
        choice = chosen(tmp_path)
        assert choice[:2] == expected
        assert str(tmp_path / name) in choice.file


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("sightline.toml", "strategy = ", "cannot be read as TOML"),
        ("sightline.toml", 'stategy = "focus"', "unknown key 'stategy'; choose among strategy, config, model"),
        ("sightline.toml", 'strategy = ["rounds", "my_own.py"]', "'my_own.py' is no file here"),
        ("sightline.toml", "[config]\nkeep = 3", "config without a strategy"),
        ("sightline.toml", 'strategy = "wishful"', "strategy is 'wishful'; choose one of focus, sliding, summary"),
        ("sightline.toml", 'strategy = "focus"\n[config]\nkep = 3', "unknown field `kep`; it takes keep, economy"),
        ("sightline.toml", '[strategy]\nname = "focus"\n[config]\nkeep = 1', "say it once"),
        ("pyproject.toml", "[tool.sightline]\nstrategy = 3", r"\[tool.sightline\]: strategy is 3"),
        ("plugin.json", '{"id": 3, "contextStrategy": null}', '"id" must be'),
        ("plugin.json", '{"id": "shop", "contextStrategy": {"type": "plugin",}}', "cannot be read as JSON"),
        ("agent.json", '{"cognition": {"context_strategy": ', "cannot be read as JSON"),
    ],
)
def test_a_file_that_cannot_be_followed_is_named(tmp_path: Path, name: str, text: str, told: str) -> None:
    """With the key and the choices; nothing is silently another strategy."""
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInput, match=told) as caught:
        chosen(tmp_path)
    assert str(tmp_path / name) in str(caught.value)


# ------------------------------------------------------------------ strategies in files

OWN = """from dataclasses import dataclass

from sightline.plan.strategies.sliding import Sliding
from sightline.plan.strategy import Hooks


class NoStrategy:
    name = "none"


@dataclass(frozen=True)
class Own(Hooks):
    name = "own"
    keep: int = 3

    def plan(self, view):
        return Sliding().plan(view)
"""


@pytest.fixture
def with_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose plugin.json names a strategy in a file."""
    monkeypatch.setattr(strategies, "_loaded", {})
    (tmp_path / "own.py").write_text(OWN)
    stages = ["rounds", {"type": "plugin", "pluginId": "own.py", "config": {"keep": 5}}]
    (tmp_path / "plugin.json").write_text(json.dumps({"id": "a", "contextStrategy": stages}))
    return tmp_path


def test_a_strategy_in_a_file_runs_when_it_was_loaded(with_own: Path) -> None:
    """Before that it is named and not run; whoever needs it is told what to do."""
    (with_own / "own.py").write_text(f"raise SystemExit('it ran')\n{OWN}")
    assert chosen(with_own)[:2] == (("rounds", "own.py"), {"own.py": {"keep": 5}})
    with pytest.raises(BadInput, match=r"own\.py' is code of its project.*sightline chat.*load_file"):
        Session.new(with_own, stores=MemoryStores())
    (with_own / "own.py").write_text(OWN)
    strategies.load_file(with_own, "own.py")
    with Session.new(with_own, stores=MemoryStores()) as session:
        session.user("Hello")
        assert "Hello" in str(session.compose(Budget(1_000)).openai())
        assert session.settings.config == {"own.py": {"keep": 5}}


def test_what_a_file_with_a_strategy_lacks_is_said(with_own: Path) -> None:
    """With its path; and once it is loaded, what is wrong with its configuration."""
    with pytest.raises(BadInput, match=r"no file .*gone\.py"):
        strategies.load_file(with_own, "gone.py")
    (with_own / "bad.py").write_text("1 / 0")
    with pytest.raises(BadInput, match=r"bad\.py cannot be loaded: ZeroDivisionError"):
        strategies.load_file(with_own, "bad.py")
    (with_own / "empty.py").write_text("class Thing: name = 'thing'")
    with pytest.raises(BadInput, match=r"empty\.py defines no strategy: a class with a name and a method plan"):
        strategies.load_file(with_own, "empty.py")
    strategies.load_file(with_own, "own.py")
    (with_own / "plugin.json").write_text((with_own / "plugin.json").read_text().replace("5", '"many"'))
    with pytest.raises(
        BadInput, match=r"plugin\.json: strategy 'own\.py' does not take.*contextStrategy\[1\]\.config\.keep"
    ):
        chosen(with_own)


# ------------------------------------------------------------------ installed packages

PACKAGE = '''
from dataclasses import dataclass
from sightline.plan.plan import Plan

@dataclass
class Loud:
    """Shows everything, loudly."""
    name = "loud"
    volume: int = 3

    def plan(self, view):
        return Plan.extended(view, {}, {})

def quiet(**config):
    return Loud(**config)

nothing = dict
'''
POINTS = (
    "[sightline.strategies]\nloud = loudly:Loud\nquiet = loudly:quiet\nbroken = loudly:missing\nnone = loudly:nothing\n"
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that offers four strategies, two of them good."""
    info = tmp_path / "site" / "loudly-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loudly\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    (tmp_path / "site" / "loudly.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield  # type: ignore[misc]
    sys.modules.pop("loudly", None)


@pytest.mark.accepts(251)
@pytest.mark.usefixtures("package")
def test_an_installed_package_brings_strategies(tmp_path: Path) -> None:
    """Found by name through its entry points, configured like ours, in settings, plugin.json and the list."""
    assert GROUP == "sightline.strategies"
    assert names() == [*STRATEGIES, "broken", "loud", "none", "quiet"]
    made: Any = strategy("loud", {"volume": 7})
    assert (made.name, made.volume) == ("loud", 7)
    assert strategy("quiet", {"volume": 1}).name == "loud"
    assert config_schema("loud")["properties"]["volume"]["type"] == "integer"
    assert config_schema("quiet") == {}
    assert from_plugin(plugin(pluginId="loud", config={"volume": 2})).name == "loud"
    session = Session(MemoryStore("s"), settings=Settings(strategy="loud"), token_counter=WordCounter())
    session.user("hello")
    assert len(session.compose(Budget(1_000)).body) == 1


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "config", "told"),
    [
        ("loud", {"volume": "much"}, "strategy 'loud' does not take this configuration.*it takes volume"),
        ("quiet", {"colour": 1}, "strategy 'quiet' does not take this configuration"),
        ("broken", {}, r"strategy 'broken' \(loudly:missing\) cannot be loaded"),
        ("none", {}, "has no method plan"),
        ("other", {}, "unknown strategy 'other'; choose one of focus, sliding, summary, entities, rounds, broken"),
    ],
)
def test_a_package_that_offers_something_else_is_refused(name: str, config: dict[str, Any], told: str) -> None:
    """With what is wrong, and whose it is."""
    with pytest.raises(BadInput, match=told):
        strategy(name, config)


# ------------------------------------------------------------------ one's own, in code


@pytest.mark.accepts(251)
def test_a_strategy_of_ones_own_is_mounted_without_touching_the_core() -> None:
    """Any object with a name and a plan; a session runs unchanged with one strategy or another."""

    class LastOnly:
        name = "last only"

        def plan(self, view: View) -> Plan:
            return Plan.swept(view, [view.asked], {}, {}, reason="sweep: last only")

    for own, expected in ((LastOnly(), 1), (Focus(), 3)):
        session = Session(MemoryStore("s"), strategy=own, token_counter=WordCounter())
        session.user("one")
        session.assistant("two")
        session.user("three")
        assert len(session.compose(Budget(1_000, recall=0)).body) == expected
