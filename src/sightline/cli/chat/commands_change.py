"""The commands that change something: what the model is shown, the session and branch, the model."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sightline.cli.chat import by_hand
from sightline.cli.chat.chat import Chat
from sightline.cli.compaction_view import (
    covered_sentence,
    make_report,
    plain_errors,
    print_loss,
    print_report,
    summary_text,
)
from sightline.cli.options import named_by
from sightline.cli.render import Column, Rows, first_words, print_text, printable
from sightline.cli.sessions import print_sessions
from sightline.compaction import prompt
from sightline.compaction.compactor import Compacted
from sightline.errors import BadInput, ModelError
from sightline.log import LONGEST_NAME, branch_label, is_branch_name
from sightline.plan.strategies import names
from sightline.session.items import ItemInfo
from sightline.session.session import Session
from sightline.values.items import Kind
from sightline.values.pattern import pattern
from sightline.values.settings import strategy_name

_ITEM = pattern(r"#?\d+")
_PASSAGES = 6  # listed by /recall
_LINES = pattern(r"([0-9]{1,9})(?:(-)([0-9]{1,9})?)?")
_READ_ON = pattern(r"expand\(id, start=([0-9]+)\)")  # how the label of a page tells a model to read on


async def compact(chat: Chat, rest: str) -> None:
    """Replace the oldest messages by a summary: by the model if it is good enough, else by rule."""
    agent, words = chat.agent, chat.words
    if rest not in ("", "full"):
        raise BadInput(words("usage", usage="/compact [full]"))
    if rest:
        _show_compacted(chat)
        return
    by_model = agent.model.info.capable
    with chat.out.status(Text(words("compacting"), style="dim")):
        with plain_errors(words, chat.session):
            result = await agent.compact()
        report = await asyncio.to_thread(make_report, chat.session, agent.budget, result)
    if not by_model:
        chat.say("digest", model=agent.model.info.name, style="dim")
    print_report(chat.out, words, report, heading=_told(result, words.language))
    chat.say("after compact", style="dim")


def _told(result: Compacted, locale: str) -> str:
    """Return what the user is told of a compaction: that it is done, or what went wrong, and the facts."""
    told = prompt.done(locale) if result.success else prompt.fallback_report(result.error, locale)
    return f"{told}\n\n{prompt.facts(result.pre_tokens, result.post_tokens, result.files, locale)}"


def _show_compacted(chat: Chat) -> None:
    """Print every summary that is in effect, whole, and all that it hides. This compacts nothing."""
    summaries = chat.begun_session().summaries
    in_effect = [summary for summary in summaries if summary.state == "holds"]
    if not in_effect:
        raise BadInput(chat.words("nothing compacted"))
    losses = summaries.losses()
    for summary in in_effect:
        print_text(chat.out, covered_sentence(chat.words, summary._asdict()), "bold")
        chat.out.print(Text(printable(summary_text(chat.session, summary))), soft_wrap=True)
        chat.out.print()
        if summary.boundary in losses:
            print_loss(chat.out, chat.words, losses[summary.boundary], full=True)


async def uncompact(chat: Chat, rest: str) -> None:
    """Undo the last compaction, or bring one item of it back."""
    chat.session.summaries.undo(_id(rest) if rest else None)
    chat.say("uncompacted one" if rest else "uncompacted", id=_id(rest))


async def expand(chat: Chat, rest: str) -> None:
    """Bring an item back: all of it if it fits, a range of its lines, or those that have some words."""
    item_id, _, part = rest.partition(" ")
    items, item_count = chat.session.items, len(chat.session.items)
    text = items.expand(_id(item_id), **_part(chat, part.strip()))
    label, newline, lines = text.partition("\n")
    label, goes_on = _READ_ON.subn(rf"/expand {_id(item_id)} \1-", label)
    chat.out.print(Text(printable(label + newline + lines)), soft_wrap=True)
    if len(items) > item_count:  # otherwise it has no such lines
        chat.say("expanded part" if part or goes_on else "expanded", id=_id(item_id), style="dim")


def _part(chat: Chat, part: str) -> dict[str, Any]:
    """Return which lines of an item are meant: `200-260`, `200-` to the end, `200` alone, or `grep WORDS`."""
    word, _, words = part.partition(" ")
    if word.lower() == "grep" and words.strip():
        return {"grep": words.strip()}
    if not part:
        return {}
    if (match := _LINES.fullmatch(part)) is None:
        raise BadInput(chat.words("no lines", given=part))
    first, dash, last = match.groups()
    start, end = int(first), int(last) if last else None
    if start < 1 or (end is not None and end < start):
        raise BadInput(chat.words("no lines", given=part))
    if not dash:
        end = start
    return {"start": start, "lines": None if end is None else end - start + 1}


async def recall(chat: Chat, rest: str) -> None:
    """Find passages and bring the best back."""
    passages = chat.session.items.recall(rest)
    chat.say("recalled" if passages else "nothing found", style="dim")
    for passage in passages[:_PASSAGES]:
        print_text(chat.out, first_words(passage.text), lead=(f"  #{passage.id}  ", "cyan"))


async def pin(chat: Chat, rest: str) -> None:
    """Pin an item, or list the pinned ones."""
    if rest:
        chat.session.items.pin(_id(rest))
        chat.say("pinned", id=_id(rest))
        return
    ids = ["#" + item.id for item in chat.begun_session().items.table() if item.pinned]
    chat.say("pins" if ids else "no pins", ids=", ".join(ids))


async def unpin(chat: Chat, rest: str) -> None:
    chat.session.items.unpin(_id(rest))
    chat.say("unpinned", id=_id(rest))


def _id(typed: str) -> str:
    return typed.strip().removeprefix("#")


# ---------------------------------------------------------------------- sessions and branches


async def fork(chat: Chat, rest: str) -> None:
    """Begin a branch after an item, or after the last one, and give it a name if there is one."""
    items = _conversation(chat.begun_session())
    item_id, name = _fork_arguments(chat, rest)
    at = item_id or (items[-1].id if items else "")
    before = chat.session.branch
    await _fork_after(chat, at, name)
    names = branch_labels(chat)
    chat.say("branched", branch=names[chat.session.branch], at=at, before=names[before])


def _fork_arguments(chat: Chat, rest: str) -> tuple[str, str | None]:
    """Return the item's id, or an empty text, and the name of the new branch, which may be typed in any order.

    Raises:
        BadInput: a text that is neither, or the name of another branch.
    """
    item, name = "", None
    for word in rest.split():
        if _ITEM.fullmatch(word):
            if item:
                raise BadInput(chat.words("usage", usage="/fork [ID] [NAME]"))
            item = word.removeprefix("#")
        elif not is_branch_name(word) or name is not None:
            raise BadInput(chat.words("bad branch name", name=word, most=LONGEST_NAME))
        else:
            name = word
    if name in branch_labels(chat).values():
        raise BadInput(chat.words("branch taken", name=name))
    return item, name


def branch_labels(chat: Chat) -> dict[str, str]:
    """Return what each branch of the chat's session is called on screen, by its name in the log."""
    return {branch: branch_label(branch) for branch in chat.session.branches}


