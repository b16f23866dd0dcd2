"""The commands that change something: what is shown, where the conversation goes, who answers."""

import asyncio

from rich.text import Text

from sightline.cli.chat.chat import Chat
from sightline.cli.compact import outcome, print_outcome
from sightline.cli.compaction_view import made, print_loss, summary_text
from sightline.cli.render import Column, Rows, first_words, printable
from sightline.cli.sessions import branch_label, print_sessions
from sightline.cli.wrap import prose
from sightline.errors import BadInput, ModelError
from sightline.log.columns import LABELLED
from sightline.log.journal import Journal
from sightline.plan.strategies import names
from sightline.values.items import Kind

_RECALLED = 6  # passages listed


async def compact(chat: Chat, rest: str) -> None:
    """A summary in the place of the oldest messages: the model's where it is good enough, else by rule."""
    agent, words = chat.agent, chat.words
    if rest not in ("", "full"):
        raise BadInput(words("usage", usage="/compact [full]"))
    if rest:
        _show_compacted(chat)
        return
    if "summaries" not in chat.session.settings.reductions:
        raise BadInput(words("summaries off"))
    by_model = agent.model.info.capable
    with chat.out.status(Text(words("compacting"), style="dim")):
        try:
            result = await agent.compact()
        except BadInput as error:
            raise BadInput(words("too little")) from error
        with chat.log() as journal:
            done = await asyncio.to_thread(outcome, chat.session, journal, agent.budget, result)
    if not by_model:
        chat.say("digest", model=agent.model.info.name, style="dim")
    if not result.success:
        chat.say("no summary", error=result.error, style="yellow")
    print_outcome(chat.out, words, done, by_model=by_model)
    chat.say("after compact", style="dim")


def _show_compacted(chat: Chat) -> None:
    """The summaries that stand for something now, whole, and all that each hides. Nothing is compacted by that."""
    with chat.log() as journal:
        held = [each for each in made(journal) if each.covered.state == "holds"]
        texts = [summary_text(journal, each.covered) for each in held]
    if not held:
        raise BadInput(chat.words("nothing compacted"))
    for each, text in zip(held, texts, strict=True):
        summaries = ", ".join("#" + item_id for item_id in each.covered.summaries)
        chat.say("stands for", style="bold", **each.covered._asdict() | {"summaries": summaries})
        chat.out.print(Text(printable(text)), soft_wrap=True)
        chat.out.print()
        if each.loss is not None:
            print_loss(chat.out, chat.words, each.loss, full=True)


async def uncompact(chat: Chat, rest: str) -> None:
    """Undo the last compaction, or bring one item of it back."""
    if rest:
        chat.session.summaries.undo(_id(rest))
        chat.say("uncompacted one", id=_id(rest))
    else:
        chat.session.summaries.undo()
        chat.say("uncompacted")


async def expand(chat: Chat, rest: str) -> None:
    """Bring an item back in full."""
    if not rest:
        raise BadInput(chat.words("usage", usage="/expand ID"))
    text = chat.session.items.expand(_id(rest))
    chat.out.print(Text(printable(text)), soft_wrap=True)
    chat.say("expanded", id=_id(rest), style="dim")


async def recall(chat: Chat, rest: str) -> None:
    """Find passages and bring the best back."""
    if not rest:
        raise BadInput(chat.words("usage", usage="/recall WORDS"))
    found = chat.session.items.recall(rest)
    chat.say("recalled" if found else "nothing found", style="dim")
    for each in found[:_RECALLED]:
        prose(chat.out, first_words(each.text), lead=(f"  #{each.id}  ", "cyan"))


async def pin(chat: Chat, rest: str) -> None:
    """Hold on to an item, or list those that are held."""
    if rest:
        chat.session.items.pin(_id(rest))
        chat.say("pinned", id=_id(rest))
        return
    with chat.log() as journal:
        marked = journal.timeline.marked(journal.path)
        ids = ["#" + journal.timeline.id(row) for row, what in sorted(marked.items()) if what == "pin"]
    chat.say("pins" if ids else "no pins", ids=", ".join(ids))


