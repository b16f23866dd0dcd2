"""What a user lays down for the work is found in what the user wrote, and only there.

`messages.json` holds 320 messages labelled by hand, whole sentences. Those marked `late` were written when the detector
was thought finished, the two `blind` sets before it was widened: A was then improved upon, B only scored.
"""

import json
import re
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shorten.rules.sentences import BINDING, NEAR

from sightline.shorten import rules as detector
from sightline.shorten.rules import (
    READ_CHARS,
    chinese,
    constraints,
    deferrals,
    english,
    facts,
    imperatives,
    obligations,
    revocations,
    statements,
    user_sentences,
)
from sightline.shorten.rules.pattern_table import Table
from sightline.shorten.rules.short_form import short_form
from sightline.shorten.rules.user_sentences import SENTENCE

MESSAGES = json.loads((Path(__file__).parent / "messages.json").read_text("utf-8"))
TEXTS = [message["text"] for message in MESSAGES]
WORK_SENTENCES = (Path(__file__).parent / "work_sentences.txt").read_text("utf-8").splitlines()
CHINESE = re.compile(r"[\u4e00-\u9fff]")
PIECES = (
    *(
        "never",
        "must not",
        "don't",
        "only",
        "make sure",
        "keep the",
        "use",
        "without",
        "if you",
        "should",
        "later",
        "todo",
    ),
    *(
        "不要",
        "必须",
        "别",
        "只",
        "以后都",
        "记得",
        "稍后",
        "，",
        "。",
        "？",
        "：",
        ". ",
        "? ",
        ", ",
        ": ",
        "\n",
        "\n\n",
        " ",
    ),
    *(
        "```\n",
        "- ",
        "1. ",
        "# ",
        "Rules:\n",
        "要求：\n",
        '"',
        "“",
        "”",
        "`",
        "<a>",
        "</a>",
        "{",
        "@@ -1",
        "> ",
        "x",
        "é",
        "\u2028",
    ),
)
anything = st.text(st.characters())  # surrogates, too
cue_soup = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
message_texts = st.sampled_from(TEXTS)
a_text = anything | cue_soup | message_texts


class Score(NamedTuple):
    """How what was found compares with the labels."""

    hits: int
    found: int
    labelled: int

    @property
    def precision(self) -> float:
        return self.hits / self.found

    @property
    def recall(self) -> float:
        return self.hits / self.labelled


def matches(found: str, label: str) -> bool:
    """One holds the other, and more than half of the longer is shared."""
    short, long = sorted((found.strip(" .!。！"), label.strip(" .!。！")), key=len)
    return short in long and 2 * len(short) > len(long)


def labels(message: dict[str, Any]) -> list[str]:
    """What the message lays down: rules, what is left for later, and facts."""
    return [*message["rules"], *message["tasks"], *message.get("facts", ())]


def score(messages: list[dict[str, Any]]) -> Score:
    """Each label answers for one find at most."""
    hits = found = labelled = 0
    for message in messages:
        open_labels, finds = list(dict.fromkeys(labels(message))), constraints(message["text"])
        found, labelled = found + len(finds), labelled + len(open_labels)
        for find in finds:
            label = next((label for label in open_labels if matches(find, label)), None)
            if label is not None:
                open_labels.remove(label)
                hits += 1
    return Score(hits, found, labelled)


def in_language(language: str) -> list[dict[str, Any]]:
    """The messages in English or in Chinese, or all."""
    if language == "either":
        return MESSAGES
    return [message for message in MESSAGES if bool(CHINESE.search(message["text"])) == (language == "Chinese")]


# --- The labelled messages


def test_the_messages_are_what_they_claim_to_be() -> None:
    """320 messages, 140 and more Chinese, about half without a rule, 60 late, 60 in each blind set, half of it Chinese;
    each label stands in its text."""
    without = [message for message in MESSAGES if not message["rules"]]
    assert len(MESSAGES) == len(set(TEXTS)) == 320
    assert len(in_language("Chinese")) >= 140
    assert 145 <= len(without) <= 175
    assert sum(message.get("late", False) for message in MESSAGES) == 60
    for name in "AB":
        assert sum(message.get("blind") == name for message in MESSAGES) == 60
        assert sum(message.get("blind") == name for message in in_language("Chinese")) == 30
    assert all(label in message["text"] for message in MESSAGES for label in labels(message))


