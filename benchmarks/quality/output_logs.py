"""Logs: of this machine's kernel, of a program that uses Python's logging, and of services in the form of a journal."""

import json
import logging
import shutil
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from random import Random

from benchmarks.quality.failing_projects import NOUNS, VERBS, Output, run_tool

ROUTINE = (
    ("systemd[1]", "Started {s}.service - the {s} of the shop."),
    ("systemd[1]", "{s}.service: Deactivated successfully."),
    ("systemd[1]", "Starting {s}.service - the {s} of the shop..."),
    ("sshd[{p}]", "Accepted publickey for deploy from 10.0.{n}.{m} port {p} ssh2"),
    ("CRON[{p}]", "(root) CMD (/usr/lib/shop/{s} --daily)"),
    ("kernel", "audit: type=1400 apparmor=ALLOWED operation=open profile={s} pid={p}"),
    ("dhclient[812]", "bound to 10.0.{n}.{m} -- renewal in {p} seconds."),
    ("{s}[{p}]", "served {n} requests in {m} ms"),
)
TROUBLES = (
    ("systemd[1]", "{s}.service: Main process exited, code=exited, status=1/FAILURE"),
    ("systemd[1]", "{s}.service: Failed with result 'exit-code'."),
    ("{s}[{p}]", "cannot open /var/lib/{s}/store.db: Permission denied"),
    ("kernel", "Out of memory: Killed process {p} ({s}) total-vm:{p}kB, anon-rss:{p}kB"),
    ("{s}[{p}]", "upstream 10.0.{n}.{m}:5432 refused the connection"),
    ("kernel", "EXT4-fs error (device sda{n}): ext4_find_entry: inode #{p}: reading directory lblock 0"),
)
SIZES = ((80, 3), (400, 5), (1500, 12))  # lines of routine, and of trouble


def made_logs(half: str) -> Iterator[Output]:
    """Return logs of several sizes; those of services and of a program are made up, that of the kernel is real."""
    yield from _kernel()
    for routine, trouble in SIZES:
        random = Random(f"{half} log {routine}")
        size = f"{routine} good, {trouble} bad"
        text, failed = _journal(random, routine, trouble)
        yield Output("log", f"made: journal of services, {size}", text, "journalctl --no-pager", failed)
        for form, write in (("lines", _line), ("JSON", _json)):
            logged = "\n".join(_program(random, routine, trouble, write))
            yield Output("log", f"made: Python's logging as {form}, {size}", logged, "cat job.log")


def _kernel() -> Iterator[Output]:
    """What the kernel itself counts as errors, where it says so."""
    if shutil.which("dmesg"):
        failed = run_tool(Path(), ["dmesg", "-l", "emerg,alert,crit,err"]).strip()
        if failed and "not permitted" not in failed:
            yield Output("log", "this machine: dmesg", run_tool(Path(), ["dmesg"]), "dmesg", tuple(failed.split("\n")))


def _journal(random: Random, routine: int, trouble: int) -> tuple[str, tuple[str, ...]]:
    """The text, and the lines that were logged with the priority of an error; their words need not say so."""
    services = [f"{verb}-{noun}" for verb, noun in random.sample([*product(VERBS, NOUNS)], 9)]
    when = datetime(2026, 3, 4, 5, tzinfo=UTC)
    lines, failed = [], []
    bad = set(random.sample(range(routine + trouble), trouble))
    for at in range(routine + trouble):
        when += timedelta(seconds=random.randrange(90))
        unit, message = random.choice(TROUBLES if at in bad else ROUTINE)
        facts = {
            "s": random.choice(services),
            "p": random.randrange(900, 60000),
            "n": random.randrange(9),
            "m": at % 250,
        }
        lines.append(f"{when:%b %d %H:%M:%S} web-2 {unit.format(**facts)}: {message.format(**facts)}")
        if at in bad:
            failed.append(lines[-1])
    return "\n".join(lines), tuple(failed)


def _program(random: Random, routine: int, trouble: int, write: Callable[[logging.LogRecord], str]) -> Iterator[str]:
    """Records of Python's logging, with the traceback of what was raised."""
    bad = set(random.sample(range(routine + trouble), trouble))
    when = datetime(2026, 3, 4, 5, tzinfo=UTC).timestamp()
    for at in range(routine + trouble):
        when += random.random() * 9
        noun = random.choice(NOUNS)
        level = (
            logging.ERROR if at in bad else random.choice((logging.DEBUG, logging.INFO, logging.INFO, logging.WARNING))
        )
        message = f"{random.choice(VERBS)} {noun} {random.randrange(10**6)} in {random.randrange(900)} ms"
        record = logging.LogRecord(f"shop.{noun}", level, "job.py", at, message, (), None)
        record.created, record.msecs = when, when % 1 * 1000
        if at in bad:
            record.msg, record.exc_text = f"cannot {message}", _raised(random, noun)
        yield write(record)


def _raised(random: Random, noun: str) -> str:
    try:
        raise random.choice((KeyError, TimeoutError, ValueError))(f"{noun}_{random.randrange(10**5)}")
    except Exception:
        return traceback.format_exc().strip().replace(__file__, f"/srv/shop/{noun}.py")


def _line(record: logging.LogRecord) -> str:
    return logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s").format(record)


def _json(record: logging.LogRecord) -> str:
    said = {"time": record.created, "level": record.levelname.lower(), "name": record.name, "msg": record.getMessage()}
    return json.dumps(said | ({"error": record.exc_text.split("\n")[-1]} if record.exc_text else {}))
