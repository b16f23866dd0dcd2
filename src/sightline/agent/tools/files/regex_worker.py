"""Run as a program of its own by `matching`, never imported: texts on its input, the lines that match on its output.

A pattern can take longer than the sun will shine, and nothing inside a process can stop it. A process can be stopped.
"""

import json
import re
import resource
import sys
from typing import TextIO


def main() -> None:
    """Say on a line what is wrong with the pattern, or that nothing is: "". Then answer every text.

    A text is a line with its length, then its bytes. The answer is one line: [number, place] of each match.
    """
    request = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"]))  # if nobody is left to stop it
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    source, target = sys.stdin.buffer, sys.stdout
    try:
        pattern = re.compile(request["pattern"], re.IGNORECASE if request["ignore_case"] else 0)
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        _say(str(error) or type(error).__name__, target)
        return
    _say("", target)
    while size := source.readline():
        text = source.read(int(size)).decode("utf-8", "replace")
        found = []
        for number, line in enumerate(text.split("\n"), 1):
            if match := pattern.search(line.removesuffix("\r")):
                found.append([number, match.start()])
                if len(found) >= request["most"]:
                    break
        _say(found, target)


def _say(answer: object, target: TextIO) -> None:
    json.dump(answer, target)
    target.write("\n")
    target.flush()


if __name__ == "__main__":
    main()
