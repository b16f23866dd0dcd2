"""The texts of windows that were sent, each stored once, by hash. `verify` reads them; composing never does."""

from collections.abc import Mapping
from hashlib import blake2b

from sightline.log.stores import Store


class Blobs:
    """The texts of a store by hash."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: set[str] = set()  # hashes of texts that are stored

    def keep(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Store the texts that are not stored yet. Returns name → hash. Raises Unwritable."""
        hashes = {name: blake2b(text.encode(), digest_size=16).hexdigest() for name, text in texts.items()}
        if fresh := {hashes[name]: text for name, text in texts.items() if hashes[name] not in self._known}:
            self.store.keep_texts(fresh)
            self._known.update(fresh)
        return hashes

    def read(self, hashes: Mapping[str, str]) -> dict[str, str]:
        """Name → text for name → hash, without the texts that were never stored."""
        texts = self.store.texts(hashes.values()) if hashes else {}
        return {name: texts[digest] for name, digest in hashes.items() if digest in texts}
