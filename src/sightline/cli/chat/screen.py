"""Shows an answer while it comes: finished parts stay on the screen for good."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import assert_never

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.segment import Segment, Segments
from rich.spinner import Spinner
from rich.text import Text

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
from sightline.cli.chat.markdown import Block, Blocks, draw_markdown, markdown_lines, whole_blocks
from sightline.cli.phrases import Phrases
from sightline.cli.render import first_words, printable, truncate, wrap_for
from sightline.documents.code.store import Saved
from sightline.documents.saved_code import response_of
from sightline.errors import BadCodeId, NothingCompacted, PinnedOverflow, UnknownApp, UnknownCode, UnknownItem
from sightline.shorten import subject_of
from sightline.values.items import Call

_TAIL = 12  # lines shown of an unfinished block: enough to follow, few enough for every terminal
_TAIL_CHARACTERS = 4_000  # of its end that are drawn at each refresh
REFRESH_SECONDS = 0.1  # short enough to look alive
_SUBJECT = 60  # columns for the subject of a call
_PROGRAMS = ("run_python", "run_shell")  # the tools whose results begin with how their program ended
_ENDED_WELL = ("[exit status 0]", "[退出状态 0]")
_SUBJECT_ARGUMENTS = {
    ACTION.name: ("window_id", "action_id"), CREATE.name: ("name", "target"), "search_files": ("query",),
}  # fmt: skip
_ROUNDS = "rounds"  # the failure of a turn in which the model asked for tools too often
_INDENT = 2  # columns before remarks that are not part of the answer


class Screen:
    """Prints finished blocks of Markdown for good. The unfinished rest is redrawn below them.

    Text of models and tools is only text: it cannot colour, move the cursor or be markup.
    """

    def __init__(
        self,
        out: Console,
        words: Phrases,
        seconds: Callable[[], float],
        resolve_tags: Callable[[str], str] = lambda text: text,
        file_of: Callable[[Saved], str] = lambda saved: saved.path,
    ) -> None:
        """`seconds`: a clock that only goes forward; `resolve_tags` replaces tags for code and files; `file_of`: the
        file of saved code.
        """
        self.out, self._words, self._seconds = out, words, seconds
        self._resolve_tags, self._file_of = resolve_tags, file_of
        self._spinner = Spinner("line" if out.options.ascii_only else "dots")
        self._live: Live | None = None
        self._begin()

    def _begin(self) -> None:
        self._blocks = Blocks()
        self._message: list[str] = []  # the pieces of the model's present message
        self._printed_last = ""  # "block", "line", or nothing yet
        self._doing = self._words("thinking")
        self._running: dict[str, tuple[str, float]] = {}  # label and beginning of each call, by its id
        self._started = self._refreshed = self._seconds()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Show the moving part meanwhile. At the end what has come is printed, also if the answer was cut off."""
        self._begin()
        self.out.print()
        # `refresh` draws it in the caller's thread, because a thread of its own would draw over what is being printed.
        with Live(get_renderable=self._moving, console=self.out, transient=True, auto_refresh=False) as self._live:
            try:
                yield
            finally:
                self._finish()
                self._doing = ""
        self._live = None

    def refresh(self) -> None:
        """Redraw the moving part. Call this several times a second while an answer is awaited."""
        self._refreshed = self._seconds()
        if self._live is not None:
            self._live.refresh()

    def show(self, event: Event) -> None:
        match event:
            case PayloadComposed():
                self._message = []  # the next message begins
                if event.reason.startswith("sweep"):
                    text = self._words("swept now", reason=self._words.reason(event.reason), tokens=event.tokens)
                    self._remark(text, "dim")
            case TextDelta():
                self._show_text(event)
            case RetryScheduled():
                self._blocks, self._message = Blocks(), []  # the model begins its message again
                self.warn(retry_text(event, self._words))
            case ReplyReceived():
                self._finish()
                self._doing = self._words("thinking")
            case ToolStarted():
                self._doing = _label(event.call)
                self._running[event.call.id] = (self._doing, self._seconds())
            case ToolFinished():
                self._show_called(event)
            case CodeSaved():
                self._show_saved(event)
            case Answer():
                self._show_answer(event)
            case _:
                assert_never(event)

    def warn(self, text: str) -> None:
        """Print a warning in yellow."""
        self._remark(text, "yellow")

    # ------------------------------------------------------------------ each kind

    def _show_text(self, event: TextDelta) -> None:
        if event.thinking:
            return
        self._doing = self._words("answering")
        self._message.append(event.text)
        self._print_blocks(self._blocks.add(event.text))
        if self._seconds() - self._refreshed >= REFRESH_SECONDS:  # pieces may come without a pause
            self.refresh()

    def _show_called(self, event: ToolFinished) -> None:
        now, failed = self._seconds(), call_error(event)
        _, since = self._running.pop(event.call.id, ("", now))
        if failed:
            mark, style, text = "✗", "red", self._words("tool failed", why=first_words(event.text or failed))
        else:
            mark, style, text = "✓", "green", self._words("tool ok", seconds=now - since)
        mark = {"✗": "x", "✓": "+"}[mark] if self.out.options.ascii_only else mark
        label = truncate(_label(event.call), max(self.out.width - 30, 16))
        line = Text.assemble((f"  {mark} ", style), (f"{label}  ", "dim"), (text, style if failed else "dim"))
        line.truncate(max(self.out.width, 60), overflow="ellipsis")
        self._line(line)
        others = [label for label, _ in self._running.values()]
        self._doing = others[-1] if others else self._words("thinking")

    def _show_saved(self, event: CodeSaved) -> None:
        if isinstance(saved := event.saved, Saved):
            text = self._words("code saved", id=saved.code_id, language=saved.language, file=self._file_of(saved))
            self._remark(text, "green")

    def _show_answer(self, event: Answer) -> None:
        self._finish()
        if event.success and event.text.split() != "".join(self._message).split():
            self._print_blocks(whole_blocks(event.text))
        for question in response.action.recommended_questions if (response := response_of(event)) else ():
            self._remark(self._words("could ask", question=first_words(question)), "dim")
        for warning in event.warnings:
            self.warn(warning)
        if not event.success:
            self._remark(self._words("failed", why=failure_text(event, self._words)), "red", indent=0)
            self._remark(failure_hint(event, self._words), "dim", indent=0)
        elif event.stop:
            self._remark(self._words(f"stop {event.stop}"), "yellow", indent=0)
        self._doing = ""

    # ------------------------------------------------------------------ printing

    def _finish(self) -> None:
        """Print the rest of the model's message."""
        self._print_blocks(self._blocks.finish())
        self._blocks = Blocks()

    def _print_blocks(self, blocks: Sequence[Block]) -> None:
        if blocks:
            self.refresh()  # because they leave the moving part
        for block in blocks:
            if self._printed_last and not (block.continues and self._printed_last == "block"):
                self.out.print()
            self.out.print(draw_markdown(self.out, self._resolve_tags(block.text), block.number), end="")
            self._printed_last = "block"

    def _remark(self, text: str, style: str, indent: int = _INDENT) -> None:
        """Print a sentence that is not part of the answer, on as many lines as it needs."""
        self._line(Text(wrap_for(self.out, " " * indent + printable(text)), style=style))

    def _line(self, line: Text) -> None:
        self._print_blocks(self._blocks.finish())
        if self._printed_last == "block":
            self.out.print()
        self.out.print(line, soft_wrap=True)
        self._printed_last = "line"

    def _moving(self) -> RenderableType:
        """Return the end of the unfinished block, drawn as far as it has come, and what is being done."""
        if not self._doing:
            return Text("")
        waited = int(self._seconds() - self._started)
        self._spinner.update(text=Text(f"{self._doing} {waited} s", style="dim"))
        lines = markdown_lines(self.out, _end_of(self._blocks.unfinished), self._blocks.number)
        last_lines = lines[-min(_TAIL, max(self.out.height - 4, 1)) :]
        return Group(*(Segments([*line, Segment.line()]) for line in last_lines), self._spinner)


