"""A question about everything that a conversation settled, in many wordings, some with nouns of the domain."""

ENGLISH = (
    "List everything we have settled in this session so far.",
    "Go over all my bookings again.",
    "What did we agree on so far?",
    "Give me the full picture of what we have settled.",
    "Can you recap?",
    "Before I hang up, could you read all of it back to me?",
    "Please sum up the whole conversation for me.",
    "I lost my notes. What have we arranged up to now?",
    "Which reservations and plans have I made with you today?",
    "Let's double-check every detail from the beginning.",
    "Where do we stand?",
    "Write me one message with all the details of my trips, appointments and payments.",
    "Remind me of all the things you have done for me.",
    "So, to wrap up, what's been decided?",
    "I need a summary I can forward to my wife.",
    "Catch me up on what we talked about.",
    "Run me through each of the choices I made, one by one.",
    "What do you know about my plans by now?",
    "Make a checklist of what has been fixed and with whom.",
    "Put together an itinerary from all we discussed, with names, dates and times.",
)
CHINESE = (
    "把这次会话里确定下来的全部信息列出来。",
    "把前面说好的都再说一遍。",
    "我们到现在都定了些什么？",
    "能总结一下吗？",
    "帮我把整个对话的要点整理成一条消息。",
    "我刚才没记下来，麻烦从头再讲一遍。",
    "目前为止都有哪些安排？",
    "请把我的行程完整地复述一次。",
    "咱们聊了这么多，最后都选了哪些？",
    "给我列个清单，前面提到的地方和电话都要有。",
    "回顾一下我们讨论过的内容。",
    "你都给我推荐过什么，汇总一下。",
    "我想核对一下所有细节，你念给我听。",
    "说了半天，结果是什么？",
    "我要发给家人看，把计划从头到尾写一下。",
    "之前问过的那些，统统告诉我。",
    "现在情况怎么样，我们都谈妥了哪些？",
    "逐项过一遍我做的决定。",
    "把你知道的关于我这趟旅行的一切都写下来。",
    "最后确认一遍：吃的、住的、玩的都是哪几家？",
)


def wordings(dataset: str) -> tuple[str, ...]:
    """Return the question in the language of a dataset."""
    return CHINESE if dataset.endswith("_zh") else ENGLISH
