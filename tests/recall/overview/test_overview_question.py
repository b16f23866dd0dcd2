"""A question about everything is known by what it lacks: nothing in it tells some rows from the others."""

from functools import cache
from itertools import cycle

import pytest
from benchmarks.quality import paraphrases

from sightline import MemoryStore, Session
from sightline.recall.overview.question import asks_to_tell, is_about_everything, subject
from sightline.recall.recall import Recall

STATED = (
    "The ferry to Marstal leaves at nine.",
    "I booked two cabins on the Grey Heron.",
    "Ada pays for the fuel, 480 crowns.",
    "Our slot in the dry dock is on 12 March.",
    "The harbour master wants the insurance papers.",
    "Ben repairs the pump before the trip.",
)
STATED_ZH = (
    "去长岛的渡轮九点开。",
    "我订了海棠酒店的两个房间。",
    "油费由小李付，一共480元。",
    "船坞的位置定在3月12日。",
    "港务局要看保险单。",
    "王师傅在出发前修好水泵。",
)
SMALL_TALK = (
    "That sounds lovely.",
    "It was dark early again.",
    "I made soup, far too much of it.",
    "My sister sends her best.",
    "好的，没问题。",
    "今天风真大。",
    "我刚吃完饭。",
    "你先忙吧。",
)
EVERYTHING = (
    "Could you repeat everything back to me?",
    "Summarise our chat.",
    "Tell me again what we've got.",
    "What have you noted down so far?",
    "Just to be sure, what exactly did we settle on?",
    "Remind me, please.",
    "Go through all the arrangements once more.",
    "I'd like a quick rundown of the whole thing.",
    "Which decisions have we taken?",
    "Let me hear the complete list one last time.",
    "Refresh my memory.",
    "Give me the gist of this conversation.",
    "How does the plan look in total?",
    "What was it that we ended up with?",
    "Please compile all the information we gathered.",
    "Can you put all of that in one email?",
    "What did we agree on?",
    "Where do we stand?",
)
EVERYTHING_ZH = (
    "再帮我捋一遍。",
    "前面的内容给我概括一下。",
    "到底都说定了什么？",
    "麻烦把刚才的都重复一下。",
    "我们都聊了什么？",
    "总的来说现在是什么安排？",
    "请给出一份完整的小结。",
    "把之前确认过的事项全部列一下。",
    "能不能从头给我讲讲？",
    "所以最终方案是什么？",
    "一共谈了哪些事？",
    "帮我做个汇总表。",
    "你记得我都要求了什么吗？",
    "把所有定下来的发我一份。",
    "刚刚说的那些你再说说。",
    "整理一下全部要点。",
    "最后都有什么结论？",
)
SOMETHING = (
    "When does the ferry leave?",
    "What did Ada say?",
    "Summarise what we know about the insurance.",
    "Who pays the fuel?",
    "List all the cabins.",
    "Tell me everything about the pump.",
    "Which day is the dry dock?",
    "What did we settle on for 12 March?",
    "Is everything ready for the harbour master?",
    "Remind me of the Grey Heron.",
    "How many crowns is it all together?",
    "So far, what has Ben repaired?",
    "Give me an overview of the ferry.",
    "What have we decided about the trip?",
    "Read me the full story of the dock slot.",
    "Did we talk about papers?",
)
SOMETHING_ZH = (
    "渡轮几点开？",
    "小李说了什么？",
    "保险单的情况总结一下。",
    "谁付油费？",
    "把酒店房间都列出来。",
    "水泵的事全部告诉我。",
    "船坞定在哪天？",
    "3月12日我们说好了什么？",
    "港务局要看的都准备好了吗？",
    "再说一遍海棠酒店。",
    "一共480元是什么？",
    "王师傅都修了什么？",
    "回顾一下渡轮的安排。",
    "关于船坞我们决定了什么？",
    "长岛的内容再讲一遍。",
    "房间一共几个？",
)

