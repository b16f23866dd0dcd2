"""A context that stays as it is until something is said to have changed: frozen region by region."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime

from sightline.apps.builder import Builder, Content, LodState, SourceData
from sightline.apps.context import Anchor, Context, Round, Version
from sightline.clock import Clock
from sightline.errors import AnchorConflict, ContextTooLarge, VersionMismatch
from sightline.items import Lod

ROUNDS = 20  # of the history that a context carries; the oldest go first

logger = logging.getLogger("sightline")


class Document:
    """One app's context in one session: versioned, each region rebuilt only when it was invalidated.

    `change` and `switch` invalidate the content, `register` and `executed` the anchors, `record` the history.
    Every context that was handed out stays what it was.
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
        """`rounds`: the most that the history holds. `version`: where an earlier run left off."""
        self._builder, self._clock, self._most = builder, clock, rounds
        self._app_id, self._session_id, self._value = app_id, session_id, value
        self.version, self.lod = version or Version(1, 0, 0), lod
        self.rounds: tuple[Round, ...] = ()
        self._more: dict[str, Anchor] = {}  # registered from outside
        self._at = self._now()
        self._frozen: tuple[Version, Content] | None = None
        self._context: Context | None = None

    def context(self) -> Context:
        """What is shown now. The same value until something was invalidated."""
        if self._context is None:
            content = self.content()
            data, lod = self._inputs()
            built = self._builder.assembled(data, lod, content, self.rounds or None)
            more = {key: anchor for key, anchor in self._more.items() if key not in built.anchors}
            self._context = built if not more else _with(built, more)
        return self._context

    def content(self) -> Content:
        """The region that costs: rendered once for each version of data and level."""
        if self._frozen is None or not self._frozen[0].can_reuse_content(self.version):
            self._frozen = (self.version, self._builder.content(*self._inputs()))
        return self._frozen[1]

    def _inputs(self) -> tuple[SourceData, LodState]:
        version = self.version
        data = SourceData(self._app_id, self._session_id, version.major, self._at, self._value)
        return data, LodState(self.lod, version.minor, version.patch)

    # ------------------------------------------------------------------ what invalidates

    def change(self, value: object = None) -> None:
        """The source data are others now."""
        self._value = value if value is not None else self._value
        self._move(self.version.changed())

    def switch(self, lod: Lod) -> None:
        """Show it at this level from now on."""
        if lod is not self.lod:
            self.lod = lod
            self._move(self.version.switched())

    def rerender(self, builder: Builder) -> None:
        """The same data look otherwise at the same level from now on: in another language, say."""
        self._builder, self._frozen = builder, None
        self._move(self.version.rendered())

    def _move(self, version: Version) -> None:
        self.version, self._at, self._context = version, self._now(), None
        self._more = {}

    def record(self, round_: Round) -> None:
        """Something was done with it."""
        self.rounds = (*self.rounds, round_)[-self._most :] if self._most else ()
        self._context = None

    def executed(self) -> None:
        """A button or a form was used: the anchors are made anew."""
        self._more, self._context = {}, None

    def register(self, key: str, anchor: Anchor) -> None:
        """Offer one thing more, until it changes. A key that is taken stays what it is, with a warning."""
        if key in self.context().anchors:
            logger.warning("%s", AnchorConflict(key))
            return
        self._more[key], self._context = anchor, None

    # ------------------------------------------------------------------ what is asked of it

    def check(self, seen: Version) -> None:
        """Raises VersionMismatch where what somebody saw is no longer what there is."""
        if not seen.is_compatible_with(self.version):
            raise VersionMismatch(_dotted(seen), _dotted(self.version))

    def fit(self, limit: int, tokens: Callable[[Context], int]) -> Context:
        """The context at the highest level, from its own down, at which it fits.

        The history gives way before the content does: it holds `rounds` rounds and no more, whatever the level.

        Raises:
            ContextTooLarge: it does not fit at its lowest level either.
        """
        while (needed := tokens(self.context())) > limit:
            if self.lod is Lod.GIST:
                raise ContextTooLarge(self._app_id, needed, limit)
            self.switch(Lod(self.lod - 1))
        return self.context()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock() / 1000, UTC)


def _with(context: Context, more: dict[str, Anchor]) -> Context:
    return Context(context.header, context.state, context.content, {**context.anchors, **more}, context.history)


def _dotted(version: Version) -> str:
    return f"{version.major}.{version.minor}.{version.patch}"
