"""Claude Code, Codex and Gemini CLI themselves, headless in a scratch project, with their real file tools.

    programs = install(Path(".cache/agents"))                    # from npm, once
    project = make_project(folder, files=20, lines=200)
    with Upstream(EditAll(project, "claude")) as upstream:
        run_claude(programs, project, upstream.anthropic_url)     # or run_codex(…, upstream.openai_url), run_gemini
    assert project.is_done() and upstream.invalid == []

The script makes the agent read each file and change one line in it: two calls for each file, then a last word.
"""

import fcntl
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from upstream import Asked
from upstream_script import Answer, Block, answer, call, think

PACKAGES = ("@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.166.0", "@google/gemini-cli@0.61.0")
MINUTES = 10  # that one run may take
TASK = "Make every function return one more than it does."
SUMMARY = "Some parts return one more by now; the others are still to be done, one after the other."
REST = "Half of them return one more now."
LAST = "Every function returns one more now."


@dataclass(frozen=True)
class Programs:
    """Where the agents are installed."""

    claude: Path
    codex: Path
    gemini: Path


def install(folder: Path) -> Programs:
    """Install the agents with npm, 780 MB, unless these versions are there. Needs node 18 and the npm registry."""
    folder = folder.absolute()  # the agents are started elsewhere
    folder.mkdir(parents=True, exist_ok=True)
    programs = Programs(*(folder / "node_modules" / ".bin" / name for name in ("claude", "codex", "gemini")))
    with (folder / "install.lock").open("w") as lock:  # the workers of a parallel run share the folder
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "installed.txt"
        if not done.exists() or done.read_text() != " ".join(PACKAGES):
            subprocess.run(
                ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", *PACKAGES],
                check=True, capture_output=True, timeout=600,
            )  # fmt: skip
            for program in (programs.claude, programs.codex, programs.gemini):
                subprocess.run([program, "--version"], check=True, capture_output=True, timeout=60)
            done.write_text(" ".join(PACKAGES))
    return programs


@dataclass(frozen=True)
class Project:
    """A scratch project: each file has one function to change, among many lines."""

    folder: Path
    files: int

    def path(self, number: int) -> Path:
        """A file."""
        return self.folder / f"part_{number:02d}.py"

    def lines(self, number: int) -> tuple[str, str]:
        """The line to change, before and after."""
        return f"    return {number * 100}", f"    return {number * 100 + 1}"

    def is_done(self) -> bool:
        """Whether each file was changed as it should be, and nothing else in it."""
        for number in range(self.files):
            before, after = self.lines(number)
            text = self.path(number).read_text()
            if text.count(f"{after}\n") != 1 or f"{before}\n" in text or "# line 1 " not in text:
                return False
        return True


def make_project(folder: Path, *, files: int, lines: int) -> Project:
    """Files with a function each, and so many lines of comment that they fill a context window."""
    project = Project(folder / "project", files)
    project.folder.mkdir()
    for number in range(files):
        comment = "".join(
            f"# line {at} of part {number}: {at * number * 7919 % 10007} is kept\n" for at in range(lines)
        )
        function = f"def part_{number}():\n{project.lines(number)[0]}\n"
        project.path(number).write_text(f"{comment}\n\n{function}")
    return project


class EditAll:
    """The script: read a file, change it, the next one, and a last word. It thinks before every read."""

    def __init__(self, project: Project, agent: str) -> None:
        self._project, self._agent, self._step = project, agent, 0

    def __call__(self, asked: Asked) -> Answer:
        """The next step; a summary takes none."""
        if asks_summary(asked):
            return answer(f"<analysis>I look at all parts.</analysis>\n<summary>{SUMMARY}</summary>")
        if asks_aside(asked):
            return answer("{}")
        number, edits = divmod(self._step, 2)
        self._step += 1
        if number >= self._project.files:
            return answer(LAST)
        if not edits:
            return answer(think(f"Part {number} comes next."), self._read(number))
        return answer(f"Now part {number}.", self._edit(number))

    def _read(self, number: int) -> Block:
        path = str(self._project.path(number))
        match self._agent:
            case "claude":
                return call("Read", {"file_path": path})
            case "gemini" | "qwen":
                return call("read_file", {"file_path": path})
            case "cline":
                return call("read_files", {"files": [{"path": path}]})
            case "continue":
                return call("Read", {"filepath": path})
            case _:
                return call("exec_command", {"cmd": f"cat {path}", "max_output_tokens": 50_000})

    def _edit(self, number: int) -> Block:
        before, after = self._project.lines(number)
        path = str(self._project.path(number))
        change = {"old_string": f"{before}\n", "new_string": f"{after}\n"}
        match self._agent:
            case "claude":
                return call("Edit", {"file_path": path, **change})
            case "gemini":
                return call("replace", {"file_path": path, **change, "instruction": "Return one more."})
            case "qwen":
                return call("edit", {"file_path": path, **change})
            case "cline":
                return call("editor", {"path": path, "old_text": f"{before}\n", "new_text": f"{after}\n"})
            case "continue":
                return call("MultiEdit", {"file_path": path, "edits": [change]})
            case _:
                return call("exec_command", {"cmd": f"sed -i 's/^{before}$/{after}/' {path}"})


