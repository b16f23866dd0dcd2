"""The languages a file of code may have: their names, their extensions and what else they are called. Data."""

from typing import NamedTuple


class Language(NamedTuple):
    """One language: its name, and the extension its files are saved with."""

    name: str
    extension: str  # with the dot


class _Known(NamedTuple):
    language: Language
    names: tuple[str, ...] = ()  # what else it is called, besides its name and its extensions
    extensions: tuple[str, ...] = ()  # what else its files end with


_KNOWN = (
    _Known(Language("python", ".py"), ("python3", "ipython"), (".pyi", ".pyw")),
    _Known(Language("javascript", ".js"), ("node", "nodejs", "ecmascript"), (".mjs", ".cjs", ".jsx")),
    _Known(Language("html", ".html"), ("html5", "xhtml"), (".htm", ".xhtml")),
    _Known(Language("css", ".css"), ("css3",)),
    _Known(Language("sql", ".sql"), ("mysql", "postgresql", "postgres", "sqlite", "plsql", "tsql"), (".ddl", ".dml")),
    _Known(Language("shell", ".sh"), ("shell/bash", "shellscript", "shell script"), (".bash", ".zsh", ".ksh")),
    _Known(Language("markdown", ".md"), (), (".markdown", ".mdx")),
    _Known(Language("typescript", ".ts"), (), (".tsx", ".mts", ".cts")),
    _Known(Language("json", ".json"), ("json5", "jsonc"), (".jsonc", ".json5", ".geojson")),
    _Known(Language("yaml", ".yaml"), (), (".yml",)),
    _Known(Language("xml", ".xml"), (), (".xsd", ".xsl", ".xslt", ".svg")),
    _Known(Language("r", ".r"), ("rlang", "rscript")),
    _Known(Language("java", ".java"), ("jdk",)),
    _Known(Language("c", ".c"), ("c99", "c11"), (".h",)),
    _Known(
        Language("cpp", ".cpp"),
        ("c++", "cplusplus", "c/c++", "c++17", "c++20"),
        (".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".ipp"),
    ),
    _Known(Language("go", ".go"), ("golang",)),
    _Known(Language("rust", ".rs"), ("rustlang",)),
    _Known(Language("php", ".php"), ("php7", "php8"), (".phtml", ".php5")),
    _Known(Language("ruby", ".rb"), ("jruby",), (".rake", ".gemspec", ".ru")),
)

LANGUAGES: tuple[Language, ...] = tuple(known.language for known in _KNOWN)

_BY_EXTENSION = {
    extension: known.language for known in _KNOWN for extension in (known.language.extension, *known.extensions)
}
# A name wins over an extension: "c" is C by its name and by its extension alike, and no two disagree.
_BY_NAME = {extension[1:]: found for extension, found in _BY_EXTENSION.items()} | {
    name: known.language for known in _KNOWN for name in (known.language.name, *known.names)
}
# Files that are code and have no extension.
_BY_FILE_NAME = {"gemfile": "ruby", "rakefile": "ruby", ".bashrc": "shell", ".profile": "shell", ".zshrc": "shell"}


def language(name: str) -> Language | None:
    """The language of this name, alias or extension, in any case; None where it is none of ours."""
    return _BY_NAME.get(name.strip().lower().removeprefix("."))


def language_of_path(path: str) -> str:
    """The name of the language a file of this path is written in, by how the path ends; "" where that says nothing."""
    file_name = path.replace("\\", "/").rpartition("/")[2].strip().lower()
    stem, dot, extension = file_name.rpartition(".")
    found = _BY_EXTENSION.get(f".{extension}") if dot and stem else None
    return found.name if found else _BY_FILE_NAME.get(file_name, "")
