"""Run as a program of its own by `matching`, never imported: texts on its input, the lines that match on its output.

A pattern can take longer than the sun will shine, and nothing inside a process can stop it. A process can be stopped.
"""

import json
import re
import resource
import sys


def main() -> None:
    """Answer every text (a line with its length, then its bytes) with one line: [number, place] of each match."""
    request = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"]))  # if nobody is left to stop it
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    pattern = re.compile(request["pattern"], re.IGNORECASE if request["ignore_case"] else 0)
    source, target = sys.stdin.buffer, sys.stdout
    while size := source.readline():
        text = source.read(int(size)).decode("utf-8", "replace")
        found = []
        for number, line in enumerate(text.split("\n"), 1):
            if match := pattern.search(line.removesuffix("\r")):
                found.append([number, match.start()])
                if len(found) >= request["most"]:
                    break
        json.dump(found, target)
        target.write("\n")
        target.flush()


if __name__ == "__main__":
    main()
