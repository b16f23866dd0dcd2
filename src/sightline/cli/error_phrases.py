"""What errors of a database, of its tenants and of ids say in Chinese, by the names of their classes.

In English they say it themselves. Errors that are not in texts/errors.json stay English. An error has its facts as
attributes: they are filled in by name.
"""

from functools import cache

from sightline.errors import SightlineError
from sightline.values.decoders import decode_json
from sightline.values.phrases import TEXTS


@cache
def translations() -> dict[str, dict[str, str]]:
    """Return what errors say in other languages than English: class → language → text."""
    return decode_json((TEXTS / "errors.json").read_bytes(), dict[str, dict[str, str]])


def error_text(error: Exception, language: str) -> str:
    """Return what an error says, in this language if it is known there."""
    by_language = translations().get(type(error).__name__, {}) if isinstance(error, SightlineError) else {}
    return by_language[language].format(**vars(error)) if language in by_language else str(error)
