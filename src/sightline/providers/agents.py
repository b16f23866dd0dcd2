"""What is known about programs that call models, as data: how they are recognised, reached and read.

Nothing works only for the agents that are named here: every text that one of them is known by is read in the requests
of all, because agents copy each other. An agent that is not here is followed by what its messages say.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

Compacts = Literal["answer", "shown", "apart", "never"]
"""How an agent shortens its own history. All ask a model for a summary.

answer: under the same system prompt; its next list begins with the summary. shown: the summary stands in its next list
as an answer. apart: in a request of its own, whose answer its next list begins with. never: not known to.
"""


class Setting(NamedTuple):
    """A value in an agent's own configuration by which it is given another address."""

    provider: str  # whose requests it is about
    keys: tuple[str, ...]  # the way to it; in a file of lines there is one
    value: str = "{address}"  # {address} is that of the provider at our server
    within: tuple[str, ...] = ()  # only where there is a value at these keys
    unless: tuple[str, str] = ("", "")  # not where this key has another value than this one
    profiles: tuple[str, ...] = ()  # a key that names a profile, and the table of all: its own keys go before


class Anew(NamedTuple):
    """What an agent writes anew in each request, besides the conversation: the texts that it is known by."""

    signs: tuple[str, ...] = ()  # one of these is in each such request
    openings: tuple[str, ...] = ()  # of messages
    agreed: tuple[str, ...] = ()  # how the model is made to answer each of these
    examples_end: str = ""  # examples of a conversation end with this message, and its answer
    reports: tuple[str, ...] = ()  # openings of what it tells of its own edits


class Agent(NamedTuple):
    """A program that calls models."""

    name: str  # as commands take it
    title: str
    tried: str = ""  # the version with which this was seen
    package: str = ""  # where it is from: npm:NAME or pypi:NAME
    program: str = ""  # its command
    # How it is reached.
    providers: tuple[str, ...] = ()  # whose protocols it speaks
    is_told: bool = True  # it reads a variable with an address, or options: so `wrap` reaches it
    options: tuple[str, ...] = ()  # put before its own arguments, because it reads no variable: see `wrap`
    files: tuple[str, ...] = ()  # its configuration. Those below a variable that is set go before all others; of
    # several the first that is there, else the last
    settings: tuple[Setting, ...] = ()
    logins: tuple[str, ...] = ()  # a JSON file with a key for each provider it may ask; it is told no other address
    key: Setting | None = None  # without this value it does not ask the address that it is given
    key_files: tuple[str, ...] = ()  # where that is
    # How its requests are recognised.
    user_agent: str = ""  # a word in that header, in small letters
    session: tuple[str, ...] = ()  # headers by which it names its session
    # What in the user's role is its own.
    elements: tuple[str, ...] = ()  # it puts these before, after or between the person's words
    openings: tuple[str, ...] = ()  # messages that it writes whole begin so
    summary: str = ""  # the message that gives its own summary back begins so
    lists: tuple[str, ...] = ()  # arguments that are all of a list of steps: the newest one stays whole
    results: str = ""  # a pattern: how results begin. Its group `call` is a call that stands before as an element
    asks: tuple[str, ...] = ()  # calls whose results are what the person answers
    anew: Anew = Anew()  # what is no part of the conversation; the newest stays whole, before the question
    compacts: Compacts = "never"


_OPENAI, _ANTHROPIC, _GEMINI = "openai", "anthropic", "gemini"
_SETTING_UP = "We are setting up the context for our chat."

