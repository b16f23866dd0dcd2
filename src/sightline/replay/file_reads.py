"""Finds what an agent read a second time although nobody had changed it."""

from collections.abc import Iterable, Mapping

import msgspec

from sightline.shorten import Purpose, purpose_of, subject_of
from sightline.values.items import Call

READS = (Purpose.READ, Purpose.SHOW)
_CHANGES = (Purpose.CHANGE, Purpose.WRITE)


class FileReads:
    """The reads of one conversation so far. A read of other lines of a file is another read."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[str, bytes]] = {}  # id of a call that has no result yet → its file, arguments
        self._known: dict[str, set[bytes]] = {}  # file → the arguments with which it was read since it was changed

    def state(self) -> tuple[dict[str, tuple[str, bytes]], dict[str, list[bytes]]]:
        """Return what is known, to be stored: the calls without a result, and the reads of each file."""
        return dict(self._waiting), {file: sorted(arguments) for file, arguments in self._known.items()}

    def restore(self, waiting: Mapping[str, tuple[str, bytes]], known: Mapping[str, Iterable[bytes]]) -> None:
        """Go on from what `state` returned."""
        self._waiting, self._known = dict(waiting), {file: set(arguments) for file, arguments in known.items()}

    def add_call(self, call: Call) -> None:
        """Note a call."""
        file, purpose = subject_of(call), purpose_of(call)
        given = msgspec.json.encode(call.input, order="deterministic") if file and purpose in READS else b""
        self.add(call.id, file, purpose, given)

    def add(self, call_id: str, file: str, purpose: int, arguments: bytes) -> None:
        """Note a call by what is known of it. One that changes a file makes all reads of it new again."""
        if file and purpose in READS:
            self._waiting[call_id] = (file, arguments)
        elif file and purpose in _CHANGES:
            self._known.pop(file, None)

    def add_result(self, call_id: str, *, failed: bool) -> str:
        """Note a result. Return the file if the same was read before; else nothing."""
        file, arguments = self._waiting.pop(call_id, ("", b""))
        if not file or failed:
            return ""
        known = self._known.setdefault(file, set())
        if arguments in known:
            return file
        known.add(arguments)
        return ""
