"""Counting without the tokenizer package: said once, and never too few."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sightline import samples
from sightline.values import cautious
from sightline.values.cautious import Cautious
from sightline.values.tokens import ENCODINGS, counter, estimate_tokens

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


@pytest.mark.slow(
    "login_bug-cl100k_base",
    "login_bug-deepseek_v3",
    "login_bug-glm4",
    "login_bug-kimi_k2",
    "login_bug-llama3",
    "login_bug-mistral_v3",
    "login_bug-o200k_base",
    "login_bug-o200k_harmony",
    "login_bug-qwen3",
    "ops_incident-cl100k_base",
)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", samples.names())
def test_no_text_of_a_sample_is_counted_too_low(name: str, encoding: str) -> None:
    """Text by text, with every vocabulary; all together at most 1.65 times the truth."""
    exact, cautious = counter(encoding).count, Cautious(encoding).count
    texts = texts_of(json.loads((Path(samples.__file__).parent / f"{name}.json").read_bytes()))
    assert len(texts) > 10
    for text in texts:
        assert cautious(text) >= exact(text), text[:200]
    assert sum(map(cautious, texts)) <= 1.65 * sum(map(exact, texts))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", generated())
def test_no_generated_text_is_counted_too_low(kind: str, encoding: str) -> None:
    """With every vocabulary; the document's estimate is too low by a third to a half."""
    text = generated()[kind]
    exact = counter(encoding).count(text)
    assert exact <= Cautious(encoding).count(text) <= 2 * exact
    assert estimate_tokens(text) < 0.8 * exact


_SCRIPTS = (
    (0x20, 0x7E), (0x80, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x590, 0x6FF), (0x700, 0x7FF),
    (0x900, 0xDFF), (0xE00, 0x13FF), (0x1E00, 0x20FF), (0x2100, 0x27FF), (0x2800, 0x28FF), (0x3000, 0x30FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xF8FF), (0xFE00, 0xFFFF), (0x1D400, 0x1D7FF),
    (0x1F000, 0x1FAFF), (0x20000, 0x2A6DF),
)  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def piece(draw: random.Random) -> str:
    """A stretch of one kind of text: blanks, an id, digits, marks, words, a script."""
    lengths = range(draw.randrange(1, draw.choice((3, 8, 30))))
    first, last = draw.choice(_SCRIPTS)
    letter = chr(draw.randint(first, last))
    kinds: list[Callable[[], str]] = [
        lambda: draw.choice(" \t\n\r\v\f"),
        lambda: draw.choice(_LETTERS[:26]),
        lambda: draw.choice(_LETTERS),
        lambda: draw.choice("0123456789"),
        lambda: draw.choice("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
        lambda: draw.choice(WORDS),
        lambda: draw.choice(CHARACTERS),
        lambda: chr(draw.randint(first, last)),
        lambda: letter,
        lambda: draw.choice(WORDS) + draw.choice(("'s", "'S", "'ll", "'", "’s", "_", "\u00a0", "\u3000", "²")),
    ]
    kind = draw.choice(kinds)
    return "".join(kind() for _ in lengths)


WORDS = sorted(cautious._common().words)
CHARACTERS = sorted(cautious._common().everywhere | cautious._common().elsewhere)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_random_text_is_counted_too_low(encoding: str) -> None:
    """Blanks of all kinds, ids, digits, marks, words, 21 scripts, in any order, repeated or not."""
    draw, exact, bound = random.Random(encoding), counter(encoding).count, Cautious(encoding).count
    for _ in range(1_500):
        text = "".join(piece(draw) for _ in range(draw.choice((1, 2, 4, 12)))) * draw.choice((1, 1, 1, 10))
        assert exact(text) <= bound(text) <= 3 * len(text.encode()), text


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "text",
    [
        "\t \n\r" * 500,
        "\r\n \r\n\t" * 300,
        "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ building\n" * 50,
        "\ue0b0\uf121\ue0a0 " * 200,
        "Die Donaudampfschifffahrtsgesellschaft überprüft Straßenverhältnisse und sagt, was zu tun ist. " * 20,
        "👩‍👩‍👧‍👦🇩🇪" * 50,
        "it's 'server'sdata don't SHE'LL 'test' " * 20,
    ],
)
def test_no_difficult_text_is_counted_too_low(text: str, encoding: str) -> None:
    """Mixed blanks, spinners, private use, German, emoji, apostrophes that take letters along."""
    assert counter(encoding).count(text) <= Cautious(encoding).count(text)


@pytest.mark.slow
def test_counting_takes_linear_time() -> None:
    """Four times the text takes at most eight times the time, also without a blank."""
    bound = Cautious().count
    for unit in ("x", "\n ", "'", "é", "word ", "qz", "1"):
        times = []
        for size in (50_000, 200_000):
            text = unit * (size // len(unit))
            began = time.process_time()
            bound(text)
            times.append(time.process_time() - began)
        assert times[1] <= 8 * times[0] + 0.05


@pytest.mark.slow
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
    assert len(texts) > 4
    assert sum(map(counter().count, texts)) <= tokens <= 3_500