_AGENTS = (
    Agent(
        "claude", "Claude Code", "2.1.328", "npm:@anthropic-ai/claude-code", "claude", (_ANTHROPIC,),
        files=("$CLAUDE_CONFIG_DIR/settings.json", "~/.claude/settings.json"),
        settings=(Setting(_ANTHROPIC, ("env", "ANTHROPIC_BASE_URL")),),
        user_agent="claude", session=("x-claude-code-session-id",),
        elements=("system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics"),
        openings=(
            "<local-command-stdout", "<local-command-stderr", "<local-command-caveat", "<command-name>",
            "<command-message>", "<command-args>", "<command-contents>",
            "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<task-notification", "<user-prompt-submit-hook",
            "[Request interrupted by user", "Caveat: The messages below were generated",
        ),
        summary="This session is being continued from a previous conversation",
        lists=("todos", "newTodos"), compacts="answer",
    ),
    Agent(
        "codex", "Codex", "0.169.0", "npm:@openai/codex", "codex", (_OPENAI,),
        options=(
            "-c", "model_provider=sightline", "-c",
            'model_providers.sightline={{name="Sightline", base_url="{openai}", {login}, wire_api="responses", '
            "supports_websockets=false}}",
        ),
        files=("$CODEX_HOME/config.toml", "~/.codex/config.toml"),
        settings=(
            Setting(
                _OPENAI, ("openai_base_url",), unless=("model_provider", "openai"), profiles=("profile", "profiles")
            ),
        ),
        user_agent="codex", session=("thread-id", "session-id"),
        elements=("environment_context",),
        openings=(
            "<user_instructions", "<permissions instructions", "<collaboration_mode", "<turn_aborted",
            "<user_shell_command", "<subagent_notification", "<skill>", "<model_switch", "<personality_spec",
            "<INSTRUCTIONS>", "# AGENTS.md instructions",
        ),
        summary="Another language model started to solve this problem and produced a summary",
        lists=("plan",), compacts="answer",
    ),
    Agent(
        "gemini", "Gemini CLI", "0.61.0", "npm:@google/gemini-cli", "gemini", (_GEMINI,),
        files=("$GEMINI_CLI_HOME/.gemini/.env", "~/.gemini/.env"),
        settings=(Setting(_GEMINI, ("GOOGLE_GEMINI_BASE_URL",)),),
        key=Setting(_GEMINI, ("security", "auth", "selectedType"), "gemini-api-key"),
        key_files=("$GEMINI_CLI_HOME/.gemini/settings.json", "~/.gemini/settings.json"),
        user_agent="geminicli", elements=("session_context",), openings=(f"This is the Gemini CLI. {_SETTING_UP}",),
        summary="<state_snapshot>", lists=("todos",), compacts="apart",
    ),
    Agent(
        "qwen", "Qwen Code", "0.24.4", "npm:@qwen-code/qwen-code", "qwen", (_OPENAI,),
        files=("$QWEN_HOME/settings.json", "~/.qwen/settings.json"),
        settings=(Setting(_OPENAI, ("env", "OPENAI_BASE_URL")),),
        user_agent="qwencode", openings=(f"This is the Qwen Code. {_SETTING_UP}",),
        summary="<state_snapshot>", lists=("todos",), compacts="apart",
    ),
    Agent(
        "opencode", "opencode", "1.18.33", "npm:opencode-ai", "opencode", (_ANTHROPIC, _OPENAI, _GEMINI),
        files=(
            "$OPENCODE_CONFIG", "$XDG_CONFIG_HOME/opencode/opencode.jsonc", "$XDG_CONFIG_HOME/opencode/opencode.json",
            "~/.config/opencode/opencode.jsonc", "~/.config/opencode/opencode.json",
        ),
        logins=("$XDG_DATA_HOME/opencode/auth.json", "~/.local/share/opencode/auth.json"),
        settings=(
            Setting(_ANTHROPIC, ("provider", "anthropic", "options", "baseURL"), "{address}/v1"),
            Setting(_OPENAI, ("provider", "openai", "options", "baseURL")),
            Setting(_GEMINI, ("provider", "google", "options", "baseURL"), "{address}/v1beta"),
        ),
        user_agent="opencode", session=("x-session-id", "session-id"),
        elements=("system-reminder",), lists=("todos",), compacts="shown",
    ),
    Agent(
        "pi", "pi", "0.80.10", "npm:@earendil-works/pi-coding-agent", "pi", (_ANTHROPIC, _OPENAI, _GEMINI),
        is_told=False,
        files=("$PI_CODING_AGENT_DIR/models.json", "~/.pi/agent/models.json"),
        settings=(
            Setting(_ANTHROPIC, ("providers", "anthropic", "baseUrl")),
            Setting(_OPENAI, ("providers", "openai", "baseUrl")),
            Setting(_GEMINI, ("providers", "google", "baseUrl"), "{address}/v1beta"),
        ),
        session=("session_id",),
        summary="The conversation history before this point was compacted into the following summary:",
        compacts="apart",
    ),
    Agent(
        "aider", "aider", "0.86.2", "pypi:aider-chat", "aider", (_OPENAI, _ANTHROPIC),
        files=("~/.aider.conf.yml",),
        settings=(
            Setting(_OPENAI, ("openai-api-base",)),
            Setting(_ANTHROPIC, ("set-env",), "[ANTHROPIC_API_BASE={address}]"),
        ),
        anew=Anew(  # See `coders/*_prompts.py` there: whatever its mode, each request has a sign.
            signs=(
                "*added these files to the chat*", "I am not sharing any files that you can edit yet.",
                "without asking me to add the files to the chat!",
            ),
            openings=(
                "I have *added these files to the chat*", "These files have been *added these files to the chat*",
                "I am not sharing any files that you can edit yet.",
                "Don't try and edit any existing code without asking me",
                "Here are summaries of some files present in my git repository.",
                "Here are some READ ONLY files, provided for your reference.",
            ),
            agreed=("Ok.", "Ok, "),
            examples_end="I switched to a new code base.",
            reports=(
                "I updated the files.", "I committed the changes with git hash", "I edited the files myself.",
                "I didn't see any properly formatted edits in your reply?!",
            ),
        ),
        compacts="apart",
    ),
    Agent(
        "cline", "Cline", "3.0.65", "npm:cline", "cline", (_ANTHROPIC, _OPENAI),
        is_told=False,
        files=("~/.cline/data/settings/providers.json",),
        settings=tuple(
            Setting(provider, ("providers", name, "settings", "baseUrl"), within=("providers", name, "settings"))
            for provider, name in ((_ANTHROPIC, "anthropic"), (_OPENAI, "openai-native"))
        ),
        elements=("environment_details",),
        # A tool's name, and what it was called for: a command may have several lines.
        results=r"\[(?P<call>[\w.-]{1,100})(?: for .{0,4000}?)?\] Result:",
        lists=("task_progress",),
        asks=("ask_followup_question", "attempt_completion", "plan_mode_respond", "act_mode_respond"),
    ),
    Agent(
        "continue", "Continue", "1.5.47", "npm:@continuedev/cli", "cn", (_ANTHROPIC, _OPENAI),
        is_told=False,
        files=("~/.continue/config.yaml",), lists=("checklist",),
    ),
    Agent("copilot", "GitHub Copilot", lists=("todoList",)),
    Agent("openhands", "OpenHands", results=r"EXECUTION RESULT of \[[^\]\n]{1,200}\]:"),
    Agent("swe-agent", "SWE-agent", results=r"(?:OBSERVATION:|<returncode>)"),
)  # fmt: skip

AGENTS = {agent.name: agent for agent in _AGENTS}
"""By name."""


def _each(texts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return the texts of all agents, each once, in order."""
    return tuple(dict.fromkeys(text for of_agent in texts for text in of_agent))


SESSION_HEADERS = (*_each(agent.session for agent in _AGENTS), "x-conversation-id")
ELEMENTS = _each(agent.elements for agent in _AGENTS)
OPENINGS = _each(agent.openings for agent in _AGENTS)
SUMMARIES = _each((agent.summary,) for agent in _AGENTS if agent.summary)
LISTS = _each(agent.lists for agent in _AGENTS)
RESULTS = "|".join(agent.results for agent in _AGENTS if agent.results)
ASKS = _each(agent.asks for agent in _AGENTS)
USER_AGENTS = {
    agent.user_agent: agent.providers[0] for agent in _AGENTS if len(agent.providers) == 1 and agent.user_agent
}
"""The provider of agents that have only one, by a word in their `user-agent`."""