async def unpin(chat: Chat, rest: str) -> None:
    """Let go of an item."""
    if not rest:
        raise BadInput(chat.words("usage", usage="/unpin ID"))
    chat.session.items.unpin(_id(rest))
    chat.say("unpinned", id=_id(rest))


def _id(given: str) -> str:
    return given.strip().removeprefix("#")


# ---------------------------------------------------------------------- where the conversation goes


async def fork(chat: Chat, rest: str) -> None:
    """A new branch after an item, or after the last one."""
    with chat.log() as journal:
        last = max(_rows(journal), default=None)
        at = _id(rest) or (journal.timeline.id(last) if last is not None else "")
    before = chat.session.branch
    await _branch_off(chat, at)
    chat.say("branched", branch=branch_label(chat.session.branch), at=at, before=branch_label(before))


async def rewind(chat: Chat, rest: str) -> None:
    """Go back before the N-th last message of the user: a branch, and the message as the next draft."""
    if rest and not (rest.isdecimal() and int(rest)):
        raise BadInput(chat.words("usage", usage="/rewind [N]"))
    back = int(rest or 1)
    with chat.log() as journal:
        rows, timeline = _rows(journal), journal.timeline
        said = _said(journal)
        if back > len(said):
            raise BadInput(chat.words("too far", count=len(said)))
        earlier = [row for row in rows if row < said[-back]]
        if not earlier:
            raise BadInput(chat.words("from the start"))
        text, at = journal.reader.text(said[-back]), timeline.id(earlier[-1])
    before = chat.session.branch
    await _branch_off(chat, at)
    chat.draft = text
    chat.say("rewound", words=first_words(text, 80), before=branch_label(before))


def _rows(journal: Journal) -> list[int]:
    """The items of the branch that a new branch can begin after."""
    timeline = journal.timeline
    rows = (row for row in range(len(timeline)) if journal.path.holds(timeline.branch[row], row))
    return [row for row in rows if timeline.kind[row] != Kind.WINDOW]


def _said(journal: Journal) -> list[int]:
    """What the user said on the branch."""
    timeline = journal.timeline
    return [row for row in _rows(journal) if timeline.kind[row] == Kind.USER and not timeline.state[row] & LABELLED]


async def _branch_off(chat: Chat, at: str) -> None:
    with chat.session.fork(at) as forked:
        name = forked.branch
    await chat.enter(chat.session.id, name)


async def branch(chat: Chat, rest: str) -> None:
    """The branches, or go to one: the beginning of its name is enough."""
    known = chat.session.branches
    if not rest:
        _list_branches(chat)
        return
    matching = [name for name in known if branch_label(name).startswith(rest)]
    if len(matching) != 1:
        raise BadInput(chat.words("usage", usage=f"/branch {'|'.join(map(branch_label, matching or known))}"))
    await chat.enter(chat.session.id, matching[0])
    chat.say("branch now", branch=branch_label(matching[0]))


def _list_branches(chat: Chat) -> None:
    """Each branch with how many items it has and what the user said last on it; the one that it is on is marked."""
    words, names = chat.words, chat.session.branches
    if chat.session.id not in chat.here.folder.sessions():  # nothing has been said: there is one, and nothing in it
        chat.say("branch now", branch=branch_label(chat.session.branch))
        return
    rows = Rows(chat.out, [
        Column("", 1), Column(words("branch"), max(map(len, map(branch_label, names))) + 2, style="cyan"),
        Column(words("items"), 6, right=True), Column(words("said last")),
    ])  # fmt: skip
    rows.print_titles()
    with chat.log() as journal:
        for name in names:
            journal.switch(name)
            said = _said(journal)
            last = first_words(journal.reader.text(said[-1])) if said else ""
            mark = "*" if name == chat.session.branch else ""
            rows.print(mark, branch_label(name), f"{len(_rows(journal)):,}", last)
    if len(names) > 1:
        chat.say("branch how", style="dim")


