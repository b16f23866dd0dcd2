"""Pipes: each stage changes the plan of the one before; what contradicts itself is refused with the reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from sightline import BadInput, Budget, Lod, Plan, Session, Settings, StrategyError, View, samples
from sightline.plan import own_state, stage_of
from sightline.plan.pipe import Pipe
from sightline.plan.strategies import STRATEGIES, pipe, strategy
from sightline.plan.strategies.entities import Entities
from sightline.plan.strategies.project_choice import chosen, from_plugin, from_table
from sightline.plan.strategies.sliding import Sliding
from sightline.plan.strategies.summary import Summary
from sightline.testing import MemoryStore, Ticking, WordCounter, check_strategy, numbered_ids
from sightline.values.items import Call, Kind
from sightline.values.settings import read_strategy, strategy_name
from sightline.view.replay.formats import recorded
from sightline.view.replay.replay import replay
from sightline.wire.payload import Payload

WIDE = Budget(100_000, recall=0)
CONFIGS: dict[str, dict[str, Any]] = {"entities": {"schema": {"destination": "string"}}}
ORDER = ("rounds", "summary", "sliding")


def opened(stages: Any, config: dict[str, Any] | None = None, store: Any = None) -> Session:
    store = store if store is not None else MemoryStore("s")
    settings = Settings(strategy=stages, config=config or {})
    return Session(store, settings=settings, token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())


def reads(session: Session, number: int, lines: int = 60) -> str:
    """One file that is read. The result's id."""
    session.assistant([Call(f"call_{number}", "read_file", {"path": f"src/file_{number}.py"})])
    text = f"def load_{number}():\n" + "".join(
        f"    marker_{number}_{n} = of(many, words, here)\n" for n in range(lines)
    )
    return session.tool_result(f"call_{number}", text)


def level(payload: Payload, item_id: str) -> Lod | None:
    return next((line.lod for line in payload.plan.lines() if line.id == item_id), None)


def talk(session: Session, turns: int, words: int = 6, first: int = 0) -> None:
    for turn in range(first, first + turns):
        session.user(f"question {turn} " + "word " * words)
        session.assistant(f"answer {turn} " + "word " * words)


# ------------------------------------------------------------------ stages


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.slow("focus", "sliding", "summary", "entities", "rounds")
def test_a_pipe_of_one_stage_is_the_strategy_itself(name: str) -> None:
    """The payloads of a sample session are the same, byte for byte."""
    sample, config = samples.load("data_report"), CONFIGS.get(name, {})
    recording = recorded({"system": sample.system, "tools": sample.tools, "messages": sample.messages})
    hashes = []
    for settings in (
        Settings(strategy=name, config=config),
        Settings(strategy=[name], config={name: config} if config else {}),
    ):
        session = Session(MemoryStore("s"), settings=settings)
        hashes.append([step.payload.hash for step in replay(session, recording, Budget(4_000, 500))])
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("last", ["sliding", "summary", "focus"])
def test_a_file_becomes_a_gist_under_other_strategies_too(last: str) -> None:
    """With the next question, once `rounds` stands before them; without it the file stays whole."""
    for stages, after in ((last, Lod.FULL), (["rounds", last], Lod.GIST)):
        session = opened(stages)
        session.user("what does it load?")
        result = reads(session, 1)
        assert level(session.compose(WIDE), result) is Lod.FULL
        session.assistant("it loads the file")
        session.user("and then?")
        payload = session.compose(WIDE)
        assert level(payload, result) is after
        assert ("marker_1_40" in str(payload.openai())) is (after is Lod.FULL)


def test_the_reductions_come_in_the_decided_order() -> None:
    """Files become gists, the oldest turns a summary, and only what is still too much is left out."""
    session = opened(ORDER, {"summary": {"threshold": 4, "batch": 2}})
    session.user("what does it load?")
    result = reads(session, 1)
    session.assistant("it loads the file")
    talk(session, 5)
    payload = session.compose(Budget(400, recall=0))
    assert level(payload, result) is Lod.GIST, "the file as a gist is enough: nothing is left out"
    assert len(payload.plan) == len(session.items) - 2  # a call and its result are in one unit with their message
    assert session.summaries.wanted
    assert session.summaries.make_wanted(lambda _: "it was about loading")
    payload = session.compose(Budget(400, recall=0))
    kinds = [line.kind for line in payload.plan.lines()]
    assert Kind.SUMMARY in kinds
    assert level(payload, result) is None, "the summary covers the round of the file"
    assert payload.plan.reason == "sweep: summary"
    talk(session, 4, words=40, first=5)
    payload = session.compose(Budget(400, recall=0))
    assert payload.tokens <= 400
    assert payload.plan.reason == "sweep: window"
    assert Kind.SUMMARY in [line.kind for line in payload.plan.lines()]


