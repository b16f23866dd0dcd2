"""Every word a shortened item says for itself, in one table."""

from typing import Final

WORDS: Final[dict[str, dict[str, str]]] = {
    "en": {
        "summary": "[{handle}{what}: {size}; shortened, expand {handle} for all]",
        "gist": "[{handle}{what}: {tokens} tokens]",
        "lines": "{lines} lines, {tokens} tokens",
        "line": "{tokens} tokens",
        "gap": "… {n} lines",
        "gap one": "… {n} line",
        "cut": " …[{handle}: {n} chars] … ",
        "more": "…[{handle}: {n} more]",
        "user": "user message",
        "assistant": "assistant message",
        "system": "system message",
        "window": "window",
        "summarised": "summary",
        "recall": "recall",
        "image": "image",
        "file": "file",
    },
    "zh": {
        "summary": "[{handle}{what}：{size}；已缩短，展开 {handle} 可见全文]",
        "gist": "[{handle}{what}：{tokens} tokens]",
        "lines": "{lines} 行，{tokens} tokens",
        "line": "{tokens} tokens",
        "gap": "… {n} 行",
        "gap one": "… {n} 行",
        "cut": " …[{handle}：{n} 字符] … ",
        "more": "…[{handle}：另有 {n} 项]",
        "user": "用户消息",
        "assistant": "助手消息",
        "system": "系统消息",
        "window": "窗口",
        "summarised": "摘要",
        "recall": "召回",
        "image": "图片",
        "file": "文件",
    },
}


def words(locale: str) -> dict[str, str]:
    """The table of a locale: "zh-CN" reads "zh"; one that is not here reads English."""
    return WORDS.get(locale[:2].lower(), WORDS["en"])
