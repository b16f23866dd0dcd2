"""A process that imports one of `benchmarks.others` and gives it one list of messages: what that takes.

Runs in that package's own environment, so it needs nothing but the standard library:
`python first_list.py NAME FILE BUDGET` prints CPU seconds, peak memory, and which hosts were asked for.
"""

import json
import os
import resource
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

Messages = list[dict[str, Any]]
Fit = Callable[[Messages, int], object]


def sightline() -> Fit:
    """`fit`, for who only has a list."""
    import sightline as sl

    return lambda messages, budget: sl.fit(messages, window=budget)


def trim() -> Fit:
    """LangChain's `trim_messages`, counted approximately as its documentation does."""
    from langchain_core.messages import trim_messages
    from langchain_core.messages.utils import count_tokens_approximately

    return lambda messages, budget: trim_messages(
        messages, max_tokens=budget, token_counter=count_tokens_approximately, strategy="last", include_system=True
    )


def summary() -> Fit:
    """LangChain's `SummarizationMiddleware`, with a summariser that says nothing, at once."""
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import convert_to_messages

    model: Any = FakeListChatModel(responses=[""])

    def fit(messages: Messages, budget: int) -> object:
        middleware = SummarizationMiddleware(model, trigger=("tokens", budget), summarizer=lambda _: "Work was done.")
        state: Any = {"messages": convert_to_messages(messages)}
        return middleware.before_model(state, None)

    return fit


def headroom() -> Fit:
    """Headroom's `compress`, without its neural text compressor, which comes from a hub."""
    from headroom import compress

    return lambda messages, budget: compress(
        messages, model="gpt-4o", model_limit=budget, kompress_model="disabled", compress_system_messages=False
    )


def mem0() -> Fit:
    """mem0 with its memory in a local file. It has no function that shortens a list: it stores what a list says."""
    from mem0 import Memory

    def fit(messages: Messages, _: int) -> object:
        paths = {"vector_store": {"provider": "qdrant", "config": {"path": "qdrant", "on_disk": True}}}
        key: dict[str, Any] = {"provider": "openai", "config": {"api_key": "none"}}
        memory = Memory.from_config({**paths, "llm": key, "embedder": key, "history_db_path": "history.db"})
        return memory.add(messages[:20], user_id="me", infer=False)  # without a model; it needs an embedding even so

    return fit


def letta_server() -> Fit:
    """The last Letta server on PyPI."""
    import letta.server.server  # noqa: F401

    return _needs("a running server, a database and a model")


def letta() -> Fit:
    """Letta Code, a program of its own: its start stands for the import, a question without a model for the list."""
    program = Path(sysconfig.get_path("scripts"), "letta")
    subprocess.run([program, "--version"], check=True, capture_output=True)

    def fit(*_: object) -> object:
        done = subprocess.run([program, "-p", "hello"], capture_output=True, text=True, timeout=60, check=False)
        raise RuntimeError((done.stdout + done.stderr).strip().partition("\n")[0])

    return fit


def _needs(what: str) -> Fit:
    def fit(*_: object) -> object:
        raise RuntimeError(f"needs {what}")

    return fit


OF = {each.__name__: each for each in (sightline, trim, summary, headroom, mem0, letta_server, letta)}


def main(name: str, file: str, budget: str) -> None:
    """Import, fit, print."""
    answers, hosts = os.fdopen(os.dup(1), "w"), list[str]()
    os.dup2(2, 1)  # a library that prints must not be taken for an answer

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "socket.getaddrinfo" and arguments[0] not in (None, "127.0.0.1", "localhost", "::1"):
            hosts.append(str(arguments[0]))

    sys.addaudithook(hear)
    messages = json.loads(Path(file).read_text(encoding="utf-8"))
    found: dict[str, Any] = {}
    begun = _cpu()
    try:
        fit = OF[name]()
        found["import"], found["import_memory"] = _cpu() - begun, _peak()
        begun = _cpu()
        fit(messages, int(budget))
        found["fit"], found["fit_memory"] = _cpu() - begun, _peak()
    except Exception as error:
        found["failed"] = f"{type(error).__name__}: {error}"[:300]
    print(json.dumps({**found, "hosts": sorted({*hosts})}), file=answers, flush=True)
    answers.close()
    os._exit(0)  # what a library would still send at its end is not waited for


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def _peak() -> int:
    """Bytes: of this process, or of the largest one that it started."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    own = int(status.partition("VmHWM:")[2].split()[0])  # getrusage counts the parent's from before `exec`
    return 1024 * max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


if __name__ == "__main__":
    main(*sys.argv[1:])
