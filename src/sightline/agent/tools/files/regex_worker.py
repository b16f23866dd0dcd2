"""A program that `regex` runs, never imported: it reads texts from its input and writes the lines that match.

A pattern can run for ever, and nothing inside its process can stop it. But the process can be stopped.
"""

import json
import re
import resource
import sys
from typing import TextIO


def main() -> None:
    """Write a line with what is wrong with the pattern, "" for nothing. Then answer each text with one line.

    A text is a line with its length, then its bytes. The answer is [line number, place] of each match.
    """
    request = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"]))  # if the parent has ended
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    source, target = sys.stdin.buffer, sys.stdout
    try:
        pattern = re.compile(request["pattern"], re.IGNORECASE if request["ignore_case"] else 0)
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        _write(str(error) or type(error).__name__, target)
        return
    _write("", target)
    while size := source.readline():
        text = source.read(int(size)).decode("utf-8", "replace")
        found = []
        for number, line in enumerate(text.split("\n"), 1):
            if match := pattern.search(line.removesuffix("\r")):
                found.append([number, match.start()])
                if len(found) >= request["most"]:
                    break
        _write(found, target)


def _write(answer: object, target: TextIO) -> None:
    json.dump(answer, target)
    target.write("\n")
    target.flush()


if __name__ == "__main__":
    main()
