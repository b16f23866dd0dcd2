"""A context that stays as it is until something is said to have changed: frozen region by region."""

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
        self._version, self._lod = version or Version(1, 0, 0), lod
        self._rounds: tuple[Round, ...] = ()
        self._more: dict[str, Anchor] = {}  # registered from outside
        self._at = self._now()
        self._frozen: tuple[Version, Content] | None = None
        self._context: Context | None = None

    @property
    def version(self) -> Version:
        """Of what is shown. Only what is said to have changed moves it: nobody can set it."""
        return self._version

    @property
    def lod(self) -> Lod:
        """The level it is shown at."""
        return self._lod

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The history, the newest last, no longer than it may be."""
        return self._rounds

    @rounds.setter
    def rounds(self, rounds: tuple[Round, ...]) -> None:
        self._rounds, self._context = rounds[-self._most :] if self._most else (), None

    def context(self) -> Context:
        """What is shown now. The same value until something was invalidated."""
        if self._context is None:
            content = self.content()
            data, lod = self._inputs()
            built = self._builder.assembled(data, lod, content, self.rounds or None)
            self._context = replace(built, anchors={**built.anchors, **self._more}) if self._more else built
        return self._context

    def content(self) -> Content:
        """The region that costs: rendered once for each version of data and level."""
        if self._frozen is None or not self._frozen[0].can_reuse_content(self.version):
            self._frozen = (self.version, self._builder.content(*self._inputs()))
        return self._frozen[1]

    def content_at(self, lod: Lod) -> Content:
        """What it would show at another level. Nothing changes by that."""
        data, own = self._inputs()
        return self._builder.content(data, replace(own, lod=lod))

    def clean(self, text: str) -> str:
        """A text about it as it may be shown: redacted, and valid."""
        return self._builder.clean(text)

    def _inputs(self) -> tuple[SourceData, LodState]:
        version = self.version
        data = SourceData(self._app_id, self._session_id, version.major, self._at, self._value)
        return data, LodState(self.lod, version.minor, version.patch)

    # ------------------------------------------------------------------ what invalidates

    def change(self, value: object = UNSET) -> None:
        """The source data are others now: this value, or what the value holds."""
        self._value = self._value if value is UNSET else value
        self._move(self.version.changed())

    def switch(self, lod: Lod) -> None:
        """Show it at this level from now on."""
        if lod is not self.lod:
            self._lod = lod
            self._move(self.version.switched())

    def rerender(self, builder: Builder) -> None:
        """The same data look otherwise at the same level from now on: in another language, say."""
        self._builder, self._frozen = builder, None
        self._move(self.version.rendered())

    def _move(self, version: Version) -> None:
        self._version, self._at, self._context = version, self._now(), None
        self._more = {}

    def record(self, round_: Round) -> None:
        """Something was done with it."""
        self.rounds = (*self.rounds, round_)

    def executed(self) -> None:
        """A button or a form was used: the anchors are made anew."""
        self._more, self._context = {}, None

    def register(self, key: str, anchor: Anchor) -> None:
        """Offer one thing more, until it changes. A key that is taken stays what it is, with a warning.

        Raises:
            BadInput: a key that no marker could name.
        """
        key, anchor = self._builder.declared(key, anchor)
        if not NAME.fullmatch(key):
            raise BadInput(f"anchor {key!r}: use letters, digits, '_', '-', '.' and ':'")
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
        """The context at the highest level, from its own down, at which it fits. It stays like that.

        History gives way before content: the level is the highest that fits without any, and of the history the oldest
        rounds go until the rest fits too.

        Raises:
            ContextTooLarge: it does not fit at its lowest level either, even without history.
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
