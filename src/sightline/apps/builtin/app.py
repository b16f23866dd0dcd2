"""The base class of the built-in apps, whose texts are in `texts/apps.json`."""

from typing import Any

from sightline.apps import App
from sightline.values.phrases import Phrases, texts

_SAY = Phrases(texts("apps"))


class BuiltinApp(App):
    """An app that says its texts by their keys."""

    def _say(self, key: str, /, **fields: Any) -> str:
        return _SAY(key, self.host.locale, **fields)
