"""What people see, in English and Chinese. Errors of the library stay English unless texts/errors.json has them."""

import errno
from functools import cache
from typing import Any

from sightline.errors import SightlineError
from sightline.values import phrases
from sightline.values.decoders import decode_json
from sightline.values.phrases import TEXTS

LANGUAGES = phrases.LOCALES
_FILES = {
    errno.EACCES: "file not allowed",
    errno.EPERM: "file not allowed",
    errno.EROFS: "file not allowed",
    errno.ENOENT: "file not there",
    errno.ENOTDIR: "file in the way",
    errno.EEXIST: "file in the way",
}


class Phrases:
    """Looks up phrases in one language."""

    def __init__(self, language: str, table: str = "") -> None:
        """`table`: the phrases of one command, which replace those of the same key in the common table."""
        more = phrases.texts(table) if table else {}
        self.language, self._table = language, phrases.Phrases(phrases.texts("cli")) | more

    def __call__(self, key: str, /, **values: Any) -> str:
        """Return the phrase of this key, with these values filled in."""
        return self._table(key, self.language, **values)

    def reason(self, reason: str) -> str:
        """Return why a receipt or plan says the prompt changed; a reason that is not in the table as it is."""
        return self._table.template(reason, self.language) if reason in self._table else reason


@cache
def translations() -> dict[str, dict[str, str]]:
    """Return what errors of a database, of its tenants and of ids say in other languages: class → language → text.

    An error has its facts as attributes, which are filled in by name.
    """
    return decode_json((TEXTS / "errors.json").read_bytes(), dict[str, dict[str, str]])


def error_text(error: Exception, language: str) -> str:
    """Return what an error says, in this language if it is known there. Of a file also what can be done."""
    if isinstance(error, OSError) and error.filename is not None:
        why = error.strerror or type(error).__name__
        return Phrases(language)(_FILES.get(error.errno or 0, "file trouble"), file=error.filename, why=why)
    by_language = translations().get(type(error).__name__, {}) if isinstance(error, SightlineError) else {}
    return by_language[language].format(**vars(error)) if language in by_language else str(error)