def _end_of(lines: Sequence[str]) -> str:
    """Return the lines of an unfinished block; of a long one its first, which says what it is, and its end."""
    text = "\n".join(lines)
    if len(text) <= _TAIL_CHARACTERS:
        return text
    end = text[-_TAIL_CHARACTERS:].partition("\n")[2] or text[-_TAIL_CHARACTERS:]
    return f"{lines[0][:_TAIL_CHARACTERS]}\n{end}" if lines[0].lstrip().startswith(("```", "~~~")) else end


def call_error(event: ToolFinished) -> str:
    """Return why a call failed: its error, or that the program it ran did not end well. Empty if it succeeded."""
    ended_badly = event.call.name in _PROGRAMS and not event.text.startswith(_ENDED_WELL)
    return event.error or ("failed" if ended_badly else "")


def retry_text(event: RetryScheduled, words: Phrases) -> str:
    """Say why a model could not be asked, and what happens now. Most reasons begin with the model's name already."""
    why = first_words(event.why if event.why.startswith(event.model) else f"{event.model}: {event.why}")
    if event.kind:
        why = words(f"busy {event.kind}", model=event.model, detail=first_words(event.detail) or "–")
    key = "falling back" if event.fallback else "retrying of" if event.attempts else "retrying"
    text = words(
        key, why=why, seconds=round(event.seconds, 1), again=event.again, attempts=event.attempts,
        fallback=event.fallback,
    )  # fmt: skip
    return text.replace("?;", "?").replace("?；", "? ")  # a reason may end with a question


def failure_text(event: Answer, words: Phrases) -> str:
    """Say on one line why there is no answer."""
    return words("rounds used", rounds=event.rounds) if event.failure == _ROUNDS else first_words(event.error, 400)


def failure_hint(event: Answer, words: Phrases, where: str = "chat") -> str:
    """Say how often a model was asked in vain, and what the user can do. `where`: in a chat, or in a "script"."""
    if not event.failure:
        return words("retry hint") if where == "chat" else ""
    if event.failure == _ROUNDS:
        return words(f"do rounds {where}")
    attempts = words("asked once" if event.attempts == 1 else "gave up", attempts=event.attempts)
    what = event.failure if event.failure in ("connection", "silent") else "busy"
    return f"{attempts} {words(f'do {what} {where}')}"


def _label(call: Call) -> str:
    """Return a call in a few words: the tool, and its subject on one line."""
    values = [call.arguments.get(name) for name in _SUBJECT_ARGUMENTS.get(call.name, ("code_id",))]
    subject = " ".join(value for value in values if value and isinstance(value, str)) or subject_of(call)
    return f"{printable(call.name)} {truncate(first_words(subject), _SUBJECT)}".rstrip()


def error_text(error: Exception, words: Phrases) -> str:
    """Return an error's message for a chat: with its commands and options, where the library names its functions."""
    match error:
        case NothingCompacted():
            return words("nothing to undo")
        case UnknownItem():
            return words("no item", id=error.item_id)
        case UnknownApp():
            return words("no app", name=error.name, names=", ".join(error.known) or "–")
        case UnknownCode():
            return words("no such code", id=error.code_id, names=", ".join(error.known) or "–")
        case BadCodeId():
            return words("no code id", id=error.code_id[:80])
        case PinnedOverflow():
            return words("too much pinned", pinned=", ".join(error.pinned), tokens=error.short_by)
        case _:
            return str(error)
