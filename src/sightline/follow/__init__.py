"""Follows conversations that another program holds: its list of messages, and the calls that it makes with them.

What an adapter is made of: `ListCall` for a framework that hands over its list before each model call, and
`FollowedCall` for requests as they are sent. Both find their sessions by `Conversations` and `Turns`.
"""

from sightline.follow.call import AsyncExchange, Exchange, FollowedCall
from sightline.follow.conversations import Conversations
from sightline.follow.list_call import ListCall, MessageForm, usual_budget, writer_of
from sightline.follow.model_request import FORMATS
from sightline.follow.turns import FollowSettings, Turns
from sightline.providers.errors import overflow_tokens
from sightline.values.items import Call, Message, Result, Role, Text, Usage, plain_text
from sightline.values.recall_tools import RECALL_TOOLS

__all__ = [
    "FORMATS", "RECALL_TOOLS", "AsyncExchange", "Call", "Conversations", "Exchange", "FollowSettings", "FollowedCall",
    "ListCall", "Message", "MessageForm", "Result", "Role", "Text", "Turns", "Usage", "overflow_tokens", "plain_text",
    "usual_budget", "writer_of",
]  # fmt: skip