@pytest.mark.parametrize("language", ["English", "Chinese", "either"])
def test_most_labels_are_found_and_nearly_all_finds_are_labelled(language: str) -> None:
    """Overall and in each language: precision of at least 0.95, recall of at least 0.90."""
    scored = score(in_language(language))
    assert scored.precision >= 0.95
    assert scored.recall >= 0.90


@pytest.mark.parametrize("sentence", BINDING)
def test_what_the_user_lays_down_is_found(sentence: str) -> None:
    """Orders, prohibitions, caps, formats, preferences about the work, facts to be kept, what is left for later."""
    assert constraints(sentence) == [sentence]


@pytest.mark.parametrize("sentence", NEAR)
def test_what_only_sounds_like_it_is_not(sentence: str) -> None:
    """Sympathy, wishes, what people tell about themselves, what life teaches, captions, reports of work."""
    assert constraints(sentence) == []


def test_work_sentences_are_found_by_kind_of_speech() -> None:
    """Of some 300 that lay something down nearly all, of as many that only sound alike nearly none."""
    binding, near = ([line[2:] for line in WORK_SENTENCES if line[:2] == mark] for mark in ("+ ", "- "))
    assert min(len(binding), len(near)) > 280
    missed = [sentence for sentence in binding if constraints(sentence) != [sentence]]
    false = [sentence for sentence in near if constraints(sentence)]
    assert len(missed) <= 0.03 * len(binding), missed
    assert len(false) <= 0.01 * len(near), false


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ("Remember my birthday is March 5.", "My birthday is March 5."),
        ("My employee id is 77120.", "My bike is from 2019."),
        ("We use Stripe.", "I use Spotify."),
        ("The depot opens at 7:30.", "The depot opened at 7:30."),
        ("The limit is 500.", "He said the limit is 500."),
        ("The ferry costs 48 crowns.", "Ada: The ferry costs 48 crowns."),
        ("The lawyer on this is Dana Whitlock.", "My sister on this is Dana Whitlock."),
        ("记住我生日是3月5日。", "我生日是3月5日。"),
        ("我们的时长上限是40分钟。", "我的瑜伽课时长是40分钟。"),
    ],
)
def test_a_fact_is_kept_if_announced_or_about_the_work(kept: str, told: str) -> None:
    """What people tell about themselves, what was, and what others say is none."""
    assert constraints(kept) == [kept]
    assert constraints(told) == []


@pytest.mark.parametrize(
    ("binds", "not_"),
    [
        ("One condition: the pear tree stays.", "One reason: the pear tree stays."),
        ("Store results in Redis.", "Store the result in Redis."),
        ("Express durations in minutes.", "Find durations in minutes."),
        ("Each chapter ends with three exercises.", "Each chapter again ends with three exercises."),
        ("Our style guide forbids wildcard imports.", "Their style guide forbids wildcard imports."),
        ("警告当错误处理。", "家人当客人处理。"),
        ("密钥不能外传。", "程序不能运行。"),
    ],
)
def test_what_is_general_binds_and_what_is_done_once_does_not(binds: str, not_: str) -> None:
    """An order about things of a kind, how each of a kind is, and what is announced."""
    assert constraints(binds) == [binds]
    assert constraints(not_) == []


@pytest.mark.parametrize(
    ("work", "life"),
    [
        ("The report must be long.", "The drive must be long."),
        ("Let's keep the old table names.", "Let's keep the old traditions."),
        ("Make sure the script gets enough memory.", "Make sure the plants get enough sun."),
        ("It's important to test every release.", "It's important to thank every teacher."),
        ("Don't give the script a new name.", "Don't give the past a second thought."),
        ("The release is on 12 June.", "My sister's wedding is on 12 June."),
        ("给客户的邮件一定要附上报价！", "给妈妈的信一定要常写！"),
    ],
)
def test_the_same_words_bind_where_work_is_spoken_of(work: str, life: str) -> None:
    """Two sentences of one form: what is spoken of decides."""
    assert constraints(work) == [work]
    assert constraints(life) == []


def test_no_cue_is_missing_from_the_first_look() -> None:
    """What the judges accept in the messages passes the first look, which most sentences do not."""
    for text in (*TEXTS, *BINDING, *(line[2:] for line in WORK_SENTENCES)):
        for span in user_sentences.sentences(text):
            sentence = text[span.start : span.end]
            assert detector.has_cue(sentence) or not detector.is_constraint(sentence)


