"""A program under harsh conditions: little memory, a disk that is full or read-only. Says what it met, as JSON.

    harsh.py huge ROOT MEGABYTES    a tool result of this size in an address space of nine times as much
    harsh.py full ROOT BYTES        appends until the disk refuses; BYTES limits the size of files, 0: the disk is small
    harsh.py readonly ROOT          does everything with a session it may not write to
    harsh.py unreadable ROOT        opens a session it may not read

All but `huge` run as an ordinary user, because root may write everywhere.
"""

import json
import os
import resource
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from sightline.errors import SightlineError
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.shorten import levels_format
from sightline.testing import WordCounter

NOBODY = 65534
BUDGET = Budget(window=2000)
CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}


def become_ordinary() -> None:
    """Give up root's rights. What is imported when first used may lie where only root may look: it is imported now."""
    ours = (
        "recall.search", "recall.overview.question", "recall.overview.settlement", "shorten.digest",
        "shorten.rules.short_form", "session.summaries", "wire.openai_chat",
    )  # fmt: skip
    for module in ("base64", "json", *(f"sightline.{name}" for name in ours)):
        import_module(module)
    levels_format()  # looks for shorteners of other packages
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def resumed(root: str) -> Session:
    """The session that the parent made."""
    return Session.resume("s", root, root=root, token_counter=WordCounter())


def refusal(action: Any) -> str:
    """The type and message of the error."""
    try:
        action()
    except SightlineError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def huge(root: str, megabytes: int) -> dict[str, Any]:
    """See above."""
    session = Session.new(root, root=root, session_id="s", fsync="never")
    session.user("Read it.")
    session.reply({"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]})
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = used + 9 * megabytes * (1 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    line = "a line of words and numbers, 0123456789, as programs print them\n"
    text = line * (megabytes * (1 << 20) // len(line))
    item = session.tool_result("c", text)
    payload = session.compose(Budget(window=32_000))
    same = session.items.text(item) == text
    session.close()
    again = Session.resume("s", root, root=root)
    page = again.items.expand(item, start=1000)
    return {
        "tokens": payload.tokens,
        "same": same and again.items.text(item) == text,
        "page": page,
        "found": len(again.items.search("numbers")),
    }


def full(root: str, most: int) -> dict[str, Any]:
    """See above. A file `filler` in ROOT is deleted to make room."""
    session = Session.new(root, root=root, session_id="s", fsync="always", token_counter=WordCounter())
    if most:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    accepted: list[str] = []
    error = ""
    while not error:
        text = f"{len(accepted)} " + "word " * 300
        error = refusal(lambda text=text: accepted.append(session.user(text)))  # type: ignore[misc]
    payload = refusal(lambda: session.compose(BUDGET))
    found = len(session.items.search("word"))
    session.close()
    again = resumed(root)
    kept = [item.id for item in again.items]
    if most:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    Path(root, "filler").unlink(missing_ok=True)
    again.user("There is room again.")
    again.compose(BUDGET)
    again.close()
    return {"accepted": accepted, "error": error, "payload": payload, "kept": kept, "found": found}


def readonly(root: str) -> dict[str, Any]:
    """See above."""
    session = resumed(root)
    report = {
        "items": len(session.items),
        "found": len(session.items.search("question 2")),
        "tokens": session.preview(BUDGET).tokens,
        "errors": [refusal(lambda: session.user("No.")), refusal(lambda: session.compose(BUDGET))],
        "torn": session.repairs.torn_bytes,
        "new": refusal(lambda: Session.new(root, root=root, token_counter=WordCounter()).user("No.")),
    }
    session.close()
    return report


def unreadable(root: str) -> dict[str, Any]:
    """See above."""
    return {"file": refusal(lambda: resumed(root)), "folder": refusal(lambda: resumed(f"{root}/closed"))}


def main(mode: str, root: str, number: str = "0") -> None:
    """See above."""
    if mode == "huge":
        report = huge(root, int(number))
    else:
        become_ordinary()
        report = (
            full(root, int(number)) if mode == "full" else {"readonly": readonly, "unreadable": unreadable}[mode](root)
        )
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
