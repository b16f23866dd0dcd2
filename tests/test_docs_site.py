"""The documentation site: it builds without a warning, has every public name, and needs nothing from elsewhere."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MODULES = (
    "sightline", "sightline.apps", "sightline.agent", "sightline.agent.models", "sightline.adapters.langchain",
    "sightline.adapters.openai_agents", "sightline.adapters.pydantic_ai", "sightline.follow", "sightline.testing",
)  # fmt: skip
ENTRY = re.compile(r"^::: ([\w.]+)\n\n```pycon\n(.*?)^```", re.MULTILINE | re.DOTALL)
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src"}  # what a browser fetches by itself


class Page(HTMLParser):
    """The ids and links of a page, and what a browser loads with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids, self.links, self.loaded = set[str](), list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given and given.get("rel") != "canonical":
            self.loaded.append(given[LOADED[tag]])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site").resolve()
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def site(built: Path) -> dict[Path, Page]:
    """The pages of the site."""
    return {path: Page(path.read_text(encoding="utf-8")) for path in built.rglob("*.html")}


def public_names() -> Iterator[tuple[str, int]]:
    """Every public name with its module, and whose it is: some can be imported from two places."""
    for module in map(import_module, MODULES):
        yield from ((f"{module.__name__}.{name}", id(getattr(module, name))) for name in module.__all__)


def entries() -> dict[str, str]:
    """The example of each name in the reference."""
    texts = [page.read_text(encoding="utf-8") for page in sorted((DOCS / "reference").glob("*.md"))]
    return dict(found for text in texts for found in ENTRY.findall(text))


def test_every_public_name_has_an_entry_with_an_example() -> None:
    """One entry wherever it can be imported from, and the examples of its page use it."""
    examples, names = entries(), dict(public_names())
    documented = {names[name] for name in examples}  # a KeyError here: an entry for a name that is not public
    assert [name for name, value in names.items() if value not in documented] == []
    for page in (DOCS / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        code = "\n".join(example for _, example in ENTRY.findall(text))
        for name, example in ENTRY.findall(text):
            assert ">>> " in example, name
            used = rf"\b{name.rpartition('.')[2]}\b"
            assert re.search(used, code), f"no example on {page.name} uses {name}"


def test_the_stable_modules_are_those_of_the_reference() -> None:
    """What the page on stability promises is what has an entry."""
    page = (DOCS / "stability.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^- `(sightline[\w.]*)`$", page, re.MULTILINE)) == MODULES


def test_every_public_name_is_in_the_site(site: dict[Path, Page]) -> None:
    """Its entry can be linked to by its full name."""
    ids = set().union(*(page.ids for page in site.values()))
    assert set(entries()) - ids == set()


def test_the_search_finds_the_documentation_only(built: Path) -> None:
    """Neither source files, nor the tables that commands write."""
    index = json.loads((built / "search" / "search_index.json").read_text(encoding="utf-8"))  # what its script reads
    places = {entry["location"] for entry in index["docs"]}
    pages = {place.partition("#")[0] for place in places}
    assert "reference/errors.html#sightline.PinnedOverflow" in places
    assert {"quality.html", "tutorial.html", "cookbook.html"} <= pages
    assert pages & {"quality-tables.html", "gists.html", "origins/acceptance.html"} == set()
    assert [page for page in pages if page.startswith("files/")] == []


def test_programs_find_every_page_in_a_list(built: Path) -> None:
    """llms.txt has the pages of the navigation in its order, each with the first paragraph that its readers see."""
    text = (built / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# Sightline\n\n> ")
    assert "\nSightline decides what your agent's model sees. It keeps everything" in text
    lines = re.findall(r"^- \[(.+)\]\((\S+)\): (.*)$", text, re.MULTILINE)
    navigation = re.findall(r"^      - (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    places = [re.sub(r"README\.md$", "index.md", name).replace(".md", ".html") for name in navigation]
    assert [place for _, place, _ in lines] == places
    assert [place for place in places if not (built / place).is_file()] == []
    assert [title for title, _, about in lines if len(about) < 20] == []
    assert len(re.findall("^## ", text, re.MULTILINE)) == 6


@pytest.mark.slow
def test_no_link_is_dead(site: dict[Path, Page]) -> None:
    """Every link to a page, and to a place in it, leads there; also those that the theme makes."""
    dead = []
    for path, page in site.items():
        if path.name == "404.html":  # served at any depth, so its links begin at the root
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or link in ("", "#", "."):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            place = unquote(parts.fragment)
            if not target.exists() or (place and target in site and place not in site[target].ids):
                dead.append(f"{path.name}: {link}")
    assert dead == []


def test_nothing_is_loaded_from_elsewhere(site: dict[Path, Page]) -> None:
    """A browser without a network shows every page whole."""
    loaded = {link for page in site.values() for link in page.loaded}
    assert len(loaded) > 5
    assert [link for link in loaded if urlsplit(link).netloc] == []


def test_the_first_steps_are_in_both_languages() -> None:
    """The Chinese page has the same programs, and each leads to the other."""
    english, chinese = ((DOCS / name).read_text(encoding="utf-8") for name in ("start.md", "start.zh.md"))
    assert "(start.zh.md)" in english
    assert "(start.md)" in chinese
    calls = re.compile(r"session\.\w+\(|sl\.\w+")
    first, same = (re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0] for text in (english, chinese))
    assert calls.findall(first) == calls.findall(same)


def test_the_home_page_begins_as_the_readme() -> None:
    """Its first words are the README's own, and what needs no code comes before what needs a program."""
    home = (DOCS / "index.md").read_text(encoding="utf-8")
    assert home.startswith('# Sightline\n\n--8<-- "README.md:lead"\n')
    places = [home.index(words) for words in ("pictures/where.svg", "`sightline wrap", "= sl.wrap(client)`")]
    assert places == sorted(places)
    assert places[1] < home.index("## In a program") < places[2]


def test_every_picture_can_be_read_aloud() -> None:
    """It has a text that says what it shows."""
    images = [
        alt for page in DOCS.rglob("*.md") for alt in re.findall(r"!\[(.*?)\]\(", page.read_text(encoding="utf-8"))
    ]
    assert len(images) > 5
    assert [alt for alt in images if len(alt) < 20] == []
