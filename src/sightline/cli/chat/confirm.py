"""A question that the user answers with yes or no, before the chat begins."""

import signal

import click

from sightline.cli.render import console, print_text, wrap_for


def confirm(text: str, question: str, refused: str = "") -> None:
    """Print a text and ask yes or no; no ends the program, after the line `refused`."""
    print_text(console(), text)
    if not is_confirmed(question):
        if refused:
            print_text(console(), refused)
        raise click.exceptions.Exit(1)


def is_confirmed(question: str) -> bool:
    """Ask yes or no. Ctrl-C ends the program at once: the event loop's own handler would only cancel a task, and none
    waits.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return click.confirm(wrap_for(console(), question))
    except click.Abort:
        click.echo()  # so that the next output does not follow the question on its line
        raise
    finally:
        signal.signal(signal.SIGINT, before)