ORDINARY = (
    "Fix all of it.",
    "Run the whole test suite again.",
    "Thanks, that's all for now.",
    "Did you check everything?",
    "Commit and push everything.",
    "List the files in src.",
    "Now do the same for the other module.",
    "Please write a summary of chapter 3 into notes.md.",
    "Make the list sortable.",
    "Show me the full error message.",
    "Repeat the last command.",
    "Go through the code and remove dead functions.",
    "Can you check the whole file once more?",
    "What have you changed in the parser?",
    "Tell me when it is done.",
    "All good, go ahead.",
    "Everything works now, great!",
    "Read the config and tell me the port.",
    "What did the tests say?",
    "So far so good. Next step, please.",
    "Remind me to call Ada tomorrow.",
    "Add an overview page to the docs.",
    "Is that the complete list of dependencies?",
    "Wrap up the feature and open a pull request.",
    "Write the release notes for 2.1.",
    "Why did it fail?",
    "Let's talk about something else.",
    "How are you today?",
    "I agree with all of that.",
    "Yes, all of them, please.",
    "把所有测试跑一遍。",
    "全部提交并推送。",
    "谢谢，就这些。",
    "都可以，你定吧。",
    "好的，继续吧。",
    "再检查一遍代码。",
    "把列表按时间排序。",
    "给README写一份总结。",
    "完整的报错信息是什么？",
    "重复一下上一条命令。",
    "整个文件都要改。",
    "你都改了哪些地方？",
    "说说你的看法。",
    "全部删掉。",
    "先说到这里吧。",
    "把清单导出成CSV。",
    "一切正常，辛苦了。",
    "这些都不对，重新写。",
    "请整理一下这个文件夹。",
    "每个函数都加上注释。",
    "我都明白了，谢谢。",
    "列出src下的文件。",
    "今天聊得很开心。",
    "告诉我端口号。",
    "所有的按钮都要蓝色。",
    "总结一下这篇文章。",
    "完成后跟我说一声。",
    "讲个笑话吧。",
    "你说得都对。",
    "梳理一下数据库的表结构。",
    "Have we tested it?",
    "Do what we agreed on.",
    "Do everything from the start.",
    "What else have we got to do?",
    "Repeat that, please.",
    "That is all we need.",
    "我们接下来做什么？",
    "全部重写。",
    "都告诉你了。",
    "从头再来一遍。",
    "之前说的不对。",
    "你都说完了吗？",
)
SURELY = (
    "Could you quickly go over everything with me?",
    "What have we got so far?",
    "Please repeat all of that.",
    "Give me everything we agreed on.",
    "Read everything back to me, please.",
    "Remind me what we decided.",
    "Sorry, my phone died. Can you sum it up?",
    "Where do things stand?",
    "Which points have we settled?",
    "Sum up what was said.",
    "前面定的都再念一遍。",
    "我们一共说好了哪些？",
    "到目前为止定了哪些？",
    "帮我总结一下刚才的对话。",
    "所有说好的都发给我。",
    "刚才讲的再讲一遍。",
    "从头到尾说一遍。",
    "都谈妥了什么，列一下。",
    "我手机没电了，你从头再讲一遍。",
)


@cache
def harbour() -> Recall:
    """A long talk in two languages, in which each thing is said once."""
    session = Session(MemoryStore("harbour"))
    said = dict(zip(range(5, 200, 15), (*STATED, *STATED_ZH), strict=False))
    for at, filler in zip(range(200), cycle(SMALL_TALK), strict=False):
        (session.assistant if at % 2 else session.user)(said.get(at, f"{filler} ({at})"))
    session.user("?")
    return Recall(session.log)


@pytest.mark.parametrize("question", [*EVERYTHING, *EVERYTHING_ZH])
def test_a_question_that_names_nothing_is_about_everything(question: str) -> None:
    """Whatever its wording: its words are those of asking, or no row has them."""
    assert harbour()._finder.asks_for_everything(question)


@pytest.mark.parametrize("question", [*SOMETHING, *SOMETHING_ZH])
def test_a_question_that_names_something_is_not(question: str) -> None:
    """Also if it says "all" or asks for a summary: a few rows have what it names."""
    assert not harbour()._finder.asks_for_everything(question)


@pytest.mark.parametrize("message", [*ORDINARY, *SOMETHING, *SOMETHING_ZH])
def test_an_ordinary_message_brings_no_overview(message: str) -> None:
    """Orders, thanks and small questions may have no subject either; but nobody asked to be told everything."""
    assert not harbour()._finder.asks_for_everything(message, surely=True)


