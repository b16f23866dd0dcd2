"""Strategies in files of a project, which run only where the user has allowed that."""

import os
from contextlib import suppress
from pathlib import Path

from sightline.agent.config import read_config
from sightline.agent.trust import is_allowed
from sightline.errors import BadInput
from sightline.plan.strategies import load_file
from sightline.plan.strategies.project_choice import strategy_files


def load_strategies(project: str | Path) -> None:
    """Load the strategies in files that a project names. The user has allowed that. Raises BadInput."""
    for file in strategy_files(project):
        load_file(project, file)


def load_allowed_strategies(project: str | Path, home: Path) -> None:
    """Load them if the user allowed exactly these files earlier, so that sessions which have them can be read.

    Nothing is raised: who needs one that is not loaded is told how to allow it.
    """
    with suppress(BadInput):
        if is_allowed(read_config(project, os.environ), project, home, os.environ):
            load_strategies(project)
