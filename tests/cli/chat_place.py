"""A project whose model is a stub of a provider, and lines said in its chat as if typed."""

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sightline.agent.config import read_config
from sightline.agent.trust import Trusted, reaches
from sightline.cli.chat.chat import Chat
from sightline.cli.chat.command import ChatOptions
from sightline.cli.chat.commands_change import recap
from sightline.cli.chat.setup import prepare
from sightline.cli.chat.terminal import handle_line
from sightline.cli.options import Place
from sightline.cli.phrases import Phrases


def configured(project: Path, url: str, more: str = "") -> Path:
    """The project, its sightline.toml naming the stub, with prices. That it names a stub is allowed, nothing else."""
    project.mkdir(exist_ok=True)
    (project / "sightline.toml").write_text(
        f'model = "stub"\n{more}\n[models.stub]\nname = "stub"\nbase_url = "{url}/v1"\nwindow = 16000\noutput = 1000\n'
        "attempts = 1\nprice = {input = 1.0, cached = 0.1, written = 1.0, output = 2.0}\n"
        f'[models.other]\nname = "other"\nbase_url = "{url}/v1"\nwindow = 8000\nattempts = 1\ncapable = false\n'
    )
    return allow(project)


def allow(project: Path) -> Path:
    """The project, after its user has allowed its sightline.toml, if all that it reaches are models."""
    config = read_config(project, os.environ)
    reached = reaches(config, project, os.environ)
    if all(each.detail.startswith("models.") for each in reached):
        Trusted(project.parent / "home").add(config, reached)
    return project


def talked(project: Path, lines: Iterable[str], *, language: str = "en", **asked: Any) -> Chat:
    """Say these lines in a chat of this project, then leave it. What was printed is on standard output."""

    async def talk() -> Chat:
        here = Place(str(project), str(project.parent / "home"), Phrases(language))
        setup = await prepare(here, ChatOptions(**asked, language_given=language != "en"))
        chat = Chat(setup)
        try:
            if setup.continued:
                recap(chat)
            for line in lines:
                await handle_line(chat, line)
        finally:
            await setup.close()
        return chat

    return asyncio.run(talk())
