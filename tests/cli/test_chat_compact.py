"""/compact on a real terminal: the document's words under --lang zh, plain ones with the same facts in English."""

import re
from pathlib import Path

import pytest
from chat_place import configured, talked
from chat_terminal import Terminal
from stub import Stub, answer

from sightline.cli.phrases import LANGUAGES

Shown = pytest.CaptureFixture[str]
TALK = ["重构 src/utils.ts，再运行测试。", "现在看 src/main.ts。"]
ANSWERS = [f"第 {number} 步已完成。" + "函数 add 已移到 src/utils.ts，测试全部通过。" * 40 for number in range(2)]
SUMMARY = "## 主要请求与意图\n用户请求重构 src/utils.ts 并运行测试；函数 add 已移动，测试全部通过。"
FACTS = {
    "en": r"Compacted\.\n+Tokens: ([\d,]+) → ([\d,]+) \(-(\d+\.\d)%\)\nFiles included: (.*)\n",
    "zh": r"✅ 压缩完成！\n+Token 变化: (\d+) → (\d+) \(-(\d+\.\d)%\)\n包含文件: (.*)\n",
}
FAILED = {
    "en": r"Compacted without a summary by the model\.\n+(.*)\n+The newest 30% of the messages are kept\.\n",
    "zh": r"⚠️ 压缩使用降级策略\n+(.*)\n+已保留最近 30% 的消息。\n",
}
REASONS = {"en": "the model's answer is empty", "zh": "模型的回答为空"}
TOO_LITTLE = {"en": "There is not enough conversation to compact.", "zh": "没有足够的对话历史需要压缩"}


def project_with_files(folder: Path, url: str) -> Path:
    project = configured(folder / "shop", url)
    (project / "src").mkdir()
    for name in ("utils", "main"):
        (project / "src" / f"{name}.ts").write_text("export function add(a, b) { return a + b; }\n")
    return project


@pytest.mark.slow
@pytest.mark.accepts(227, 229, 230)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_compaction_tells_the_facts_of_the_document(tmp_path: Path, language: str) -> None:
    """Before anything is said it is refused; then tokens before and after, the per cent between them, the files."""
    with Stub([*map(answer, ANSWERS), answer(SUMMARY)]) as stub:
        terminal = Terminal(project_with_files(tmp_path, stub.url), "--lang", language)
        terminal.prompt()
        terminal.type("/compact\r")
        terminal.until(TOO_LITTLE[language])
        for line in TALK:
            terminal.prompt()
            terminal.type(line + "\r")
            terminal.until("测试全部通过")
        terminal.prompt()
        terminal.type("/c\r")
        terminal.until("/uncompact ")
        terminal.prompt()
        terminal.type("/quit\r")
        assert terminal.end() == 0
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", terminal.shown)
    [(pre, post, percent, files)] = re.findall(FACTS[language], shown)
    before, after = int(pre.replace(",", "")), int(post.replace(",", ""))
    assert f"{(1 - after / before) * 100:.1f}" == percent
    assert files.strip() == "src/utils.ts, src/main.ts"


@pytest.mark.slow
@pytest.mark.accepts(231)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_model_without_a_summary_is_told_in_the_readers_language(
    tmp_path: Path, capsys: Shown, language: str
) -> None:
    """The reason too; the facts follow, and no file was included."""
    with Stub([*map(answer, ANSWERS), answer("")]) as stub:
        talked(project_with_files(tmp_path, stub.url), [*TALK, "/compact"], language=language)
    shown = capsys.readouterr().out
    assert re.findall(FAILED[language], shown) == [REASONS[language]]
    none = {"en": "Files included: none", "zh": "包含文件: 无"}[language]
    assert none in shown
    assert {"en": "Compacted.\n", "zh": "✅"}[language] not in shown


@pytest.mark.slow
@pytest.mark.accepts(227)
@pytest.mark.parametrize("capable", [True, False], ids=["model", "rule"])
def test_a_second_question_is_enough(tmp_path: Path, capsys: Shown, capable: bool) -> None:
    """The first question is replaced, the last answer stays; afterwards there is too little."""
    switch, question = [] if capable else ["/model other"], TALK[0] + "函数 add 要移动，注释要保留。" * 20
    with Stub([answer("已完成。"), answer("看过了。"), answer(SUMMARY), answer(SUMMARY), answer("好的。")]) as stub:
        project = project_with_files(tmp_path, stub.url)
        talked(project, [question, "谢谢", *switch, "/compact", "/compact", "/compact full"], language="zh")
        shown = capsys.readouterr().out
        assert shown.count("压缩完成") == 1
        assert shown.count(TOO_LITTLE["zh"] + "。若要重做") == 1
        assert len(re.findall(r"摘要 ?#?\d* ?代替 #\d+ 至 #\d+ 的 3 条消息", shown)) == 2
        talked(project, ["继续"], continue_=True)
        sent = stub.asked[-1].body["messages"]
    texts = [str(message["content"]) for message in sent if message["role"] != "system"]
    assert texts[-2:] == ["看过了。", "继续"]
    assert question not in texts
    assert any("重构 src/utils.ts" in text for text in texts[:-2])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_summary_that_saves_nothing_is_not_used(tmp_path: Path, capsys: Shown, language: str) -> None:
    """A short question: a summary of it would be no shorter, so nothing is replaced, and that is said."""
    with Stub([answer("已完成。"), answer(SUMMARY)]) as stub:
        talked(project_with_files(tmp_path, stub.url), [TALK[0], "/compact", "/compact full"], language=language)
    shown = capsys.readouterr().out
    assert {"en": "Nothing was compacted: a summary would be no shorter", "zh": "未压缩：摘要不会比"}[language] in shown
    assert {"en": "Nothing is compacted on this branch", "zh": "本分支没有压缩过"}[language] in shown
