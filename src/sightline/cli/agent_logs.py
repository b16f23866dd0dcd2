"""Logs of Claude Code and Codex that are no sessions yet: said by commands that have only sessions to show."""

import os
import shlex
from pathlib import Path

from sightline.cli.options import Place
from sightline.view.catalog.listed_sessions import Wanted
from sightline.view.catalog.offered_files import home_folders
from sightline.view.catalog.places import Places
from sightline.view.catalog.session_catalog import SessionCatalog

_ALL = 1 << 31


def logs_of_project(here: Place) -> str:
    """Return what is said of the logs of a project whose sessions are files; empty: there are none."""
    if here.store or here.logs:
        return ""
    project = Path(here.project).resolve()
    return not_imported(here, SessionCatalog(Places(project, root=here.root, everywhere=True)), str(project))


def not_imported(here: Place, catalog: SessionCatalog, project: str = "") -> str:
    """Return how many logs are not imported, of all projects or of one, and what reads them; empty: there are none."""
    rows = catalog.page(Wanted(project=project, limit=_ALL)).rows
    files = [row.file for row in rows if row.state == "file" and row.file is not None]
    named = [
        os.path.commonpath(inside)
        for folder in home_folders(os.environ, Path.home())
        if (inside := [file for file in files if Path(file).is_relative_to(folder)])
    ]
    return here.words("logs not imported", count=len(files), paths=shlex.join(named)) if files else ""
