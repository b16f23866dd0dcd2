"""A conversation in the terminal: the agent that is talked to, where, and what came of it last."""

import asyncio
import time
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any

import click
from rich.text import Text

from sightline.agent.agent import Agent
from sightline.agent.code.store import Saved
from sightline.agent.events import Answer, Event, PayloadComposed
from sightline.cli.chat.screen import REFRESH_SECONDS, Screen
from sightline.cli.chat.seen import cut_question
from sightline.cli.chat.setup import Assembled
from sightline.cli.chat.status import Status
from sightline.cli.chat.telling import told
from sightline.cli.options import DEBUG, Place
from sightline.cli.phrases import Words
from sightline.cli.render import console, printable
from sightline.cli.wrap import prose
from sightline.errors import BadInput, SightlineError
from sightline.log.journal import Journal
from sightline.session.session import Session


class Chat:
    """What the commands work on. `over`: the user leaves; `draft`: what the next prompt begins with."""

    def __init__(self, made: Assembled) -> None:
        self.made, self.out = made, console()
        self.composed: PayloadComposed | None = None
        self.over, self.draft = False, ""
        self.screen = Screen(self.out, self.words, time.monotonic, made.resolved, self.file_of)

    @property
    def here(self) -> Place:
        """The project."""
        return self.made.here

    @property
    def words(self) -> Words:
        """The language to speak."""
        return self.made.here.words

    @property
    def agent(self) -> Agent:
        """Who answers."""
        return self.made.agent

    @property
    def session(self) -> Session:
        """Where it is written down."""
        return self.made.agent.session

    @property
    def status(self) -> Status:
        """What the line below the prompt says."""
        agent, session, sent = self.agent, self.session, self.composed
        last = session.receipt  # of an earlier run, or of the branch that this one left: its tokens are there too
        return Status(
            model=agent.model.info.name,
            tokens=sent.tokens if sent else last.tokens if last else None,
            limit=sent.limit if sent else agent.budget.limit(last.factor if last else 1.0),
            reused=sent.reused if sent else None,
            cost=agent.spent.cost,
            session=session.id,
            strategy=session.settings.strategy,
        )

    def file_of(self, saved: Saved) -> str:
        """Where a piece of code is."""
        store = self.agent.code
        return str(store.folder / saved.path) if store is not None else saved.path

    # ------------------------------------------------------------------ talking

    async def answer(self, events: AsyncGenerator[Event, None]) -> Answer | None:
        """Show an answer as it comes. None: the stream ended without one."""
        answer, cut = None, None
        with self.screen.answering():
            async with self._alive(), aclosing(events) as stream:
                async for event in stream:
                    self.screen.show(event)
                    if isinstance(event, PayloadComposed):
                        self.composed = event
                        if cut is None and (cut := cut_question(self.agent)) is not None:
                            self.screen.warn(cut.told(self.words))
                    if isinstance(event, Answer):
                        answer = event
        self.out.print()
        if answer is not None and answer.success:
            self.agent.compact_in_background()
        return answer

    @asynccontextmanager
    async def _alive(self) -> AsyncIterator[None]:
        """Keep the moving part of the screen moving while nothing happens."""

        async def tick() -> None:
            while True:
                await asyncio.sleep(REFRESH_SECONDS)
                self.screen.refresh()

        ticking = asyncio.create_task(tick())
        try:
            yield
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)

    # ------------------------------------------------------------------ saying

    def say(self, key: str, /, style: str = "", **values: Any) -> None:
        """Print words of the table."""
        prose(self.out, printable(self.words(key, **values)), style)

    def complain(self, message: str) -> None:
        """One paragraph, in red."""
        prose(self.out, printable(" ".join(message.split())), "red")

    def failed(self, error: Exception) -> None:
        """Say what went wrong in one line, all of it with --debug. Whatever it was, the conversation goes on."""
        expected = isinstance(error, SightlineError | OSError)
        self.complain(told(error, self.words) if expected and str(error) else f"{type(error).__name__}: {error}")
        context = click.get_current_context(silent=True)
        if context is not None and context.meta.get(DEBUG):
            self.out.print(Text(printable("".join(traceback.format_exception(error))), style="dim"), soft_wrap=True)

    # ------------------------------------------------------------------ the session

    async def enter(self, session_id: str | None, branch: str | None = None) -> None:
        """Go on in another session, or on another branch; None: in a new one. The one before is closed, and kept."""
        await self.made.enter(session_id, branch)
        self.composed = None

    @contextmanager
    def log(self) -> Iterator[Journal]:
        """The session's log as it is now, to look at. Raises BadInput where nothing has been said yet."""
        if self.session.id not in self.here.folder.sessions():
            raise BadInput(self.words("nothing said"))
        journal = self.here.journal(self.session.id)
        try:
            journal.switch(self.session.branch)
            yield journal
        finally:
            journal.store.close()
