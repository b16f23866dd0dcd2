"""What happens while a question is answered, shown as it happens. What has been shown stays, all of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, assert_never

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from sightline.agent.code.store import Saved
from sightline.agent.events import (
    Answer,
    CodeSaved,
    Event,
    PayloadComposed,
    ReplyReceived,
    RetryScheduled,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from sightline.apps.calls import ACTION, CREATE
from sightline.cli.chat.blocks import Blocks
from sightline.cli.chat.markdown import drawn
from sightline.cli.phrases import Words
from sightline.cli.render import cut, first_words, printable
from sightline.cli.wrap import shaped
from sightline.shorten.call_subject import subject_of
from sightline.values.items import Call

_TAIL = 12  # lines of an unfinished block: enough to follow, few enough for every terminal
_TAIL_CHARACTERS = 4_000  # of its end are laid out at each refresh
REFRESH_SECONDS = 0.1  # fast enough to seem alive
_SUBJECT = 60  # columns of what a call is about
_PROGRAM = "run_python"  # the tool whose result begins with how its program ended
_ENDED_WELL = ("[exit status 0]", "[退出状态 0]")
_NAMED = {
    ACTION.name: ("window_id", "action_id"), CREATE.name: ("name", "target"), "search_files": ("query",),
}  # fmt: skip
_INDENT = 2  # columns of what is said beside the answer


class _Running(NamedTuple):
    """A call that has begun."""

    about: str
    since: float


class Screen:
    """Prints finished blocks of Markdown for good; what is still being said stands below them and moves.

    Text of models and tools is only text: it colours nothing, moves no cursor, and is no markup.
    """

    def __init__(
        self,
        out: Console,
        words: Words,
        seconds: Callable[[], float],
        resolved: Callable[[str], str] = lambda text: text,
        file_of: Callable[[Saved], str] = lambda saved: saved.path,
    ) -> None:
        """`seconds`: a clock that only goes forward; `resolved`: what tags for code and files are shown as; `file_of`:
        where saved code is.
        """
        self.out, self._words, self._seconds = out, words, seconds
        self.resolved, self._file_of = resolved, file_of
        self._spinner = Spinner("line" if out.options.ascii_only else "dots")
        self._live: Live | None = None
        self._begin()

    def _begin(self) -> None:
        self._blocks = Blocks()
        self._said = ""  # of the model's present message
        self._above = ""  # what was printed last: a block, a line, or nothing yet
        self._doing = self._words("thinking")
        self._running: dict[str, _Running] = {}  # by the ids of their calls
        self._started = self._refreshed = self._seconds()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Show the moving part while this lasts. What was said up to its end is printed, also where it is cut off."""
        self._begin()
        self.out.print()
        # Drawn by whoever calls `refresh`, in one thread: a thread of its own would draw over what is being printed.
        with Live(get_renderable=self._moving, console=self.out, transient=True, auto_refresh=False) as self._live:
            try:
                yield
            finally:
                self._finish()
                self._doing = ""
        self._live = None

    def refresh(self) -> None:
        """Draw the moving part anew. To be called several times a second while an answer is awaited."""
        self._refreshed = self._seconds()
        if self._live is not None:
            self._live.refresh()

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case PayloadComposed():
                self._show_composed(event)
            case TextDelta():
                self._show_said(event)
            case RetryScheduled():
                self._show_retrying(event)
            case ReplyReceived():
                self._finish()
                self._doing = self._words("thinking")
            case ToolStarted():
                self._running[event.call.id] = _Running(_about(event.call), self._seconds())
                self._doing = _about(event.call)
            case ToolFinished():
                self._show_called(event)
            case CodeSaved():
                saved = event.saved
                said = self._words("code saved", id=saved.code_id, language=saved.language, file=self._file_of(saved))
                self._tell(said, "green")
            case Answer():
                self._show_answer(event)
            case _:
                assert_never(event)

    def warn(self, text: str) -> None:
        """Something the reader should know, in yellow."""
        self._tell(text, "yellow")

    # ------------------------------------------------------------------ each kind

    def _show_composed(self, event: PayloadComposed) -> None:
        self._said = ""  # the next message begins
        if event.reason.startswith("sweep"):
            said = self._words("swept", reason=self._words.reason(event.reason), tokens=event.tokens)
            self._tell(said, "dim")

    def _show_said(self, event: TextDelta) -> None:
        if event.thinking:
            return
        self._doing = self._words("answering")
        self._said += event.text
        self._print_blocks(self._blocks.take(event.text))
        if self._seconds() - self._refreshed >= REFRESH_SECONDS:  # pieces may come without a pause
            self.refresh()

    def _show_retrying(self, event: RetryScheduled) -> None:
        self._blocks, self._said = Blocks(), ""  # what was cut off is said again
        self.warn(retry_words(event, self._words))

    def _show_called(self, event: ToolFinished) -> None:
        begun = self._running.pop(event.call.id, None)
        seconds = self._seconds() - begun.since if begun else 0.0
        failed = went_wrong(event)
        if failed:
            mark, style, said = "✗", "red", self._words("tool failed", why=first_words(event.text or failed))
        else:
            mark, style, said = "✓", "green", self._words("tool ok", seconds=seconds)
        mark = {"✗": "x", "✓": "+"}[mark] if self.out.options.ascii_only else mark
        room = max(self.out.width - 30, 16)
        about = cut(_about(event.call), room)
        line = Text.assemble((f"  {mark} ", style), (f"{about}  ", "dim"), (said, style if failed else "dim"))
        line.truncate(max(self.out.width, 60), overflow="ellipsis")
        self._line(line)
        others = list(self._running.values())
        self._doing = others[-1].about if others else self._words("thinking")

    def _show_answer(self, event: Answer) -> None:
        self._finish()
        if event.success and event.text.split() != self._said.split():
            self._print_blocks([event.text])
        for question in event.response.action.recommended_questions if event.response else ():
            self._tell(self._words("could ask", question=first_words(question)), "dim")
        for warning in event.warnings:
            self.warn(warning)
        if not event.success:
            self._tell(self._words("failed", why=first_words(event.error, 400)), "red", indent=0)
            self._tell(self._words("retry hint"), "dim", indent=0)
        elif event.stop:
            self._tell(self._words(f"stop {event.stop}"), "yellow", indent=0)
        self._doing = ""

    # ------------------------------------------------------------------ printing

    def _finish(self) -> None:
        """Print what is left of the model's message. The last one is remembered, for the Answer."""
        self._print_blocks(self._blocks.rest())
        self._blocks = Blocks()

    def _print_blocks(self, blocks: list[str]) -> None:
        if blocks:
            self.refresh()  # they leave the moving part
        for block in blocks:
            if self._above:
                self.out.print()
            self.out.print(drawn(self.out, self.resolved(block)), end="")
            self._above = "block"

    def _tell(self, text: str, style: str, indent: int = _INDENT) -> None:
        """A sentence, on as many lines as it needs."""
        self._line(Text(shaped(self.out, " " * indent + printable(text)), style=style))

    def _line(self, line: Text) -> None:
        self._print_blocks(self._blocks.rest())
        if self._above == "block":
            self.out.print()
        self.out.print(line, soft_wrap=True)
        self._above = "line"

    def _moving(self) -> RenderableType:
        """The end of the unfinished block, and what is being done."""
        if not self._doing:
            return Text("")
        waited = int(self._seconds() - self._started)
        self._spinner.update(text=Text(f"{self._doing} {waited} s", style="dim"))
        text = Text(printable("\n".join(self._blocks.open))[-_TAIL_CHARACTERS:])
        lines = list(text.wrap(self.out, max(self.out.width - 1, 8))) if text else []
        return Group(*lines[-min(_TAIL, max(self.out.height - 4, 1)) :], self._spinner)


