"""Reads what `sightline report` reports on: which files, and each of them in one of several processes."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from sightline.cli.options import Place
from sightline.cli.render import error_console, progress
from sightline.cli.replay_source import given_price, named_file
from sightline.errors import BadInput, SightlineError
from sightline.imports.detection import conversations
from sightline.imports.source import files_in
from sightline.providers.catalog import price_of
from sightline.providers.prices import Price
from sightline.view.catalog.offered_files import home_folders
from sightline.view.report.forecast import ECONOMIES
from sightline.view.report.phrases import say
from sightline.view.report.session_report import report_of
from sightline.view.report.totals import report_over
from sightline.view.report.values import Refused, Report, SessionReport

_LITTLE = 2_000_000  # bytes of logs that one process reads in a few seconds
_LARGEST = 512 << 20  # bytes of a log that is read among others
_MOST_JOBS = 8
_NAMED = 3  # files that are no sessions


def own_folders() -> Iterator[Path]:
    """Yield the folders in which Claude Code and Codex keep their sessions, those that exist."""
    yield from (folder for folder in home_folders(os.environ, Path.home()) if folder.is_dir())


def _files(here: Place, paths: tuple[str, ...]) -> Iterator[str]:
    for path in paths or map(str, own_folders()):
        named = path if Path(path).is_dir() else named_file(here, path)
        if named != "-" and Path(named).is_dir():
            yield from map(str, files_in(Path(named)))
        else:
            yield named


def _changed(file: str) -> float:
    try:
        return Path(file).stat().st_mtime
    except OSError:  # whoever reads it says so
        return 0.0


def _nothing(here: Place, paths: tuple[str, ...], made: Report) -> str:
    if made.refused:
        lines = "".join(f"\n  {line}" for line in refused_lines(made.refused, here.words.language))
        return here.words("report refused", lines=lines)
    return here.words("report empty" if paths else "report no folders")


def refused_lines(refused: Sequence[Refused], locale: str) -> Iterator[str]:
    """Yield why each of the first files could not be read, then how many others there are."""
    yield from (f"{refusal.name}: {refusal.why}" for refusal in refused[:_NAMED])
    if len(refused) > _NAMED:
        yield say("more", locale, count=len(refused) - _NAMED)


class _Reading(NamedTuple):
    """How files are read: the command line, for every process that does."""

    profile: str
    window: int
    economies: tuple[str, ...]
    price: str | None


def read_report(here: Place, paths: tuple[str, ...], options: dict[str, Any], *, hidden: bool) -> Report:
    """Report on what the command line names. `hidden`: without a progress bar.

    Raises:
        BadInput: there is no session. The message says what was found instead.
    """
    files = sorted(_files(here, paths), key=_changed, reverse=True)
    economies = ECONOMIES if options["forecast"] else ()
    reading = _Reading(options["profile"] or "", options["window"] or 0, economies, options["price"])
    if reading.price is not None:
        given_price(reading.price, reading.profile)  # a mistake in it is told at once
    refused: list[Refused] = []
    chosen = [*_newest_logs(files, options["newest"], refused)]
    with progress(error_console(), here.words("reporting"), len(chosen), hidden=hidden) as advance:
        read = [*_read_all(chosen, reading, options["jobs"] or _jobs(chosen), advance)]
    sessions: list[SessionReport] = []
    for result in chain.from_iterable(read):
        if isinstance(result, Refused):
            refused.append(result)
        else:
            sessions.append(result)
    made = report_over(sessions, refused)
    if not sessions:
        raise BadInput(_nothing(here, paths, made))
    return made


def _newest_logs(files: list[str], most: int, refused: list[Refused]) -> Iterator[str]:
    """Yield so many of the files that are logs; 0: all. What is none is refused after a look at its beginning.

    One that is too large to be in memory at once is refused too, unless it is the only one.
    """
    count = 0
    for file in files:
        if most and count >= most:
            return
        if len(files) > 1 and _size(file) > _LARGEST:
            refused.append(Refused(file, f"larger than {_LARGEST >> 20} MB; to read it, name it alone"))
            continue
        try:
            if file != "-":  # standard input can be read once
                next(iter(conversations(file)), None)
        except (SightlineError, OSError) as error:
            refused.append(Refused(file, str(error)))
            continue
        count += 1
        yield file


def _jobs(files: list[str]) -> int:
    """Return how many processes are worth their start: one for a little work, else one for each core."""
    little = len(files) < 3 or "-" in files or sum(map(_size, files)) < _LITTLE
    return 1 if little else min(os.cpu_count() or 1, _MOST_JOBS, len(files))


def _size(file: str) -> int:
    try:
        return Path(file).stat().st_size
    except OSError:  # whoever reads it says so
        return 0


def _read_all(
    files: list[str], reading: _Reading, jobs: int, advance: Callable[[], None]
) -> Iterator[list[SessionReport | Refused]]:
    """Yield what is found in each file, in their order."""
    if jobs == 1:
        for file in files:
            yield _read(file, reading)
            advance()
        return
    # Started anew, because a copy of this process would have its threads' locks and not its threads.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_quietly) as pool:
        try:
            waiting = [pool.submit(_read, file, reading) for file in files]
            for _ in as_completed(waiting):
                advance()
            yield from (future.result() for future in waiting)
        except BrokenExecutor:
            raise BadInput("a process that read files was killed, perhaps for want of memory; try --jobs 1") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _end_quietly() -> None:
    """Have Ctrl-C end a process without a traceback: the one that started it says what is to be said."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _read(file: str, reading: _Reading) -> list[SessionReport | Refused]:
    """Return the reports on the sessions of a file; in the place of one that cannot be read, why."""
    made: list[SessionReport | Refused] = []
    try:
        for conversation in conversations(file):
            prices = price_of if reading.price is None else partial(_price, reading.price, conversation.profile)
            made.append(report_of(
                conversation, profile=reading.profile, window=reading.window, price_of=prices,
                economies=reading.economies,
            ))  # fmt: skip
    except (SightlineError, OSError) as error:
        made.append(Refused(file, str(error)))
    return made


def _price(price: str, profile: str, model: str) -> Price:  # noqa: ARG001 - one price for all of them
    return given_price(price, profile)