async def rewind(chat: Chat, rest: str) -> None:
    """Go back before the N-th last message of the user: a branch, and the message as the next draft."""
    if rest and not (rest.isdecimal() and int(rest)):
        raise BadInput(chat.words("usage", usage="/rewind [N]"))
    items, back = _conversation(chat.begun_session()), int(rest or 1)
    question_places = [place for place, item in enumerate(items) if _is_users(item)]
    if back > len(question_places):
        raise BadInput(chat.words("too far", count=len(question_places)))
    if not question_places[-back]:
        raise BadInput(chat.words("from the start"))
    text, at = chat.session.items.text(items[question_places[-back]].id), items[question_places[-back] - 1].id
    before = chat.session.branch
    await _fork_after(chat, at)
    chat.draft = text
    chat.say("rewound", words=first_words(text, 80), before=branch_labels(chat)[before])


def _conversation(session: Session) -> list[ItemInfo]:
    """Return the items that a new branch can begin after."""
    return [item for item in session.items.table() if item.kind is not Kind.WINDOW]


def _is_users(item: ItemInfo) -> bool:
    return item.kind is Kind.USER and not item.by_program


async def _fork_after(chat: Chat, at: str, name: str | None = None) -> None:
    with chat.session.fork(at, name=name) as forked:
        made = forked.branch
    await chat.switch_session(chat.session.id, made)


async def branch(chat: Chat, rest: str) -> None:
    """List the branches, or go to one; the beginning of its name is enough."""
    names = branch_labels(chat)
    if not rest:
        _list_branches(chat, names)
        return
    matching = named_by(rest, list(names.values()))
    if len(matching) != 1:
        key = "several branches" if matching else "no branch"
        raise BadInput(chat.words(key, given=printable(rest), names=", ".join(matching or names.values())))
    chosen = next(log_name for log_name, name in names.items() if name == matching[0])
    await chat.switch_session(chat.session.id, chosen)
    chat.say("branch now", branch=names[chosen])


