"""The command line: it parses arguments, calls the library and prints what comes back."""

import sys


def main() -> None:
    """Run `sightline` with the arguments of this process. Never returns."""
    try:
        from sightline.cli.main import app
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("click", "rich"):
            raise
        sys.exit(f"the commands of sightline need the package {package}: pip install 'sightline[cli]'")
    app(prog_name="sightline")
