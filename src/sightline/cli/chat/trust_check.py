"""What the user is asked before a chat uses what the project brings: its `sightline.toml` and its `AGENTS.md`."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from sightline.agent import project_text
from sightline.agent.config import Config
from sightline.agent.trust import Trusted, reaches
from sightline.cli.chat.confirm import confirm, is_confirmed
from sightline.cli.options import Place
from sightline.cli.render import printable
from sightline.errors import BadInput
from sightline.values.tokens import counter


class TrustCheck:
    """Asks, or takes `--trust` for a yes, and remembers. `reads_texts`: the project's texts for agents are read."""

    def __init__(self, here: Place, config: Config, env: Mapping[str, str], *, is_given: bool, can_ask: bool) -> None:
        self._here, self._config, self._env = here, config, env
        self._is_given, self._can_ask = is_given, can_ask
        self._trusted, self._project = Trusted(here.home), Path(here.project)
        self.reads_texts = self._trusted.holds_folder(self._project)

    def check_file(self) -> list[str]:
        """Ask before the project's file reaches outside the project. Return what the user is to be told.

        Raises:
            BadInput: nobody can be asked.
            Exit: the user said no.
        """
        config, trusted, words = self._config, self._trusted, self._here.words
        is_new = self._is_given and self._trust_texts()
        reached = reaches(config, self._project, self._env)
        if reached and not trusted.holds(config, reached):
            lines = [each.line(words.language) for each in reached]
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
        if not self._names() or not self._can_ask or self._trusted.refuses_folder(self._project):
            return []
        found = project_text.read_texts(self._project, counter().count, window).texts
        if not found:
            return []
        words = self._here.words
        names = " & ".join(words("texts tokens", name=each.name, tokens=each.tokens) for each in found)
        if is_confirmed(words("trust texts", names=names)):
            self._trust_texts()
            return [self._remembered()]
        self._trusted.refuse_folder(self._project)
        return []  # the chat says that they are not read, as in every chat that follows

    def _names(self) -> str:
        """Return the names of the texts that there are and that are not trusted yet; mostly none."""
        return "" if self.reads_texts else " & ".join(project_text.present(self._project))

    def _trust_texts(self) -> bool:
        self.reads_texts = True
        return self._trusted.add_folder(self._project)

    def _remembered(self) -> str:
        folder = str(self._project.resolve())
        return self._here.words("trust remembered", folder=folder, quoted=shlex.quote(folder))
