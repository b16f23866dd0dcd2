"""Frameworks that have no adapter, with the programs of docs/guides/frameworks.md: read thirty pages, then say so.

    python = install("Haystack", tmp_path_factory)                # an environment of its own; node for JavaScript
    run("Haystack", python, folder, upstream, window=8_000)       # prints LAST
    steps = load(recording_of("Haystack"))                        # what it sent then

To record again, from the root of the project, those that are named or all:

    .venv/bin/python tests/adapters/plain_frameworks.py Haystack
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from agent_recordings import save
from environment import ROOT, make_environment
from through_proxy import asked_names
from upstream import Asked, Upstream
from upstream_script import Answer, answer, call

PAGE = (ROOT / "docs" / "guides" / "frameworks.md").read_text(encoding="utf-8")
SEEN = dict(re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", PAGE, re.MULTILINE))
ROUNDS = 30
LAST = "Every valve is open."
MINUTES = 5  # that one run may take
_TALKS = {"Instructor"}  # there the model is asked once for each page, and not again at the end
_LAST_CALLS = ("final_answer", "submit", "Valve")  # tools by which a model says its last word

MANUAL = '''
def read_page(number: int) -> str:
    """Reads one page of the manual.

    Args:
        number: which page
    """
    return "".join(f"Line {at} of page {number}: {at * number * 7919 % 10007} is kept\\n" for at in range(60))
'''
_MORE = {
    "Instructor": "from pydantic import BaseModel\nclass Valve(BaseModel):\n    words: str\n",
    "Claude Agent SDK": """
from claude_agent_sdk import create_sdk_mcp_server, tool
@tool("read_page", "Reads one page of the manual.", {"number": int})
async def read(args):
    return {"content": [{"type": "text", "text": read_page(args["number"])}]}
server = create_sdk_mcp_server("manual", tools=[read])
""",
}
_MANUAL_MJS = """
import { tool } from 'ai'
import { z } from 'zod'
const line = (at, page) => `Line ${at} of page ${page}: ${at * page * 7919 % 10007} is kept\\n`
const readPage = ({ number }) => Array.from({ length: 60 }, (_, at) => line(at, number)).join('')
const page = { description: 'Reads one page of the manual.', inputSchema: z.object({ number: z.number() }) }
export const tools = { read_page: tool({ ...page, execute: readPage }) }
"""


class Reading:
    """The script of the upstream: a page in each round, then the last word, by the framework's own tool if it has one.

    Ids of calls are the same each time, so recorded requests fit to it.
    """

    def __init__(self) -> None:
        self._round = 0

    def __call__(self, asked: Asked) -> Answer:
        """The next step."""
        names = asked_names(asked)
        self._round += 1
        last = next((name for name in _LAST_CALLS if name in names), "")
        if last == "Valve":
            return answer(call(last, {"words": LAST}, id=f"call_{self._round}"))
        if self._round > ROUNDS:
            return answer(call(last, {"answer": LAST}, id=f"call_{self._round}") if last else LAST)
        [tool] = [name for name in names if name.endswith("read_page")]
        return answer(call(tool, {"number": self._round}, id=f"call_{self._round}"))


def count_requests(name: str) -> int:
    """How many times the model is asked."""
    return ROUNDS if name in _TALKS else ROUNDS + 1


def recording_of(name: str) -> str:
    """Under which name its requests are kept."""
    return "framework_" + name.lower().replace(" ", "_")


def section(name: str) -> str:
    """What the page says of a framework."""
    return PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def program(name: str) -> str:
    """Its program on the page."""
    [code] = re.findall(r"^```(?:python|js)\n(.*?)^```", section(name), re.MULTILINE | re.DOTALL)
    return str(code)


def install(name: str, factory: pytest.TempPathFactory) -> Path:
    """Install what the page says. Return the Python that runs the program, or the folder of node's modules."""
    [[manager, packages]] = re.findall(r"`(pip|npm) install ([^`]+)`", section(name))
    if manager == "pip":
        first, *others = shlex.split(packages)
        return make_environment(factory, recording_of(name), [f"{first}=={SEEN[name]}", *others])
    folder = factory.getbasetemp() / recording_of(name)
    folder.mkdir(exist_ok=True)
    subprocess.run(
        ["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", *packages.split()],
        check=True, capture_output=True, timeout=MINUTES * 60,
    )  # fmt: skip
    return folder / "node_modules"


def run(name: str, command: Path, folder: Path, upstream: Upstream, window: int | None) -> tuple[str, str]:
    """Run its program as the page says, in a window of so many tokens. Return what is printed: output and errors.

    Without a window the program asks the upstream itself.
    """
    is_wrapped, is_python = "sl.wrap(" in program(name), command.name == "python"
    source = folder / ("reader.py" if is_python else "reader.mjs")
    source.write_text(program(name).replace("200_000", str(window or 200_000)), encoding="utf-8")
    if is_python:
        (folder / "manual.py").write_text(MANUAL + _MORE.get(name, ""), encoding="utf-8")
    else:
        (folder / "manual.mjs").write_text(_MANUAL_MJS, encoding="utf-8")
        (folder / "node_modules").symlink_to(command)
    line = [str(command) if is_python else "node", source.name]
    variables = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "SIGHTLINE_HOME": str(folder / "kept"), "LANG": "C.UTF-8",
        "OPENAI_API_KEY": "any", "ANTHROPIC_API_KEY": "any", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CREWAI_DISABLE_TELEMETRY": "true",
        "HAYSTACK_TELEMETRY_ENABLED": "False",
    }  # fmt: skip
    if window is None or is_wrapped:
        variables |= {"OPENAI_BASE_URL": upstream.openai_url, "ANTHROPIC_BASE_URL": upstream.anthropic_url}
    else:
        upstreams = [f"openai={upstream.openai_url}", f"anthropic={upstream.anthropic_url}"]
        wrap = ["wrap", "--window", str(window), *(word for each in upstreams for word in ("--upstream", each))]
        line = [sys.executable, "-m", "sightline", *wrap, "--", *line]
        variables["PYTHONPATH"] = str(ROOT / "src")
    done = subprocess.run(
        line, cwd=folder, env=variables, capture_output=True, text=True, timeout=MINUTES * 60, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    return done.stdout, done.stderr


def record(name: str, factory: pytest.TempPathFactory) -> None:
    """Run a program without the proxy, and keep what it sent, without texts of the framework itself."""
    with TemporaryDirectory() as folder, Upstream(Reading()) as upstream:
        printed, _ = run(name, install(name, factory), Path(folder), upstream, None)
        assert LAST in printed
        assert upstream.invalid == []
        save(recording_of(name), upstream.calls, folder)


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        for each in sys.argv[1:] or SEEN:
            record(each, pytest.TempPathFactory(Path(place), 3, "failed", lambda *_: None, _ispytest=True))
            print(each)
