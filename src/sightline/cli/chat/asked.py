"""What the command line of a chat says."""

from typing import NamedTuple


class Asked(NamedTuple):
    """What the command line says."""

    go_on: bool = False  # --continue
    resume: str | None = None
    model: str | None = None
    strategy: str | None = None
    budget: int | None = None
    output: int | None = None
    question: str | None = None
    allow_edit: bool = False
    allow_python: bool = False
    no_tools: bool = False
    trust: bool = False
    as_json: bool = False
    language_said: bool = False  # else the configuration may say another
