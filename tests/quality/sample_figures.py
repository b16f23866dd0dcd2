"""What the composer shows of the five shipped samples: edits, evidence, constraints, and what is read last.

Each function returns a share between 0 and 1. What is asked for and what must be read stands word for word in a sample.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from benchmarks.quality.constraint_histories import Laid
from benchmarks.quality.engine import Engine
from benchmarks.quality.messages import Message, full_text, text_of
from benchmarks.quality.records import Run
from benchmarks.quality.replay import measure_replay
from benchmarks.quality.text_match import normal

from sightline import Budget, MemoryStore, NotShorter, Payload, Session, samples
from sightline.testing import Ticking

EDIT_BUDGETS = (8_000, 16_000, 32_000)
ASKED_AT = 1_500  # tokens: between a fifth and a twentieth of what the samples have
SMALL = (400, 800)  # windows in which constraints are looked for
GO_ON = {"travel_zh": "好的，请继续。"}  # a message that asks for nothing


class Asked(NamedTuple):
    """A question about a sample, and the words that answer it."""

    sample: str
    question: str
    answer: str


QUESTIONS = [
    Asked("long_chat", "What is the phone number for the kitchen cabinets?", "The number for KC-204 is 0555-8645"),
    Asked("long_chat", "How high does the kitchen worktop have to be?", "it has to be 92 cm high"),
    Asked("long_chat", "What was the reference for the kitchen worktop?", "Reference RN-97219"),
    Asked("long_chat", "When will they do the bathroom tiles?", "Moved: 16 April to 21 April"),
    Asked("long_chat", "How many boxes of tiles do we keep?", "at least two full boxes in reserve"),
    Asked("long_chat", "How much noise must the living room windows keep out?", "the street is loud, at least 38 dB"),
    Asked("long_chat", "What kind of light did we want?", "warm light, 2700 K, everywhere"),
    Asked("long_chat", "Where may the skip not be put?", "it may not stand in front of number 14"),
    Asked("long_chat", "What does the heating cost after the discount?", "They agreed: 6,624 euros"),
    Asked("long_chat", "淋浴间的台阶最多可以多高？", "台阶不能高于2厘米"),
    Asked("long_chat", "书房的书架要放多少本书？", "要放得下1400本书"),
    Asked("long_chat", "花园围墙最高可以多少厘米？", "不能高于180厘米"),
    Asked("long_chat", "屋顶保温找谁，电话是多少？", "RI-22的联系电话是0555-3758"),
    Asked("travel_zh", "我妈的票号是多少？", "781-2240019373"),
    Asked("travel_zh", "熊猫基地的订单号是什么？", "TK-PD-1006-0733"),
    Asked("travel_zh", "餐厅的预订号是什么？", "RB-2291"),
    Asked("travel_zh", "延迟退房最晚到几点？", "14:00前免费"),
    Asked("ops_incident", "How many database connections does billing need?", "billing needs 40 of the 100"),
    Asked("ops_incident", "Which shops never hit the cache?", "Shops 023 and 059 never hit the cache"),
    Asked("login_bug", "Until when is the schema frozen?", "14 June"),
    Asked("login_bug", "How long is the column for password hashes?", "VARCHAR(96)"),
    Asked("login_bug", "Which persons on staging had their hash upgraded?", "218, 341 and 77"),
    Asked("data_report", "Since when are rides from Harbour charged wrongly?", "since 12 May"),
    Asked("data_report", "Which target did finance give us in the end?", "5,500.00"),
]

# What must be read of a constraint, in one line: one of the words between "|" for each; NOT is a negation.
_LAID = {
    "data_report": [
        "two decimals // euro; two decimals",
        "never show single riders or bike numbers // NOT; rider; bike",
        "do not name the stations // NOT; station; district",
        "the target was changed: 5,500.00 // target; 5,500.00",
    ],
    "login_bug": [
        "I do not want the test weakened // NOT; test; weaken",
        "never touch the migrations folder // NOT; migrations",
        "The schema is frozen // schema; frozen; 14 June",
        "hashes that are already stored must stay valid // hashes; valid; sha1",
        "the API must answer 422, not 500 // 422; NOT; 500",
    ],
    "long_chat": [
        "The budget is 96,000 euros // budget; 96,000",
        "nobody may start a job on a Sunday // nobody|NOT; Sunday",
        "the corner by the window must stay free // corner; window; free",
        "it has to be 92 cm high // 92 cm",
        "at least two full boxes in reserve // two; boxes; reserve",
        "it must work before 15 November // 15 November",
        "at least 38 dB // 38 dB",
        "two sockets beside every bed // two sockets; bed",
        "the old brass knocker stays // brass knocker; stays",
        "warm light, 2700 K // 2700 K",
        "it may not stand in front of number 14 // NOT; number 14",
        "a handrail on both sides // handrail; both sides",
        "the pear tree stays where it is // pear tree; stays",
        "the chimney sweep needs his path // chimney sweep; path",
        "不能滑 // 不能滑",
        "台阶不能高于2厘米 // 台阶; NOT; 2厘米",
        "不能打扰屋檐下的雨燕 // NOT; 雨燕",
        "要放得下1400本书 // 1400本",
        "镇上规定不能高于180厘米 // NOT; 180厘米",
        "不能有气味 // NOT; 气味",
        "门必须向外开 // 门; 向外",
        "不能用漂白剂 // NOT; 漂白剂",
    ],
    "ops_incident": [
        "no restarts and no deployments without my word // NOT; restart; deploy",
        "production data must never be copied out // NOT; production data",
        "Use the exported metrics // exported metrics",
        "Use 9 per pod // 9 per pod",
        "leave customer names out // customer names; out",
    ],
    "travel_zh": [
        "总预算12000元 // 预算; 12000",
        "我妈妈对花生过敏 // 花生; 过敏",
        "不要安排转机 // NOT; 转机",
        "去程不要早于上午9点 // 去程; NOT; 9点",
        "回程必须在晚上8点前落地 // 回程; 8点前",
        "走路不超过500米 // 500米",
        "必须可以免费取消 // 免费取消",
        "不要住在酒吧街附近 // NOT; 酒吧街",
        "每晚不超过900元 // 每晚; 900",
        "绝对不能有花生 // NOT; 花生",
        "去的路上尽量坐地铁 // 地铁",
        "如果5号下雨就改6号 // 5号; 6号",
    ],
}


# ------------------------------------------------------------------ edits


def readable_edits() -> float:
    """Of the edits of the coding sample, at several budgets: those whose old text can be read."""
    run = Run("login_bug", "login_bug", list(messages("login_bug")))
    rows = measure_replay("samples", [run], {"sightline": Engine}, EDIT_BUDGETS, 1)
    own = [row for row in rows if row["composer"] == "sightline"]
    return sum(row["edits"] for row in own) / len(own)


# ------------------------------------------------------------------ evidence


def shown_evidence(*, ask: bool) -> float:
    """Of the questions about the samples: those whose answer is shown."""
    shown = [
        normal(asked.answer) in normal("\n".join(_texts(composed(asked.sample, asked.question, ask=ask))))
        for asked in QUESTIONS
    ]
    return sum(shown) / len(shown)


def questions_read_last() -> float:
    """Of a question about each sample, in every provider's form, plain and asked: those whose words end the request."""
    first = {asked.sample: asked for asked in reversed(QUESTIONS)}
    ends = [
        _last_text(written).rstrip().endswith(asked.question)
        for asked in first.values()
        for ask in (False, True)
        for written in _written(composed(asked.sample, asked.question, ask=ask))
    ]
    return sum(ends) / len(ends)


