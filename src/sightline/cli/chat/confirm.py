"""A question that the user answers with yes or no, before the chat begins."""

import signal

import click

from sightline.cli.render import console, print_text, wrap_for


def confirm(text: str, question: str) -> None:
    """Print a text and ask yes or no; no ends the program. Ctrl-C ends it at once: the event loop's own handler would
    only cancel a task, and none waits.
    """
    print_text(console(), text)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if not click.confirm(wrap_for(console(), question)):
            raise click.exceptions.Exit(1)
    except click.Abort:
        click.echo()  # so that the next output does not follow the question on its line
        raise
    finally:
        signal.signal(signal.SIGINT, before)
