"""Print what an installation weighs, with and without each extra: packages and megabytes on disk.

    .venv/bin/python tools/weight.py

It follows the requirements in pyproject.toml, and those of the packages that are installed here, so `make` must have
set up .venv. Compiled files (.pyc) count, because pip makes them. Sightline itself counts as its source folder.
"""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME = "sightline-context"
ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sightline"
EXTRAS = ("", "cli", "apps", "code", "agent", "ba-agent", "langchain", "chat", "local", "mcp", "openai-agents",
          "pydantic-ai", "postgres", "server", "all")  # fmt: skip


def main() -> None:
    """One line for each extra."""
    print("extra    packages  MB")
    for extra in EXTRAS:
        packages = closure(NAME, {extra} - {""})
        print(f"{extra or '(core)':8} {len(packages):8} {sum(map(size, packages)) / 1e6:5.0f}")


def closure(name: str, extras: set[str]) -> set[str]:
    """The packages that installing this one brings, itself included."""
    found: set[str] = set()
    waiting = [(canonicalize_name(name), frozenset(extras))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, wanted = now = waiting.pop()
        if now in seen:
            continue
        seen.add(now)
        found.add(name)
        for needed in requirements(name, wanted):
            waiting.append((canonicalize_name(needed.name), frozenset(needed.extras)))
    return found


def requirements(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    """What a package needs on this machine, with these extras."""
    if name == NAME:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        texts = [
            *project["dependencies"],
            *(text for extra in extras for text in project["optional-dependencies"][extra]),
        ]
    else:
        texts = distribution(name).requires or []
    for needed in map(Requirement, texts):
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in (extras or {""})):
            yield needed


def size(name: str) -> int:
    """The bytes of a package's files."""
    if name == NAME:
        return sum(path.stat().st_size for path in SOURCE.rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files(distribution(name)) if path.is_file())


def files(package: Distribution) -> list[Path]:
    """The files of an installed package that are not scripts."""
    return [Path(str(file.locate())) for file in package.files or () if not re.match(r"(\.\./)+bin/", str(file))]


if __name__ == "__main__":
    main()