def went_wrong(event: ToolFinished) -> str:
    """Why a call counts as failed: its error, or that the program it ran did not end well; empty where all is well."""
    ended_badly = event.call.name == _PROGRAM and not event.text.startswith(_ENDED_WELL)
    return event.error or ("failed" if ended_badly else "")


def retry_words(event: RetryScheduled, words: Words) -> str:
    """That a model could not be asked, why, and what happens now. Most reasons begin with its name already."""
    why = first_words(event.why if event.why.startswith(event.model) else f"{event.model}: {event.why}")
    said = words(
        "falling back" if event.fallback else "retrying", why=why,
        seconds=round(event.seconds, 1), again=event.again, fallback=event.fallback,
    )  # fmt: skip
    return said.replace("?;", "?").replace("?；", "? ")  # a reason may end with a question


def _about(call: Call) -> str:
    """A call in a few words: the tool, and what it is called for."""
    return f"{printable(call.name)} {_subject(call)}".rstrip()


def _subject(call: Call) -> str:
    """What a call is about, on one line."""
    return cut(first_words(" ".join(_named(call)) or subject_of(call)), _SUBJECT)


def _named(call: Call) -> list[str]:
    """Window and action, app and target, what is looked for, or saved code, where a call is about these."""
    keys = _NAMED.get(call.name, ("code_id",))
    found = (call.input.get(key) for key in keys) if isinstance(call.input, dict) else ()
    return [each for each in found if isinstance(each, str) and each]
