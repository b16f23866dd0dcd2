"""Languages: by any name people use, and by how a path ends."""

import pytest

from sightline.shorten.outline.languages import LANGUAGES, language, language_of_path


def test_the_documents_languages_have_their_extensions() -> None:
    """Those of the table and those listed below it, each with the extension its code is saved with."""
    extensions = {each.name: each.extension for each in LANGUAGES}
    assert extensions == {
        "python": ".py", "javascript": ".js", "html": ".html", "css": ".css", "sql": ".sql", "shell": ".sh",
        "markdown": ".md", "typescript": ".ts", "json": ".json", "yaml": ".yaml", "xml": ".xml", "r": ".r",
        "java": ".java", "c": ".c", "cpp": ".cpp", "go": ".go", "rust": ".rs", "php": ".php", "ruby": ".rb",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Python", "python"), ("py", "python"), (".py", "python"), ("JS", "javascript"), ("ts", "typescript"),
        ("tsx", "typescript"), ("htm", "html"), ("yml", "yaml"), ("MD", "markdown"), ("sh", "shell"),
        ("bash", "shell"), ("Shell/Bash", "shell"), ("C++", "cpp"), ("c", "c"), ("R", "r"), ("golang", "go"),
        ("rs", "rust"), (" Ruby ", "ruby"), ("postgresql", "sql"),
    ],
)  # fmt: skip
def test_a_language_is_known_by_its_names(said: str, name: str) -> None:
    """Names, aliases and extensions, in any case."""
    found = language(said)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("said", ["", "cobol", "python 2 or 3", "x" * 10_000])
def test_what_is_no_language_is_none(said: str) -> None:
    """An unknown name gives nothing, so that the caller can say so."""
    assert language(said) is None


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/app.py", "python"), ("stubs/app.pyi", "python"), ("a/App.TSX", "typescript"), ("a.jsx", "javascript"),
        ("a.mjs", "javascript"), ("include/a.h", "c"), ("a.hpp", "cpp"), ("a.cc", "cpp"), ("C:\\work\\a.rb", "ruby"),
        ("Gemfile", "ruby"), ("data.csv", ""), ("Makefile", ""), (".py", ""), ("a.py/", ""), ("", ""),
    ],
)  # fmt: skip
def test_a_path_tells_the_language(path: str, name: str) -> None:
    """By its last extension; nothing where that says nothing."""
    assert language_of_path(path) == name
