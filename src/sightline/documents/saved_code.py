"""The code that a conversation makes, saved while an agent answers: of structured responses, and of write_code."""

import asyncio
import logging
from collections.abc import Sequence

from msgspec import Struct

from sightline.agent.events import Answer, CodeSaved
from sightline.agent.extension import Extension
from sightline.agent.turn import Turn
from sightline.compose import layout
from sightline.documents.code.store import CodeStore
from sightline.documents.code.versions import Saved, measured
from sightline.documents.code_window import CODE_LIST, code_list
from sightline.documents.structured_response import CodeBlock, StructuredResponse, not_saved
from sightline.documents.write_code import WRITE_CODE
from sightline.errors import SightlineError
from sightline.session.session import Session
from sightline.values.items import Call

_LOG = logging.getLogger("sightline.agent")


class SavedCode(Extension):
    """Saves a session's code in a store, and lists it in a window once there is any."""

    apps = (CODE_LIST,)

    def __init__(self, store: CodeStore, session: Session) -> None:
        self.store, self._session = store, session
        session.windows.register(code_list(store, session.id, plain=layout(session.settings.layout).states))

    def prepare(self) -> None:
        """Open the window that lists the session's code, once there is any. It is live from then on."""
        if self._session.windows.window(CODE_LIST) is None and self.store.list(self._session.id):
            self._session.windows.open(CODE_LIST)

    async def after_reply(self, response: Struct, turn: Turn) -> None:
        """Store the code of a structured response."""
        if isinstance(response, StructuredResponse):
            await self._store(response.action.code_blocks, turn)

    async def after_call(self, call: Call, turn: Turn) -> None:
        """Tell of the code that write_code has stored."""
        if call.name == WRITE_CODE:
            _add(turn, await asyncio.to_thread(self.store.find, call.input["code_id"]))

    async def _store(self, blocks: Sequence[CodeBlock], turn: Turn) -> None:
        """Store the code of a response. What cannot be stored is a warning, because the answer matters more."""
        for block in blocks:
            if _has(turn, block):  # of a response that was sent back
                continue
            about = {"language": block.language, "description": block.description, "session_id": self._session.id}
            try:
                _add(turn, await asyncio.to_thread(self.store.store, block.code_id, block.code, **about))
            except (SightlineError, OSError) as error:
                _LOG.warning("code %s was not saved: %s", block.code_id, error)
                turn.warn(not_saved(block, str(error), self._session.settings.locale))


def _add(turn: Turn, saved: Saved) -> None:
    _LOG.info("code saved: %s (%s, version %d)", saved.code_id, saved.language, saved.version)
    turn.saved.append(saved)
    turn.warn(*filter(None, [saved.warning]))
    turn.say(CodeSaved(saved))


def _has(turn: Turn, block: CodeBlock) -> bool:
    """Whether just this code was saved in this turn."""
    data = block.code.encode(errors="replace")
    return any(saved.code_id == block.code_id and saved == measured(saved, data) for saved in saved_in(turn))


def saved_in(answer: Answer | Turn) -> list[Saved]:
    """Return the code that was saved in a turn."""
    return [saved for saved in answer.saved if isinstance(saved, Saved)]


def response_of(answer: Answer) -> StructuredResponse | None:
    """Return the structured response that an answer was read from; None if calls are native."""
    return answer.response if isinstance(answer.response, StructuredResponse) else None
