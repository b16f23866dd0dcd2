"""The system prompt of a chat: its own instructions, and what the project tells agents."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sightline.agent import project_text
from sightline.agent.models import ModelInfo
from sightline.agent.project_text import ProjectTexts
from sightline.cli.chat.trust_check import TrustCheck
from sightline.cli.phrases import Phrases
from sightline.session.session import Session
from sightline.values.items import Kind
from sightline.values.phrases import texts


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


def make(own: str, session: Session, facts: ModelInfo, project: Path, trust: TrustCheck) -> ProjectPrompt:
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
