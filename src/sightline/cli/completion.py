"""`sightline completion`: the script by which a shell completes commands, options and session ids."""

import click
from click.shell_completion import get_completion_class

from sightline.cli.options import shared_options

_VARIABLE = "_SIGHTLINE_COMPLETE"  # click answers the shell when it is set


@click.command(short_help="Print the script for completion in a shell.")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@shared_options(hidden=True)
def completion(shell: str) -> None:
    """Print the script by which a shell completes commands, options and the ids of the newest sessions.

    \b
    Examples:
      eval "$(sightline completion bash)"      # in ~/.bashrc
      eval "$(sightline completion zsh)"       # in ~/.zshrc
      sightline completion fish > ~/.config/fish/completions/sightline.fish
    """
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    click.echo(completion_class(click.get_current_context().find_root().command, {}, "sightline", _VARIABLE).source())