@pytest.mark.slow("sightline.shorten.rules.english", "sightline.shorten.rules.imperatives")
@pytest.mark.parametrize(
    "module",
    [chinese, deferrals, english, facts, imperatives, obligations, revocations, statements, user_sentences],
)
def test_each_pattern_matches_the_example_beside_it(module: ModuleType) -> None:
    """A line is found in its example, which passes the first look if it binds, and a table finds what its lines do."""
    tables = [value for value in vars(module).values() if isinstance(value, Table)]
    assert tables
    for pattern, example in (row for table in tables for row in table.rows()):
        assert not example or re.search(pattern, example), (pattern, example)
        assert detector.has_cue(example) or not detector.is_constraint(example)
    examples = [example for table in tables for _, example in table.rows()]
    for text in (*examples, *BINDING, *NEAR, *WORK_SENTENCES):
        plain = user_sentences.plain(text)
        assert [table.in_(plain) for table in tables] == [bool(table.pattern.search(plain)) for table in tables]


# --- What holds of any text


@given(a_text)
def test_finds_are_substrings_in_order_each_once(text: str) -> None:
    """Any string gives verbatim pieces of itself, in order, none twice, none empty, and raises nothing."""
    finds = constraints(text)
    assert len(finds) == len(set(finds))
    at = 0
    for find in finds:
        assert find.strip() == find != ""
        at = text.find(find, at)
        assert at >= 0


@given(message_texts, message_texts)
def test_appending_text_keeps_what_was_found(text: str, more: str) -> None:
    """A further paragraph adds finds after those there were, and takes none away."""
    before = constraints(text)
    assert constraints(f"{text}\n\n{more}")[: len(before)] == before


@given(message_texts.filter(lambda text: "```" not in text), st.sampled_from(["```", "```python", "~~~"]))
def test_fenced_text_is_ignored(text: str, fence: str) -> None:
    """Nothing inside a code fence is the user's, and what stands around it still is."""
    fenced = f"Never push.\n{fence}\n{text}\n{fence[:3]}\nLater we need to merge it."
    assert constraints(fenced) == ["Never push.", "Later we need to merge it."]


@pytest.mark.slow
@given(st.lists(a_text, max_size=5).map("\n".join), st.integers(1, 400))
def test_the_work_is_bounded(text: str, times: int) -> None:
    """What is judged is a run of disjoint pieces of at most SENTENCE characters, within READ_CHARS of the text."""
    long = text * times
    parts = detector.read_parts(long)
    assert sum(map(len, parts)) <= READ_CHARS
    for part in parts:
        spans = list(user_sentences.sentences(part))
        assert all(0 < span.end - span.start <= SENTENCE for span in spans)
        assert all(one.end <= next_one.start for one, next_one in pairwise(spans))


@pytest.mark.parametrize("unit", ["a", " ", ".", "\n", "a ", "1 ", "A ", "不", "，", "the things that ", "在1"])
@pytest.mark.parametrize("end", ["", " 1", "!"])
def test_no_text_takes_long(unit: str, end: str) -> None:
    """100 KB of one thing after a rule, and a sentence of it, are judged at once: no pattern backtracks for long."""
    text = f"Never print it.\n{(unit * 100_000)[:100_000]}{end}"
    assert constraints(text)[:1] == ["Never print it."]
    detector.is_constraint((unit * SENTENCE)[:SENTENCE] + end)


# --- Whose words


@pytest.mark.parametrize(
    "pasted",
    [
        "> You must never do this.",
        "2024-01-01 10:00:00 ERROR you must not retry",
        "Traceback (most recent call last):\n  File 'a.py', line 1\nValueError: must not be empty",
        "diff --git a/x b/x\n@@ -1 +1 @@\n-# never do this\n+# always do that",
        '{\n  "system": "You must never answer."\n}',
        "<policy>\nYou must never refund.\n\nAlways verify first.\n</policy>",
        "test/a.py::test_it_must_not_fail PASSED [ 10%]",
        '"You must never open the lid. Always wait."',
        "Here is the email:\n\nYou must reply by Friday. Do not forget the form.",
        "Dear team,\nnever leave the door open.\n\nKeep it tidy.\nRegards,",
        "Translate this: Keep the door closed. Guests only.",
        'What does "Wait here. Keep the door closed. Guests only." mean?',
    ],
    ids=[
        *("quote", "log", "traceback", "diff", "json", "element", "report", "quotation", "announced"),
        *("letter", "material", "quoted sentences"),
    ],
)
def test_pasted_text_is_not_the_users(pasted: str) -> None:
    """Quotes, logs, tracebacks, diffs, data, elements, letters and announced texts set no rule; what follows does."""
    assert constraints(f"Look:\n\n{pasted}\n\nOnly edit the tests.") == ["Only edit the tests."]


