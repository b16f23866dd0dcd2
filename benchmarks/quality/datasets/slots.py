"""Booking dialogues put in sequence. The sequence and the questions are ours; texts and values are published."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

from benchmarks.quality.datasets.record_files import answer, call, json_file, spoken
from benchmarks.quality.messages import Message
from benchmarks.quality.records import SlotSession, Topic
from benchmarks.quality.splits import chained

_ENGLISH, _CHINESE = 10, 24  # dialogues of one session

Values = dict[str, list[str]]


def sgd(root: Path) -> list[SlotSession]:
    """English, with service calls."""
    dialogues = []
    for path in sorted((root / "sgd").glob("*.json.gz")):
        name = path.name.removesuffix(".json.gz")
        dialogues += [(f"{name}/{each['dialogue_id']}", each) for each in json_file(path)]
    return [_booked(offset, part) for offset, part in chained("sgd", dialogues, _ENGLISH)]


def _booked(offset: int, part: list[tuple[str, Any]]) -> SlotSession:
    system = "You are a booking assistant. Use the tools to search and to book."
    messages, topics = [spoken("system", system)], []
    for name, dialogue in part:
        start = len(messages)
        messages += _turns(f"c{offset}_{name[-9:]}", dialogue)
        text = "\n".join(message["content"] or "" for message in messages[start:]).lower()
        topics += _services(dialogue, text)
    return SlotSession(f"s{offset}", messages, topics)


def _turns(calls: str, dialogue: Any) -> list[Message]:
    messages: list[Message] = []
    made = 0
    for turn in dialogue["turns"]:
        if turn["speaker"] == "USER":
            messages.append(spoken("user", turn["utterance"]))
            continue
        for frame in turn["frames"]:
            if called := frame.get("service_call"):
                made += 1
                name = f"{calls}_{made}"
                request = call(name, called["method"], called["parameters"])
                messages.append({**spoken("assistant", ""), "tool_calls": [request]})
                messages.append(answer(name, json.dumps(frame.get("service_results") or [], ensure_ascii=False)))
        messages.append(spoken("assistant", turn["utterance"]))
    return messages


def _services(dialogue: Any, text: str) -> list[Topic]:
    """One topic for each service: the values it ended with, as far as they were said."""
    final: dict[str, Values] = {}
    intents: dict[str, str] = {}
    frames = [frame for turn in dialogue["turns"] if turn["speaker"] == "USER" for frame in turn["frames"]]
    for frame in frames:
        state, service = frame["state"], frame["service"]
        for slot, values in state["slot_values"].items():
            final.setdefault(service, {})[slot] = list(values)
        if state["active_intent"] != "NONE":
            intents[service] = state["active_intent"]
    topics = []
    for service, slots in final.items():
        said = {k: v for k, v in slots.items() if any(len(each) >= 3 and each.lower() in text for each in v)}
        if said:
            about = f"{_words(service.split('_')[0])} request ({_words(intents.get(service, 'request'))})"
            wanted = ", ".join(_words(slot) for slot in sorted(said))
            query = f"Going back to the {about} from earlier: please repeat the details we settled on: {wanted}."
            topics.append(Topic(query, list(said.values())))
    return topics


def _words(name: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ").lower()


def crosswoz_zh(root: Path) -> list[SlotSession]:
    """Chinese, five domains, between people."""
    dialogues: list[tuple[str, Any]] = []
    for part in ("test", "val"):
        with zipfile.ZipFile(root / "crosswoz_zh" / f"{part}.json.zip") as packed:
            found = json.loads(packed.read(packed.namelist()[0]))
        dialogues += [(f"{part}/{name}", each) for name, each in found.items()]
    return [_travelled(offset, part) for offset, part in chained("crosswoz_zh", dialogues, _CHINESE)]


def _travelled(offset: int, part: list[tuple[str, Any]]) -> SlotSession:
    messages, topics = [spoken("system", "你是北京旅游助理，帮助用户查找景点、餐馆、酒店、地铁和出租。")], []
    for _, dialogue in part:
        said = [spoken("user" if m["role"] == "usr" else "assistant", m["content"]) for m in dialogue["messages"]]
        messages += said
        topics += _domains(dialogue["final_goal"], "\n".join(message["content"] for message in said))
    return SlotSession(f"s{offset}", messages, topics)


def _domains(goal: list[Any], text: str) -> list[Topic]:
    found: dict[str, Values] = {}
    for _, domain, slot, value, _ in goal:
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str) and len(each) >= 2 and "出现在id" not in each and each in text:
                found.setdefault(domain, {}).setdefault(f"{slot}:{each}", [each])
    topics = []
    for domain, slots in found.items():
        names = "、".join(sorted({name.split(":")[0] for name in slots}))
        topics.append(Topic(f"回到前面谈过的{domain}，请再告诉我一遍：{names}。", list(slots.values())))
    return topics
