"""A disk that keeps what was not synced apart, and at a power cut loses, tears or garbles it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from sightline.log.stores.disk import DiskFile, OsDisk

SECTOR = 512  # what a disk writes whole or not at all


class Image:
    """One file: what is on the medium, and what programs see."""

    def __init__(self, path: Path) -> None:
        OsDisk().open(path).close()  # as the real disk makes it; its name is durable
        self.path = path
        self.medium = path.read_bytes()
        self.seen = bytearray(self.medium)

    def sync(self) -> None:
        """Everything seen is on the medium."""
        self.medium = bytes(self.seen)
        self.path.write_bytes(self.medium)


class LossyDisk:
    """Implements `Disk`. After `cut_power` the real files hold what a medium might, and all open files are dead."""

    def __init__(self) -> None:
        self.images: dict[Path, Image] = {}

    def open(self, path: Path) -> DiskFile:
        """See `Disk`."""
        if path not in self.images:
            self.images[path] = Image(path)
        return LossyFile(self, self.images[path])

    def cut_power(self, random: Random) -> None:
        """Lose what was not synced, in one of the ways disks do."""
        images, self.images = self.images, {}
        for image in images.values():
            image.path.write_bytes(left_over(image.medium, bytes(image.seen), random))


def left_over(medium: bytes, seen: bytes, random: Random) -> bytes:
    """What may be on the medium after a power cut. What is in both is safe; beyond that anything goes."""
    match random.choice(("dropped", "kept", "torn", "sectors", "sectors")):
        case "dropped":
            return medium
        case "kept":
            return seen
        case "torn":
            return seen[: random.randint(min(len(medium), len(seen)), len(seen))]
        case _:
            return _by_sector(medium, seen, random)


def _by_sector(medium: bytes, seen: bytes, random: Random) -> bytes:
    """Sectors in any order, each as it was, as it should be, empty or garbage; the size before, after, or between."""
    longest = max(len(medium), len(seen))
    size = random.choice((len(medium), len(seen), random.randint(min(len(medium), len(seen)), longest)))
    garble = random.choice((b"", b"\0", b"?"))  # a disk has one way to garble, not all of them
    result = bytearray()
    for start in range(0, size, SECTOR):
        end = min(start + SECTOR, size)
        old, new = medium[start:end], seen[start:end]
        chosen = new if random.random() < 0.7 else old
        if garble and new[len(old) :] and random.random() < 0.2:
            filler = bytes(end - start) if garble == b"\0" else random.randbytes(end - start)
            chosen = old + filler[len(old) :]
        result += chosen.ljust(end - start, b"\0")
    return bytes(result)


class LossyFile:
    """An open file of a LossyDisk."""

    def __init__(self, disk: LossyDisk, image: Image) -> None:
        self._disk, self._image = disk, image

    def _alive(self) -> Image:
        assert self._disk.images.get(self._image.path) is self._image, "this file was open when the power was cut"
        return self._image

    def size(self) -> int:
        """See `DiskFile`."""
        return len(self._alive().seen)

    def append(self, data: bytes) -> None:
        """See `DiskFile`."""
        self._alive().seen += data

    def read(self, offset: int, length: int) -> bytes:
        """See `DiskFile`."""
        return bytes(self._alive().seen[offset : offset + length])

    def truncate(self, size: int) -> None:
        """See `DiskFile`."""
        del self._alive().seen[size:]

    def sync(self) -> None:
        """See `DiskFile`."""
        self._alive().sync()

    @contextmanager
    def locked(self, wait: float | None = None) -> Iterator[None]:
        """See `DiskFile`. One machine with one writer: nobody else is there."""
        yield

    def close(self) -> None:
        """See `DiskFile`. Closing syncs nothing."""
