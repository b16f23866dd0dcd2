"""What Claude Code and Codex really send, recorded once and replayed without them.

    for step in load("claude"):
        post(step.path, step.raw, step.headers)      # the upstream: Upstream(replay("claude"))

The agents' own texts (system prompts, descriptions of tools) are theirs: they are replaced by words without meaning of
the same length. All else is as it was sent, byte for byte. To record again, from the root of the project:

    .venv/bin/python tests/server/agent_recordings.py
"""

import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from coding_agents import SUMMARY, EditAll, install, make_project, run_claude, run_codex
from upstream import Asked, Upstream
from upstream_script import Answer, Raw

Json = dict[str, Any]

FOLDER = Path(__file__).parent / "recorded"
AGENTS = ("claude", "codex")
COMPACTED = "claude_compacted"  # a run in which Claude Code compacts its own history once
PLACE = "/home/user"  # instead of the folder that it was recorded in
LONG = 120  # characters; what the script and the project have is shorter, or a result
SECRETS = {"x-api-key", "authorization", "host", "content-length", "connection", "accept-encoding"}
KEPT = {"output", "signature", "encrypted_content", "arguments", "input", "user_id", "data", "client_metadata"}
WORDS = (
    "the", "file", "tool", "reads", "a", "line", "when", "this", "name", "is", "given", "and", "shows",
    "its", "end", "but", "never", "more", "than", "one", "page", "of", "it",
)  # fmt: skip


@dataclass(frozen=True)
class Recorded:
    """One request of an agent, and what it was answered."""

    path: str  # with its query
    headers: dict[str, str]  # without the key
    raw: bytes
    answer: list[Json]  # blocks of Anthropic's, items of the Responses API

    @property
    def body(self) -> Json:
        """The request as JSON."""
        return dict(json.loads(self.raw))


def load(agent: str) -> list[Recorded]:
    """The requests of one run, in order."""
    lines = lzma.decompress((FOLDER / f"{agent}.jsonl.xz").read_bytes()).decode().splitlines()
    steps = (json.loads(line) for line in lines)
    return [Recorded(each["path"], each["headers"], each["raw"].encode(), each["answer"]) for each in steps]


def replay(agent: str) -> list[Answer]:
    """The script by which the upstream gives the same answers again."""
    return [Answer(tuple(Raw(block) for block in step.answer)) for step in load(agent)]


def save(name: str, asked: list[Asked], place: str) -> None:
    """Write a run down, without the agent's own texts and the recorder's folder."""
    lines = []
    for each in asked:
        assert dump(each.body) == each.raw.decode(), "the agent writes JSON in another way"
        headers = {key: value for key, value in each.headers.items() if key not in SECRETS}
        path = each.path + (f"?{each.query}" if each.query else "")
        line = dump({"path": path, "headers": headers, "raw": dump(_hide(each.body)), "answer": each.answer})
        lines.append(line.replace(place, PLACE))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.jsonl.xz").write_bytes(lzma.compress("\n".join(lines).encode(), preset=9))


def dump(value: object) -> str:
    """JSON as both agents write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _hide(value: Any) -> Any:
    """The same with long texts replaced, but for results, arguments and what is signed."""
    match value:
        case {"type": "tool_result"}:
            return value
        case dict():
            return {key: _hide_field(key, each) for key, each in value.items()}
        case list():
            return [_hide(each) for each in value]
        case str() if len(value) > LONG and " is kept\n" not in value:  # a page of the project is ours
            return SUMMARY.join(_filler(each) if each else "" for each in value.split(SUMMARY))
        case _:
            return value


def _hide_field(key: str, value: Any) -> Any:
    if isinstance(value, str) and key == "description":
        return _filler(value)
    kept = key in KEPT and (isinstance(value, str) or key == "client_metadata")
    return value if kept else _hide(value)


def _filler(text: str) -> str:
    """As many characters without meaning: the same for the same text."""
    random = Random(text)
    words: list[str] = []
    length = 0
    while length < len(text):
        words.append(random.choice(WORDS))
        length += len(words[-1]) + 1
    return (" ".join(words)[: len(text) - 1] + ".")[: len(text)]


def record(name: str, files: int = 12, lines: int = 40, window: int = 200_000) -> None:
    """Run an agent against the upstream and save what it sent and what was answered, without refused requests."""
    agent = name.partition("_")[0]
    programs = install(Path(".cache") / "agents")
    with TemporaryDirectory() as place:
        project = make_project(Path(place), files=files, lines=lines)
        with Upstream(EditAll(project, agent), window=window) as upstream:
            if agent == "claude":
                run_claude(programs, project, upstream.anthropic_url)
            else:
                run_codex(programs, project, upstream.openai_url)
        assert project.is_done()
        assert all(asked.overflow for asked in upstream.asked if asked.verdict)
        save(name, upstream.calls, place)


if __name__ == "__main__":
    for each in AGENTS:
        record(each)
    record(COMPACTED, files=16, lines=150, window=50_000)