def test_what_a_pipe_has_sent_is_extended() -> None:
    """While nothing has to change, each payload begins with the one before."""
    session = opened(ORDER)
    previous: Payload | None = None
    for turn in range(6):
        session.user(f"question {turn}")
        payload = session.compose(WIDE)
        assert not payload.plan.reason
        assert payload.plan.extends(previous.plan if previous else None) or previous is None
        session.assistant(f"answer {turn}")
        previous = payload


class Noting:
    """A stage that keeps what it saw."""

    def __init__(self, name: str = "noting") -> None:
        self.name, self.views = name, list[View]()

    def plan(self, view: View) -> Plan:
        self.views.append(view)
        return view.last_stage or Plan.extended(view, {}, {})


def test_a_stage_sees_the_plan_before_and_may_return_it() -> None:
    """The first sees none; only the last has to fit."""
    first, last = Noting("first"), Noting("last")
    session = Session(MemoryStore("s"), strategy=[first, "rounds", last], token_counter=WordCounter())
    talk(session, 2)
    payload = session.compose(WIDE)
    assert first.views[-1].last_stage is None
    assert last.views[-1].last_stage is payload.plan
    assert [view.fits_later for view in (first.views[-1], last.views[-1])] == [True, False]
    with pytest.raises(
        StrategyError, match=r"stage 'last' of first → rounds → last: a plan of .* over the limit.*come last"
    ):
        session.compose(Budget(20, recall=0))


def test_constraints_stand_before_the_history_whoever_trims() -> None:
    """A sweep of a stage in the middle ends as any other: what the user laid down stays readable."""
    session = opened(["rounds", "sliding"])
    session.user("Never push to main. " + "word " * 30)
    session.assistant("I will not.")
    talk(session, 8, words=20)
    payload = session.compose(Budget(200, recall=0))
    assert "Never push to main." in payload.plan.preface
    assert payload.tokens <= 200


@pytest.mark.parametrize(("stages", "keyed"), [("sliding", False), ("entities", False), (["rounds", "sliding"], True)])
def test_constraints_can_be_switched_off(stages: Any, keyed: bool) -> None:
    """Then the history is as the document has it; the state stays, and more of the history fits."""
    prefaces = []
    for quoted in (True, False):
        config: dict[str, Any] = {"constraints": quoted} | CONFIGS.get(str(stages), {})
        session = opened(stages, {"sliding": config} if keyed else config)
        session.user("Never push to main. " + "word " * 30)
        session.assistant("I will not.")
        talk(session, 8, words=20)
        if stages == "entities":
            session.remember({"destination": "Oslo"})
        session.user("and now?")
        payload = session.compose(Budget(200, recall=0))
        assert payload.tokens <= 200
        prefaces.append(payload.plan.preface)
        assert ("Oslo" in payload.plan.preface) is (stages == "entities")
    assert ["Never push to main." in preface for preface in prefaces] == [True, False]


def test_other_stages_bring_back_what_was_hidden() -> None:
    """After a change of settings all that was said is weighed again."""
    session = opened("entities", CONFIGS["entities"])
    talk(session, 3)
    session.remember({"destination": "Oslo"})
    session.user("and now?")
    assert len(session.compose(WIDE).plan) == 1
    session.configure(strategy=["rounds", "sliding"], config={})
    assert len(session.compose(WIDE).plan) == 7


# ------------------------------------------------------------------ state and summaries


