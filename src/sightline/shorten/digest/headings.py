"""All words that a digest adds to its text, in both languages."""

from sightline.values.phrases import texts

WORDS = texts("digest")  # in every language, because a digest may continue one in another
SECTIONS = (
    "task",
    "words",
    "open",
    "decisions",
    "files",
    "errors",
    "commands",
    "names",
    "answers",
    "programs",
    "notes",
)
ACTIONS = ("created", "changed", "read", "deleted")


def word(key: str, locale: str) -> str:
    """The word of a locale: "zh-CN" reads "zh"; one that is not here reads English."""
    return WORDS[key][locale[:2].lower() == "zh"]


def heading(section: str, locale: str) -> str:
    """The line above a section."""
    return f"## {word(section, locale)}"


def times(n: int) -> str:
    """How often, where it was more than once."""
    return f" {n}×" if n > 1 else ""
