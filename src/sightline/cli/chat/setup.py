"""Everything a conversation needs, put together in one place: configuration, model, session, code, tools, agent."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any

import click
from msgspec.structs import replace

from sightline.agent.agent import ROUNDS, Agent
from sightline.agent.config import read_config, with_fallbacks
from sightline.agent.models import Model, ModelInfo
from sightline.agent.models.context_window import with_window
from sightline.agent.models.discovery import Found, Probe, found, named, retrying_model
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.tiny_model import MEGABYTES, TINY, can_run, fetch_tiny, tiny_endpoint
from sightline.agent.tools import Tool
from sightline.agent.tools.mcp import servers
from sightline.agent.tools.mcp_limits import MOST_TOKENS, SHARE, fitting, not_offered
from sightline.cli.chat import leftovers
from sightline.cli.chat.command import ChatOptions
from sightline.cli.chat.confirm import confirm
from sightline.cli.chat.project import FileNotices, TrustCheck, make_prompt
from sightline.cli.chat.project_tools import ProjectTools
from sightline.cli.model import model_help
from sightline.cli.options import Place, make_budget
from sightline.cli.phrases import Phrases
from sightline.cli.project_strategies import load_strategies
from sightline.cli.render import print_stderr
from sightline.documents.code.references import shown
from sightline.documents.code.store import Saved
from sightline.documents.goal_window import GOAL, GoalShown, TextWindow, goal_text
from sightline.documents.saved_code import SavedCode
from sightline.errors import BadInput, NoModel
from sightline.fleet.code_store import CODE, code_store
from sightline.plan import completed, stage_of
from sightline.plan.strategies import names, strategy
from sightline.plan.strategies.entities import Entities
from sightline.plan.strategies.project_choice import chosen
from sightline.providers.windows import answer_room
from sightline.session.session import Session
from sightline.values.clock import wall_clock
from sightline.values.profiles import PROFILES
from sightline.values.settings import Settings, read_strategy


class ChatSetup:
    """An agent in a session, and what it is made of. `continued`: the session existed before."""

    def __init__(self, here: Place, options: ChatOptions, env: Mapping[str, str], probe: Probe | None = None) -> None:
        self._options, self._env, self._probe = options, env, probe
        self._config = read_config(here.project, env)
        language = here.words.language if options.language_given else self._config.chat.locale or here.words.language
        self.here = here = here._replace(words=Phrases(language, "chat"))
        self.continued = False
        self.warned: list[str] = []  # what was printed while all was set up
        self.file_notices = FileNotices(here.words, is_script=options.question is not None)
        self._told = (0, 0)  # how many damaged and changed lines of the log the user knows of
        self.code = code_store(here.stores, here.folder.path / CODE, clock=wall_clock, locale=here.words.language)
        self._server_tools: Sequence[Tool] | None = None  # of MCP servers, which run as long as this; None: not started
        self._task_goal = ""  # of plugin.json
        self._open = AsyncExitStack()

    async def begin(self) -> None:
        """Find the model, start the tools, open the session that the command line names."""
        options = self._options
        self._trust = TrustCheck(self.here, self._config, self._env, is_given=options.trust, can_ask=self._can_ask())
        self._tell_all(self._trust.check_file())
        load_strategies(self.here.project)
        self._tools = ProjectTools(self.here, self._config, options, self._env, self.code)
        model = await self._model(options.model)
        if self._tools.gives_any(model.info):
            self._tell_all(self._trust.check_texts(model.info.window))
        self._task_goal = self._trusted_goal()
        await self._start_servers(model.info)
        session_id = self.here.find(options.resume) if options.resume else None
        if options.continue_:
            session_id = leftovers.newest_session(self.here)
        self.continued = session_id is not None
        session = self._session(session_id, None, model.info)
        if self.continued and options.strategy:
            self._configure(session, options.strategy)
        self.agent = self._agent(session, model)
        self._warn_without_tools(model.info)

    async def switch_session(self, session_id: str | None, branch: str | None = None) -> None:
        """Move the agent to another session or branch; None: to a new session."""
        before = self.agent
        session = self._session(session_id, branch, before.model.info)  # first: if this fails, nothing has changed
        await before.close(keep_model=True)
        await asyncio.to_thread(before.session.close)
        self.agent, self._told = self._agent(session, before.model, before), (0, 0)

    async def use_model(self, name: str) -> None:
        """Ask this model from now on. Raises BadInput."""
        before, model = self.agent, await self._model(name)
        await self._start_servers(model.info)
        await before.close()
        session = before.session
        if model.info.tools != before.model.info.tools:  # apps come with tools
            session = self._session(session.id, session.branch, model.info)
            await asyncio.to_thread(before.session.close)
        _set_profile(session, model.info)
        self.agent = self._agent(session, model, before)
        self._warn_without_tools(model.info)

    async def use_strategy(self, name: str) -> None:
        """Let this strategy decide what the model sees from now on. Raises BadInput."""
        before = self.agent
        self._configure(before.session, name)
        await before.close(keep_model=True)
        self.agent = self._agent(before.session, before.model, before)

    def take_warnings(self) -> list[str]:
        """Return what the user has not been told yet about the agent, each warning once."""
        taken = [*self._log_warnings(), *self.agent.warnings]
        self.agent.warnings.clear()
        return taken

    def _log_warnings(self) -> list[str]:
        """Return what is wrong with the log, if that is more than the user knows: it is noticed when lines are read."""
        session, words = self.agent.session, self.here.words
        damaged, changed = len((repairs := session.repairs).damaged), len(repairs.changed)
        if (damaged, changed) == self._told:
            return []
        self._told = (damaged, changed)
        items = ", ".join(f"#{item.id}" for item in session.items.table() if item.changed) or "–"
        told = [words("damaged", count=damaged)] if damaged else []
        return [*told, words("changed", count=changed, items=items)] if changed else told

    def _warn(self, message: str) -> None:
        """Print a warning: a server that does not start, or a model that cannot be asked, does not end the chat."""
        self.warned.append(message)
        print_stderr(message, "yellow")

    def _tell_all(self, messages: Sequence[str]) -> None:
        for message in messages:
            self._warn(message)

    def mark_unanswered(self) -> None:
        """Keep `--continue` from choosing this session, if it began with a question that nobody answered."""
        if not self.continued:
            leftovers.mark(self.here, self.agent.session)

    async def close(self) -> None:
        """Make everything durable; close files and connections, stop what was started."""
        if hasattr(self, "agent"):
            await self.agent.close()
            for warning in self.take_warnings():
                self._warn(warning)
            await asyncio.to_thread(self.agent.session.close)
        await self._open.aclose()

    def resolve_tags(self, text: str) -> str:
        """Return a text of the model with its tags for code and files as a reader sees them."""
        return shown(text, self.code, locale=self.here.words.language)

    def file_of(self, saved: Saved) -> str:
        """Return the file of saved code."""
        return self.code.place_of(saved)

    @property
    def model_names(self) -> Sequence[str]:
        """The models that the configuration names, and the tiny one if it was fetched."""
        tiny = [TINY] if tiny_endpoint(self.here.home) is not None else []
        return list(dict.fromkeys([*self._config.models, *tiny]))

    # ------------------------------------------------------------------ the parts

    async def _model(self, name: str | None) -> Model:
        endpoint = named(name, self._config, self._env, self.here.home) if name else (await self._found()).endpoint
        endpoints = with_fallbacks(endpoint, self._config, self._env)
        endpoints[0] = self._endpoint = self._with_window(await with_window(endpoint))
        return retrying_model(endpoints, self.here.words.language, warn=self._warn)

    def _with_window(self, endpoint: Endpoint) -> Endpoint:
        """Return the endpoint; if its context window is not known, --window is taken for it."""
        wanted, window = self._options.window or 0, endpoint.info.window
        if wanted > 0 and not endpoint.window_known:
            return replace(endpoint, window=wanted)
        if not (endpoint.window_known or endpoint.keyless or endpoint.gguf):  # a file is loaded with this window
            self._warn(self.here.words("window unknown", model=endpoint.name, window=window))
        if wanted > window:
            self._warn(self.here.words("takes less", model=endpoint.name, window=window, wanted=wanted))
        return endpoint

    async def _found(self) -> Found:
        home, words = self.here.home, self.here.words
        try:
            return await found(self._config, self._env, home, self._probe)
        except NoModel as error:
            if not (self._can_ask() and can_run()):
                raise NoModel(model_help(words)) from error
            confirm(model_help(words), words("really fetch", size=MEGABYTES))
            click.echo(words("fetching", size=MEGABYTES))
            await asyncio.to_thread(fetch_tiny, home)
            return await found(self._config, self._env, home, self._probe)

    def _session(self, session_id: str | None, branch: str | None, facts: ModelInfo) -> Session:
        here = self.here
        apps, folders = self._tools.apps(facts), self._tools.app_folders(facts)
        options: dict[str, Any] = {**here.where, "apps": apps, "folders": folders}
        if self._task_goal:
            options["windows"] = {GOAL: TextWindow(goal_text(self._task_goal, here.words.language))}
        if session_id is None or not here.stores.has(session_id):  # nothing has been said in it yet
            wanted, config = self._strategy(self._options.strategy or self._config.chat.strategy)
            locale, profile, form = here.words.language, _profile(facts), self._config.chat.windows
            settings = Settings(locale=locale, strategy=wanted, config=config, profile=profile, windows=form)
            return Session.new(here.project, session_id=session_id, settings=settings, **options)
        session = Session.resume(session_id, here.project, branch=branch, **options)
        _set_profile(session, facts)
        return session

    def _trusted_goal(self) -> str:
        """Return the goal that plugin.json sets, if the user trusts the folder: it is a text for the model."""
        with suppress(BadInput):  # whoever begins a session is told what is wrong with the file
            if goal := chosen(self.here.project).task_goal:
                folder = self._tools.project.resolve()
                if folder in (trusted.resolve() for trusted in self._trust.trusted_folders):
                    return goal
                self._warn(self.here.words("project text unread", name="plugin.json (taskGoal)"))
        return ""

    def _strategy(self, text: str) -> tuple[str | tuple[str, ...], dict[str, Any]]:
        """Return a strategy and its settings, which the project chooses if it is the project's; "": the project's.

        Raises BadInput if there is no such strategy, or if it needs settings that nobody gives.
        """
        choice, name = chosen(self.here.project), read_strategy(text)
        if not name or name == choice.name:
            return choice.name, choice.config
        try:
            strategy(name)
        except BadInput as error:
            if not isinstance(name, str):  # it says which stage is wrong
                raise
            key = "strategy needs" if name in names() else "no strategy"
            raise BadInput(self.here.words(key, name=name, names=", ".join(names()))) from error
        return name, {}

    def _configure(self, session: Session, name: str) -> None:
        wanted, config = self._strategy(name)
        session.configure(strategy=wanted, config=config)

    def _agent(self, session: Session, model: Model, before: Agent | None = None) -> Agent:
        """Make an agent. It goes on from what `before` spent and, with the same model, from what was sent.

        What the user is to be told about it, and has not been told about `before`, is among its warnings.
        """
        facts, has_tools = model.info, self._tools.gives_any(model.info)
        offered = [tool for tool in self._server_tools or () if self._tools.offers(tool.name, facts)]
        from_servers, no_room = fitting(offered, min(MOST_TOKENS, facts.window // SHARE)) if offered else ((), ())
        options, budget = self._options, None  # None: the whole context window
        if options.window is not None or options.output is not None:
            window = min(options.window or facts.window, facts.window)
            output = answer_room(window, facts.output) if options.output is None else options.output
            budget = make_budget(window, output)
        light, notices = self._light_model(session)
        own = Phrases(session.settings.locale, "chat")("instructions") if has_tools else ""
        prompt = make_prompt(own, session, facts, self._tools.project, self._trust)
        notices += self.file_notices.add(prompt, session.id)
        extension = SavedCode(self.code, session) if has_tools else None
        agent = Agent(
            session,
            model,
            tools=[*self._tools.of(session.id, session.settings.locale, facts), *from_servers] if has_tools else None,
            extension=GoalShown(session, extension) if self._task_goal else extension,
            budget=budget,
            instructions=prompt.text,
            light=light,
            rounds=options.rounds or self._config.chat.rounds or ROUNDS,
        )
        agent.replaces_instructions = prompt.replaces
        if stage_of(session.strategy, Entities) is not None and not agent.extraction.is_possible:
            notices.append(self.here.words("no extraction", model=facts.name))
        if no_room and (before is None or before.model is not model):
            notices.append(not_offered(no_room, self.here.words.language))
        agent.warnings[:] = [*(before.warnings if before is not None else ()), *notices]
        if before is not None:
            agent.spent = before.spent
            agent.payload = before.payload if before.model is model else None
        return agent

    def _light_model(self, session: Session) -> tuple[Model | None, list[str]]:
        """Return the model that the strategy names for summaries and extraction; None and why, if it cannot be used."""
        name = completed(session.strategy).compression_model
        if not name:
            return None, []
        try:
            return retrying_model([self._light_endpoint(name)], self.here.words.language), []
        except (BadInput, NoModel) as error:
            return None, [self.here.words("no light model", light=name, why=error)]

    def _light_endpoint(self, name: str) -> Endpoint:
        """Return a model of `sightline.toml`, which is trusted, or one of this name where the chat's model is.

        It is never another address: a project's strategy must not send the conversation elsewhere.
        """
        if name in self._config.models:
            return self._config.models[name]
        if self._endpoint.gguf:
            raise BadInput(self.here.words("not in the file"))
        return replace(self._endpoint, name=name, label="")

    def _warn_without_tools(self, facts: ModelInfo) -> None:
        """Warn that the model gets no tools although nobody switched them off. A script gets no such warning."""
        if not facts.tools and not self._options.no_tools and self._options.question is None:
            self._warn(self.here.words("too small for tools", model=facts.name))

    async def _start_servers(self, facts: ModelInfo) -> None:
        """Start the MCP servers that the configuration names, once, for the first model that gets tools."""
        if not self._config.mcp or self._server_tools is not None or not self._tools.gives_any(facts):
            return
        self._server_tools = await self._open.enter_async_context(
            servers(self._config.mcp, self.here.words.language, warn=self._warn)
        )

    def _can_ask(self) -> bool:
        """Whether the user can be asked something. With -p nobody is: a script gets its answer and nothing else."""
        return self._options.question is None and sys.stdin.isatty() and sys.stdout.isatty()


def _set_profile(session: Session, facts: ModelInfo) -> None:
    """Count tokens and prices as the model's provider does."""
    if session.settings.profile != _profile(facts):
        session.configure(profile=_profile(facts))


def _profile(facts: ModelInfo) -> str:
    return facts.provider if facts.provider in PROFILES else Settings().profile


async def prepare(
    here: Place, options: ChatOptions, env: Mapping[str, str] = os.environ, probe: Probe | None = None
) -> ChatSetup:
    """Set up what the command line asks for. The caller closes it. `probe`: how servers on this machine are found.

    Raises:
        NoModel: there is no model; the message says how to get one.
        BadInput: the configuration, a name or an id means nothing.
    """
    setup = ChatSetup(here, options, env, probe)
    try:
        await setup.begin()
    except BaseException:
        await setup.close()
        raise
    return setup
