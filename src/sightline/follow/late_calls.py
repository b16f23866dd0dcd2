"""Calls that are logged later than they were made, because the log could not be written then.

They are logged by what they say: a list that the log has, and an answer that it has to this list, are not logged again,
whoever logged them. So the same calls may be brought in twice, also by several servers. Where the conversation went on
elsewhere meanwhile, they are a branch.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sightline.errors import DELETED, SessionNotFound, Unwritable
from sightline.follow.history import History
from sightline.follow.model_request import Json, ModelRequest
from sightline.follow.turns import Prepared, Turns
from sightline.wire import read_reply


class LateCall(NamedTuple):
    """A call of a program to its model, as it was made."""

    request: ModelRequest
    reply: Json | None = None  # of the model; None: none came, or it is logged already
    visible: Json | None = None  # what the program got as its answer
    stopped: bool = False  # the reply did not come to its end


class LoggedCall(NamedTuple):
    """A call that is in the log now. `item`: its reply; empty: it had none."""

    call: LateCall
    prepared: Prepared
    item: str = ""


def prepare_anew(turns: Turns, request: ModelRequest, *, passed: bool) -> Prepared:
    """Do as `Turns.prepare`. A conversation whose session another program has deleted begins anew."""
    try:
        return turns.prepare(request, passed=passed)
    except (Unwritable, SessionNotFound) as error:
        if isinstance(error, Unwritable) and DELETED not in error.why:
            raise
    with turns.closed(request.name):
        pass
    return turns.prepare(request, passed=passed)


def log_late(turns: Turns, calls: Sequence[LateCall]) -> Iterator[LoggedCall]:
    """Log calls of one program in their order, and yield those that the log had not. Raises as `Turns.prepare`."""
    names: set[str] = set()
    for call in _without_repeated(calls):
        request = turns.names.find(call.request)
        with turns.names.history(request) as history:
            if request.name not in names:
                history.refresh()  # others may have written to it since this process did
            names.add(request.name)
            if _has(history, call):
                continue
            logged = _log(turns, request, call)
        yield logged


def _log(turns: Turns, request: ModelRequest, call: LateCall) -> LoggedCall:
    prepared = prepare_anew(turns, request, passed=True)
    if call.reply is None:
        return LoggedCall(call, prepared)
    item, prepared = turns.reply(request.format, prepared, call.reply, stopped=call.stopped)
    turns.expect(request, prepared, call.visible or call.reply, item)
    return LoggedCall(call, prepared, item)


def _has(history: History, call: LateCall) -> bool:
    """Whether the log has the list of a call and its reply."""
    request = call.request
    if call.reply is None:
        return not request.kept_upstream and history.knows(request.messages)
    visible = call.visible or call.reply
    given_id = str(visible.get("id") or "") if request.format.wire == "responses" else ""
    reply_id = request.own_id(given_id) if given_id else ""
    if request.kept_upstream and reply_id in history.reply_ids:
        return True
    previous = request.own_id(request.previous_reply) if request.previous_reply else ""
    return history.knows(request.messages, read_reply(visible).parts, previous, reply_id)


def _without_repeated(calls: Sequence[LateCall]) -> list[LateCall]:
    """Leave out requests that come again with their reply."""
    answered = [call.request for call in calls if call.reply is not None]
    return [
        call for call in calls if call.reply is not None or not any(_is_same(call.request, one) for one in answered)
    ]


def _is_same(one: ModelRequest, other: ModelRequest) -> bool:
    return one.listed == other.listed and one.name == other.name and one.kept_upstream == other.kept_upstream
