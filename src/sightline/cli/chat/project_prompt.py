"""The system prompt of a chat: its own instructions, and what the project tells agents."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sightline.agent import project_text
from sightline.agent.models import ModelInfo
from sightline.agent.project_text import ProjectTexts
from sightline.cli.chat.phrases import PHRASES
from sightline.cli.phrases import Phrases
from sightline.session.session import Session
from sightline.values.items import Kind


class ProjectPrompt(NamedTuple):
    """The prompt; `replaces`: it may replace that of the session; `untrusted`: files that were not read."""

    text: str
    replaces: bool
    found: ProjectTexts
    untrusted: Sequence[str]
    most: int  # tokens of the project's texts

    def notices(self, words: Phrases, *, is_script: bool) -> list[str]:
        """Return what the user is to know about the project's files. A script is told only what is missing."""
        told = [words("project text unread", name=" & ".join(self.untrusted))] if self.untrusted else []
        told += [words("project text outside", name=name) for name in self.found.unread]
        for each in self.found.texts:
            if each.cut or not is_script:
                key = "project text cut" if each.cut else "project text"
                told.append(words(key, name=each.name, tokens=each.tokens, most=self.most))
        return told


def make(own: str, session: Session, facts: ModelInfo, project: Path, is_trusted: bool) -> ProjectPrompt:
    """Return the prompt for a session. A model that is too small for tools is told nothing of the project."""
    found, untrusted = ProjectTexts(), []
    if facts.tools and is_trusted:
        found = project_text.read_texts(project, session.count, facts.window)
    elif facts.tools:
        untrusted = project_text.present(project)
    text = project_text.instructions(own, found.texts, session.settings.locale)
    return ProjectPrompt(text, _is_ours(session), found, untrusted, project_text.limit(facts.window))


def _is_ours(session: Session) -> bool:
    """Whether every system prompt of the session is the chat's, so that a new one may replace it."""
    own = PHRASES["instructions"]
    prompts = [item.id for item in session.items.table() if item.kind is Kind.SYSTEM and not item.by_program]
    return all(project_text.is_ours(session.items.text(each), own) for each in prompts)
