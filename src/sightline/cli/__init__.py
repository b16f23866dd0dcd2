"""The command line: it parses arguments, calls the library and prints what comes back."""

import sys


def main() -> None:
    """Run `sightline` with the arguments of this process. Never returns."""
    if sys.argv[1:3] == ["hook", "run"] and "--help" not in sys.argv and "-h" not in sys.argv:
        # Claude Code waits for it, again and again: nothing of the other commands is imported.
        from sightline.adapters.claude_hooks import run_command

        run_command(sys.argv[3:])
        sys.exit(0)
    try:
        from sightline.cli.main import app
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("click", "rich"):
            raise
        sys.exit(f"the commands of sightline need the package {package}: pip install 'sightline-context[cli]'")
    app(prog_name="sightline")
