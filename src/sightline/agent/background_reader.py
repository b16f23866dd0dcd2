"""What the agent has a model read in the background: one request at a time, and nobody waits for it."""

import asyncio
from abc import ABC, abstractmethod

from sightline.session.session import Session
from sightline.values.phrases import Phrases, texts

SECONDS = 120.0  # until a model that does not answer is given up
_SAY = Phrases(texts("background_reader"))


class BackgroundReader(ABC):
    """Reads what the user said, some messages at a time, until none is left or a request fails."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._running: asyncio.Task[None] | None = None

    @property
    @abstractmethod
    def is_possible(self) -> bool:
        """Whether the session needs it, and a model can be trusted with it."""

    @property
    def is_running(self) -> bool:
        """Whether one is going on."""
        return self._running is not None and not self._running.done()

    def begin(self) -> None:
        """Read what is left, unless that is going on already: it goes on with what came since. Needs an event loop."""
        if self.is_possible and not self.is_running:
            self._running = asyncio.create_task(self._read_all())

    async def finish(self, seconds: float = SECONDS) -> None:
        """Wait for the reading that is going on. It is cancelled if it takes longer, or if the wait is cancelled."""
        if self._running is not None:
            try:
                await asyncio.wait([self._running], timeout=seconds)
            finally:
                self._running.cancel()
                await asyncio.gather(self._running, return_exceptions=True)

    async def _read_all(self) -> None:
        try:
            is_left = True
            while is_left:
                async with asyncio.timeout(SECONDS):
                    is_left = await self._read_some()
        except TimeoutError:
            self._tell(_SAY("late", self._session.settings.locale, seconds=SECONDS))
        except Exception as error:  # of a model too: nobody waits for this task
            self._tell(str(error) or type(error).__name__)

    @abstractmethod
    async def _read_some(self) -> bool:
        """Read the first messages of those that are left. Return whether there were any."""

    @abstractmethod
    def _tell(self, failure: str) -> None:
        """Say why a request failed, to whom it matters. The next `begin` tries again."""
