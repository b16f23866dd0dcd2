"""A session that somebody hands to a document's classes, so that several documents stand on the same one."""

import logging

from sightline.errors import BadInput
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.values.settings import Settings, strategy_name

_SET = ("locale", "layout", "strategy", "config")  # what a document says of a session; the rest is its owner's

logger = logging.getLogger("sightline")


def plain_session(session: Session | AsyncSession) -> Session:
    """Return the session itself. Raises BadInput for what is none."""
    session = session.session if isinstance(session, AsyncSession) else session
    if not isinstance(session, Session):
        raise BadInput(f"a session is what Session.open, Session.new or Session.resume returns, not {session!r:.200}")
    return session


def prepare(session: Session | AsyncSession, document: str, settings: Settings) -> Session:
    """Give a session the strategy, layout and locale of a document; what it has already stays as it is.

    Raises:
        BadInput: it was opened with a strategy of its own, which no setting changes.
    """
    session = plain_session(session)
    wanted = {name: getattr(settings, name) for name in _SET}
    changed = {name: value for name, value in wanted.items() if getattr(session.settings, name) != value}
    name = session.strategy.name if session.strategy is not None else ""
    if name not in map(strategy_name, (session.settings.strategy, settings.strategy)):
        raise BadInput(
            f"{document} needs the strategy {strategy_name(settings.strategy)!r}, and this session was opened with "
            f"strategy={name}, which decides instead: open it without"
        )
    if changed:
        logger.info("session %s: set for %s: %s", session.id, document, ", ".join(sorted(changed)))
        session.configure(**changed)
    return session
