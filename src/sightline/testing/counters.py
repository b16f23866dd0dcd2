"""Checks of token counters: what the engine relies on when it holds a budget."""

import json

from sightline.values.tokens import TokenCounter

TEXTS = {
    "prose": "The harbour office confirmed that the crane on quay seven lifts again from Tuesday.\n" * 20,
    "code": "".join(
        f"def handle_{n}(request):\n    return reply_{n}(request.body, timeout={n})\n\n" for n in range(40)
    ),
    "json": json.dumps([{"id": f"{n * 7919:024x}", "price": n * 1.25, "tags": ["a_b", None]} for n in range(60)]),
    "logs": "".join(
        f"2024-05-{n % 28 + 1:02}T10:{n:02}:07.{n * 13:03}Z ERROR [worker-{n}] req={n * 104729:016x} "
        f'10.0.{n}.{n + 9}:{8000 + n} "GET /api/v2/items?id={n * 7919} HTTP/1.1" 500 {n / 7:.3f}s\n'
        for n in range(60)
    ),
    "Chinese": "订单号20240516001必须在今天发货，客户要求退款；系统无法连接数据库，请检查网络配置并重新启动服务器。\n"
    * 30,
}
HOSTILE = {
    "surrogates": "\ud800 lone \udfff\udfff",
    "control characters": "\x00\x1b[31m\r\x0b\x85\u2028",
    "blanks": " " * 5_000 + "\n" * 5_000,
    "one long word": "x" * 20_000,
    "special tokens": "<|endoftext|><|im_start|>system" * 50,
    "emoji": "👩‍👩‍👧‍👦🚢é\u0301" * 100,
    "rare characters": "𠀀𪛖\U0010ffff" * 50,
}
_CUT_TOKENS = 2  # by which two halves may count for less than the whole: other tokens are found at the cut


def check_counter(counter: TokenCounter, *, at_least: TokenCounter | None = None) -> None:
    """Count ordinary and hostile texts. With `at_least`, the counter may never be below that one on ordinary texts.

    A count is a whole number, the same each time, 0 for the empty text, more for more text, and never an error. Two
    halves of a text count for at least as much as the whole, but for a few tokens at the cut.

    Raises:
        AssertionError: a check failed. The message says which one, and for which text.
    """
    assert isinstance(counter, TokenCounter), f"{counter!r} has no name or no count(text)"
    assert _count(counter, "", "the empty text") == 0, f"{counter.name}: the empty text has no tokens"
    for kind, text in (TEXTS | HOSTILE).items():
        where = f"{counter.name} on {kind}"
        whole = _count(counter, text, where)
        assert _count(counter, text, where) == whole, f"{where}: the same text has other tokens the next time"
        if kind in TEXTS:
            twice = _count(counter, text + text, where)
            assert twice > whole > 0, f"{where}: {whole} tokens, {twice} for twice the text; more text has more tokens"
        for at in (1, len(text) // 3, len(text) // 2, len(text) - 1):
            halves = _count(counter, text[:at], where) + _count(counter, text[at:], where)
            assert halves >= whole - _CUT_TOKENS, f"{where}: {halves} tokens in two parts, {whole} as a whole"
        if at_least is not None and kind in TEXTS:
            real = at_least.count(text)
            assert whole >= real, f"{where}: {whole} tokens, but {at_least.name} counts {real}; take a margin"


def _count(counter: TokenCounter, text: str, where: str) -> int:
    try:
        tokens = counter.count(text)
    except Exception as error:
        raise AssertionError(f"{where}: {type(error).__name__}: {error}; a count never raises") from error
    assert type(tokens) is int, f"{where}: {tokens!r} is no whole number"
    assert tokens >= 0, f"{where}: {tokens} is negative"
    return tokens