def test_each_stage_has_its_state_under_its_name() -> None:
    """What a later stage leaves out does not take the state with it, and no stage sees another's."""
    session = opened(["rounds", "entities", "sliding"], CONFIGS)
    talk(session, 2)
    with pytest.raises(BadInput, match=r"entities\.colour: no such field"):
        session.remember({"entities": {"colour": "red"}})
    with pytest.raises(BadInput, match="elsewhere: no such stage; there are rounds, entities, sliding"):
        session.remember({"elsewhere": {}})
    session.remember({"entities": {"destination": "Oslo"}})
    assert own_state(session.strategy, "rounds", session.state) == {}
    session.user("when?")
    payload = session.compose(WIDE)
    assert '{"destination":"Oslo"}' in payload.plan.preface
    assert len(payload.plan) == 1, "the dialogue is not sent"
    for step in range(4):  # too much for the window: sliding sweeps, and the state stays
        session.assistant([Call(f"c{step}", "run", {"command": "ls"})])
        session.tool_result(f"c{step}", "word " * 60)
        payload = session.compose(Budget(200, recall=0))
    assert payload.plan.reason == "sweep: window"
    assert '{"destination":"Oslo"}' in payload.plan.preface


def test_a_state_from_before_the_pipe_is_used() -> None:
    """It was not written under a name."""
    session = opened("entities", CONFIGS["entities"])
    session.user("to Oslo")
    session.remember({"destination": "Oslo"})
    session.configure(strategy=["rounds", "entities"], config=CONFIGS)
    assert '{"destination":"Oslo"}' in session.compose(WIDE).plan.preface


@pytest.mark.parametrize(
    ("stages", "reason"),
    [
        (["entities", "summary"], "entities sends no dialogue"),
        (["summary", "entities"], "leave one of them out"),
        (["entities", "focus"], "index lines"),
        (["summary", "focus"], "summary and focus both ask for summaries"),
        (["sliding", "rounds"], "sliding shows what fits the budget and comes last"),
        (["summary", "rounds", "sliding"], "rounds shortens files and comes before summary; move it to the beginning"),
        (["entities", "rounds"], "rounds shortens files and comes before entities"),
        (["rounds", "rounds"], "rounds is there twice"),
        ([], "a pipe needs at least one strategy"),
        (["rounds", 3], "a pipe is a list of strategies"),
        (["rounds", "slidign"], "unknown strategy 'slidign'"),
    ],
)
def test_what_contradicts_itself_is_refused(stages: list[Any], reason: str) -> None:
    """With the reason, wherever it is said."""
    config = {name: CONFIGS[name] for name in stages if name in CONFIGS}
    with pytest.raises(BadInput, match=reason):
        pipe(stages, config)
    if stages and 3 not in stages:
        with pytest.raises(BadInput, match=reason):
            Session(MemoryStore("s"), settings=Settings(strategy=stages, config=config))


def test_a_contradiction_is_said_before_what_a_stage_lacks(tmp_path: Path) -> None:
    """Who mended the configuration first would be refused all the same: in code, in plugin.json and in TOML."""
    stages, reason = ["entities", "summary"], "entities and summary contradict each other"
    with pytest.raises(BadInput, match=reason):
        pipe(stages)
    plugin = [{"type": "plugin", "pluginId": "std-entity-extraction-strategy"}, "summary"]
    for name, text in {
        "plugin.json": json.dumps({"id": "a", "contextStrategy": plugin}),
        "sightline.toml": f"strategy = {json.dumps(stages)}",
    }.items():
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        (folder / name).write_text(text)
        with pytest.raises(BadInput, match=f"{name}: .*{reason}"):
            Session.new(folder, root=tmp_path / "r")


def test_a_configuration_is_by_stage() -> None:
    """A key that is no stage, and a value that is no object, are errors."""
    made = pipe(ORDER, {"summary": {"threshold": 7, "compressionModel": "small"}})
    assert isinstance(made, Pipe)
    summary = stage_of(made, Summary)
    assert summary is not None
    assert (summary.threshold, made.compression_model, made.apart) == (7, "small", True)
    assert stage_of(made, Entities) is None
    with pytest.raises(BadInput, match="'threshold' is none of rounds, summary, sliding"):
        pipe(ORDER, {"threshold": 7})
    with pytest.raises(BadInput, match="of stage 'summary' is an object, not 7"):
        pipe(ORDER, {"summary": 7})
    with pytest.raises(BadInput, match="does not take this configuration"):
        pipe(ORDER, {"sliding": {"keep": 7}})


# ------------------------------------------------------------------ files and the log


