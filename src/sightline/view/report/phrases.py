"""What people read in a report, in English and Chinese: a table, and the words of a piece of advice."""

from typing import NamedTuple

from sightline.values.phrases import Phrases, texts
from sightline.view.report.values import Advice

say = Phrases(texts("report"))

_KEYS = {"compaction": "compaction advice"}  # where the kind of advice names a heading too
_AT_MOST = frozenset({"large results", "read again"})  # not all of that can be avoided


class Told(NamedTuple):
    """A piece of advice in words."""

    saving: str  # such as "up to 12% of the cost"
    found: str  # what the data show
    action: str  # what to do


def told(advice: Advice, locale: str = "en") -> Told:
    """Return a piece of advice in words. Names in it are as they were recorded: escape them where that matters."""
    key = _KEYS.get(advice.kind, advice.kind)
    phrase = "saves" if advice.money is None else "saves money"
    saving = say(phrase, locale, share=advice.share, money=advice.money)
    if advice.kind in _AT_MOST:
        saving = say("saves up to", locale, saving=saving)
    if advice.is_forecast:
        saving = say("saves forecast", locale, saving=saving)
    found = "read again once" if key == "read again" and advice.facts.get("times") == 1 else key
    return Told(saving, say(found, locale, **advice.facts), say(f"{key} do", locale, **advice.facts))
