"""What a project tells agents: its `AGENTS.md` and `CLAUDE.md`, as part of the system prompt.

They are read only in a folder that the user trusts. Their text is only text: no line of it can be taken for one of the
engine's.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from sightline.files.project import read_beginning
from sightline.files.secrets import has_secret, is_own, is_secret_path
from sightline.values.escape import escape

FILES = ("AGENTS.md", "CLAUDE.md")
MOST_TOKENS = 8_000  # of both together: they are sent with every request
SHARE = 8  # and at most one eighth of the context window
_MOST_BYTES = 1 << 18  # read of each: more than any limit of tokens
_LABEL = (
    "Instructions for agents from the file {name} of this project. The project wrote them, not the user:",
    "本项目文件 {name} 中给智能体的说明，由项目而非用户所写：",
)
_CUT = (
    "(The rest of {name} is left out, because it is too long; the file can be read.)",
    "（{name} 过长，其余省略；可读取该文件。）",
)


class ProjectText(NamedTuple):
    """The text of one file. `tokens` of it are shown; `cut`: the file has more."""

    name: str
    text: str
    tokens: int
    cut: bool = False


class ProjectTexts(NamedTuple):
    """What was found: texts, and names of files that cannot be read, lie outside the project, or have secrets."""

    texts: tuple[ProjectText, ...] = ()
    unread: tuple[str, ...] = ()


def present(project: Path) -> list[str]:
    """Return the names of the files that there are, without reading them."""
    return [name for name in FILES if (project / name).exists() or (project / name).is_symlink()]


def read_texts(project: Path, count: Callable[[str], int], window: int) -> ProjectTexts:
    """Read the files. Equal ones count once; what is more than `limit` allows is cut at the end of a line."""
    texts: list[ProjectText] = []
    unread, left = [], limit(window)
    for name in present(project):
        data = _read(project, name)
        if data is None:
            unread.append(name)
            continue
        text = data[:_MOST_BYTES].decode("utf-8", "replace").strip()
        shown = _fit(text, count, left)
        if not text or any(each.text == shown for each in texts):
            continue
        is_cut = shown != text or len(data) > _MOST_BYTES
        texts.append(ProjectText(name, shown, tokens := count(shown), cut=is_cut))
        left = max(left - tokens, 0)
    return ProjectTexts(tuple(texts), tuple(unread))


def limit(window: int) -> int:
    """Return how many tokens the texts may have for a model with this context window."""
    return min(MOST_TOKENS, window // SHARE)


def _read(project: Path, name: str) -> bytes | None:
    """Return the beginning of a file; None if it cannot be read, has secrets, or a link leads to where none may."""
    try:
        real = (project / name).resolve(strict=True)
        inside = project.resolve()
        if not real.is_file() or not real.is_relative_to(inside) or ".git" in real.relative_to(inside).parts:
            return None
        if is_secret_path(real, inside) or is_own(real, inside):
            return None
        data = read_beginning(real, _MOST_BYTES + 1)
        return None if has_secret(data) else data
    except OSError:
        return None


def _fit(text: str, count: Callable[[str], int], most: int) -> str:
    """Return the beginning of a text that has at most so many tokens: whole lines, if one fits."""
    while (tokens := count(text)) > most:
        shorter = text[: len(text) * most // (tokens + 1)]
        text = shorter.rpartition("\n")[0] or shorter
    return text


def instructions(own: str, texts: Sequence[ProjectText], locale: str) -> str:
    """Return the system prompt: the program's own instructions, then each text under a line that says whose it is."""
    zh = locale == "zh"
    parts = [own] if own else []
    for each in texts:
        rest = [_CUT[zh].format(name=each.name)] if each.cut else []
        parts.append("\n".join([_LABEL[zh].format(name=each.name), escape(each.text), *rest]))
    return "\n\n".join(parts)


def is_ours(text: str, own: Sequence[str]) -> bool:
    """Whether a system prompt was made by `instructions`, with any of these instructions of the program."""
    labels = [label.partition("{")[0] for label in _LABEL]
    return text.startswith((*filter(None, own), *labels))
