"""`disk_trouble.py FOLDER`: the proxy where the disk refuses. Prints, as JSON, what the client and the upstream saw.

FOLDER/closed may be read and not written. In FOLDER/open no file may grow from the first shortened request on; later
there is room again. It runs as an ordinary user, because root may write everywhere. What is imported when first used
may lie where only root may look, so some conversations are led through the proxy before.
"""

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from through_proxy import LISTS, OWN, TALKERS, Talk, Through, asked_names, calls, page, text_of
from upstream import Asked
from upstream_script import Answer, answer, call

NOBODY = 65534
WINDOW = 3000


class Reader:
    """Reads so many files. Then it says something."""

    def __init__(self, files: int) -> None:
        self.left = files

    def __call__(self, asked: Asked) -> Answer:
        """The next step."""
        self.left -= 1
        return answer(call("read", {"path": f"file{self.left}"})) if self.left >= 0 else answer("Done.")


def warm_up(folder: Path) -> None:
    """Lead conversations that are shortened, so that everything is imported."""
    folder.mkdir()
    with Through(folder, [], window=WINDOW, sockets=True) as through:
        for wire in LISTS:
            through.upstream._answer = Reader(6)
            Talk(through, wire, stream=True).say("Read them all.")


def become_ordinary() -> None:
    """Give up root's rights."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def readonly(folder: Path) -> dict[str, Any]:
    """Lead conversations that cannot be logged."""
    said, went = {}, []
    with Through(folder, [], window=100 * WINDOW, sockets=True) as through:
        for wire in TALKERS:
            for stream in (False, True):
                through.upstream._answer = Reader(5)
                talk = Talk(through, wire, stream=stream)
                said[f"{wire} {stream}"] = talk.say("Read them all.")
                went.append(json.dumps(talk.body(**{LISTS[wire]: talk.list[:-1]})))  # the list before the answer
        raws = [asked.raw.decode() for asked in through.upstream.asked]
        return {"said": said, "unchanged": all(each in raws for each in went), "invalid": through.upstream.invalid}


def full(folder: Path) -> dict[str, Any]:
    """Lead conversations in the middle of which the disk is full."""
    told = {}
    for wire in LISTS:
        place = folder / wire
        place.mkdir()
        with Through(place, Reader(1000), window=WINDOW, sockets=True) as through:
            told[wire] = fill(through, wire)
    return told


def fill(through: Through, wire: str) -> dict[str, Any]:
    """Go on until requests are shortened; then the disk is full; then it has room again."""
    talk = Talk(through, wire)
    talk.list.append({"role": "user", "content": "Read them all."})

    def step() -> Asked:
        talk.give(calls(wire, talk.ask()))
        return through.upstream.asked[-1]

    while not OWN & {*asked_names(step())}:
        pass
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    asked = len(through.upstream.asked)
    refused = [through.post(wire, talk.body()) for _ in range(2)]
    sent = len(through.upstream.asked) - asked
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    shortened = step()
    through.upstream._answer = lambda _: answer("Done.")
    said = text_of(wire, talk.ask())
    kept = through.texts()
    files = [f"file{number}" for number in range(1000 - len(talk.list) // 2, 1000)]
    return {
        "sent": sent,
        "refused": [[response.status_code, response.headers.get("retry-after")] for response in refused],
        "shortened": bool(OWN & {*asked_names(shortened)}) and not shortened.verdict,
        "said": said,
        "invalid": [each.verdict for each in through.upstream.asked if each.verdict and not each.overflow],
        "missing": [name for name in files if str(talk.list).count(f"{name} line") and page(name) not in kept],
    }


if __name__ == "__main__":
    place = Path(sys.argv[1])
    warm_up(place / "warm")
    become_ordinary()
    print(json.dumps({"readonly": readonly(place / "closed"), "full": full(place / "open")}))
