"""What a chat takes from the project: its `sightline.toml` and its `AGENTS.md`, once the user trusts them.

`TrustCheck` asks the user; `make_prompt` makes the system prompt of the chat's own instructions and these texts.
"""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from sightline.agent import project_text
from sightline.agent.config import Config, read_config
from sightline.agent.models import ModelInfo
from sightline.agent.project_text import ProjectTexts
from sightline.agent.trust import Trusted, named, reaches
from sightline.cli.chat.confirm import confirm, is_confirmed
from sightline.cli.options import Place
from sightline.cli.phrases import Phrases
from sightline.cli.render import printable
from sightline.errors import BadInput
from sightline.session.session import Session
from sightline.values.items import Kind
from sightline.values.phrases import texts
from sightline.values.tokens import counter


class TrustCheck:
    """Asks, or takes `--trust` for a yes, and remembers.

    Of the folders that may have texts for agents, the user trusts some, has refused some, and was not asked about some.
    """

    def __init__(self, here: Place, config: Config, env: Mapping[str, str], *, is_given: bool, can_ask: bool) -> None:
        self._here, self._config, self._env = here, config, env
        self._is_given, self._can_ask = is_given, can_ask
        self._trusted, self._project = Trusted(here.home), Path(here.project)
        self._folders = project_text.folders_of(self._project)

    @property
    def trusted_folders(self) -> list[Path]:
        """The folders whose texts for agents are read."""
        return [folder for folder in self._folders if self._trusted.holds_folder(folder)]

    @property
    def refused_folders(self) -> list[Path]:
        """The folders whose texts for agents the user does not want to be read."""
        return [folder for folder in self._folders if self._trusted.refuses_folder(folder)]

    @property
    def untrusted_folders(self) -> list[Path]:
        """The folders about whose texts the user has not decided yet."""
        decided = {*self.trusted_folders, *self.refused_folders}
        return [folder for folder in self._folders if folder not in decided]

    def check_file(self) -> list[str]:
        """Ask before the project's file reaches outside the project. Return what the user is to be told.

        Raises:
            BadInput: nobody can be asked.
            Exit: the user said no.
        """
        config, trusted, words = self._config, self._trusted, self._here.words
        is_new = self._is_given and self._trust_texts()
        reached = reaches(config, self._project, self._env)
        config = named(config, self._project) if reached else config
        if reached and not trusted.holds(config, reached):
            lines = [reach.line(words.language) for reach in reached]
            if names := self._names():
                lines.append(words("reaches texts", names=names))
            text = "\n".join([words("reaches", file=config.file), *(f"  {printable(line)}" for line in lines)])
            if not self._is_given:
                if not self._can_ask:
                    raise BadInput(f"{text}\n{words('trust how')}")
                confirm(text, words("trust"), words("trust refused", file=config.file))
                if names:
                    self._trust_texts()
            trusted.add(config, reached)
            is_new = True
        return [self._remembered()] if is_new else []

    def check_texts(self, window: int) -> list[str]:
        """Ask once, in a terminal, whether the project's texts for agents may be part of the system prompt.

        Return what the user is to be told. Where nobody can be asked they are not read, and the chat says so.
        """
        folders = self.untrusted_folders
        if not self._can_ask or not project_text.present(self._project, folders):
            return []
        texts = project_text.read_texts(self._project, folders, counter().count, window).texts
        if not texts:
            return []
        words = self._here.words
        names = " & ".join(words("texts tokens", name=text.name, tokens=text.tokens) for text in texts)
        if is_confirmed(words("trust texts", names=names)):
            self._trust_texts()
            return [self._remembered()]
        for folder in self._with_texts(folders):
            self._trusted.refuse_folder(folder)
        return []  # the chat says that they are not read, as in every chat that follows

    def _names(self) -> str:
        """Return the texts that there are and that are not trusted yet; mostly none."""
        folders = [*self.untrusted_folders, *self.refused_folders]
        return " & ".join(project_text.present(self._project, folders))

    def _with_texts(self, folders: Sequence[Path]) -> list[Path]:
        return [folder for folder in folders if project_text.present(self._project, [folder])]

    def _trust_texts(self) -> bool:
        """Trust the project's folder, and each one above it that has texts; return whether that is new."""
        others = self._with_texts([folder for folder in self._folders if folder != self._folders[-1]])
        new = [folder for folder in (*others, self._folders[-1]) if self._trusted.add_folder(folder)]
        return bool(new)

    def _remembered(self) -> str:
        trusted = [str(folder) for folder in self.trusted_folders] or [str(self._project.resolve())]
        quoted = shlex.quote(trusted[-1])
        return self._here.words("trust remembered", folder=", ".join(trusted), quoted=quoted)