def _list_branches(chat: Chat, names: Mapping[str, str]) -> None:
    """Print each branch with its number of items and the user's last message on it. The current one is marked."""
    words = chat.words
    if not chat.here.stores.has(chat.session.id):  # nothing has been said yet
        chat.say("branch now", branch=names[chat.session.branch])
        return
    rows = Rows(chat.out, [
        Column("", 1), Column(words("branch"), max(map(len, names.values())) + 2, style="cyan"),
        Column(words("items"), 6, right=True), Column(words("said last")),
    ])  # fmt: skip
    rows.print_titles()
    for log_name, name in names.items():
        with chat.here.session(chat.session.id, name) as session:
            items = _conversation(session)
            last = next((item for item in reversed(items) if _is_users(item)), None)
            text = first_words(session.items.text(last.id)) if last is not None else ""
        rows.print("*" if log_name == chat.session.branch else "", name, f"{len(items):,}", text)
    if len(names) > 1:
        chat.say("branch how", style="dim")


async def sessions(chat: Chat, rest: str) -> None:
    """List the sessions, or go on in one."""
    if rest in ("", "all"):
        print_sessions(chat.here, rest == "all")
        return
    matching = named_by(rest, chat.here.stores.sessions())
    if len(matching) != 1:
        key = "several sessions" if matching else "no session"
        raise BadInput(chat.words(key, given=rest, count=len(matching), ids=", ".join(matching)))
    await chat.switch_session(matching[0])
    recap(chat)


async def clear(chat: Chat, _: str) -> None:
    """Begin a new session."""
    before = chat.session.id
    await chat.switch_session(None)
    chat.say("cleared", id=chat.session.id, before=before)


def recap(chat: Chat) -> None:
    """Print how many messages the session has, and the last exchange."""
    session = chat.begun_session()
    items = _conversation(session)
    said = [item for item in items if item.kind in (Kind.USER, Kind.ASSISTANT) and not item.by_program]
    question_place = next((place for place in reversed(range(len(said))) if said[place].kind is Kind.USER), None)
    last_exchange = (
        said[-2:] if question_place is None else [said[question_place], *said[max(question_place + 1, len(said) - 1) :]]
    )
    key = "continued one" if len(said) == 1 else "continued"
    label = branch_labels(chat)[session.branch]
    chat.say(key, id=session.id, branch=label, messages=len(said), style="dim")
    for item in last_exchange:
        who = chat.words("you" if item.kind is Kind.USER else "it")
        if text := first_words(session.items.text(item.id), 300):  # an answer may have been only calls of tools
            print_text(chat.out, text, "dim", lead=(f"  {who}: ", "bold dim"))
    if _is_unanswered(session, items):
        chat.say("unanswered", style="yellow")


def _is_unanswered(session: Session, items: Sequence[ItemInfo]) -> bool:
    """Whether the user still waits for an answer: the last message is the user's, a tool's, or that it was stopped.

    What the user did in a window by hand waits for none.
    """
    said = [item for item in items if item.kind in (Kind.USER, Kind.ASSISTANT, Kind.CALL, Kind.RESULT)]
    while said and said[-1].by_program and by_hand.is_note(session.items.text(said[-1].id)):
        said.pop()
    return bool(said) and said[-1].kind is not Kind.ASSISTANT


# ---------------------------------------------------------------------- model and strategy


async def model(chat: Chat, rest: str) -> None:
    """Name the model, or choose another one."""
    if rest:
        try:
            await chat.finish()
            await chat.setup.use_model(rest)
        except (BadInput, ModelError) as error:
            raise BadInput(chat.words("no such model", name=rest, why=error)) from error
    facts = chat.agent.model.info
    chat.say("model now", model=facts.name, window=chat.agent.budget.window, output=chat.agent.budget.output)
    if not facts.capable:
        chat.say("small model", model=facts.name, style="yellow")


async def strategy(chat: Chat, rest: str) -> None:
    """Name the strategy, or choose another one."""
    if rest:
        await chat.finish()
        await chat.setup.use_strategy(rest)
        chat.say("strategy set", name=strategy_name(chat.session.settings.strategy))
    else:
        chat.say("strategy now", name=strategy_name(chat.session.settings.strategy), names=", ".join(names()))


async def retry(chat: Chat, _: str) -> None:
    """Go on where the last turn stopped."""
    if not _is_unanswered(chat.begun_session(), _conversation(chat.session)):
        raise BadInput(chat.words("nothing to retry"))
    await chat.answer(chat.agent.proceed())


async def leave(chat: Chat, _: str) -> None:
    """End the chat."""
    chat.over = True
