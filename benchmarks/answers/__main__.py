"""`python -m benchmarks.answers`: what a real model answers from what composers show it. Never fails on a number."""

import argparse
import gzip
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from rich.console import Console

from benchmarks.answers import prompts as shown
from benchmarks.answers.models import ask_model, endpoint_model, gguf_model
from benchmarks.answers.scores import Answer, answers_table
from benchmarks.quality import datasets, tables
from benchmarks.quality.__main__ import HERE, MISSING
from benchmarks.quality.jobs import Unknown, named
from benchmarks.quality.splits import HALVES
from sightline.errors import SightlineError

OURS = ["sightline plain=benchmarks.quality.engine:Plain", "sightline=benchmarks.quality.engine:Engine"]
_EVERY = 20.0  # seconds between two lines about progress
HELP = """Three ways to the answers:
  --url URL --model NAME [--key-env VAR]   an OpenAI-compatible endpoint
  --gguf FILE                              a model on this machine; needs the extra `local`
  --write prompts.json                     write the prompts, answer them on a machine with a GPU with
                                           benchmarks/answers/generate.py, and score them with --read answers.json

"sightline" is compose(ask=True), "sightline plain" is compose()."""


def main(given: Sequence[str] | None = None) -> None:
    """Compose, ask, score."""
    arguments = _arguments(given)
    console, progress = Console(width=None if sys.stdout.isatty() else 200), Console(stderr=True)
    if arguments.read:
        answers = [answer for path in arguments.read for answer in _json(path)]
    else:
        prompts = _json(arguments.prompts) if arguments.prompts else _composed(arguments, console, progress)
        if arguments.write:
            _write(arguments.write, prompts)
        if not prompts or not (arguments.url or arguments.gguf):
            return
        answers = _answers(arguments, prompts, progress)
    table = answers_table(answers)
    tables.show(table, console)
    if arguments.md:
        arguments.md.write_text(tables.markdown(table) + "\n", encoding="utf-8")


def _composed(arguments: argparse.Namespace, console: Console, progress: Console) -> list[shown.Prompt]:
    root = (arguments.data or Path(os.environ.get("SIGHTLINE_DATA") or HERE)).resolve()
    if not datasets.folder(root, arguments.dataset).is_dir():
        console.print(MISSING.format(folder=root), highlight=False)
        return []
    try:
        composers = dict(map(named, arguments.composer))
    except Unknown as error:
        raise SystemExit(str(error)) from error
    halves = HALVES if arguments.half == "both" else (arguments.half,)
    asked = shown.Asked(
        arguments.dataset, arguments.n, arguments.budgets, halves, arguments.form, not arguments.only_composers
    )
    chats = datasets.EVIDENCE[arguments.dataset](root)
    return shown.write_prompts(asked, chats, composers, _Ticker(progress, "composed"))


def _answers(arguments: argparse.Namespace, prompts: Sequence[shown.Prompt], progress: Console) -> list[Answer]:
    def keep(answers: Sequence[Answer]) -> None:
        if arguments.out:
            _write(arguments.out, answers)

    try:
        if arguments.gguf:
            model = gguf_model(str(arguments.gguf), prompts)
        else:
            model = endpoint_model(arguments.url, arguments.model, arguments.key_env, os.environ)
        return ask_model(model, prompts, keep, _Ticker(progress, "answered"))
    except SightlineError as error:
        raise SystemExit(str(error)) from error


class _Ticker:
    """Prints progress, at most every few seconds."""

    def __init__(self, progress: Console, label: str) -> None:
        self._progress, self._label, self._last = progress, label, monotonic()

    def __call__(self, done: int, total: int) -> None:
        if monotonic() - self._last >= _EVERY:
            self._last = monotonic()
            self._progress.print(f"[dim]{self._label}: {done} of {total}[/]")


def _json(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    found: list[dict[str, Any]] = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    return found


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    raw = json.dumps(rows, ensure_ascii=False).encode()
    path.write_bytes(gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.answers",
        description=__doc__.partition(": ")[2],
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="the data folder; else SIGHTLINE_DATA")
    add("--dataset", choices=tuple(datasets.EVIDENCE), default="locomo", help="default: locomo")
    add("--half", choices=(*HALVES, "both"), default="dev", help="default: dev")
    add("--n", type=int, default=200, metavar="N", help="questions of each half; default: 200")
    add("--budgets", type=int, nargs="+", default=[2000, 8000], metavar="TOKENS", help="default: 2000 8000")
    add("--composer", nargs="+", default=OURS, metavar="[LABEL=]PKG.MOD:NAME", help="in place of Sightline")
    add("--only-composers", action="store_true", help="leave the baselines out")
    add(
        "--form", nargs="+", choices=shown.FORMS, default=[shown.SENT], help="as sent, the default; one flat transcript"
    )
    add("--prompts", type=Path, metavar="FILE", help="compose nothing: take the prompts that --write wrote")
    add("--write", type=Path, metavar="FILE", help="write the prompts there, as .json or .json.gz")
    add("--url", metavar="URL", help="such as http://127.0.0.1:8080/v1")
    add("--model", default="", metavar="NAME", help="as the endpoint calls it")
    add("--key-env", default="", metavar="VAR", help="the environment variable that has the key")
    add("--gguf", type=Path, metavar="FILE", help="a model on this machine")
    add("--out", type=Path, metavar="FILE", help="write the answers there, as JSON")
    add("--read", nargs="+", type=Path, metavar="FILE", help="ask nobody: score these answers")
    add("--md", type=Path, metavar="FILE", help="write the table there, as Markdown")
    arguments = parser.parse_args(given)
    files = [*(arguments.read or ()), *filter(None, (arguments.prompts, arguments.gguf))]
    if missing := [str(path) for path in files if not path.is_file()]:
        parser.error(f"no file {', '.join(missing)}")
    if not (arguments.read or arguments.write or arguments.url or arguments.gguf):
        parser.error("say where the answers come from: --url, --gguf, --read, or --write for prompts alone")
    if arguments.url and not arguments.model:
        parser.error("--url needs --model")
    return arguments


if __name__ == "__main__":
    main()
