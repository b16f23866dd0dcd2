"""A versioned context of one app, of which each part is rebuilt only when it was invalidated."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import UNSET
from msgspec.structs import replace

from sightline.apps.anchors import NAME
from sightline.apps.builder import Builder, Content, LodState, SourceData
from sightline.apps.context import Anchor, Context, Round, Version
from sightline.errors import AnchorConflict, BadInput, ContextTooLarge, VersionMismatch
from sightline.values.clock import Clock
from sightline.values.items import Lod

ROUNDS = 20  # the most in a context's history; the oldest are dropped first

logger = logging.getLogger("sightline")


class Document:
    """The context of one app in one session.

    `change` and `switch` invalidate the content, `register` and `executed` the anchors, `record` the history.
    A context that was returned before never changes.
    """

    def __init__(
        self,
        builder: Builder,
        *,
        app_id: str,
        session_id: str,
        clock: Clock,
        value: object = None,
        lod: Lod = Lod.FULL,
        version: Version | None = None,
        rounds: int = ROUNDS,
    ) -> None:
        """`rounds`: the most in the history. `version`: the one with which an earlier run ended."""
        self._builder, self._clock, self._most_rounds = builder, clock, rounds
        self._app_id, self._session_id, self._value = app_id, session_id, value
        self._version, self._lod = version or Version(1, 0, 0), lod
        self._rounds: tuple[Round, ...] = ()
        self._registered: dict[str, Anchor] = {}  # by `register`
        self._at = self._now()
        self._content: tuple[Version, Content] | None = None
        self._context: Context | None = None

    @property
    def version(self) -> Version:
        """The version of what is shown. Only the methods that invalidate something change it."""
        return self._version

    @property
    def lod(self) -> Lod:
        """The level it is shown at."""
        return self._lod

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The history, the newest last."""
        return self._rounds

    @rounds.setter
    def rounds(self, rounds: tuple[Round, ...]) -> None:
        self._rounds, self._context = rounds[-self._most_rounds :] if self._most_rounds else (), None

    def context(self) -> Context:
        """Return what is shown now. It is the same object until something is invalidated."""
        if self._context is None:
            data, lod = self._inputs()
            built = self._builder.assemble(data, lod, self.content(), self.rounds or None)
            self._context = replace(built, anchors={**built.anchors, **self._registered}) if self._registered else built
        return self._context

    def content(self) -> Content:
        """Return page, text and anchors, which are rendered once for each version of data and level."""
        if self._content is None or not self._content[0].can_reuse_content(self.version):
            self._content = (self.version, self._builder.content(*self._inputs()))
        return self._content[1]

    def content_at(self, lod: Lod) -> Content:
        """Return what it would show at another level, without changing anything."""
        data, own = self._inputs()
        return self._builder.content(data, replace(own, lod=lod))

    def clean(self, text: str) -> str:
        """Return a text about it as it may be shown: redacted, and valid Unicode."""
        return self._builder.clean(text)

    def _inputs(self) -> tuple[SourceData, LodState]:
        data = SourceData(self._app_id, self._session_id, self.version.major, self._at, self._value)
        return data, LodState(self.lod, self.version.minor, self.version.patch)

    # ------------------------------------------------------------------ invalidation

    def change(self, value: object = UNSET) -> None:
        """Tell that the data have changed: to this value, or inside the value."""
        self._value = self._value if value is UNSET else value
        self._move(self.version.after_change())

    def switch(self, lod: Lod) -> None:
        """Show it at this level from now on."""
        if lod is not self.lod:
            self._lod = lod
            self._move(self.version.after_switch())

    def rerender(self, builder: Builder) -> None:
        """Render the same data in another way from now on, for example in another language."""
        self._builder, self._content = builder, None
        self._move(self.version.after_rerender())

    def _move(self, version: Version) -> None:
        self._version, self._at, self._context, self._registered = version, self._now(), None, {}

    def record(self, round_: Round) -> None:
        """Add an interaction to the history."""
        self.rounds = (*self.rounds, round_)

    def executed(self) -> None:
        """Tell that a button or a form was used: what was registered is dropped."""
        self._registered, self._context = {}, None

    def register(self, key: str, anchor: Anchor) -> None:
        """Add an anchor until the next change. If the key is taken, nothing is added and a warning is logged.

        Raises:
            BadInput: a key that no marker could have.
        """
        key, anchor = self._builder.clean_anchor(key, anchor)
        if not NAME.fullmatch(key):
            raise BadInput(f"anchor {key!r}: use letters, digits, '_', '-', '.' and ':'")
        if key in self.context().anchors:
            logger.warning("%s", AnchorConflict(key))
            return
        self._registered[key], self._context = anchor, None

    # ------------------------------------------------------------------ checks

    def check(self, seen: Version) -> None:
        """Raise VersionMismatch if the data have changed since this version was seen."""
        if not seen.is_compatible_with(self.version):
            raise VersionMismatch(_dotted(seen), _dotted(self.version))

    def fit(self, limit: int, tokens: Callable[[Context], int]) -> Context:
        """Lower the level until the context fits, and return it. The lower level remains.

        History is dropped before content: the level is the highest that fits without history. Then the oldest rounds
        are dropped until the rest fits, too.

        Raises:
            ContextTooLarge: it does not fit at its lowest level without history.
        """
        while (needed := tokens(replace(self.context(), history=None))) > limit:
            if self.lod is Lod.GIST:
                raise ContextTooLarge(self._app_id, needed, limit)
            self.switch(Lod(self.lod - 1))
        while tokens(self.context()) > limit and self.rounds:
            self.rounds = self.rounds[1:]
        return self.context()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock() / 1000, UTC)


def _dotted(version: Version) -> str:
    return f"{version.major}.{version.minor}.{version.patch}"
