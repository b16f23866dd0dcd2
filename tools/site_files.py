"""A hook of the documentation site: files that pages link to outside docs/ become pages of the site.

Pages link to source files, examples and tests with paths of the repository, so that the links also work there. Here
each of these files is shown on a page below `files/`, and a folder as the list of its files.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<=\]\()((?:\.\./)+[^)#\s]+)(?=[)#])")
FENCE = "`" * 4  # longer than any in a file
HIDDEN = "---\nsearch:\n  exclude: true\n---\n"  # the search finds the documentation, not the source
LANGUAGES = {".py": "python", ".json": "json", ".md": "markdown", ".txt": "text", ".toml": "toml"}


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each file outside docs/ that a page links to."""
    for target in sorted({target for path in DOCS.rglob("*.md") for target in outside(path)}):
        linked_only = InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, page_of(target), content=shown(target), inclusion=linked_only))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let the links of a page lead to these pages."""
    source = page.file.src_uri
    if not (DOCS / source).is_file():
        return markdown

    def moved(match: re.Match[str]) -> str:
        target = repository_path(source, match[1])
        return match[1] if target is None else relpath(page_of(target), str(PurePosixPath(source).parent))

    return LINK.sub(moved, markdown)


def outside(path: Path) -> set[str]:
    """The files and folders outside docs/ that a page links to, as paths of the repository."""
    source = path.relative_to(DOCS).as_posix()
    found = (repository_path(source, link) for link in LINK.findall(path.read_text(encoding="utf-8")))
    return {target for target in found if target is not None}


def repository_path(source: str, link: str) -> str | None:
    """Where a link of the page `source` leads, if that is outside docs/. A link to nothing is left to the build."""
    target = normpath(f"docs/{PurePosixPath(source).parent}/{link}")
    return None if target.startswith(("docs/", "..")) or not (ROOT / target).exists() else target


def page_of(target: str) -> str:
    """The page that shows a file or folder of the repository."""
    return f"files/{target}.md"


def shown(target: str) -> str:
    """The text of that page."""
    path = ROOT / target
    if path.is_dir():
        names = sorted(each.name for each in path.iterdir() if not each.name.startswith(("_", ".")))
        return f"{HIDDEN}# {target}/\n\n" + "\n".join(f"- `{name}`" for name in names) + "\n"
    text = path.read_text(encoding="utf-8").rstrip("\n")
    return f"{HIDDEN}# {target}\n\n{FENCE}{LANGUAGES.get(path.suffix, 'text')}\n{text}\n{FENCE}\n"