class ListAll(EditAll):
    """As `EditAll`, with a list of what is done in the window `todo_1`. It rests in the middle, and says so."""

    def __init__(self, project: Project, agent: str) -> None:
        super().__init__(project, agent)
        self._listed = 0
        self._has_rested = False

    def __call__(self, asked: Asked) -> Answer:
        """The next step: an item of the list comes before each part."""
        number, edits = divmod(self._step, 2)
        if asks_summary(asked) or asks_aside(asked) or edits or number == self._project.files:
            return super().__call__(asked)
        if number * 2 == self._project.files and not self._has_rested:
            self._has_rested = True
            return answer(REST)
        if self._listed == number:
            self._listed += 1
            item = {"text": item_of(number)}
            return answer(call("action", {"window_id": "todo_1", "action_id": "add", "params": item}))
        return super().__call__(asked)


def item_of(number: int) -> str:
    """The item of the list for a part."""
    return f"part {number} returns one more than {number * 100}"


def asks_summary(asked: Asked) -> bool:
    """Whether Claude Code asks for a summary of its own, in words after the last results."""
    texts = [
        block["text"]
        for message in asked.body.get("messages", [])[-2:]
        for block in (message["content"] if isinstance(message["content"], list) else ())
        if block["type"] == "text"
    ]
    return any("Respond with TEXT ONLY" in text for text in texts)


def asks_aside(asked: Asked) -> bool:
    """Whether Gemini CLI asks another model for a judgement, such as whether it goes round in circles."""
    return "responseMimeType" in asked.body.get("generationConfig", {})


def run_claude(
    programs: Programs, project: Project, anthropic_url: str, *options: str, task: str = TASK, **more: str
) -> str:
    """Claude Code's last words. It has a home of its own, and talks to nobody else. `more`: environment variables."""
    command = [programs.claude, "-p", task, "--allowedTools", "Read,Edit", "--permission-mode", "acceptEdits", *options]
    variables = {
        "ANTHROPIC_BASE_URL": anthropic_url, "ANTHROPIC_API_KEY": "any", "DISABLE_TELEMETRY": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", **more,
    }  # fmt: skip
    return _run(command, project, variables)


def run_codex(programs: Programs, project: Project, openai_url: str, *options: str) -> str:
    """Codex's last words. The upstream is its only provider."""
    home = project.folder.parent / "codex"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        'model = "gpt-5.2"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "stub"\n'
        f'base_url = "{openai_url}"\nenv_key = "STUB_KEY"\nwire_api = "responses"\n'
    )
    bypass = "--dangerously-bypass-approvals-and-sandbox"
    command = [programs.codex, "exec", "--skip-git-repo-check", bypass, *options, TASK]
    return _run(command, project, {"CODEX_HOME": str(home), "STUB_KEY": "any"})


def run_gemini(programs: Programs, project: Project, gemini_url: str, *options: str) -> str:
    """Gemini CLI's last words. It is told once, in its own settings, that it has a key."""
    settings = project.folder.parent / "home" / ".gemini" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    command = [programs.gemini, "-p", TASK, "--yolo", "-m", "gemini-3-pro-preview", *options]
    variables = {
        "GOOGLE_GEMINI_BASE_URL": gemini_url, "GEMINI_API_KEY": "any", "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }  # fmt: skip
    return _run(command, project, variables).splitlines()[-1]  # it prints all that it says


def _run(command: list[str | Path], project: Project, variables: dict[str, str]) -> str:
    home = project.folder.parent / "home"
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        command, cwd=project.folder, env={"PATH": os.environ["PATH"], "HOME": str(home), **variables},
        capture_output=True, text=True, timeout=MINUTES * 60, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout.strip()
