"""A shop of thirty services, and a model that looks after them. Both are made up: nothing here costs money."""

import functools
import itertools
import re
from typing import Any

import sightline as sl
from sightline.testing import calling, reply_of

SERVICES = [f"{area}-{letter}" for area in ("cart", "search", "stock", "mail", "login") for letter in "abcdef"]
SERVICE = {"type": "object", "properties": {"service": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "read_log", "parameters": SERVICE}}]
count = functools.cache(sl.Session(sl.MemoryStore()).count)


def read_log(service: str) -> str:
    """Two hundred lines, of which one matters."""
    number = SERVICES.index(service)
    lines = [f"12:{n // 60:02}:{n % 60:02} GET /{service}/{n * 7919 % 9973} 200 {n * 31 % 97} ms" for n in range(200)]
    lines[140] = f"12:02:20 ERROR {service}: no connection to db-{number % 4} on port {5400 + number}"
    return "\n".join(lines)


class Model:
    """Asks for a log if told to read it, else quotes the line that it is asked for. It has a price, as others have."""

    def __init__(self) -> None:
        self.before: list[str] = []
        self.calls, self.tokens, self.dollars = 0, 0, 0.0

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        texts = [text_of(message) for message in request["messages"]]
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(texts, self.before, strict=False))
        cached = sum(count(text) for text, _ in same)  # what begins like the request before
        new = sum(map(count, texts)) - cached
        self.before, self.calls, self.tokens = texts, self.calls + 1, self.tokens + cached + new
        self.dollars += (cached * 0.2 + new * 2.5 + 20 * 10) / 1_000_000  # prices of Claude Sonnet 5.5
        details = {"cached_tokens": cached, "cache_write_tokens": new}
        usage = {"prompt_tokens": cached + new, "completion_tokens": 20, "prompt_tokens_details": details}
        return answer(texts) | {"usage": usage}

    def bill(self) -> str:
        return f"{self.calls} calls, {self.tokens:,} tokens: ${self.dollars:.2f}"


def text_of(message: dict[str, Any]) -> str:
    content = message["content"] or str(message.get("tool_calls"))
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def answer(texts: list[str]) -> dict[str, Any]:
    words = texts[-1].splitlines()[-1]
    [service] = re.findall(r"\w+-[a-f]", words)[:1]
    if words.startswith("Read the log"):
        return calling(("read_log", {"service": service}))
    [moment] = re.findall(r"at (\S+)\?", words) or ["ERROR"]
    lines = re.findall(r"12:\d\d:\d\d .*", "\n".join(texts))
    return reply_of(([line for line in lines if service in line and moment in line] or ["I cannot see that."])[-1])
