"""One question for a script: only the answer on standard output."""

import sys
from collections.abc import Sequence
from typing import Any

import click
import msgspec
from rich.text import Text

from sightline.agent.events import Answer, Called, Retrying
from sightline.cli.chat.assembled import Assembled
from sightline.cli.show import error_console, first_words, print_json, printable
from sightline.items import Usage


async def ask(made: Assembled, question: str, *, as_json: bool) -> bool:
    """Ask it and print the answer. Whether there was one; why not is said on standard error."""
    answer, called = Answer(False), list[Called]()
    async for event in made.agent.stream(question):
        if isinstance(event, Called):
            called.append(event)
        elif isinstance(event, Answer):
            answer = event
        elif isinstance(event, Retrying) and not as_json:
            error_console().print(Text(f"{event.model}: {first_words(event.why)}", style="yellow"), soft_wrap=True)
    if as_json:
        print_json(_facts(made, answer, called))
    elif answer.success:
        text = made.resolved(answer.text)
        click.echo(printable(text) if _seen() else text)
    else:
        error_console().print(Text(first_words(answer.error, 400), style="red"), soft_wrap=True)
    return answer.success


def _seen() -> bool:
    """Whether a person's terminal shows it: what a pipe gets, it gets as it is."""
    return sys.stdout.isatty()


def _facts(made: Assembled, answer: Answer, called: Sequence[Called]) -> dict[str, Any]:
    session = made.agent.session
    return {
        "success": answer.success,
        "answer": answer.text,
        "error": answer.error,
        "session": session.id,
        "model": made.agent.model.facts.name,
        "rounds": answer.rounds,
        "usage": msgspec.structs.asdict(answer.usage or Usage(0, 0)),
        "cost": answer.cost,
        "saved": [
            {"id": each.code_id, "language": each.language, "description": each.description, "file": each.path}
            for each in answer.saved
        ],
        "calls": [{"name": each.call.name, "input": each.call.input, "error": each.error} for each in called],
    }
