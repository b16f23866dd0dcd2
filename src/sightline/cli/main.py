"""The program `sightline`: all commands, and how their errors look."""

from typing import Any

import click

from sightline import __version__
from sightline.cli.apps import apps
from sightline.cli.audit import audit
from sightline.cli.chat.command import chat
from sightline.cli.compact import compact, uncompact
from sightline.cli.completion import completion
from sightline.cli.context import context
from sightline.cli.doctor import doctor
from sightline.cli.error_phrases import error_text
from sightline.cli.hook import hook
from sightline.cli.import_command import import_
from sightline.cli.inspect_command import inspect
from sightline.cli.mcp_command import mcp
from sightline.cli.model import model
from sightline.cli.options import DEBUG, place, shared_options
from sightline.cli.render import print_stderr
from sightline.cli.replay import replay
from sightline.cli.report import report
from sightline.cli.serve import serve, wrap
from sightline.cli.sessions import sessions
from sightline.cli.store import store
from sightline.cli.strategies import strategies
from sightline.cli.tenant import tenant
from sightline.cli.token import token
from sightline.cli.trust import trust
from sightline.cli.verify import verify
from sightline.cli.worker import worker
from sightline.errors import SightlineError

INTERRUPTED = 130  # the exit code that a shell expects of a program stopped by Ctrl-C


class App(click.Group):
    """The commands. An error of the library is printed as its message in red, Ctrl-C ends without one."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. With `--debug` errors are shown with their traceback."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            ctx.exit(INTERRUPTED)
        except (SightlineError, OSError) as error:
            if ctx.meta.get(DEBUG) or isinstance(error, BrokenPipeError):
                raise
            print_stderr(error_text(error, place().words.language), "red")
            ctx.exit(1)


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


for command in (
    chat,
    model,
    sessions,
    context,
    inspect,
    import_,
    replay,
    report,
    strategies,
    apps,
    verify,
    compact,
    uncompact,
    trust,
    doctor,
    serve,
    wrap,
    worker,
    hook,
    mcp,
    store,
    tenant,
    token,
    audit,
    completion,
):
    app.add_command(command)
