"""A hook of the documentation site: llms.txt, a list of all pages for programs that read the site.

It has the form of https://llmstxt.org: the sections of the navigation, and of each page its title, its address and its
first paragraph. Nothing in it is written by hand.
"""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

_PARAGRAPHS: dict[str, str] = {}  # by the address of the page
_NAVIGATION: list[Navigation] = []  # of this build: only the hook below is given it


def on_nav(nav: Navigation, **_: Any) -> None:
    """Begin anew; `mkdocs serve` builds many times."""
    _PARAGRAPHS.clear()
    _NAVIGATION[:] = [nav]


def on_page_content(html: str, page: Page, **_: Any) -> None:
    """Note the first paragraph of a page as its readers see it, with what it includes from other files."""
    _PARAGRAPHS[page.url] = first_paragraph(html)


def on_post_build(config: Any) -> None:
    """Write the list beside the pages."""
    text = "".join(_lines(config["site_name"], config["site_description"], _NAVIGATION[0]))
    Path(config["site_dir"], "llms.txt").write_text(text, encoding="utf-8")


def _lines(name: str, description: str, nav: Navigation) -> Iterator[str]:
    yield f"# {name}\n\n> {description}\n"
    for item in nav.items:
        if isinstance(item, Page):
            yield f"\n{_PARAGRAPHS[item.url]}\n"
        elif isinstance(item, Section):
            yield f"\n## {item.title}\n\n"
            yield from (f"- [{page.title}]({page.url}): {_PARAGRAPHS[page.url]}\n" for page in _pages(item))


def _pages(section: Section) -> Iterator[Page]:
    for child in section.children:
        if isinstance(child, Page):
            yield child
        elif isinstance(child, Section):
            yield from _pages(child)


def first_paragraph(html: str) -> str:
    """The text of the first paragraph that is more than links, such as one to the page in another language."""
    reader = _Paragraphs()
    reader.feed(html)
    return next((text for text, words in reader.paragraphs if words), "")


class _Paragraphs(HTMLParser):
    """The text of each paragraph of a page, on one line, and what of it stands in no link."""

    def __init__(self) -> None:
        super().__init__()
        self.paragraphs: list[tuple[str, str]] = []
        self._tags: list[str] = []
        self._text, self._words = "", ""

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - as HTMLParser has it
        if tag in ("p", "a"):
            self._tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._tags:
            self._tags.remove(tag)
        if tag == "p":
            self.paragraphs.append((" ".join(self._text.split()), self._words.strip()))
            self._text, self._words = "", ""

    def handle_data(self, data: str) -> None:
        if "p" in self._tags:
            self._text += data
            self._words += "" if "a" in self._tags else data