def test_a_pasted_document_sets_only_its_listed_rules() -> None:
    """Of a long text with several headings only lists under a heading of rules count."""
    filler = "The pump must run before the valve opens. Never mix them.\n" * 30
    document = f"# Manual\n{filler}\n## Parts\n- never sold\n{filler}\n## Rules\n- Metric units\n- No colours\n"
    assert constraints(f"Do not translate names.\n\n{document}") == [
        "Do not translate names.",
        "Metric units",
        "No colours",
    ]


def test_of_a_long_message_both_ends_are_read() -> None:
    """A rule before and one after a large paste are found; one in its middle is not looked for."""
    paste = "row 1, row 2, row 3\n" * 50_000
    message = f"Never print the rows.\n{paste}Never sort the rows.\n{paste}Always count the rows.\n"
    assert constraints(message) == ["Never print the rows.", "Always count the rows."]


def test_the_end_of_a_long_message_may_lie_in_a_fence() -> None:
    """Where the fence was opened in what is not read, the rest of it stays code."""
    code = "# never call this twice\n" * 5_000
    assert constraints(f"Explain.\n```\n{code}```\nDo not run it.") == ["Do not run it."]


# --- What is kept


def test_a_rule_is_kept_with_its_condition() -> None:
    """The sentence is whole: when it holds, and what holds."""
    sentence = "When you touch migrations, never edit old ones."
    assert constraints(f"Fix the bug. {sentence} Thanks!") == [sentence]
    assert constraints("先修 bug。如果测试失败，不要跳过测试。谢谢！") == ["如果测试失败，不要跳过测试。"]


def test_a_sentence_wrapped_at_a_margin_is_one() -> None:
    """A line that ends in the middle of a sentence goes on in the next."""
    message = "Please clean up the module, and whatever you find there,\nnever touch the generated files.\n\nThanks"
    assert constraints(message) == [
        "Please clean up the module, and whatever you find there,\nnever touch the generated files."
    ]


def test_a_very_long_sentence_is_kept_as_its_clause() -> None:
    """Beyond SENTENCE characters the clause with the cue is what is kept."""
    sentence = "we talked about the plan for the house, " * 12 + "never paint the door, " + "and so on, " * 12
    assert constraints(sentence) == ["never paint the door,"]


@pytest.mark.parametrize(
    "heading", ["Rules:", "## Constraints", "**Requirements**:", "My coding conventions:", "要求：", "约束条件："]
)
def test_items_under_a_heading_are_rules(heading: str) -> None:
    """A list under such a heading needs no cue words; what follows the list does."""
    assert constraints(f"Hello\n\n{heading}\n- two decimals\n- metric units\n\nThe file is here.\n- a remark") == [
        "two decimals",
        "metric units",
    ]


@pytest.mark.parametrize(
    "said",
    [
        *("I prefer tabs over spaces.", "British spelling throughout.", "Metric units please.", "I'm vegetarian."),
        *("Amounts in EUR.", "No new dependencies.", "I'd rather you asked before deleting.", "Be terse."),
        *("Anything above 50 euros is out.", "The tone should be friendly.", "Commit after each step."),
        *(
            "答案控制在200字以内。",
            "全程用中文。",
            "我对花生过敏。",
            "语气轻松一点。",
            "遇到报错就停下来。",
            "日期写成年月日。",
        ),
    ],
)
def test_a_rule_needs_no_must(said: str) -> None:
    """Preferences, circumstances, limits, formats, tones and exclusions are rules."""
    assert constraints(said) == [said]


def test_items_under_a_heading_are_tasks() -> None:
    """The same for what is left to do."""
    assert constraints("TODO:\n1. bump the version\n2. write the notes\n\nNow fix the bug.") == [
        "bump the version",
        "write the notes",
    ]


