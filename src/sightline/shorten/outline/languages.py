"""The programming languages of code files: names, extensions and aliases. Data."""

from typing import NamedTuple


class Language(NamedTuple):
    """One language: its name, and the extension of its files."""

    name: str
    extension: str  # with the dot


class _Aliases(NamedTuple):
    language: Language
    names: tuple[str, ...] = ()  # other names, besides its name and its extensions
    extensions: tuple[str, ...] = ()  # other extensions


_LANGUAGES = (
    _Aliases(Language("python", ".py"), ("python3", "ipython"), (".pyi", ".pyw")),
    _Aliases(Language("javascript", ".js"), ("node", "nodejs", "ecmascript"), (".mjs", ".cjs", ".jsx")),
    _Aliases(Language("html", ".html"), ("html5", "xhtml"), (".htm", ".xhtml")),
    _Aliases(Language("css", ".css"), ("css3",)),
    _Aliases(Language("sql", ".sql"), ("mysql", "postgresql", "postgres", "sqlite", "plsql", "tsql"), (".ddl", ".dml")),
    _Aliases(Language("shell", ".sh"), ("shell/bash", "shellscript", "shell script"), (".bash", ".zsh", ".ksh")),
    _Aliases(Language("markdown", ".md"), (), (".markdown", ".mdx")),
    _Aliases(Language("typescript", ".ts"), (), (".tsx", ".mts", ".cts")),
    _Aliases(Language("json", ".json"), ("json5", "jsonc"), (".jsonc", ".json5", ".geojson")),
    _Aliases(Language("yaml", ".yaml"), (), (".yml",)),
    _Aliases(Language("xml", ".xml"), (), (".xsd", ".xsl", ".xslt", ".svg")),
    _Aliases(Language("r", ".r"), ("rlang", "rscript")),
    _Aliases(Language("java", ".java"), ("jdk",)),
    _Aliases(Language("c", ".c"), ("c99", "c11"), (".h",)),
    _Aliases(
        Language("cpp", ".cpp"),
        ("c++", "cplusplus", "c/c++", "c++17", "c++20"),
        (".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".ipp"),
    ),
    _Aliases(Language("go", ".go"), ("golang",)),
    _Aliases(Language("rust", ".rs"), ("rustlang",)),
    _Aliases(Language("php", ".php"), ("php7", "php8"), (".phtml", ".php5")),
    _Aliases(Language("ruby", ".rb"), ("jruby",), (".rake", ".gemspec", ".ru")),
)

LANGUAGES: tuple[Language, ...] = tuple(known.language for known in _LANGUAGES)

_BY_EXTENSION = {
    extension: known.language for known in _LANGUAGES for extension in (known.language.extension, *known.extensions)
}
# A name takes precedence over an extension. "c" is C by its name and by its extension, and no two disagree.
_BY_NAME = {extension[1:]: found for extension, found in _BY_EXTENSION.items()} | {
    name: known.language for known in _LANGUAGES for name in (known.language.name, *known.names)
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
    found = _BY_EXTENSION.get(f".{extension}") if dot and stem else None
    return found.name if found else _BY_FILE_NAME.get(file_name, "")
