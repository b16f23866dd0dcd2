"""A conversation in the terminal: what the commands work on."""

import asyncio
import time
import traceback
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import click
from rich.text import Text

from sightline.agent.agent import Agent
from sightline.agent.events import Answer, Event, PayloadComposed
from sightline.cli.chat.screen import REFRESH_SECONDS, Screen, error_text
from sightline.cli.chat.setup import ChatSetup
from sightline.cli.chat.status import Status, meter, shortened_question
from sightline.cli.options import DEBUG
from sightline.cli.render import console, print_text, printable
from sightline.errors import BadInput, SightlineError
from sightline.session.session import Session


class Chat:
    """An agent in a session, and the screen.

    `over`: the user leaves; `draft`: the text in the next prompt; `before`: the stored session before this one, or "".
    """

    def __init__(self, setup: ChatSetup) -> None:
        self.setup, self.here, self.words, self.out = setup, setup.here, setup.here.words, console()
        self.composed: PayloadComposed | None = None
        self.over, self.draft, self.before = False, "", ""
        self.screen = Screen(self.out, self.words, time.monotonic, setup.resolve_tags, setup.file_of)

    @property
    def agent(self) -> Agent:
        return self.setup.agent

    @property
    def session(self) -> Session:
        """The session that the conversation is written to."""
        return self.setup.agent.session

    @property
    def status(self) -> Status:
        """What the line below the prompt shows."""
        return meter(self.agent, self.composed)

    # ------------------------------------------------------------------ answering

    async def answer(self, events: AsyncGenerator[Event, None]) -> None:
        """Show an answer as it comes."""
        succeeded, shortened = False, None
        with self.screen.answering():
            async with self._refreshing(), aclosing(events) as stream:
                async for event in stream:
                    self.screen.show(event)
                    if isinstance(event, PayloadComposed):
                        self.composed = event
                        if shortened is None and (shortened := shortened_question(self.agent)) is not None:
                            self.screen.warn(shortened.sentence(self.words))
                    if isinstance(event, Answer):
                        succeeded = event.success
        self.out.print()
        self.print_warnings()
        if succeeded:
            self.agent.compact_in_background()

    @asynccontextmanager
    async def _refreshing(self) -> AsyncIterator[None]:
        """Redraw the moving part of the screen while nothing else happens."""

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

    # ------------------------------------------------------------------ printing

    def say(self, key: str, /, style: str = "", **values: Any) -> None:
        """Print a phrase."""
        print_text(self.out, printable(self.words(key, **values)), style)

    def print_warnings(self) -> None:
        """Print what the user has not been told yet about the agent and its work in the background."""
        for note in self.setup.file_notices.take_notes():
            print_text(self.out, printable(note), "dim")
        for warning in self.setup.take_warnings():
            print_text(self.out, printable(warning), "yellow")

    def report(self, error: Exception) -> None:
        """Print an error in one red paragraph, with --debug also its traceback. The chat goes on after any error."""
        expected = isinstance(error, SightlineError | OSError) and str(error)
        message = error_text(error, self.words) if expected else f"{type(error).__name__}: {error}"
        print_text(self.out, printable(" ".join(message.split())), "red")
        context = click.get_current_context(silent=True)
        if context is not None and context.meta.get(DEBUG):
            self.out.print(Text(printable("".join(traceback.format_exception(error))), style="dim"), soft_wrap=True)

    # ------------------------------------------------------------------ the session

    async def switch_session(self, session_id: str | None, branch: str | None = None) -> None:
        """Go on in another session or on another branch; None: in a new session. The session before is closed."""
        await self.finish()
        before = self.session.id
        await self.setup.switch_session(session_id, branch)
        self.before = before if self.here.stores.has(before) else self.before
        self.composed = None

    async def finish(self) -> None:
        """Wait for the extraction that is going on, if one is, and say so. Ctrl-C ends the wait and the extraction."""
        if self.agent.extraction.is_running:
            with self.out.status(Text(self.words("extracting"), style="dim")):
                await self.agent.finish()

    def begun_session(self) -> Session:
        """Return the session if it is in a file by now. Raises BadInput if nothing has been said yet."""
        if not self.here.stores.has(self.session.id):
            raise BadInput(self.words("nothing said"))
        return self.session
