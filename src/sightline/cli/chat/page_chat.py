"""The chat of the inspector's page: its model gets in a session of the project what `sightline chat` would give it.

Nobody can be asked here. What `sightline.toml` reaches was approved before, or there is no model; servers of `[mcp]`
are not started.
"""

from collections.abc import Mapping

from sightline.agent.agent import ROUNDS, Agent
from sightline.agent.config import read_config
from sightline.agent.models import Model
from sightline.cli.chat.command import ChatOptions
from sightline.cli.chat.project import TrustCheck, make_prompt
from sightline.cli.chat.project_tools import ProjectTools
from sightline.cli.options import Place
from sightline.cli.phrases import Phrases
from sightline.documents.saved_code import SavedCode
from sightline.fleet.code_store import CODE, code_store
from sightline.session.session import Session
from sightline.values.clock import wall_clock


class PageChat:
    """Makes the agents of the page's chat, for sessions of one project."""

    def __init__(self, here: Place, options: ChatOptions, env: Mapping[str, str], model: Model) -> None:
        self._config = config = read_config(here.project, env)
        self._model = model
        self._trust = TrustCheck(here, config, env, is_given=False, can_ask=False)
        self._code = code_store(here.stores, here.folder.path / CODE, clock=wall_clock, locale=here.words.language)
        self._tools = ProjectTools(here, config, options, env, self._code)
        self._apps = self._tools.apps(model.info)
        self.recalls = self._tools.gives_any(model.info)  # else it is asked in plain text
        self.tools = [tool.name for tool in self._tools.of("any", here.words.language, model.info)]
        if self._apps:
            self.tools += [f"create ({', '.join(app.name for app in self._apps)})", "action"]

    def agent(self, session: Session) -> Agent:
        """Return an agent for a question in a session."""
        facts, locale = self._model.info, session.settings.locale
        if not self.recalls:
            return Agent(session, self._model, tools=None)
        session.windows.folders = self._tools.app_folders(facts)
        session.windows.register(*self._apps)
        own = Phrases(locale, "chat")("instructions")
        prompt = make_prompt(own, session, facts, self._tools.project, self._trust)
        agent = Agent(
            session,
            self._model,
            tools=self._tools.of(session.id, locale, facts),
            extension=SavedCode(self._code, session),
            instructions=prompt.text,
            rounds=self._config.chat.rounds or ROUNDS,
        )
        agent.replaces_instructions = prompt.replaces
        return agent
