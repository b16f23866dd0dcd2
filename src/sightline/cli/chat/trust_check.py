"""What the user is asked before a chat uses what the project brings: its `sightline.toml` and its `AGENTS.md`."""

import shlex
from collections.abc import Mapping, Sequence
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
