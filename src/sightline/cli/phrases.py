"""What people see, in English and Chinese. Most of the library's errors stay English: see `error_phrases`."""

from typing import Any

from sightline.values import phrases

LANGUAGES = phrases.LOCALES


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
