"""Small made-up conversations for the quality benchmark's own tests."""

from typing import Any

from benchmarks.quality.baselines import full
from benchmarks.quality.composer_calls import Row
from benchmarks.quality.records import Run
from benchmarks.quality.replay import measure_replay

Json = dict[str, Any]

SYSTEM: Json = {"role": "system", "content": "Be brief."}
USER: Json = {"role": "user", "content": "do it"}
REPLY: Json = {"role": "assistant", "content": "ok"}


def call(name: str, arguments: str = "{}") -> Json:
    """A message that makes one call."""
    made = {"id": name, "type": "function", "function": {"name": "look", "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [made]}


def tool(name: str, content: str = "x") -> Json:
    """Its answer."""
    return {"role": "tool", "tool_call_id": name, "content": content}


def buried(pause: int | None = None) -> Run:
    """A run in which a value is shown early in a long answer, buried, and used at the end twice.

    With `pause`, messages have times, and from that message on an hour has passed.
    """
    messages = [SYSTEM, USER]
    for number in range(1, 9):
        answer = "alpha.py holds KEY_4711 " + "word " * 3000 if number == 1 else "filler text " * 40
        messages += [call(str(number), '{"path":"nothing"}'), tool(str(number), answer)]
    for number in (9, 10):
        messages += [call(str(number), '{"key":"KEY_4711"}'), tool(str(number), "done")]
    messages = [dict(message) for message in (*messages, REPLY)]
    if pause is not None:
        for at, message in enumerate(messages):
            message["ts"] = f"2026-01-01T{10 + (at >= pause)}:00:{at:02d}Z"
    return Run("one", "one", messages)


def measured(composer: Any, run: Run | None = None, budget: int = 3000, **options: Any) -> dict[str, Row]:
    """The rows of one run: of the full history, and of this composer as "it"."""
    rows = measure_replay("made up", [run or buried()], {"full": full, "it": composer}, (budget,), 5, **options)
    return {row["composer"]: row for row in rows}
