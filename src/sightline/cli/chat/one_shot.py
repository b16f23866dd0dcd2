"""One question for a script: only the answer on standard output."""

import sys
from typing import Any, NamedTuple

import click
import msgspec

from sightline.agent.events import Answer, PayloadComposed, RetryScheduled, ToolFinished
from sightline.cli.chat.command import failed
from sightline.cli.chat.screen import retry_words, went_wrong
from sightline.cli.chat.seen import Cut, cut_question
from sightline.cli.chat.setup import Assembled
from sightline.cli.chat.telling import told
from sightline.cli.render import first_words, human_size, print_json, printable, tell
from sightline.errors import BadInput, PinnedOverflow
from sightline.values.items import Usage

MOST_PIPED = 10_000_000  # bytes: some two million tokens


async def ask(made: Assembled, question: str, *, as_json: bool) -> bool:
    """Ask it and print the answer. Whether there was one; why not is said on standard error."""
    try:
        heard = await _heard(made, question, quiet=as_json)
    except PinnedOverflow as error:
        raise BadInput(told(error, made.here.words)) from error
    answer = heard.answer
    if as_json:
        print_json(_facts(made, heard))
    elif answer.success:
        text = made.resolved(answer.text)
        click.echo(printable(text) if _seen() else text)
        if answer.stop:
            _tell(made.here.words(f"stop {answer.stop}"), "yellow")
        for warning in answer.warnings:
            _tell(warning, "yellow")
    else:
        _tell(first_words(answer.error, 400), "red")
    return answer.success and answer.stop != "refused"


class Heard(NamedTuple):
    """What came of a question."""

    answer: Answer
    called: list[ToolFinished]
    cut: Cut | None  # where the question was not shown in full


async def _heard(made: Assembled, question: str, *, quiet: bool) -> Heard:
    """Ask; what there is to know meanwhile is said on standard error, unless `quiet`."""
    words, heard = made.here.words, Heard(Answer(False), [], None)
    async for event in made.agent.stream(question):
        match event:
            case ToolFinished():
                heard.called.append(event)
            case Answer():
                heard = heard._replace(answer=event)
            case PayloadComposed() if heard.cut is None and (cut := cut_question(made.agent)) is not None:
                heard = heard._replace(cut=cut)
                _tell("" if quiet else cut.told(words), "yellow")
            case RetryScheduled():
                _tell("" if quiet else retry_words(event, words), "yellow")
            case _:
                pass
    return heard


def _tell(text: str, style: str) -> None:
    if text:
        tell(text, style)


def question(asked: str) -> str:
    """What is asked, and below it what comes through a pipe. Raises BadInput for more than any model reads."""
    piped = "" if sys.stdin.isatty() else _piped().decode("utf-8", "replace")
    return f"{asked}\n\n{piped}" if piped.strip() else asked


def _piped() -> bytes:
    data = sys.stdin.buffer.read(MOST_PIPED + 1)
    if len(data) > MOST_PIPED:
        raise BadInput(f"more than {human_size(MOST_PIPED)} come through the pipe; send less, or name a file to read")
    return data


def _seen() -> bool:
    """Whether a person's terminal shows it: what a pipe gets, it gets as it is."""
    return sys.stdout.isatty()


def _facts(made: Assembled, heard: Heard) -> dict[str, Any]:
    answer, called, cut = heard
    store = made.agent.code
    return failed(answer.error, made.agent.session.id, made.agent.model.info.name) | {
        "success": answer.success,
        "answer": answer.text,
        "rounds": answer.rounds,
        "usage": msgspec.structs.asdict(answer.usage or Usage(0, 0)),
        "cost": answer.cost,
        "stop": answer.stop,
        "warnings": answer.warnings,
        "saved": [
            {
                "id": each.code_id,
                "language": each.language,
                "description": each.description,
                "file": str(store.folder / each.path) if store else each.path,
            }
            for each in answer.saved
        ],
        "calls": [{"name": each.call.name, "input": each.call.input, "error": went_wrong(each)} for each in called],
        **({"shown": {"question": cut.question, "seen": cut.seen}} if cut else {}),
    }
