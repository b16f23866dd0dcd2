"""Long chats with questions whose evidence is known."""

import re
from pathlib import Path
from typing import Any

from benchmarks.quality.datasets.record_files import json_file, json_lines, spoken
from benchmarks.quality.messages import Message
from benchmarks.quality.records import Conversation, Question

_TURN = re.compile(r"D:?(\d+):(\d+)")
_ADVERSARIAL = 5  # a question whose answer is not in the chat: nothing could be found
_CHUNK = 100  # short published conversations that make one session
_SHORTEST = 20  # characters of a turn that can be evidence

Turn = tuple[int, int]


def locomo(root: Path) -> list[Conversation]:
    """Ten very long chats between two people, over many sessions."""
    return [_locomo(record) for record in json_file(root / "locomo" / "locomo10.json")]


def _locomo(record: Any) -> Conversation:
    chat = record["conversation"]
    first, second = chat["speaker_a"], chat["speaker_b"]
    messages = [spoken("system", f"Long-running chat between {first} and {second}.")]
    texts: dict[Turn, str] = {}
    dates: dict[Turn, str] = {}
    number = 1
    while f"session_{number}" in chat or f"session_{number}_date_time" in chat:
        when = chat.get(f"session_{number}_date_time", "")
        for position, turn in enumerate(chat.get(f"session_{number}") or []):
            messages.append(_locomo_turn(turn, first, when, begins=position == 0))
            place = _turns(turn["dia_id"])[0]
            texts[place], dates[place] = turn["text"].strip(), when
        number += 1
    asked = [
        question
        for at, found in enumerate(record["qa"])
        if (question := _locomo_question(f"{record['sample_id']}/{at}", found, texts, dates))
    ]
    return Conversation(record["sample_id"], messages, asked)


def _locomo_turn(turn: Any, first: str, when: str, *, begins: bool) -> Message:
    body = f"{turn['speaker']}: {turn['text'].strip()}"
    if turn.get("blip_caption"):
        body += f" [shares an image: {turn['blip_caption']}]"
    if begins:
        body = f"[{when}]\n" + body
    role = "user" if turn["speaker"] == first else "assistant"
    return {"role": role, "content": body, "id": turn["dia_id"], "ts": when}


def _locomo_question(name: str, found: Any, texts: dict[Turn, str], dates: dict[Turn, str]) -> Question | None:
    if found["category"] == _ADVERSARIAL:
        return None
    places = [place for evidence in found.get("evidence") or [] for place in _turns(str(evidence))]
    gold = [texts[place] for place in dict.fromkeys(places) if place in texts]
    if not gold or len(gold) < len(set(places)):
        return None
    return Question(
        name,
        found["question"],
        gold,
        [str(found["answer"])] if "answer" in found else [],
        f"cat{found['category']}",
        sorted({dates[place] for place in places if dates[place]}),
    )


def _turns(text: str) -> list[Turn]:
    return [(int(session), int(turn)) for session, turn in _TURN.findall(text)]


def qmsum(root: Path) -> list[Conversation]:
    """Transcripts of meetings, with the spans that answer a question."""
    return [
        _meeting(record.get("id") or f"{part}{at}", record)
        for part in ("test", "val")
        for at, record in enumerate(json_lines(root / "qmsum" / f"{part}.jsonl"))
    ]


def _meeting(name: str, record: Any) -> Conversation:
    turns = record["meeting_transcripts"]
    texts = [turn["content"].strip() for turn in turns]
    messages = [spoken("system", "Transcript of a meeting.")]
    messages += [spoken("user", f"{turn['speaker']}: {text}") for turn, text in zip(turns, texts, strict=True)]
    asked = []
    for at, found in enumerate(record["specific_query_list"]):
        spans = [index for a, b in found["relevant_text_span"] for index in range(int(a), int(b) + 1)]
        lines = [texts[index] for index in dict.fromkeys(spans) if index < len(texts)]
        if gold := [line for line in lines if len(line) > _SHORTEST]:
            asked.append(Question(f"{name}/{at}", found["query"], gold, [], "specific", []))
    return Conversation(name, messages, asked)


def memdaily_zh(root: Path) -> list[Conversation]:
    """Chinese: what a user tells an assistant about people and days, a hundred short conversations in sequence."""
    out = []
    for path in sorted((root / "memdaily_zh").glob("*.json")):
        told = json_file(path)
        for start in range(0, len(told), _CHUNK):
            part = told[start : start + _CHUNK]
            if len(part) >= _CHUNK // 2:
                out.append(_days(path.stem, start, part))
    return out


def _days(name: str, start: int, told: list[Any]) -> Conversation:
    messages, asked = [spoken("system", "你是用户的个人助理，记住用户说过的话。")], []
    for each in told:
        texts = {message["mid"]: message["message"].strip() for message in each["message_list"]}
        for message in each["message_list"]:
            place = f"{each['tid']}-{message['mid']}"
            messages.append({**spoken("user", texts[message["mid"]]), "ts": message.get("time"), "id": place})
        for found in each["question_list"]:
            gold = [texts[mid] for mid in found["target_step_id"] if mid in texts]
            answers = [found["answer"]] if isinstance(found["answer"], str) else []
            if gold:
                place = f"{name}/{each['tid']}/{found['qid']}"
                asked.append(Question(place, found["question"], gold, answers, name[:2], []))
    return Conversation(f"{name}/{start}", messages, asked)


def bfcl_memory(root: Path) -> list[Conversation]:
    """What a user told over several sessions, with short answers and the sentence each stands in."""
    folder = root / "bfcl_memory"
    questions = json_lines(folder / "questions.json")
    answers = {answer["id"]: answer for answer in json_lines(folder / "answers.json")}
    out = []
    for path in sorted((folder / "prereq").glob("*.json")):
        scenario = path.stem.removeprefix("memory_")
        messages = [spoken("system", "You are an assistant that remembers what the user tells you.")]
        for record in json_lines(path):
            messages += [spoken(m["role"], m["content"].strip()) for turn in record["question"] for m in turn]
        own = [question for question in questions if question["scenario"] == scenario]
        asked = [found for each in own if (found := _remembered(each, answers[each["id"]], messages))]
        out.append(Conversation(scenario, messages, asked))
    return out


def _remembered(question: Any, answer: Any, messages: list[Message]) -> Question | None:
    quoted = [piece.strip() for piece in re.split(r"\.\.\.|…", answer.get("source", "")) if len(piece.strip()) > 15]
    texts = [message["content"] for message in messages[1:]]
    gold = [text for text in texts if any(_plain(piece) in _plain(text) for piece in quoted)]
    if not gold:
        return None
    accepted = [str(each) for each in answer["ground_truth"]]
    query = question["question"][0][0]["content"]
    return Question(question["id"], query, gold[:2], accepted, question["scenario"], [], any_answer=True)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().lower()
