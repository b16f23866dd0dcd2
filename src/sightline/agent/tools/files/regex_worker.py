"""A program that `regex` runs, never imported: it reads texts from its input and writes the lines that match.

A pattern can run for ever, and nothing inside its process can stop it. But the process can be stopped.
"""

import json
import re
import resource
import sys


def main() -> None:
    """Write a line with what is wrong with the pattern, "" for nothing. Then answer each text with one line.

    A text is a line with its length, then its bytes. The answer is [line number, place] of each match.
    """
    request = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"]))  # if the parent has ended
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    try:
        pattern = re.compile(request["pattern"], re.IGNORECASE if request["ignore_case"] else 0)
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        print(json.dumps(str(error) or type(error).__name__))
        return
    print(json.dumps(""), flush=True)
    while size := sys.stdin.buffer.readline():
        text = sys.stdin.buffer.read(int(size)).decode("utf-8", "replace")
        matches: list[tuple[int, int]] = []
        for number, line in enumerate(text.split("\n"), 1):
            if len(matches) == request["most"]:
                break
            if match := pattern.search(line.removesuffix("\r")):
                matches.append((number, match.start()))
        print(json.dumps(matches), flush=True)


if __name__ == "__main__":
    main()
