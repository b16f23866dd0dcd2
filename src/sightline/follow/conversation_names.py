"""Which session has the conversation of a request, where the request alone does not say so.

An agent that has replaced its history by a summary begins its list with another message. A request that goes on from
what its provider keeps has only the new messages.
"""

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock

import msgspec

from sightline.compaction.prompt import summary_in
from sightline.errors import BadInput
from sightline.follow.conversations import Conversations
from sightline.follow.model_request import STEM, ModelRequest, name_of
from sightline.log.stores import PlacedStores, Written
from sightline.plan import Budget
from sightline.values.phrases import say

_ANY = Budget(1 << 40)
_MOST_NOTED = 10_000  # replies and openings whose conversation is known
_MOST_SEARCHED, _MOST_BYTES = 64, 64 * 1024 * 1024  # logs that are searched for the id of a reply, and their bytes
_ALIKE = 0.8  # of the characters of two system prompts are in lines that both have
_LOCKS = 64
_MOST_OTHERS = 16  # conversations of an agent's session that are looked at for the one that a request goes on from
_LEAST_SUMMARY = 40  # characters: shorter ones may be found in any text


class ConversationNames:
    """Finds the names of conversations: each is a session."""

    def __init__(self, stores: PlacedStores, conversations: Mapping[str, Conversations]) -> None:
        """`conversations`: by provider."""
        self._stores, self._conversations = stores, conversations
        self._replied: OrderedDict[str, str] = OrderedDict()  # id of a reply at its provider → its conversation
        self._begun_again: OrderedDict[str, str] = OrderedDict()  # name by its opening → conversation that has it
        self._finds = [Lock() for _ in range(_LOCKS)]  # by session of an agent

    def find(self, asked: ModelRequest) -> ModelRequest:
        """Return a request with the name of the session that has its conversation. It may read other logs.

        It is another than the request says where the provider has the earlier part, or where the agent has replaced
        the history by a summary: then its list begins with another message.
        """
        if kept := asked.kept_upstream:
            if kept not in self._replied:
                _note(
                    self._replied, kept, self._find_replied(kept) or name_of(asked.format, asked.session, kept.encode())
                )
            return asked._replace(name=self._replied[kept], pieces=None)
        with self._finds[hash(asked.stem) % _LOCKS]:
            if asked.name not in self._begun_again and asked.session and not self._stores.has(asked.name):
                _note(self._begun_again, asked.name, self._find_summarized(asked) or asked.name)
        return self.with_name(asked)

    def with_name(self, asked: ModelRequest) -> ModelRequest:
        """Return a request with the name of the session that has its conversation, as far as that is known at once."""
        return asked._replace(name=self._begun_again.get(asked.name, asked.name))

    def name_at_once(self, asked: ModelRequest) -> str:
        """Return the name of the session that has a request's conversation; empty: other logs may have to be read."""
        if asked.kept_upstream:
            return self._replied.get(asked.kept_upstream, "")
        is_sure = asked.most_tokens is not None or not asked.session or asked.name in self._begun_again
        return self.with_name(asked).name if is_sure else ""

    def _logs(self, stem: str, most: int) -> list[Written]:
        """Return the sessions whose names begin like this, those that were written to last."""
        return self._stores.written(stem)[:most]

    def _find_replied(self, reply_id: str) -> str:
        """Return the conversation that has a reply with this id; empty: there is none among those of late."""
        quoted = msgspec.json.encode(reply_id)
        logs, left = list[str](), _MOST_BYTES
        for log in self._logs(STEM, _MOST_SEARCHED):
            if log.size <= left:  # a shorter one after it may still be searched
                left -= log.size
                logs.append(log.session_id)
        return self._stores.containing(logs, quoted)

    def _find_summarized(self, asked: ModelRequest) -> str:
        """Return the conversation whose agent goes on from a summary with this request; empty: there is none.

        It belongs to the same session of the agent, and has the same system prompt. It has this opening already, or
        its last reply is the summary.
        """
        others = [log.session_id for log in self._logs(asked.stem, _MOST_OTHERS)]
        said, system = asked.opening_text, asked.system_text()
        for name in others:
            with self._conversations[asked.format.provider].use(name) as history, suppress(BadInput):
                if history.knows(asked.listed[asked.first : asked.opening]):
                    return name
                is_like = asked.tools and is_alike(history.session.items.system(), system)
                if is_like and _has_summary(said, history.last_reply()):
                    history.begin_again(say("summary follows", history.session.settings.locale), _ANY)
                    return name
        return ""

    def note_reply(self, reply_id: str, name: str) -> None:
        """Note the conversation of a reply that its provider may keep. Without an id nothing is noted."""
        if reply_id:
            _note(self._replied, reply_id, name)


def _note(known: OrderedDict[str, str], key: str, value: str) -> None:
    """Note something, and forget the oldest if there is too much."""
    known[key] = value
    while len(known) > _MOST_NOTED:
        known.popitem(last=False)


def is_alike(one: str, other: str) -> bool:
    """Whether two system prompts are the same but for a few lines. Agents put dates and version numbers into theirs."""
    lines, others = ({line.strip() for line in text.splitlines()} for text in (one, other))
    same, most = sum(map(len, lines & others)), max(sum(map(len, lines)), sum(map(len, others)))
    return same >= _ALIKE * most


def _has_summary(said: str, reply: str) -> bool:
    """Whether a text has the summary that this reply is. Agents put words of their own around it, and change blanks."""
    summary = " ".join(summary_in(reply).split())
    return len(summary) >= _LEAST_SUMMARY and summary in " ".join(said.split())
