"""All words that a shortened item adds to its text, in one table."""

import re

PHRASES = {
    "en": {
        "summary": "[{handle}{what}: {size}; shortened{how}]",
        "how": ", expand {handle} for all",
        "how on": ", expand {handle} from line {n} on",
        "gist": "[{handle}{what}: {tokens} tokens]",
        "lines": "{lines} lines, {tokens} tokens",
        "line": "{tokens} tokens",
        "gap": "… {n} lines",
        "gap one": "… {n} line",
        "gap lines": "… lines {first}-{last}",
        "alike": "{n} alike",
        "cut": " …[{handle}: {n} chars] … ",
        "more": "…[{handle}: {n} more]",
        "user": "user message",
        "program": "program message",
        "assistant": "assistant message",
        "system": "system message",
        "window": "window",
        "summarised": "summary",
        "recall": "recall",
        "image": "image",
        "file": "file",
        "file read": "[file read]",
        "read": "[file read] {name} ({details})",
        "read lines": "{n} lines",
        "read lines one": "1 line",
        "rows": "{n} rows",
        "rows one": "1 row",
        "functions": "functions: {names}",
        "classes": "classes: {names}",
        "columns": "columns: {names}",
        "keys": "keys: {names}",
        "array": "array({n} items)",
        "array one": "array(1 item)",
        "more names": "{names} and {more} more",
        "text": "text",
    },
    "zh": {
        "summary": "[{handle}{what}：{size}；已缩短{how}]",
        "how": "，展开 {handle} 可见全文",
        "how on": "，从第 {n} 行起展开 {handle} 可继续阅读",
        "gist": "[{handle}{what}：{tokens} tokens]",
        "lines": "{lines} 行，{tokens} tokens",
        "line": "{tokens} tokens",
        "gap": "… {n} 行",
        "gap one": "… {n} 行",
        "gap lines": "… 第 {first}-{last} 行",
        "alike": "类似的共 {n} 行",
        "cut": " …[{handle}：{n} 字符] … ",
        "more": "…[{handle}：另有 {n} 项]",
        "user": "用户消息",
        "program": "程序消息",
        "assistant": "助手消息",
        "system": "系统消息",
        "window": "窗口",
        "summarised": "摘要",
        "recall": "召回",
        "image": "图片",
        "file": "文件",
        "file read": "[文件已读取]",
        "read": "[文件已读取] {name} ({details})",
        "read lines": "{n}行",
        "read lines one": "1行",
        "rows": "{n}行",
        "rows one": "1行",
        "functions": "函数: {names}",
        "classes": "类: {names}",
        "columns": "列: {names}",
        "keys": "键: {names}",
        "array": "数组({n}项)",
        "array one": "数组(1项)",
        "more names": "{names} 等{n}个",
        "text": "文本",
    },
}


def phrases(locale: str) -> dict[str, str]:
    """Return the table of a locale: "zh-CN" gives "zh"; an unknown locale gives English."""
    return PHRASES.get(locale[:2].lower(), PHRASES["en"])


def without_handle(text: str, handle: str, *, only_how: bool = False) -> str:
    """Return a shortened text that neither names its item nor says how to see all of it, for a model without `expand`.

    Labels name it after their bracket, and the line about a file that was read at its end. With `only_how`, as payloads
    of format 1 had it, the handle stays.
    """
    for wording in PHRASES.values():
        text = text.replace(f"{wording['how'].format(handle=handle)}]", "]")
        before, _, after = wording["how on"].format(handle=handle, n="\n").partition("\n")
        text = re.sub(rf"{re.escape(before)}\d{{1,12}}{re.escape(after)}\]", "]", text)
    if only_how:
        return text
    first, newline, rest = text.partition("\n")
    text = first.removesuffix(f" {handle}") + newline + rest
    return re.sub(rf"\[{handle}(?:: |：| )", "[", text)