def approved_apps(here: Place) -> Sequence[str]:
    """Return the files with apps that `sightline.toml` names, once the user has approved what it reaches.

    Raises:
        BadInput: nobody can be asked.
        Exit: the user said no.
    """
    config = read_config(here.project, os.environ)
    if config.tools.apps:
        can_ask = sys.stdin.isatty() and sys.stdout.isatty()
        asking = here._replace(words=Phrases(here.words.language, "chat"))  # the question is the chat's
        for told in TrustCheck(asking, config, os.environ, is_given=False, can_ask=can_ask).check_file():
            click.echo(told, err=True)
    return config.tools.apps


class ProjectPrompt(NamedTuple):
    """The prompt; `replaces`: it may replace that of the session.

    Files that were not read: `untrusted`, about which nobody was asked, and `refused`, about which the user said no.
    """

    text: str
    replaces: bool
    found: ProjectTexts
    untrusted: Sequence[str]
    refused: Sequence[str]
    most: int  # tokens of the project's texts

    def warnings(self, words: Phrases) -> list[str]:
        """Return what the model is not told of the project's files, and why."""
        told = [words("project text unread", name=" & ".join(self.untrusted))] if self.untrusted else []
        told += [words("project text outside", name=name) for name in self.found.unread]
        cut = [text for text in self.found.texts if text.cut]
        return told + [words("project text cut", name=text.name, tokens=text.tokens, most=self.most) for text in cut]

    def notes(self, words: Phrases) -> list[str]:
        """Return what the model is told of the project's files, and what not because the user said so."""
        whole = [text for text in self.found.texts if not text.cut]
        told = [words("project text", name=text.name, tokens=text.tokens) for text in whole]
        return told + ([words("project text refused", name=" & ".join(self.refused))] if self.refused else [])


class FileNotices:
    """What the user is told about the project's files: in each session once, however often its branch changes."""

    def __init__(self, words: Phrases, *, is_script: bool) -> None:
        self._words, self._is_script = words, is_script
        self._told: set[tuple[str, str]] = set()
        self._notes: list[str] = []

    def add(self, prompt: ProjectPrompt, session_id: str) -> list[str]:
        """Keep the notes for `take_notes` and return the warnings. A script is told only what is missing."""
        if not self._is_script:
            self._notes += self._new(prompt.notes(self._words), session_id)
        return self._new(prompt.warnings(self._words), session_id)

    def take_notes(self) -> list[str]:
        """Return the notes that have not been printed yet."""
        taken, self._notes = self._notes, []
        return taken

    def _new(self, lines: Sequence[str], session_id: str) -> list[str]:
        new = [line for line in lines if (session_id, line) not in self._told]
        self._told.update((session_id, line) for line in new)
        return new


def make_prompt(own: str, session: Session, facts: ModelInfo, project: Path, trust: TrustCheck) -> ProjectPrompt:
    """Return the prompt for a session. A model that is too small for tools is told nothing of the project."""
    project_texts, untrusted, refused = ProjectTexts(), [], []
    if facts.tools:
        project_texts = project_text.read_texts(project, trust.trusted_folders, session.count, facts.window)
        untrusted = project_text.present(project, trust.untrusted_folders)
        refused = project_text.present(project, trust.refused_folders)
    text = project_text.instructions(own, project_texts.texts, session.settings.locale)
    return ProjectPrompt(text, _is_ours(session), project_texts, untrusted, refused, project_text.limit(facts.window))


def _is_ours(session: Session) -> bool:
    """Whether every system prompt of the session is the chat's, so that a new one may replace it."""
    own = texts("chat")["instructions"]
    prompts = [item.id for item in session.items.table() if item.kind is Kind.SYSTEM and not item.by_program]
    return all(project_text.is_ours(session.items.text(item_id), own) for item_id in prompts)
