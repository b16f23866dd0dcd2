"""How many of twenty constraints and facts can be read in a small context window: with `compose`, and after `compact`.

    python -m benchmarks.quality.small_windows

Each is said once in a conversation of some 2,000 tokens, half of them inside a longer message. It counts as readable if
one message of the payload shows its value, the word it is about and its negation. All twenty are such as are recognised
as constraints, so this measures the room that they get, not how many are recognised: see `unseen_sentences`.
"""

from contextlib import suppress
from random import Random
from typing import NamedTuple

from sightline import Budget, MemoryStore, NotShorter, Session, Settings
from sightline.values.items import plain_text

WINDOWS = (200, 400, 600)
TOKENS = 2_000  # of the whole conversation
QUESTION = {"en": "Please go on with the next step.", "zh": "请继续下一步。"}


class Said(NamedTuple):
    """A sentence of the user, and what must be readable of it."""

    words: str
    needs: tuple[str, ...]


SAID = {
    "en": (
        Said("Budget cap is $956.", ("budget", "956")),
        Said("My time zone is UTC+8.", ("time zone", "utc+8")),
        Said("Use tabs, not spaces.", ("tabs", "not spaces")),
        Said("Never push to the main branch.", ("never", "main")),
        Said("The customer number is KD-48213.", ("customer", "KD-48213")),
        Said("Keep every function under 45 lines.", ("function", "45")),
        Said("Do not touch the billing module.", ("not", "billing")),
        Said("The staging host is heron-3.", ("staging", "heron-3")),
        Said("Write all comments in British English.", ("comments", "british")),
        Said("The deadline is 14 March.", ("deadline", "14 march")),
        Said("At most 3 retries per request.", ("3", "retries")),
        Said("Don't add new dependencies without asking me.", ("don't", "dependencies")),
        Said("The contact at the bank is Maria Lindqvist.", ("bank", "lindqvist")),
        Said("Amounts must have two decimals.", ("amounts", "two decimals")),
        Said("Our release branch is release/2.4.", ("release/2.4",)),
        Said("Ask me before you delete a table.", ("ask", "delete", "table")),
        Said("Log files go to /var/log/quay.", ("log", "/var/log/quay")),
        Said("No emojis in commit messages.", ("no", "emojis")),
        Said("I prefer one long report to five short ones.", ("prefer", "one long report")),
        Said("The metrics port is 9187.", ("metrics", "9187")),
    ),
    "zh": (
        Said("预算上限是956元。", ("预算", "956")),
        Said("我的时区是UTC+8。", ("时区", "utc+8")),
        Said("用制表符缩进，不要用空格。", ("制表符", "不要用空格")),
        Said("不要推送到主分支。", ("不要", "主分支")),
        Said("客户编号是KD-48213。", ("客户", "kd-48213")),
        Said("每个函数不超过45行。", ("函数", "45")),
        Said("不要动计费模块。", ("不要", "计费")),
        Said("测试服务器是heron-3。", ("服务器", "heron-3")),
        Said("注释都用英文写。", ("注释", "英文")),
        Said("截止日期是3月14日。", ("截止", "3月14日")),
        Said("重试最多3次。", ("重试", "3")),
        Said("没问过我不要加新的依赖。", ("不要", "依赖")),
        Said("银行的联系人是林玛丽。", ("银行", "林玛丽")),
        Said("金额保留两位小数。", ("金额", "两位小数")),
        Said("发布分支是release/2.4。", ("release/2.4",)),
        Said("删表之前先问我。", ("删表", "先问我")),
        Said("日志放在/var/log/quay。", ("日志", "/var/log/quay")),
        Said("提交信息里不要用表情。", ("提交", "不要", "表情")),
        Said("我喜欢一份长报告，不要五份短的。", ("一份长报告",)),
        Said("监控端口是9187。", ("监控", "9187")),
    ),
}
# what is said besides; nothing of it lays anything down
TALK = {
    "en": (
        ("How is the harbour page coming along?", "The page loads and shows the berths; the map is still grey."),
        (
            "I had a look at it this morning, it looks nice.",
            "Glad to hear that. The map library answered slowly today.",
        ),
        ("The meeting went well, thanks for the slides.", "You're welcome. I saved the slides next to the notes."),
        ("What did the tests say?", "Most of them are green; two in the crane package are red because of the clock."),
        ("The office is quiet today.", "Then it is a good day for the refactoring of the crane package."),
    ),
    "zh": (
        ("港口页面做得怎么样了？", "页面能打开，泊位也显示了，地图还是灰的。"),
        ("我早上看了一下，挺好看的。", "很高兴听到这个。地图库今天响应有点慢。"),
        ("会开得很顺利，谢谢你的幻灯片。", "不客气，幻灯片和笔记放在一起了。"),
        ("测试结果怎么样？", "大部分通过，吊车包里有两个因为时钟失败了。"),
        ("今天办公室很安静。", "那正好适合重构吊车包。"),
    ),
}
ANSWERS = {
    "en": ("Acknowledged.", "Noted, I will keep to that.", "Understood."),
    "zh": ("收到。", "好的，记住了。", "明白。"),
}


def conversation(locale: str, seed: int) -> Session:
    """A session in which each of the twenty is said once, in random order, among other talk."""
    random, session = Random(seed), Session(MemoryStore(f"small-{locale}-{seed}"), settings=Settings(locale=locale))
    said = random.sample(SAID[locale], len(SAID[locale]))
    used = 0
    for at, each in enumerate(said):
        while used < TOKENS * at / len(said):
            asked, answered = random.choice(TALK[locale])
            session.user(asked)
            session.assistant(answered)
            used += session.count(asked) + session.count(answered)
        words = f"{random.choice(TALK[locale])[0]} {each.words}" if at % 2 else each.words
        session.user(words)
        session.assistant(random.choice(ANSWERS[locale]))
        used += session.count(words)
    session.user(QUESTION[locale])
    return session


def readable(session: Session, locale: str, window: int, *, compact: bool) -> tuple[float, int]:
    """The share of the twenty that one payload shows, and its tokens."""
    budget = Budget(window)
    with suppress(NotShorter):  # in the smallest window a digest may save nothing
        if compact:
            session.summaries.compact(budget)
    payload = session.compose(budget)
    texts = [plain_text(message.parts).lower() for message in (*payload.body, *payload.tail)]
    shown = [any(_shows(line, each) for text in texts for line in text.split("\n")) for each in SAID[locale]]
    return sum(shown) / len(shown), payload.tokens


def _shows(line: str, said: Said) -> bool:
    return all(need.lower() in line for need in said.needs)


def main() -> None:
    print("language  what     " + "".join(f"{window:>12}" for window in WINDOWS))
    for locale in SAID:
        for compact in (False, True):
            cells = []
            for window in WINDOWS:
                found = [readable(conversation(locale, seed), locale, window, compact=compact) for seed in range(5)]
                share = sum(each for each, _ in found) / len(found)
                cells.append(f"{share:>6.0%} ({max(tokens for _, tokens in found)})")
            print(f"{locale:<9} {'compact' if compact else 'compose'}  " + "".join(f"{cell:>12}" for cell in cells))


if __name__ == "__main__":
    main()
