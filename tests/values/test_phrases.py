"""The one look-up for tables of phrases."""

import pytest

from sightline.errors import BadInput
from sightline.values.phrases import Phrases

TABLE = Phrases(
    {"open": ("{count:,} open", "打开 {count:,} 个"), "how": ("write <ref>{id}</ref>", "写 <ref>{id}</ref>")}
)


def test_a_phrase_is_filled_in_for_its_locale() -> None:
    """English is the default."""
    assert TABLE("open", count=1200) == "1,200 open"
    assert TABLE("open", "zh", count=3) == TABLE("open", locale="zh", count=3) == "打开 3 个"


def test_a_template_keeps_its_braces() -> None:
    """What a model is to read as a placeholder is not filled in."""
    assert TABLE.template("how", "en") == "write <ref>{id}</ref>"


def test_an_unknown_key_or_locale_is_named() -> None:
    """The error says what is wrong."""
    with pytest.raises(KeyError, match="no phrase 'closed'"):
        TABLE("closed")
    with pytest.raises(BadInput, match="unknown locale 'fr'; choose one of en, zh"):
        TABLE("open", "fr", count=1)
    with pytest.raises(KeyError, match="count"):
        TABLE("open")


def test_a_table_can_be_extended() -> None:
    """The phrases of the right side win; the left side stays as it was."""
    more = TABLE | {"open": ("{count} there", "有 {count} 个"), "new": ("new", "新")}
    assert (more("open", count=2), more("new", "zh"), more.template("how")) == ("2 there", "新", TABLE.template("how"))
    assert "new" in more
    assert "new" not in TABLE
