"""Follows the message list of another program in a session: what is new is appended, what was changed is a branch.

Graphs, frameworks and clients of a provider hold the conversation themselves, and hand over the whole list at each
call. Messages that were there before are compared with what was given last time, and only others are read. Each has a
digest of the list up to it. The log keeps these digests, so that a list is known again after a restart and on every
branch. A list that does not go on from what the log has is a branch: it shares the messages that are the same.

The file is longer than others, because following, branching and replies work on one state.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from itertools import takewhile
from threading import RLock
from typing import Any

import msgspec
from msgspec.structs import replace

from sightline.errors import BadInput, Conflict, UnknownItem
from sightline.follow.message_list import (
    START,
    ListPlace,
    Place,
    Seen,
    count_answered,
    count_shared,
    held_bytes,
    item_before,
    link,
    match,
    possible_ends,
    reply_key,
    reply_run,
    values_of,
    view_of,
)
from sightline.follow.own_lists import kept_by_provider
from sightline.follow.rewritten import append_anew, new_messages
from sightline.log import entries, retry_on_conflict
from sightline.log.annotations import HistoryNote
from sightline.plan import Budget
from sightline.session import accept
from sightline.session.lookups import read_answers
from sightline.session.session import Session
from sightline.values.decoders import convert
from sightline.values.items import Blob, Call, Item, Kind, Message, Part, Text, Usage
from sightline.values.lock import locked
from sightline.wire import anthropic, read_messages
from sightline.wire.common import in_role
from sightline.wire.wire import Reader

_ATTEMPTS = 3  # at appending while other processes append to the same session
_MOST_OPEN = 4  # branches besides the current one whose sessions stay open
_ADDED = frozenset({Kind.SYSTEM, Kind.RECALL})  # what stands in the log between a message and the reply to it
_LEAST_COVERED = 4  # items that a summary of another program stands for, at least


class History:
    """One list of messages and the session that follows it. May be used by several threads.

    `session` writes to the branch of the list that was given last. The session that was passed in stays open.
    """

    def __init__(self, session: Session, *, wire: str | Reader = "", program: str = "") -> None:
        """`wire`: the format of the messages, or its name; without it each is read in its own, as by `extend`.

        `program`: whose list it is. What others said in the session is not in it, and comes before what is new.
        """
        self.session, self._first, self._wire, self._program = session, session, wire, program
        self._lock, self.held = RLock(), 0  # `held`: bytes of the list that was given last, if it was given as bytes
        self._seen: list[Seen] = []
        self._given: list[Any] = []
        self._at: dict[str, int] = {}  # item → the message of the list that it is
        self._places: dict[bytes, list[Place]] = {}  # digest of a list → where its last message is
        self._ends: dict[str, bytes] = {}  # branch → the list that it has, or the key of the reply after it
        self._replies: dict[bytes, Place] = {}  # key of a reply → where it is. See `reply_key`
        self.reply_ids: dict[str, ListPlace] = {}  # id of a reply at its provider → the place after it
        self._bases: dict[bytes, bytes] = {}  # messages without the list before them → the reply that they follow
        self._begins: list[str] = []  # items after which the other program began a new list, with a summary of its own
        self._others: dict[str, Session] = {}  # branch → its session, the one that was used last at the end
        self._read_places()

    @locked
    def follow(
        self,
        messages: Sequence[Any],
        *,
        in_place: bool = False,
        replies: int = 0,
        usage: Usage | None = None,
        anew: Sequence[Message] = (),
    ) -> Session:
        """Append what is new in this list, and return the session to compose from: its branch is this list's.

        A message may also be given as JSON, in bytes, as a list of the items that it consists of, or as a neutral
        `Message`. `in_place` as for `Session.extend`. `replies`: the last ones are the model's reply to the last
        payload, so that the usage it reports corrects how tokens are counted. `usage`: that of the reply, where the
        messages do not have it. `anew`: messages that are no part of the list, see `rewritten`. Those that are new come
        before its last message.

        Raises:
            BadInput: a message that cannot be read, by its index. Nothing is appended then.
        """
        listed = list(messages)
        return retry_on_conflict(lambda: self._follow(listed, in_place, replies, usage, anew), self.refresh, _ATTEMPTS)

    @property
    def place(self) -> ListPlace:
        """Where the list is that was given last."""
        return ListPlace(self.session.branch, self._seen[-1].chain if self._seen else START)

    @locked
    def session_at(self, place: ListPlace) -> Session:
        """Return the session that writes to the branch of a list."""
        self._open(place.branch)
        return self.session

    @locked
    def is_last(self, place: ListPlace) -> bool:
        """Whether the branch of a list ends with it: no longer list was given, no reply to it is there or expected."""
        if self._ends.get(place.branch) != place.chain:
            return False  # else there may still be a reply, of a process that was killed before it could say so
        item = next((logged.item for logged in self._places.get(place.chain, ()) if logged.branch == place.branch), "")
        return not item or not self.session_at(place).items.is_answered(item)

    @locked
    def branch_off(self, place: ListPlace) -> ListPlace:
        """Begin a branch after a list, for another reply to it. Return where it is there."""
        places = [logged for logged in self._places.get(place.chain, ()) if logged.item]
        if not places:
            return place
        start = next((logged for logged in places if logged.branch == place.branch), places[-1])
        self._open(start.branch)
        self._switch(self._fork_after(start.item))
        self._ends[self.session.branch] = place.chain
        return ListPlace(self.session.branch, place.chain)

    @locked
    def expect(self, place: ListPlace, parts: Sequence[Part], item: str, reply_id: str = "") -> None:
        """Say what the reply to a list looks like to the other program, and the last item of it in the log.

        When the list comes back with a reply that says this, it is known: its text may differ in blanks, and what is
        neither text nor call may be missing. `reply_id`: by which `go_on` finds it.
        """
        if kept_by_provider(parts) or any(isinstance(part, Call | Text | Blob) for part in parts):
            session = self.session_at(place)
            retry_on_conflict(lambda: self._note_reply(place, parts, item, reply_id), session.refresh)

    def _note_reply(self, place: ListPlace, parts: Sequence[Part], item: str, reply_id: str) -> None:
        key = reply_key(place.chain, parts)
        reply = (key.hex(), item, reply_id) if reply_id else (key.hex(), item)
        self.session_at(place).extend([], note=HistoryNote(reply=reply, program=self._program))
        self._put_reply(key, Place(item, place.branch), reply_id)

    def _put_reply(self, key: bytes, place: Place, reply_id: str) -> None:
        self._replies[key], self._ends[place.branch] = place, key
        if reply_id:
            self.reply_ids[reply_id] = ListPlace(place.branch, key)

    @property
    def end(self) -> ListPlace:
        """The end of the branch that was used last."""
        return ListPlace(self.session.branch, self._end_of(self.session.branch))

    @locked
    def go_on(self, reply_id: str, messages: Sequence[Any], *, in_place: bool = False) -> ListPlace:
        """Append messages after a reply, without the list before it. Return where they are. Raises as `follow` does.

        Without an id they follow what there is; so they do for a reply that is not known. Messages that still wait for
        an answer there are the same request, sent again.
        """
        self._seen, self._given = [], []
        read = self._read(messages, 0)
        place = self.reply_ids.setdefault(reply_id, self.end) if reply_id else self.end
        sent = link(messages, read, self._bases.get(place.chain, place.chain))[-1].chain
        if (waiting := next((branch for branch, end in self._ends.items() if end == sent), None)) is not None:
            self._open(waiting)
            return ListPlace(waiting, sent)
        self._open(place.branch)
        reply = self._replies.get(place.chain)
        if self._end_of(place.branch) != place.chain and (reply or place.chain == START):  # others went on from there
            self._switch(self.session.fork(reply.item if reply else 0))
        linked = link(messages, read, place.chain)
        self._append(linked, read, in_place, is_reply=False, base=place.chain)
        self._bases[linked[-1].chain] = place.chain
        return self.end

    @locked
    def last_reply(self) -> Item | None:
        """Return the last item of the reply that the list ends with which was given last; None: it was not answered."""
        reply = self._replies.get(self._ends.get(self.session.branch, START))
        return self.session.items[reply.item] if reply and self._has(reply) else None

    @locked
    def knows(
        self, messages: Sequence[Any], reply: Sequence[Part] | None = None, previous: str = "", reply_id: str = ""
    ) -> bool:
        """Whether a list that begins with these messages was given before and, with a `reply`, was answered so.

        `previous`: the id of the reply that the messages follow without the list before it. A reply that nobody could
        `expect` before he was killed is expected now, with this `reply_id`.
        """
        if not messages:
            return False
        chain = self._chain_of(messages, previous)
        if reply is None or chain not in self._places:
            return chain in self._places
        if (key := reply_key(chain, reply)) in self._replies:
            return True
        place = self._find_answer(chain, key)
        if place is not None and self._ends.get(place.branch) == key:  # else the list went on from there, and says so
            with suppress(Conflict):  # somebody writes to it now, and may have gone on
                self._note_reply(ListPlace(place.branch, chain), reply, place.item, reply_id)
        return place is not None

    @locked
    def begin_again(self, summary: str, budget: Budget) -> None:
        """Begin a new list after the one that was given last, because the other program replaces that by a summary.

        It is a branch. What was said before is covered by this summary, and can be brought back. Raises BadInput if
        there is too little to cover.
        """
        items = [item.id for item in self.session.items]
        if len(items) < _LEAST_COVERED:
            raise BadInput("there is too little to cover by a summary")
        session = self.session.fork(items[-1])
        session.summaries.cover(items[0], items[-1], summary, budget=budget)
        after = [item.id for item in session.items][-1]
        session.extend([], note=HistoryNote(after=after, program=self._program))
        self._switch(session)
        self._begins.append(after)
        self._ends[session.branch] = START
        self._seen, self._given, self._at = [], [], {}

    @property
    def after(self) -> str:
        """The item after which the list begins that was given last; empty: with the first one."""
        return next((item for item in reversed(self._begins) if self._has(Place(item, ""))), "")

    @locked
    def original(self, message: Message) -> Any | None:
        """Return the message of the list that this one of a payload shows unchanged; None if there is none."""
        return self.match([message])[0][0]

    @locked
    def match(self, messages: Sequence[Message]) -> list[tuple[Any | None, list[Message]]]:
        """Return messages of a payload in groups, each with the message of the list that it shows unchanged or None."""
        return [(None if at is None else self._given[at], same) for at, same in match(messages, self._seen, self._at)]

    @locked
    def adopt(self, messages: Sequence[Any]) -> None:
        """Say that a list has all that the branch has, because it was made from it: nothing of it is appended again."""
        seen = link(messages, self._read(messages, 0), START)
        if seen and self._end_of(self.session.branch) != seen[-1].chain:
            note = HistoryNote([(message.chain.hex(), 0) for message in seen])
            retry_on_conflict(lambda: self.session.extend([], note=note), self.session.refresh)
            for message in seen:
                self._put(message.chain, "", self.session.branch)

    @locked
    def close(self, *, with_first: bool = True) -> None:
        """Close the session of the list and, `with_first`, the one that was passed in."""
        self.session = self._first
        with ExitStack() as stack:  # each, also after one that cannot be closed well
            for session in [*self._others.values(), *([self._first] if with_first else [])]:
                stack.callback(session.close)
            self._others.clear()

    # ------------------------------------------------------------------ the list

    def _follow(
        self, messages: list[Any], in_place: bool, replies: int, usage: Usage | None, anew: Sequence[Message]
    ) -> Session:
        same = self._count_same(messages)
        read = self._read(messages, same)
        seen = [*self._seen[:same], *link(messages[same:], read, self._seen[same - 1].chain if same else START)]
        logged = same
        while logged < len(seen):
            has = seen[logged].chain in self._places
            count = 1 if has else self._count_replied(seen, logged, read[logged - same :])
            if not count:
                break
            logged += count
        start, question = self._go_to(seen, logged, lambda: possible_ends(seen, read, same)), len(seen) - 1
        if start > question and new_messages(self.session, anew, self.after):  # the same question about other files
            start = self._go_to(seen, question, lambda: possible_ends(seen, read, same))
        if start < len(seen):
            again = self._read(messages, start, same) if start < same else []
            new, is_reply = [*again, *read[max(0, start - same) :]], start == len(seen) - replies
            if is_reply and usage is not None and new[0]:
                new[0] = [replace(new[0][0], usage=usage), *new[0][1:]]
            before = question - start if new_messages(self.session, anew, self.after) else 0
            if before:
                self._append(seen[start:question], new[:before], in_place, is_reply)
            append_anew(self.session, anew, self.after)
            self._append(seen[start + before :], new[before:], in_place, is_reply)
        self._remember(messages, seen, min(same, start))
        return self.session

    def _count_replied(self, seen: Sequence[Seen], first: int, read: Sequence[list[Message]]) -> int:
        """Count the messages from this one on that are together a reply that the log has. They are known from now."""
        run = reply_run(read)
        chain = seen[first - 1].chain if first else START
        key = reply_key(chain, [part for own in run for one in own for part in one.parts])
        if not run or (place := self._replies.get(key) or self._find_answer(chain, key)) is None:
            return 0
        for message in seen[first : first + len(run)]:
            self._places.setdefault(message.chain, []).append(place)
        if self._ends.get(place.branch) == key:
            self._ends[place.branch] = seen[first + len(run) - 1].chain
        return len(run)

    def _find_answer(self, chain: bytes, key: bytes) -> Place | None:
        """Return the answer to a list with this key that the log has although nobody said to expect it.

        Whoever logged it was killed, or lost the database, before that.
        """
        items = dict.fromkeys(place.item for place in self._places.get(chain, ()) if place.item)
        answers = (answer for item in items for answer in read_answers(self.session.log, item))
        place = next((Place(said.item, said.branch) for said in answers if reply_key(chain, said.parts) == key), None)
        if place is not None:
            self._replies[key] = place
            if self._ends.get(place.branch) == chain:
                self._ends[place.branch] = key
        return place

    def _chain_of(self, messages: Sequence[Any], previous: str = "") -> bytes:
        """Return the digest of a list, or of messages that follow a reply."""
        if previous:
            end = self.reply_ids.get(previous, self.end).chain
            return link(messages, self._read(messages, 0), self._bases.get(end, end))[-1].chain
        same = self._count_same(messages)
        new = link(messages[same:], self._read(messages, same), self._seen[same - 1].chain if same else START)
        return (new or self._seen[:same])[-1].chain

    def _count_same(self, messages: Sequence[Any]) -> int:
        """Count the first messages that are as they were given last. A message that changed in place is another."""
        for at, (seen, message) in enumerate(zip(self._seen, messages, strict=False)):
            if message is not seen.copy and view_of(message) != seen.copy:
                return at
        return min(len(self._seen), len(messages))

    def _read(self, messages: Sequence[Any], first: int, end: int | None = None) -> list[list[Message]]:
        try:
            return [accept.read_with(self._read_values, values_of(message)) for message in messages[first:end]]
        except BadInput:
            accept.read_with(self._read_values, [value for message in messages for value in values_of(message)])
            raise  # unless reading all of them has raised: that error names the bad index

    def _read_values(self, values: Sequence[Any]) -> list[Message]:
        if all(isinstance(value, Message) for value in values):
            return list(values)
        read = read_messages(values, self._wire)
        return [in_role(message, anthropic.NAME) for message in read] if self._wire == anthropic.NAME else read

    def _remember(self, messages: list[Any], seen: list[Seen], first: int) -> None:
        """Note what was given, from the first message on that is new or has another place."""
        while self._at and next(reversed(self._at.values())) >= first:  # they are in the order of the list
            self._at.popitem()
        for at, message in enumerate(seen[first:], first):
            for place in self._places.get(message.chain, ()):
                if self._has(place):
                    self._at.pop(place.item, None)
                    self._at[place.item] = at
        kept = self.held if first == len(self._seen) else sum(held_bytes(message) for message in seen[:first])
        self.held = kept + sum(held_bytes(message) for message in seen[first:])
        self._given, self._seen = messages, seen

    # ------------------------------------------------------------------ the log

    def _append(
        self,
        seen: Sequence[Seen],
        read: Sequence[list[Message]],
        in_place: bool,
        is_reply: bool,
        base: bytes | None = None,
    ) -> None:
        links = [(message.chain.hex(), len(own)) for message, own in zip(seen, read, strict=True)]
        note = HistoryNote(links, base=None if base is None else base.hex(), program=self._program)
        neutral = [message for own in read for message in own]
        ids = self.session.extend(neutral, in_place=in_place, is_reply=is_reply, note=note)
        if is_reply:
            self.session.flush()  # as `Session.reply` does: a reply was paid for
        count = 0
        for message, own in zip(seen, read, strict=True):
            count += len(own)
            self._put(message.chain, ids[count - 1] if count else "", self.session.branch)

    def _put(self, chain: bytes, item: str, branch: str) -> None:
        self._places.setdefault(chain, []).append(Place(item, branch))
        self._ends[branch] = chain

    def _read_places(self) -> None:
        """Read where the log has which messages of the list."""
        self._places, self._ends, self._replies, self._begins = {}, {}, {}, []
        self.reply_ids, self._bases = {}, {}
        for seq, branch, value in self.session.annotations(entries.HISTORY):
            try:
                note = convert(value, HistoryNote)
                links = [(bytes.fromhex(chain), count) for chain, count in note.links]
            except (msgspec.ValidationError, ValueError):  # another program wrote it: its messages are not known again
                continue
            if note.program != self._program:
                continue
            if note.reply and len(note.reply) > 1:
                key, item, *ids = note.reply
                self._put_reply(bytes.fromhex(key), Place(item, branch), ids[0] if ids else "")
            if note.after:
                self._begins.append(note.after)
                self._ends[branch] = START
            end = seq  # the entries follow the note one by one
            for chain, count in links:
                end += count
                self._put(chain, str(end) if end > seq else "", branch)
            if note.base is not None and links:
                self._bases[links[-1][0]] = bytes.fromhex(note.base)

    @locked
    def refresh(self) -> None:
        """Read what other processes have appended."""
        self.session.refresh()
        self._read_places()
        self._seen, self._given, self._at = [], [], {}

    # ------------------------------------------------------------------ branches

    def _go_to(self, seen: Sequence[Seen], logged: int, ends: Callable[[], dict[bytes, int]]) -> int:
        """Go to a branch that has the beginning of this list and nothing of it after that. Return how many it has.

        The log may have more of the list elsewhere, if another run has said the same: `ends` are those that this one
        may go on from.
        """
        chain = seen[logged - 1].chain if logged else START
        branches = [self.session.branch, *self._ends]
        possible = {chain: logged} if any(self._end_of(name) == chain for name in branches) else ends()
        if going_on := [name for name in branches if self._end_of(name) in possible]:
            branch = max(going_on, key=lambda name: possible[self._end_of(name)])
            self._open(branch)
            return possible[self._end_of(branch)]
        logged = self._count_shared(seen, logged)
        if logged:
            self._switch(self._fork_after(self._places[seen[logged - 1].chain][-1].item))
        else:
            self._switch(self.session.fork(item_before(self.session.items, self._listed())))
        self._ends[self.session.branch] = seen[logged - 1].chain if logged else START
        return logged

    def _fork_after(self, item: str) -> Session:
        """Begin a branch after an item and what the engine logged for the call that it was sent in.

        So the branch has the receipt of that call: it goes on from what was shown, and logs no system prompt again.
        """
        log = self.session.log
        timeline, row = log.timeline, self.session.items.row(item)
        later = timeline.rows_on(log.path, range(row + 1, len(timeline)))
        added = [*takewhile(lambda each: timeline.kind[each] in _ADDED, later)]
        if listed := self._listed() if added else set():  # the list itself may have a system message
            added = [*takewhile(lambda each: timeline.id(each) not in listed, added)]
        return self.session.fork(timeline.id(max(added, default=row)))

    def _listed(self) -> set[str]:
        """Return the items that are messages of a list, of each the last."""
        return {place.item for places in self._places.values() for place in places}

    def _count_shared(self, seen: Sequence[Seen], shared: int) -> int:
        """Return how many of the first messages a branch can share, and open the branch that it begins on."""
        while shared := count_shared(seen, shared):
            place = self._places[seen[shared - 1].chain][-1]
            if not place.item:  # a message without any content
                shared -= 1
                continue
            self._open(place.branch)
            if (answered := count_answered(self.session.items, seen, shared, place.item)) == shared:
                break
            shared = answered
        return shared

    def _end_of(self, branch: str) -> bytes:
        """Return the digest of the list that a branch has. One that another program began has that of its beginning."""
        if branch not in self._ends and branch == self.session.branch:
            has = [chain for chain, places in self._places.items() if any(map(self._has, places))]
            self._ends[branch] = has[-1] if has else START
        return self._ends[branch]

    def _has(self, place: Place) -> bool:
        try:
            self.session.items.row(place.item)
        except UnknownItem:
            return False
        return True

    def _open(self, branch: str) -> None:
        if branch != self.session.branch:
            other = self._first if branch == self._first.branch else self._others.pop(branch, None)
            self._switch(other or self.session.on_branch(branch))

    def _switch(self, session: Session) -> None:
        """Go to another session. A few others stay open, because several lists may grow at once."""
        self.session = session
        if session is not self._first:
            self._others[session.branch] = session
        for branch in [name for name in self._others if name != session.branch][: -_MOST_OPEN or None]:
            self._others.pop(branch).close()
