"""Counting without the tokenizer package: said once, and never too few."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from sightline import samples
from sightline.values.tokens import ENCODINGS, Cautious, counter, estimate_tokens

_COMMON = "订单号必须在今天发货客户要求退款系统无法连接数据库请检查网络配置并重新启动服务器我们会尽快处理您的问题谢谢"


def generated() -> dict[str, str]:
    """JSON, logs, Chinese and random strings, the same in every run."""
    draw = random.Random(7)

    def hexadecimal(digits: int) -> str:
        return f"{draw.getrandbits(4 * digits):0{digits}x}"

    rows = [
        f'{{"id": "{hexadecimal(24)}", "user": "u{draw.randrange(10**6)}", "price": {draw.random() * 999:.2f}}}'
        for _ in range(80)
    ]
    lines = [
        f"2024-05-16T10:{draw.randrange(60):02}:07.{draw.randrange(1000):03}Z ERROR [worker-{draw.randrange(20)}] "
        f"req={hexadecimal(16)} 10.0.{draw.randrange(255)}.7:{draw.randrange(9999)} {draw.random():.3f}s"
        for _ in range(80)
    ]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return {
        "json": f"[{', '.join(rows)}]",
        "json lines": "\n".join(rows),
        "logs": "\n".join(lines),
        "Chinese": "".join(draw.choice(_COMMON) for _ in range(600)),
        "base64": "".join(draw.choice(letters) for _ in range(2_000)),
        "hexadecimal": hexadecimal(2_000),
    }


def texts_of(value: object) -> list[str]:
    """Every text of more than a line in a value."""
    if isinstance(value, str):
        return [value] if len(value) > 60 else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in texts_of(each)]


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize("name", samples.names())
def test_no_text_of_a_sample_is_counted_too_low(name: str, encoding: str) -> None:
    """Text by text, with the vocabularies of most models; all together at most twice the truth."""
    exact, cautious = counter(encoding).count, Cautious(encoding).count
    texts = texts_of(json.loads((Path(samples.__file__).parent / f"{name}.json").read_bytes()))
    assert len(texts) > 10
    for text in texts:
        assert cautious(text) >= exact(text), text[:200]
    assert sum(map(cautious, texts)) <= 1.8 * sum(map(exact, texts))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", generated())
def test_no_generated_text_is_counted_too_low(kind: str, encoding: str) -> None:
    """With every vocabulary; the document's estimate is too low by a third to a half."""
    text = generated()[kind]
    exact = counter(encoding).count(text)
    assert exact <= Cautious(encoding).count(text) <= 2 * exact
    assert estimate_tokens(text) < 0.8 * exact


def test_without_the_tokenizer_it_is_said_once_and_the_budget_holds() -> None:
    """One warning with what to install, whatever is counted; a payload fits by the real vocabulary."""
    program = """
import json, sys
sys.modules["splintr"] = None
from sightline import Budget, MemoryStore, Session
from sightline.values.tokens import counter
counter("cl100k_base")
session = Session(MemoryStore("s"))
for n in range(30):
    session.user("订单号20240516001必须在今天发货，客户要求退款，请检查网络配置并重新启动服务器。" * 4 + str(n))
    session.assistant("2024-05-16T10:01:02.123Z ERROR req=8f3a9c1b77de 10.0.7.9:8080 0.331s " * 6)
payload = session.compose(Budget(4_000, output=500))
print(json.dumps([payload.tokens, [part.text for message in payload.body for part in message.parts]]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.count("RuntimeWarning") == 1
    assert "pip install 'splintr-rs" in done.stderr
    tokens, texts = json.loads(done.stdout)
    assert len(texts) > 5
    assert sum(map(counter().count, texts)) <= tokens <= 3_500