@pytest.mark.parametrize(
    "said",
    [
        *("Why must it be sorted?", "Can't you sort it?", "Don't you think so?", "How do I make sure it is closed?"),
        *("It doesn't work.", "I must have missed it.", "I never got a reply.", "It always fails.", "Must be a bug."),
        *(
            "I prefer the old one, but they chose the new one.",
            "The contract says you must pay.",
            "Book the 9 am train.",
        ),
        *("It took under five minutes.", "Fix the bug in login.py.", "I like it, thanks.", "小时候吃饭不能说话。"),
        *("This should never happen but does.", "My boss says I must never be late.", "You don't have to run it."),
        *(
            "为什么必须排序？",
            "这个程序不能运行。",
            "我从来没收到回复。",
            "老板说必须每天打卡。",
            "北京有哪些特别好玩的地方？",
        ),
    ],
)
def test_questions_narrations_and_others_rules_are_none(said: str) -> None:
    """A cue word alone sets no rule."""
    assert constraints(said) == []


@pytest.mark.parametrize(
    "text",
    [
        "OK, forget that: you may touch the migrations folder now.",
        "The migrations rule no longer applies.",
        "You don't have to run the tests first any more.",
        "现在不用先跑测试了。",
        "前面说的规则作废。",
    ],
)
def test_what_lifts_a_rule_is_kept_like_one(text: str) -> None:
    """Else the model would be told the rule for good, and never that it was taken back."""
    assert constraints(text) == [text]


# --- In fewer words

NEGATIONS = re.compile(r"\b(?:no|not|never|nothing|nobody|only|without)\b|n't|[不没别勿未无禁]")


@pytest.mark.parametrize("sentence", [*BINDING, *(label for message in MESSAGES for label in labels(message))])
def test_a_short_form_keeps_numbers_names_and_negations(sentence: str) -> None:
    """It is on one line and no longer, and short already if made short again."""
    short = short_form(sentence)
    assert "\n" not in short
    assert 0 < len(short) <= len(sentence)
    assert re.findall(r"\d+", short) == re.findall(r"\d+", sentence)
    assert NEGATIONS.findall(short) == NEGATIONS.findall(sentence)
    names = re.findall(r"(?<=[a-z,] )[A-Z][\w-]+", sentence)
    assert [name for name in names if name not in short] == []


def test_a_short_form_drops_what_says_nothing() -> None:
    """Politeness, articles and a bare reason go; a reason with a number, and what is quoted, stay."""
    assert (
        short_form("Please keep the summary under 120 words, because it is easier.") == "keep summary under 120 words"
    )
    assert short_form("Use the old one, because of bug 12.") == "Use old one, because of bug 12"
    assert short_form('Answer with "the end" only.') == 'Answer with "the end" only'
    assert short_form("顺便说一下，请用统一下划线命名吧。") == "用统一下划线命名"


@pytest.mark.parametrize(
    ("said", "later", "lifted"),
    [
        ("Never touch the migrations folder.", "You may touch the migrations folder now.", True),
        ("Never touch the config folder.", "You may touch the migrations folder now.", False),
        ("Don't run the tests until I say so.", "You can run the tests now.", True),
        ("Always run the tests before you commit.", "You can run the tests now.", False),
        ("Don't push before you run the tests.", "You can run the tests now.", False),
        ("Don't run the tests until I say so.", "You don't have to run the tests any more.", False),
        ("Always run the tests before you commit.", "You don't have to run the tests any more.", True),
        ("No emojis in commit messages.", "You can use emojis in commit messages again.", True),
        ("Never push to main.", "It's fine to push to main now.", True),
        ("Never push to main.", "Feel free to push to main from now on.", True),
        ("Always ask me before pushing.", "You no longer have to ask before pushing.", True),
        ("Use tabs.", "Forget that.", True),
        ("Use tabs.", "Scratch that, please.", True),
        ("Use tabs.", "You can do that now.", False),
        ("Use tabs.", "Use four spaces.", False),
        ("Use tabs.", "Scrap the tabs rule.", True),
        ("Use spaces.", "Scrap the tabs rule.", False),
        ("永远不要改 schema。", "可以改 schema 了。", True),
        ("永远不要改 config。", "可以改 schema 了。", False),
        ("不要用第三方库。", "算了，第三方库也可以用。", True),
        ("必须先跑测试。", "现在不用先跑测试了。", True),
        ("必须先跑构建。", "现在不用先跑测试了。", False),
        ("不要改数据库。", "现在可以改数据库了。", True),
        ("改数据库之前不要跑测试。", "现在可以改数据库了。", False),
        ("用制表符缩进。", "刚才说的不算。", True),
        ("不要修改数据库。", "现在可以改数据库了。", True),
        ("不要修改接口。", "现在可以改数据库了。", False),
        ("不要碰数据库。", "数据库可以改了。", True),
        ("Don't modify the database.", "You may change the database now.", True),
        ("Don't restart the database.", "You may change the database now.", False),
        ("Answer in German.", "Actually, English is fine again.", True),
        ("Answer in English.", "Actually, English is fine again.", False),
        ("Don't answer in German.", "Actually, English is fine again.", False),
        ("用德语回答。", "英文也可以了。", True),
        ("用英语回答。", "英文也可以了。", False),
        ("No emojis.", "Emojis are allowed again.", True),
        ("No jokes.", "Emojis are allowed again.", False),
    ],
)
def test_what_a_later_sentence_lifts(said: str, later: str, lifted: bool) -> None:
    """It says what it lifts, or lifts the one before it. What only differs is not lifted."""
    asked = revocations.Lifted()
    assert not asked.takes(later)
    assert asked.takes(said) == lifted


