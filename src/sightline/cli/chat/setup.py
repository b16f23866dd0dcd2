"""Everything a conversation needs, put together in one place: configuration, model, session, code, tools, agent."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

import click
from msgspec.structs import replace

from sightline.agent.agent import Agent
from sightline.agent.code.references import shown
from sightline.agent.code.store import CodeStore
from sightline.agent.config import read_config, with_fallbacks
from sightline.agent.models import Model, ModelInfo
from sightline.agent.models.discovery import Found, Probe, found, named, retrying_model
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.tiny_model import MEGABYTES, TINY, fetch_tiny, tiny_file
from sightline.agent.tools import Tool
from sightline.agent.tools.files.folders import Folders, shell_directory
from sightline.agent.trust import Trusted, reaches
from sightline.cli.chat import leftovers
from sightline.cli.chat.asked import Asked
from sightline.cli.chat.equipment import equipment, openable
from sightline.cli.chat.phrases import WORDS
from sightline.cli.model import ways
from sightline.cli.options import Place, budget, usual_output
from sightline.cli.phrases import Words
from sightline.cli.render import console, printable, tell
from sightline.cli.wrap import prose, shaped
from sightline.errors import BadInput, NoModel
from sightline.files.folders import ResolvedFolders
from sightline.plan.budget import Budget
from sightline.plan.strategies.project_choice import chosen
from sightline.session.session import Session
from sightline.values.clock import wall_clock
from sightline.values.profiles import PROFILES
from sightline.values.settings import Settings

CODE = "code"  # the folder of saved code, beside the project's sessions


class Assembled:
    """An agent in a session, and what it is made of. `continued`: the session was there already."""

    def __init__(self, here: Place, asked: Asked, env: Mapping[str, str], probe: Probe | None = None) -> None:
        self._asked, self._env, self._probe = asked, env, probe
        self._config = read_config(here.project, env)
        language = here.words.language if asked.language_said else self._config.chat.locale or here.words.language
        self.here = here = here._replace(words=Words(language, WORDS))
        self.continued = False
        self._code = CodeStore(here.folder.path / CODE, clock=wall_clock, locale=here.words.language)
        self._started: Sequence[Tool] | None = None  # those of servers, which live as long as this; None: not yet
        self._open = AsyncExitStack()
        self._folders: Folders
        self.agent: Agent

    async def begin(self) -> None:
        """Find the model, start the tools, open the session that was asked for."""
        asked = self._asked
        self._check_trust()
        # Once, where trust was asked for: a link that comes later leads nowhere.
        project = shell_directory(self._env) / self.here.project
        self._folders = Folders([project / each for each in self._config.tools.folders], project=project)
        model = await self._model(asked.model)
        await self._start_servers(model.info)
        session_id = self.here.find(asked.resume) if asked.resume else None
        if asked.go_on:
            session_id = leftovers.newest(self.here)
        self.continued = session_id is not None
        self.agent = self._agent(self._session(session_id, None, model.info), model)
        self._tell_of_tools(model.info)
        if self.continued and asked.strategy:
            self.agent.session.configure(strategy=asked.strategy, config={})

    async def enter(self, session_id: str | None, branch: str | None = None) -> None:
        """The same agent in another session, or on another branch; None: in a new one."""
        before = self.agent
        session = self._session(session_id, branch, before.model.info)  # where that fails, all is as it was
        await asyncio.to_thread(before.session.close)
        self.agent = self._agent(session, before.model, before)

    async def use(self, name: str) -> None:
        """Ask this model from now on. Raises BadInput."""
        before, model = self.agent, await self._model(name)
        await self._start_servers(model.info)
        session = before.session
        if model.info.tools != before.model.info.tools:  # its apps come or go
            session = self._session(session.id, session.branch, model.info)
            await asyncio.to_thread(before.session.close)
        _fit(session, model.info)
        self.agent = self._agent(session, model, before)
        await before.model.close()
        self._tell_of_tools(model.info)

    def give_up(self) -> None:
        """Nobody answered: where the session began with this question, `--continue` is not to go on with it."""
        if not self.continued:
            leftovers.mark(self.here, self.agent.session)

    async def close(self) -> None:
        """Make everything durable; let go of files, connections and what was started."""
        if hasattr(self, "agent"):
            await asyncio.to_thread(self.agent.session.close)
            await self.agent.model.close()
        await self._open.aclose()

    def resolved(self, text: str) -> str:
        """A text of the model with its tags as a reader sees them."""
        return shown(text, self._code, locale=self.here.words.language)

    @property
    def model_names(self) -> Sequence[str]:
        """Those that the configuration names, and the tiny one where it is."""
        tiny = [TINY] if tiny_file(self.here.home) is not None else []
        return list(dict.fromkeys([*self._config.models, *tiny]))

    # ------------------------------------------------------------------ the parts

    def _check_trust(self) -> None:
        """Ask before the project's file reaches beyond the project. Raises BadInput where nobody can be asked."""
        config, trusted, words = self._config, Trusted(self.here.home), self.here.words
        reached = reaches(config, self.here.project, self._env)
        if not reached or trusted.holds(config, reached):
            return
        told = "\n".join([words("reaches", file=config.file), *(f"  {printable(each)}" for each in reached)])
        if not self._asked.trust:
            if not self._someone_there():
                raise BadInput(f"{told}\n{words('trust how')}")
            prose(console(), told)
            if not _confirmed(words("trust")):
                raise click.exceptions.Exit(1)
        trusted.add(config, reached)

    async def _model(self, name: str | None) -> Model:
        endpoint = named(name, self._config, self._env, self.here.home) if name else (await self._found()).endpoint
        endpoints = with_fallbacks(endpoint, self._config, self._env)
        endpoints[0] = self._as_large_as_asked(endpoint)
        return retrying_model(endpoints, self.here.words.language, warn=_warn)

    def _as_large_as_asked(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint; where nobody knows what it takes, that is what --budget says."""
        asked, window = self._asked.budget or 0, endpoint.info.window
        if asked > 0 and not endpoint.window_known:
            return replace(endpoint, window=asked)
        if asked > window:
            _warn(self.here.words("takes less", model=endpoint.name, window=window, budget=asked))
        return endpoint

    async def _found(self) -> Found:
        home = self.here.home
        try:
            return await found(self._config, self._env, home, self._probe)
        except NoModel as error:
            words = self.here.words
            if not self._someone_there():
                raise NoModel(ways(words)) from error
            prose(console(), ways(words))
            if not _confirmed(words("really fetch", size=MEGABYTES)):
                raise click.exceptions.Exit(1) from error
            click.echo(words("fetching", size=MEGABYTES))
            await asyncio.to_thread(fetch_tiny, home)
            return await found(self._config, self._env, home, self._probe)

    def _session(self, session_id: str | None, branch: str | None, facts: ModelInfo) -> Session:
        here, settings = self.here, self._config.tools
        edit = self._asked.allow_edit or settings.edit
        apps = list(openable(edit=edit)) if self._offers("apps", facts) else []
        # A model without tools is shown no files.
        folders = ResolvedFolders(map(str, self._folders.paths)) if self._gives_tools(facts) else ()
        given: dict[str, Any] = {"root": here.root, "apps": apps, "folders": folders}
        if session_id is None or session_id not in here.folder.sessions():  # nothing has been said in it yet
            settled = self._settings(facts)
            return Session.new(here.project, session_id=session_id, settings=settled, **given)
        session = Session.resume(session_id, here.project, branch=branch, **given)
        _fit(session, facts)
        return session

    def _settings(self, facts: ModelInfo) -> Settings:
        """How a new session is kept: as the command line says, else the project."""
        choice, said = chosen(self.here.project), self._asked.strategy or self._config.chat.strategy
        strategy, config = (said, {}) if said and said != choice.name else (choice.name, choice.config)
        return Settings(
            locale=self.here.words.language, strategy=strategy, config=config, profile=_profile(facts),
        )  # fmt: skip

    def _agent(self, session: Session, model: Model, before: Agent | None = None) -> Agent:
        """`before`: who answered until now. What it spent still counts, and so does what its model was sent."""
        facts, given = model.info, self._gives_tools(model.info)
        every = (*self._equipment(session), *(self._started or ()))
        tools = [tool for tool in every if self._offers(tool.name, facts)] if given else None
        agent = Agent(
            session,
            model,
            tools=tools,
            code=self._code if given else None,
            budget=self._budget(facts),
            instructions=Words(session.settings.locale, WORDS)("instructions") if given else "",
        )
        if before is not None:
            agent.spent = before.spent
            agent.payload = before.payload if before.model is model else None
        return agent

    def _budget(self, facts: ModelInfo) -> Budget | None:
        """What the command line says; None: what the model takes."""
        asked = self._asked
        if asked.budget is None and asked.output is None:
            return None
        window = min(asked.budget or facts.window, facts.window)
        return budget(window, usual_output(window, facts.output) if asked.output is None else asked.output)

    def _gives_tools(self, facts: ModelInfo) -> bool:
        """Whether this model is to have any tools at all; else it is talked to in plain text."""
        return facts.tools and not self._asked.no_tools

    def _offers(self, name: str, facts: ModelInfo) -> bool:
        """Whether this model is to have this tool."""
        only = self._config.tools.only
        return self._gives_tools(facts) and (not only or name in only)

    def _tell_of_tools(self, facts: ModelInfo) -> None:
        """Say that the model gets none, where some were expected. A script gets its answer and no more."""
        if not facts.tools and not self._asked.no_tools and self._asked.question is None:
            _warn(self.here.words("too small for tools", model=facts.name))

    def _equipment(self, session: Session) -> Sequence[Tool]:
        here, settings = self.here, self._config.tools
        python = self._asked.allow_python or settings.run_python
        return list(equipment(self._folders, here.folder.path, settings, self._code, session, python=python))

    async def _start_servers(self, facts: ModelInfo) -> None:
        """Start the servers of tools that the configuration names, once, for the first model that gets tools."""
        if not self._config.mcp or self._started is not None or not self._gives_tools(facts):
            return
        from sightline.agent.tools.mcp import servers

        entered = servers(self._config.mcp, self.here.words.language, warn=_warn)
        self._started = await self._open.enter_async_context(entered)

    def _someone_there(self) -> bool:
        """Whether somebody can be asked. With -p nobody is: a script gets its answer and no more."""
        return self._asked.question is None and sys.stdin.isatty() and sys.stdout.isatty()


def _confirmed(question: str) -> bool:
    """Ask yes or no. Ctrl-C leaves at once: the event loop's own handler would only cancel a task, and none waits."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return click.confirm(shaped(console(), question))
    except click.Abort:
        click.echo()  # what comes next is not said behind the question
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def _warn(message: str) -> None:
    """A server that does not start, or a model that cannot be asked, is told of and done without."""
    tell(message, "yellow")


def _fit(session: Session, facts: ModelInfo) -> None:
    """Count and price as the model's provider does."""
    if session.settings.profile != _profile(facts):
        session.configure(profile=_profile(facts))


def _profile(facts: ModelInfo) -> str:
    return facts.provider if facts.provider in PROFILES else Settings().profile


async def assembled(
    here: Place, asked: Asked, env: Mapping[str, str] = os.environ, probe: Probe | None = None
) -> Assembled:
    """What the command line asks for, ready. The caller closes it. `probe`: how servers on this machine are looked for.

    Raises:
        NoModel: there is none; it says the ways to get one.
        BadInput: the configuration, a name or an id means nothing.
    """
    made = Assembled(here, asked, env, probe)
    try:
        await made.begin()
    except BaseException:
        await made.close()
        raise
    return made