def test_plugin_json_takes_a_list() -> None:
    """Names and objects; one wrong stage is named by its place."""
    stages = [
        "rounds",
        {"type": "plugin", "pluginId": "std-summarization-strategy", "config": {"threshold": 20}},
        "sliding",
    ]
    choice = from_plugin({"id": "agent", "contextStrategy": stages})
    assert choice[:2] == (ORDER, {"summary": {"threshold": 20}})
    assert choice.title == "rounds → summary → sliding"
    for wrong, reason in (
        (["rounds", {"type": "other"}], r"contextStrategy\[1\].type is"),
        (["rounds", 3], r"contextStrategy\[1\] is an object or the name of a strategy, not 3"),
        (["rounds", {"type": "plugin", "pluginId": "summary", "config": {"treshold": 2}}], "treshold"),
        (["summary", {"type": "plugin", "pluginId": "entities", "config": CONFIGS["entities"]}], "sends no dialogue"),
        ([], "a pipe needs at least one strategy"),
    ):
        with pytest.raises(BadInput, match=reason):
            from_plugin({"id": "agent", "contextStrategy": wrong})


def test_a_toml_table_takes_a_list() -> None:
    """With the configuration of each stage under its name."""
    choice = from_table({"strategy": [*ORDER], "config": {"summary": {"threshold": 20}}}, "sightline.toml")
    assert choice is not None
    assert choice[:2] == (ORDER, {"summary": {"threshold": 20}})
    with pytest.raises(BadInput, match="config of rounds → summary → sliding: unknown key 'threshold'"):
        from_table({"strategy": [*ORDER], "config": {"threshold": 20}}, "sightline.toml")


def test_the_log_has_the_pipe(tmp_path: Path) -> None:
    """A resumed session goes on with the same stages and composes the same bytes."""
    project = tmp_path / "project"
    project.mkdir()
    stages = {
        "id": "agent",
        "contextStrategy": ["rounds", {"type": "plugin", "pluginId": "std-sliding-window-strategy"}],
    }
    (project / "plugin.json").write_text(json.dumps(stages))
    assert chosen(project).name == ("rounds", "sliding")
    with Session.new(project, root=tmp_path / "root") as session:
        session.user("what does it load?")
        result = reads(session, 1)
        session.compose(WIDE)
        session.assistant("it loads")
        session.user("and then?")
        payload = session.preview(WIDE)
    log = next((tmp_path / "root").rglob("*.jsonl")).read_text()
    assert '"strategy":["rounds","sliding"]' in log
    with Session.resume(session.id, project, root=tmp_path / "root") as again:
        assert again.settings.strategy == ("rounds", "sliding")
        assert again.strategy.name == "rounds → sliding"
        resumed = again.compose(WIDE)
        assert resumed.hash == payload.hash
        assert level(resumed, result) is Lod.GIST


def test_a_pipe_is_written_with_commas_or_arrows() -> None:
    """As people type it, and as it is printed."""
    assert read_strategy("rounds, summary,sliding") == ORDER == read_strategy(strategy_name(ORDER))
    assert read_strategy("focus") == "focus" == strategy_name("focus")


# ------------------------------------------------------------------ check_strategy


class Whole:
    """Shows everything, whether it fits or not."""

    name = "whole"

    def plan(self, view: View) -> Plan:
        return Plan.swept(view, view.candidates(), {}, {}, reason="sweep: whole")


@pytest.mark.slow
def test_a_stage_is_checked_alone_and_in_a_pipe() -> None:
    """One that leaves the budget to others breaks it alone, and passes before a stage that keeps it."""
    with pytest.raises(AssertionError, match=r"whole, window 1200.*over the limit"):
        check_strategy(Whole())
    check_strategy([Whole(), "sliding"])
    check_strategy([*ORDER])
    with pytest.raises(AssertionError, match=r"stage 'whole' of rounds → whole.*over the limit"):
        check_strategy(["rounds", Whole()])


class Resurrecting(Sliding, frozen=True):
    """Fits alone; as a stage it does not look at what the stage before shows."""

    name = "resurrecting"

    def plan(self, view: View) -> Plan:
        if view.last_stage is not None:
            raise StrategyError("no stage")
        return super().plan(view)


@pytest.mark.slow
def test_a_strategy_that_fails_only_as_a_stage_is_found() -> None:
    """By its name."""
    with pytest.raises(AssertionError, match="stage 'resurrecting' of rounds → resurrecting: no stage"):
        check_strategy(Resurrecting())


def test_strategy_takes_several_names() -> None:
    """As the settings have them."""
    assert strategy(ORDER).name == "rounds → summary → sliding"
