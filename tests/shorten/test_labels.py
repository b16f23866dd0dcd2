"""The words that a shortened item adds to its text, without the handle that only a model with `expand` can use."""

from sightline.shorten.labels import without_handle


def test_the_handle_goes_and_those_of_others_stay() -> None:
    """Also where another item's handle is nearly the same."""
    text = "[#1.2: call] [#1.2：call] [#1.2 call] #1.2 [#102: other] [#1: other] [#1.21: other] [#1.2] #1.2"
    assert without_handle(text, "#1.2") == "[call] [call] [call] #1.2 [#102: other] [#1: other] [#1.21: other] [#1.2]"
