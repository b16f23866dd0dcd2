"""The programming languages of code files: names, extensions and aliases. Data."""

from typing import NamedTuple


class Language(NamedTuple):
    """One language: its name, and the extension of its files."""

    name: str
    extension: str  # with the dot


# Of each language, other names besides its name and its extensions, and other extensions.
_LANGUAGES: dict[Language, tuple[tuple[str, ...], tuple[str, ...]]] = {
    Language("python", ".py"): (("python3", "ipython"), (".pyi", ".pyw")),
    Language("javascript", ".js"): (("node", "nodejs", "ecmascript"), (".mjs", ".cjs", ".jsx")),
    Language("html", ".html"): (("html5", "xhtml"), (".htm", ".xhtml")),
    Language("css", ".css"): (("css3",), ()),
    Language("sql", ".sql"): (("mysql", "postgresql", "postgres", "sqlite", "plsql", "tsql"), (".ddl", ".dml")),
    Language("shell", ".sh"): (("shell/bash", "shellscript", "shell script"), (".bash", ".zsh", ".ksh")),
    Language("markdown", ".md"): ((), (".markdown", ".mdx")),
    Language("typescript", ".ts"): ((), (".tsx", ".mts", ".cts")),
    Language("json", ".json"): (("json5", "jsonc"), (".jsonc", ".json5", ".geojson")),
    Language("yaml", ".yaml"): ((), (".yml",)),
    Language("xml", ".xml"): ((), (".xsd", ".xsl", ".xslt", ".svg")),
    Language("r", ".r"): (("rlang", "rscript"), ()),
    Language("java", ".java"): (("jdk",), ()),
    Language("c", ".c"): (("c99", "c11"), (".h",)),
    Language("cpp", ".cpp"): (
        ("c++", "cplusplus", "c/c++", "c++17", "c++20"),
        (".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".ipp"),
    ),
    Language("go", ".go"): (("golang",), ()),
    Language("rust", ".rs"): (("rustlang",), ()),
    Language("php", ".php"): (("php7", "php8"), (".phtml", ".php5")),
    Language("ruby", ".rb"): (("jruby",), (".rake", ".gemspec", ".ru")),
}

LANGUAGES: tuple[Language, ...] = tuple(_LANGUAGES)

_BY_EXTENSION = {
    extension: language for language, (_, more) in _LANGUAGES.items() for extension in (language.extension, *more)
}
# A name takes precedence over an extension. "c" is C by its name and by its extension, and no two disagree.
_BY_NAME = {extension[1:]: language for extension, language in _BY_EXTENSION.items()} | {
    name: language for language, (more, _) in _LANGUAGES.items() for name in (language.name, *more)
}
# Code files without an extension.
_BY_FILE_NAME = {"gemfile": "ruby", "rakefile": "ruby", ".bashrc": "shell", ".profile": "shell", ".zshrc": "shell"}


def language(name: str) -> Language | None:
    """Return the language with this name, alias or extension, in upper or lower case; None if it is unknown."""
    return _BY_NAME.get(name.strip().lower().removeprefix("."))


def language_of_path(path: str) -> str:
    """Return the name of the language of a file, by the end of its path; "" if that says nothing."""
    file_name = path.replace("\\", "/").rpartition("/")[2].strip().lower()
    stem, dot, extension = file_name.rpartition(".")
    by_extension = _BY_EXTENSION.get(f".{extension}") if dot and stem else None
    return by_extension.name if by_extension else _BY_FILE_NAME.get(file_name, "")