async def sessions(chat: Chat, rest: str) -> None:
    """The sessions, or go on in one."""
    if rest in ("", "all"):
        print_sessions(chat.here, rest == "all")
        return
    ids = chat.here.folder.sessions()
    matching = [rest] if rest in ids else [each for each in ids if each.startswith(rest)]
    if len(matching) != 1:
        key = "several sessions" if matching else "no session"
        raise BadInput(chat.words(key, given=rest, count=len(matching), ids=", ".join(matching)))
    await chat.enter(matching[0])
    recap(chat)


async def clear(chat: Chat, _: str) -> None:
    """A new session."""
    before = chat.session.id
    await chat.enter(None)
    chat.say("cleared", id=chat.session.id, before=before[:8])


def recap(chat: Chat) -> None:
    """Where the session stands: how many messages, the last exchange."""
    with chat.log() as journal:
        timeline = journal.timeline
        rows = [row for row in _rows(journal) if not timeline.state[row] & LABELLED]
        said = [row for row in rows if timeline.kind[row] in (Kind.USER, Kind.ASSISTANT)]
        asked = next((row for row in reversed(said) if timeline.kind[row] == Kind.USER), None)
        texts = [(timeline.kind[row], journal.reader.text(row)) for row in said[-2:] if asked is None or row >= asked]
        if asked is not None and asked not in said[-2:]:
            texts = [(int(Kind.USER), journal.reader.text(asked)), *texts[-1:]]
        waits = _waits(journal)
    label = branch_label(chat.session.branch)
    key = "continued one" if len(said) == 1 else "continued"
    chat.say(key, id=chat.session.id, branch=label, messages=len(said), style="dim")
    for kind, text in texts:
        who = chat.words("you" if kind == Kind.USER else "it")
        prose(chat.out, first_words(text, 300), "dim", lead=(f"  {who}: ", "bold dim"))
    if waits:
        chat.say("unanswered", style="yellow")


def _waits(journal: Journal) -> bool:
    """Whether the user still waits for an answer: the last word is theirs, or a tool's."""
    kinds = (Kind.USER, Kind.ASSISTANT, Kind.CALL, Kind.RESULT)
    said = [kind for kind in map(journal.timeline.kind.__getitem__, _rows(journal)) if kind in kinds]
    return bool(said) and said[-1] != Kind.ASSISTANT


# ---------------------------------------------------------------------- who answers, and how


async def model(chat: Chat, rest: str) -> None:
    """Which model, or another one."""
    if rest:
        try:
            await chat.made.use(rest)
        except (BadInput, ModelError) as error:
            raise BadInput(chat.words("no such model", name=rest, why=error)) from error
    facts = chat.agent.model.info
    chat.say("model now", model=facts.name, window=chat.agent.budget.window, output=chat.agent.budget.output)
    if not facts.capable:
        chat.say("small model", model=facts.name, style="yellow")


async def strategy(chat: Chat, rest: str) -> None:
    """Which strategy, or another one."""
    if rest and rest not in names():
        raise BadInput(chat.words("no strategy", name=rest, names=", ".join(names())))
    if rest:
        chat.session.configure(strategy=rest, config={})
        chat.say("strategy set", name=rest)
    else:
        chat.say("strategy now", name=chat.session.settings.strategy, names=", ".join(names()))


async def retry(chat: Chat, _: str) -> None:
    """Go on where the last turn stopped."""
    with chat.log() as journal:
        waits = _waits(journal)
    if not waits:
        raise BadInput(chat.words("nothing to retry"))
    await chat.answer(chat.agent.proceed())


async def leave(chat: Chat, _: str) -> None:
    """The end."""
    chat.over = True
