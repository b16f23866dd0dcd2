"""What `sightline replay` replays: a file, a session or a sample, with its budget and its prices."""

from itertools import islice
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click

from sightline import samples
from sightline.cli.options import Place, make_budget
from sightline.errors import BadInput
from sightline.imports.conversation import Conversation, check_speaks
from sightline.imports.detection import conversations
from sightline.log.stores.session_folder import Folder
from sightline.log.stores.transfer import copy_session
from sightline.plan import Budget, completed
from sightline.plan.strategies import strategy
from sightline.plan.strategies.project_choice import Choice
from sightline.providers.catalog import PRICES, price_of
from sightline.providers.prices import Price
from sightline.providers.windows import USUAL_OUTPUT, answer_room
from sightline.values.profiles import PROFILES
from sightline.values.settings import Settings
from sightline.view.replay.formats import Recording, read_conversation, recorded

FIRST_SAMPLE = "login_bug"
_LISTED = 5  # conversations, where one of several has to be chosen


class ReplayOptions(NamedTuple):
    """The command line of `replay`."""

    file: str | None
    sample: str | None
    window: int | None
    output: int | None
    profile: str | None
    strategy: str | tuple[str, ...] | None
    economy: str | None
    format: str
    line: int | None
    price: str | None
    until: int | None
    slow: bool
    delay: float | None


class Replay(NamedTuple):
    """What is replayed, and the budget."""

    name: str
    recording: Recording
    budget: Budget
    sample: samples.Sample | None = None
    choice: Choice = Choice("focus", {})
    price: Price | None = None
    profile: str = Settings().profile

    @property
    def margin(self) -> float:
        """The share that is left free because the provider does not say how it counts tokens."""
        return PROFILES[self.profile].margin

    @property
    def allowed(self) -> int:
        """Tokens that the context window has for a prompt."""
        return self.budget.limit(margin=self.margin)

    @property
    def limit(self) -> int:
        """Those of them in which the strategy works."""
        return min(self.allowed, completed(strategy(self.choice.name, self.choice.config)).most_tokens)

    @property
    def economy(self) -> str:
        """That of the strategy `focus`, perhaps as a stage of a pipe."""
        config = self.choice.config
        return str((config if isinstance(self.choice.name, str) else config.get("focus", {})).get("economy", ""))


def read_source(here: Place, options: ReplayOptions) -> Replay:
    """Read what the command line names. Raises UsageError, BadInput."""
    if options.file is not None and options.sample is None:
        conversation = _conversation(named_file(here, options.file), options)
        try:
            recording = read_conversation(conversation)
        except BadInput as error:
            raise BadInput(f"{conversation.name}: {error}") from error
        if not recording.messages:
            check_speaks(conversation)
        return Replay(conversation.name, recording, _budget(options, recording.window, USUAL_OUTPUT))
    if options.file is None and options.sample is not None:
        sample = samples.load(options.sample)
        recording = recorded({"system": sample.system, "tools": sample.tools, "messages": sample.messages})
        return Replay(options.sample, recording, _budget(options, sample.window, samples.OUTPUT), sample)
    raise click.UsageError(here.words("replay what"))


def named_file(here: Place, name: str) -> str:
    """Return the file that is named, or else the log of the session that is. Raises BadInput if there is neither."""
    if name == "-" or Path(name).exists():
        return name
    if not here.matching(name):
        raise BadInput(here.words("no such file", file=name))
    return str(_log_file(here, here.find(name)))


def _log_file(here: Place, session_id: str) -> Path:
    """Return the log of a session as a file: its own, or a copy that is deleted when the command ends."""
    if here.store:
        folder = Path(click.get_current_context().with_resource(TemporaryDirectory()))
        copy_session(here.stores, Folder.at(folder), session_id)
        return Folder.at(folder).file(session_id)
    return here.folder.existing(session_id)


def _conversation(file: str, options: ReplayOptions) -> Conversation:
    """Return the conversation that the command line names. Raises BadInput if there is none, or several."""
    first = [*islice(conversations(file, options.format, line=options.line), _LISTED)]
    if len(first) > 1:
        names = "".join(
            f"\n  --line {number}  {conversation.name}" for number, conversation in enumerate(first, start=1)
        )
        raise BadInput(f"{file} holds several conversations; choose one with --line:{names}\n  …")
    return first[0]


def find_price(options: ReplayOptions, source: Replay) -> Price | None:
    """Return the prices that the command line says, or those of the model that answered. Raises UsageError."""
    return price_of(source.recording.model) if options.price is None else given_price(options.price, source.profile)


def given_price(text: str, profile: str) -> Price:
    """Return the prices that --price says: three numbers, or those of a model. Raises UsageError."""
    if (listed := price_of(text)) is not None:
        return listed
    try:
        fresh, output, cached = map(_amount, text.split("/"))
    except ValueError:
        models = ", ".join(PRICES)
        raise click.UsageError(
            f"--price {text}: three numbers from 0 on, such as 2/10/0.2 (input, output, cached), or one of {models}"
        ) from None
    return Price(fresh, cached, fresh * PROFILES[profile or Settings().profile].prices.write, output)


def _amount(text: str) -> float:
    """Read what a million tokens cost. Raises ValueError if nothing can cost that."""
    amount = float(text)
    if not (isfinite(amount) and amount >= 0):
        raise ValueError(text)
    return amount


def _budget(options: ReplayOptions, window: int, output: int) -> Budget:
    return make_budget(
        window if options.window is None else options.window,
        answer_room(options.window or window, output) if options.output is None else options.output,
    )
