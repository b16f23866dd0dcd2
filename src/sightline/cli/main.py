"""The program `sightline`: all commands, and how their errors look."""

from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from sightline import __version__
from sightline.cli.options import DEBUG, language, shared_options
from sightline.cli.phrases import Phrases, error_text
from sightline.cli.render import print_stderr
from sightline.errors import SightlineError

COMMANDS = {
    "apps": "apps:apps",
    "audit": "audit:audit",
    "chat": "chat.command:chat",
    "compact": "compact:compact",
    "completion": "completion:completion",
    "context": "context:context",
    "doctor": "doctor:doctor",
    "find": "find:find",
    "hook": "hook:hook",
    "import": "import_command:import_",
    "inspect": "inspect_command:inspect",
    "mcp": "mcp_command:mcp",
    "model": "model:model",
    "replay": "replay:replay",
    "report": "report:report",
    "savings": "savings:savings",
    "serve": "serve:serve",
    "sessions": "sessions:sessions",
    "setup": "set_up:setup",
    "store": "store:store",
    "strategies": "strategies:strategies",
    "tenant": "tenant:tenant",
    "token": "token:token",
    "trust": "trust:trust",
    "uncompact": "compact:uncompact",
    "verify": "verify:verify",
    "worker": "worker:worker",
    "wrap": "serve:wrap",
}
"""The commands: the module of each and its name there. It is imported when the command is run or described."""

_EXTRAS = {"chat": "chat", **dict.fromkeys(("inspect", "serve", "setup", "worker", "wrap"), "server")}
"""The extra that has all that a command needs, if it has one."""

INTERRUPTED = 130  # the exit code that a shell expects of a program stopped by Ctrl-C


class App(click.Group):
    """The commands. An error of the library is printed as its message in red, Ctrl-C ends without one."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name them all."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None if there is none of this name."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            module, _, name = COMMANDS[cmd_name].partition(":")
            self.add_command(getattr(import_module(f"sightline.cli.{module}"), name))
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Where there is none of this name, the closest one is suggested."""
        near = [] if args[0] in COMMANDS else get_close_matches(args[0], COMMANDS, n=1)
        if near and not args[0].startswith("-"):
            ctx.fail(Phrases(language())("no such command", given=args[0], near=near[0]))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. With `--debug` errors are shown with their traceback."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            ctx.exit(INTERRUPTED)
        except (SightlineError, OSError) as error:
            if ctx.meta.get(DEBUG) or isinstance(error, BrokenPipeError):
                raise
            print_stderr(error_text(error, language()), "red")
            ctx.exit(1)
        except ModuleNotFoundError as error:
            if ctx.meta.get(DEBUG) or not (advice := _advice(error, ctx.invoked_subcommand or "")):
                raise
            print_stderr(advice, "red")
            ctx.exit(1)


def _advice(error: ModuleNotFoundError, command: str) -> str:
    """Return which extra a command needs; "" if the missing package is of none."""
    from sightline.cli.doctor_checks import EXTRAS

    package = (error.name or "").partition(".")[0]
    if not package:
        return str(error)  # the library's own error, which says what to install
    extras = [extra for extra, packages in EXTRAS.items() if package in packages]
    own = _EXTRAS.get(command, "")
    extra = own if own in extras or command == "chat" else next(iter(extras), "")
    return f"sightline {command} needs {package}: pip install 'sightline-context[{extra}]'" if extras else ""


@click.group(
    cls=App,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: sightline replay --sample",
)
@click.version_option(__version__, prog_name="sightline")
@shared_options()
def app() -> None:
    """Sightline decides what a language-model agent sees, and loses nothing.

    `chat` talks to a model. The other commands show the sessions of a project: their items, what the model would see
    of them now, and whether every payload they sent can be made again from the log.

    \b
    Examples:
      sightline chat                   talk to a model in the terminal
      sightline replay --sample        watch a sample session, call by call
      sightline inspect                see in a browser what the model saw
    """
