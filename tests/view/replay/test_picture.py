"""The picture in the README is drawn by any viewer of SVG, not only by browsers."""

import re
from pathlib import Path
from xml.etree import ElementTree

PICTURE = (Path(__file__).parents[3] / "docs" / "replay.svg").read_text(encoding="utf-8")


def test_the_picture_needs_no_browser() -> None:
    """Shapes and texts with plain attributes: no style sheet, no clip path, no font or picture from elsewhere."""
    allowed = {"svg", "title", "rect", "circle", "text"}
    for element in ElementTree.fromstring(PICTURE).iter():
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in allowed
        assert not {"style", "class", "clip-path", "href"} & element.attrib.keys()
    assert not re.search("[█▏▎▍▌▋▊▉╭╮╰╯│─]", PICTURE)  # not every font has them


def test_the_picture_shows_the_real_cost() -> None:
    """What would have been read again, and the full history beside it."""
    assert "to read again" in PICTURE
    assert "cost in all" in PICTURE
