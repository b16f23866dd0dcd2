"""The command line. Thin: it parses, calls the library and shows."""

import sys


def main() -> None:
    """Run `sightline` with the arguments of this process. Never returns."""
    try:
        from sightline.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.exit(f"sightline's commands need the package {error.name}; pip install 'sightline[cli]'")
    app(prog_name="sightline")