@pytest.mark.parametrize("question", SURELY)
def test_who_asks_in_so_many_words_gets_one_unasked(question: str) -> None:
    """To sum up, or to tell all that was said. Clauses beside it may say why."""
    assert harbour()._finder.asks_for_everything(question, surely=True)


@pytest.mark.parametrize(
    ("session", "last"),
    [
        ("Give me all of it again.", "Give me all of it."),
        ("Give me all the details.", "Give me all of them."),
        ("List everything we said.", "List everything."),
        ("Tell me all that was agreed.", "Tell me all of that."),
        ("Go over everything.", "Go over all of it."),
        ("Read all of it back to me.", "Read all of it to me."),
        ("前面的全部发给我。", "全部发给我。"),
        ("所有要点都列出来。", "都列出来。"),
        ("全部再列给我。", "全部列给我。"),
        ("从头到尾都写一下。", "剩下的都写一下。"),
        ("完整地念一遍。", "把它完整地念一遍。"),
    ],
)
def test_all_of_it_is_what_was_spoken_of_last(session: str, last: str) -> None:
    """Unless it says that it was told before, or that it is what was said; one question alone is about everything."""
    assert harbour()._finder.asks_for_everything(session, surely=True)
    assert not harbour()._finder.asks_for_everything(last, surely=True)
    assert harbour()._finder.asks_for_everything(last)


@pytest.mark.parametrize(("wordings", "least"), [(paraphrases.ENGLISH, 15), (paraphrases.CHINESE, 17)])
def test_most_wordings_are_known_unasked(wordings: tuple[str, ...], least: int) -> None:
    """Of 20 in each language. The others name something, as far as can be told without the conversation."""
    assert sum(harbour()._finder.asks_for_everything(each, surely=True) for each in wordings) >= least


def everything(query: str, places: dict[str, list[int]], rows: int = 80) -> bool:
    """Whether a query is about everything where its terms are in these rows."""
    return is_about_everything(
        query, lambda wanted: {term: places.get(term, []) for term in wanted}, lambda _: True, rows
    )


def test_a_word_all_over_the_conversation_tells_nothing_if_all_of_it_is_wanted() -> None:
    """Found in every stretch it is what the conversation is about; found in one, it is what the question is about."""
    spread, together = list(range(0, 80, 10)), list(range(40, 48))
    assert everything("Go over all my bookings again.", {"booking": spread})
    assert not everything("Go over all my bookings again.", {"booking": together})
    assert not everything("Which booking is it?", {"book": spread, "booking": spread})


def test_a_chance_match_does_not_make_a_summary_one_of_something() -> None:
    """Of three words one is found: chance. Of two words both are: the question is about them."""
    question = "I need a summary to forward to my wife on vacation."
    assert everything(question, {"forward": [7]})
    assert not everything(question, {"forward": [7], "wif": [9], "vacation": [9]})


def test_a_name_that_is_found_is_always_something() -> None:
    """A capital within a sentence, a number, a path: the same word in small letters may match by chance."""
    assert not everything("Summarise what Rose and the many other guests and singers said.", {"ros": [3]})
    assert everything("Summarise what rose and the many other guests and singers said.", {"ros": [3]})
    assert subject("What is in src/main.py, and who is Ada?").names >= {"src/main.py", "main.py", "ada"}


def test_an_earlier_question_about_everything_is_no_answer() -> None:
    """Asked again, the same question is about everything again."""
    session = Session(MemoryStore("again"))
    for at in range(60):
        session.user(f"{SMALL_TALK[at % 4]} ({at})")
    question = "Write down all the details of my trips and appointments."
    session.user(question)
    session.assistant("There are none.")
    session.user(question)
    assert Recall(session.log)._finder.asks_for_everything(question)


@pytest.mark.parametrize(
    "text", ["No, that's all, thanks!", "That will be all.", "OK", "Not at all.", "好的，都可以", "谢谢，全了"]
)
def test_what_only_ends_a_conversation_does_not_ask_to_tell(text: str) -> None:
    """Such a message has no subject either; but nobody wants to hear everything."""
    assert not asks_to_tell(text)
    assert asks_to_tell("Tell me all of it again.")
    assert asks_to_tell("都再说一遍")
