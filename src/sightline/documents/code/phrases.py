"""The code store's phrases for models and users, in English and Chinese. Some are the BA-Agent document's own."""

from sightline.values.phrases import Phrases

say = Phrases(
    {
        "codes": ("Available code files:", "可用代码文件列表："),
        "use codes": (
            "You can refer to this code in the final report with the tag <code_ref>{code_id}</code_ref>.",
            "你可以通过 <code_ref>{code_id}</code_ref> 标签在最终报告中引用这些代码。",
        ),
        "files": ("Available files:", "可用文件列表："),
        "code group": ("**Code files:**", "**代码文件：**"),
        "upload group": ("**Uploaded files:**", "**上传文件：**"),
        "use code": (
            "You can refer to a code file in the final report with the tag <code_ref>{code_id}</code_ref>.",
            "你可以通过 <code_ref>{code_id}</code_ref> 标签在最终报告中引用代码文件。",
        ),
        "use upload": (
            "You can refer to an uploaded file in the final report with the tag <file_ref>{file_id}</file_ref>.",
            "你可以通过 <file_ref>{file_id}</file_ref> 标签在最终报告中引用上传文件。",
        ),
        "uploaded one": (
            "The user has uploaded a file, to be referred to as: {named}",
            "用户已上传文件，文件引用: {named}",
        ),
        "uploaded several": ("The user has uploaded files: {named}", "用户已上传文件: {named}"),
        "not found": ("not found", "未找到"),
        "shown above": ("shown above", "见上文"),
        "not saved": ("{code_id!r} was not saved: {why}", "{code_id!r} 未保存：{why}"),
        "bad id": (
            "the id is refused; one is code_ and up to 120 letters, digits or _, such as code_sales_analysis",
            "ID 须为 code_ 加最多 120 个字母、数字或下划线，例如 code_sales_analysis",
        ),
        "no code": ("there is no code in it", "其中没有代码"),
        "unsupported": (
            "The language {language!r} is not supported; {code_id} was saved as python.",
            "不支持的语言 {language!r}；{code_id} 已保存为 python。",
        ),
        "says nothing": (
            "{code_id} does not say what the code does; a name such as code_sales_analysis does.",
            "{code_id} 没有说明代码的用途；建议使用 code_sales_analysis 这样的名称。",
        ),
        "too long": (
            "{code_id} is long for a name; one such as code_sales_analysis is easier to refer to.",
            "{code_id} 过于冗长；建议使用 code_sales_analysis 这样的名称，便于引用。",
        ),
        "another session's": (
            "{code_id} was there already, from another session; this is its version {version}, and the earlier are "
            "kept.",
            "{code_id} 已在另一会话中存在；现为第 {version} 版，之前的版本均已保留。",
        ),
    }
)


def one_line(text: str, most: int = 200) -> str:
    """Return a text as one line: white space joined, cut after so many characters."""
    joined = " ".join(text.split())
    return joined if len(joined) <= most else joined[: most - 1].rstrip() + "…"
