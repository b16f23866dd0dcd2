"""What the engine itself says to a model, in English and Chinese. One table, so that nothing is said two ways."""

import re
from collections.abc import Iterator
from typing import Any

from sightline.errors import BadInput

LOCALES = ("en", "zh")

_WORDS = {
    "left out": (
        "[left out here: {messages:,} earlier messages, #{first} to #{last}, {tokens:,} tokens; kept in the log: "
        "recall(query) finds them, expand(id) shows one]",
        "[此处省略了 {messages:,} 条较早的消息，#{first} 至 #{last}，共 {tokens:,} 个 token；日志中完整保留："
        "recall(query) 可查找，expand(id) 可查看]",
    ),
    "binding": (
        "[what the user laid down earlier, word for word; where two differ, the later holds]",
        "[用户早先的要求，原文照录；如有冲突，以后面的为准]",
    ),
    "more binding": ("- older ones: {ids}", "- 更早的：{ids}"),
    "recalled": (
        "[recalled from earlier in this conversation]",
        "[从本次对话较早处取回]",
    ),
    "summary": (
        "[summary of the conversation up to here; what it leaves out is kept: recall(query) finds it]",
        "[到此为止的对话总结；未包含的内容都有保留：recall(query) 可查找]",
    ),
    "state": ("[what is known so far]", "[目前已知]"),
    "recalled lines": ("[#{id} lines {first}–{last}]", "[#{id} 第 {first}–{last} 行]"),
    "recalled item": ("[#{id}]", "[#{id}]"),
    "orphan": (
        "[result of a call that is not in this conversation: {name}]",
        "[对话中没有对应调用的工具结果：{name}]",
    ),
    "late": ("[late result of the interrupted call {name}]", "[已中断的调用 {name} 迟到的结果]"),
    "interrupted": ("[interrupted: no result]", "[已中断：没有结果]"),
    "page": (
        "[#{id} lines {first}–{last} of {total}; expand(id, start={next}) goes on]",
        "[#{id} 第 {first}–{last} 行，共 {total} 行；expand(id, start={next}) 继续]",
    ),
    "page end": ("[#{id} lines {first}–{last} of {total}]", "[#{id} 第 {first}–{last} 行，共 {total} 行]"),
    "no match": ("[#{id}: no line matches {grep}]", "[#{id}：没有匹配 {grep} 的行]"),
    "nothing found": ("[nothing in this conversation matches]", "[本次对话中没有匹配的内容]"),
    "expand how": ('[expand needs an id, such as expand(id="#412")]', '[expand 需要 id，例如 expand(id="#412")]'),
    "recall how": ("[recall needs a query: what to look for]", "[recall 需要 query：要查找的内容]"),
    "unknown item": ("[no item {id} in this conversation]", "[本次对话中没有 {id}]"),
}


def _beginnings() -> Iterator[str]:
    """How each of the words above begins, as a pattern: up to its first value."""
    texts = [text for both in _WORDS.values() for text in both]
    return (re.escape(text[1:].partition("{")[0]) for text in texts if text[0] == "[" and not text.startswith("[#{"))


# The beginnings of what the engine says in a user's place: of the words above, of shortened texts (`[#412 …`), and of
# the label that a system message gets in formats without a place for it.
_OURS = re.compile(r"\\*\[(?:" + "|".join(_beginnings()) + r"|#\d|system\])")


def said_by_another(text: str) -> str:
    """A text that is not the engine's, so that nobody takes it for that: what begins like ours gets a backslash."""
    return "\\" + text if _OURS.match(text) else text


def say(key: str, locale: str = "en", **values: Any) -> str:
    """The words for `key`, filled in."""
    return _WORDS[key][LOCALES.index(locale)].format(**values)


def check_locale(locale: str) -> str:
    """The locale itself. Raises BadInput for one we do not speak."""
    if locale not in LOCALES:
        raise BadInput(f"unknown locale {locale!r}; choose one of {', '.join(LOCALES)}")
    return locale