@pytest.mark.parametrize(
    ("said", "part", "rest"),
    [
        ("Never touch the tests or the docs.", "You may touch the tests now.", "You may edit the docs now."),
        ("Use tabs, and never push to main.", "You may push to main now.", "Scrap the tabs rule."),
        ("不要修改数据库和接口。", "现在可以改数据库了。", "现在可以改接口了。"),
    ],
)
def test_a_sentence_is_lifted_when_all_its_parts_are(said: str, part: str, rest: str) -> None:
    """What is lifted in part still binds."""
    asked = revocations.Lifted()
    assert [asked.takes(each) for each in (part, said)] == [False, False]
    asked = revocations.Lifted()
    assert [asked.takes(each) for each in (rest, part, said)] == [False, False, True]


def test_a_reason_or_a_condition_is_no_part() -> None:
    """What is not laid down need not be lifted."""
    asked = revocations.Lifted()
    assert not asked.takes("You may touch the tests now.")
    assert asked.takes("Until Friday, don't touch the tests, please.")
    assert asked.takes("Don't touch the tests, because the build depends on it.")


@pytest.mark.parametrize("report", ["The build is fine again.", "CI is good again.", "现在可以登录了。"])
def test_what_works_again_lifts_nothing(report: str) -> None:
    """A permission names what the assistant may do or a value; this names a thing that was broken."""
    assert not revocations.lifts(report.lower())


@pytest.mark.parametrize("later", ["Forget that.", "Scratch that."])
def test_what_names_nothing_lifts_the_newest_only(later: str) -> None:
    """Asked from the newest on: the one before it is lifted, and the older one stays."""
    asked = revocations.Lifted()
    assert [asked.takes(each) for each in (later, "Use tabs.", "Never push to main.")] == [False, True, False]


@pytest.mark.parametrize("later", ["Ignore it.", "Please cancel it.", "Drop that column.", "Ignore that file."])
def test_what_is_done_to_a_thing_lifts_nothing(later: str) -> None:
    """A warning is ignored, an order cancelled: no rule is meant."""
    assert constraints(later) == []
    asked = revocations.Lifted()
    assert not asked.takes(later)
    assert not asked.takes("Never edit the config file.")


@pytest.mark.parametrize(("row", "lifted"), [(7, True), (6, False)])
def test_what_names_nothing_lifts_only_what_was_said_just_before(row: int, lifted: bool) -> None:
    """In the user's message before, not in one long ago: there "that" speaks of something else."""
    asked = revocations.Lifted(lambda _row: 7)
    assert not asked.takes("Forget that.", 9)
    assert asked.takes("Use tabs.", row) is lifted


@pytest.mark.parametrize(
    "later", ["Forget all my earlier rules.", "Ignore all previous instructions.", "之前的要求都作废。"]
)
def test_all_rules_are_lifted_at_once(later: str) -> None:
    asked = revocations.Lifted(lambda row: row)
    assert constraints(later) == [later]
    said = [("Use spaces.", 9), (later, 8), ("Use tabs.", 7), ("Never push to main.", 1)]
    assert [asked.takes(*each) for each in said] == [False, False, True, True]