# ------------------------------------------------------------------ constraints


def readable_constraints(*, compacted: bool) -> float:
    """Of what users lay down in the samples: the share that can be read in small windows, in one line each."""
    shares = []
    for sample, listed in laid().items():
        for window in SMALL:
            session = opened(sample)
            session.user(GO_ON.get(sample, "Good. Please go on."))
            with suppress(NotShorter):  # in the smallest window a digest may save nothing
                if compacted:
                    session.summaries.compact(Budget(window))
            text = "\n".join(_texts(session.compose(Budget(window))))
            shares += [each.readable(text) for each in listed]
    return sum(shares) / len(shares)


def found_constraints() -> tuple[float, int]:
    """Of what users lay down in the samples: the share that is found; and how many more sentences are taken for one."""
    right, total, others = 0, 0, 0
    for sample, listed in laid().items():
        sentences = [each.text for each in _read(sample).items.constraints()]
        right += sum(any(each.text in sentence for sentence in sentences) for each in listed)
        others += sum(not any(each.text in sentence for each in listed) for sentence in sentences)
        total += len(listed)
    return right / total, others


@cache
def laid() -> dict[str, list[Laid]]:
    """What users lay down, by sample."""
    return {sample: [_parsed(line) for line in lines] for sample, lines in _LAID.items()}


def _parsed(line: str) -> Laid:
    text, _, keys = line.partition(" // ")
    return Laid(text, tuple(tuple(key.split("|")) for key in keys.split("; ")))


# ------------------------------------------------------------------ sessions


def opened(sample: str) -> Session:
    """A session in which a sample happened."""
    loaded = samples.load(sample)
    session = Session(MemoryStore(sample), clock=Ticking())
    session.system(loaded.system)
    session.extend(loaded.messages)
    return session


@cache
def _read(sample: str) -> Session:
    """A sample that is only read."""
    return opened(sample)


@cache
def messages(sample: str) -> tuple[Message, ...]:
    """A sample as chat messages. Its edit tool calls the old text `old`; here that has one of the usual names."""
    written = _read(sample).transcript().openai()["messages"]
    return tuple(_plain(message) for message in written)


def _plain(message: Message) -> Message:
    calls = [_renamed(call) for call in message.get("tool_calls") or ()]
    return {**message, "content": text_of(message.get("content"))} | ({"tool_calls": calls} if calls else {})


def _renamed(call: Message) -> Message:
    arguments = json.loads(call["function"]["arguments"])
    if "old" in arguments:
        arguments["old_string"] = arguments.pop("old")
    return {**call, "function": {**call["function"], "arguments": json.dumps(arguments, ensure_ascii=False)}}


@cache
def composed(sample: str, question: str, *, ask: bool) -> Payload:
    """The request for a question about a sample."""
    session = opened(sample)
    session.user(question)
    return session.compose(Budget(ASKED_AT), ask=ask)


def _texts(payload: Payload) -> list[str]:
    return [full_text(message) for message in payload.openai()["messages"]]


def _written(payload: Payload) -> Iterator[list[Any]]:
    yield payload.openai()["messages"]
    yield payload.responses()["input"]
    yield payload.anthropic()["messages"]


def _last_text(written: list[Any]) -> str:
    """The last text of a request, whatever its form."""
    content = written[-1]["content"]
    return content if isinstance(content, str) else str(content[-1].get("text", ""))
