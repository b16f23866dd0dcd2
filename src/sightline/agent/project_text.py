"""What a project tells agents: its `AGENTS.md` and `CLAUDE.md`, as part of the system prompt.

In a repository those of the folders above the project count too, up to the repository's root. They are read only in a
folder that the user trusts. Their text is only text: no line of it can be taken for one of the
engine's.
"""

import os
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


def folders_of(project: Path) -> list[Path]:
    """Return the folders whose files instruct agents in a project: from its repository's root down to the project.

    Without a repository it is the project alone.
    """
    real = project.resolve()
    above = [real, *real.parents]
    root = next((at for at, folder in enumerate(above) if os.path.lexists(folder / ".git")), 0)
    return above[root::-1] if root else [real]


def present(project: Path, folders: Sequence[Path]) -> list[str]:
    """Return the files that there are in these folders, as paths from the project, without reading them."""
    files = (folder / name for folder in folders for name in FILES if os.path.lexists(folder / name))
    return [os.path.relpath(file, project.resolve()) for file in files]


def read_texts(project: Path, folders: Sequence[Path], count: Callable[[str], int], window: int) -> ProjectTexts:
    """Read the files of these folders. Equal ones count once; what is more than `limit` allows is cut at a line's end.

    The nearest folder is read first, so that its files are the last to be cut. They are the last in the prompt too.
    """
    texts: list[ProjectText] = []
    unread, left = [], limit(window)
    names = present(project, folders)
    for name in sorted(names, key=lambda name: name.count(os.sep)):
        data = _read(project / os.path.dirname(name), os.path.basename(name))  # noqa: PTH119, PTH120 - "../AGENTS.md"
        if data is None:
            unread.append(name)
            continue
        text = data[:_MOST_BYTES].decode("utf-8", "replace").strip()
        fitting = _fit(text, count, left)
        if not text or any(other.text == fitting for other in texts):
            continue
        is_cut = fitting != text or len(data) > _MOST_BYTES
        texts.append(ProjectText(name, fitting, tokens := count(fitting), cut=is_cut))
        left = max(left - tokens, 0)
    return ProjectTexts(tuple(sorted(texts, key=lambda text: names.index(text.name))), tuple(unread))


def limit(window: int) -> int:
    """Return how many tokens the texts may have for a model with this context window."""
    return min(MOST_TOKENS, window // SHARE)


def _read(folder: Path, name: str) -> bytes | None:
    """Return the beginning of a file; None if it cannot be read, has secrets, or a link leads to where none may."""
    try:
        real = (folder / name).resolve(strict=True)
        inside = folder.resolve()
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
    for text in texts:
        rest = [_CUT[zh].format(name=text.name)] if text.cut else []
        parts.append("\n".join([_LABEL[zh].format(name=text.name), escape(text.text), *rest]))
    return "\n\n".join(parts)


def is_ours(text: str, own: Sequence[str]) -> bool:
    """Whether a system prompt was made by `instructions`, with any of these instructions of the program."""
    labels = [label.partition("{")[0] for label in _LABEL]
    return text.startswith((*filter(None, own), *labels))
