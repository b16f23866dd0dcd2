"""From what the configuration says to a model that can be asked."""

from collections.abc import Callable, Sequence

from sightline.agent.models import Model
from sightline.agent.models.anthropic import AnthropicModel
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.local import LocalModel
from sightline.agent.models.openai import OpenAiModel
from sightline.agent.models.retrying import Patient
from sightline.errors import BadInput

PROVIDERS: dict[str, Callable[[Endpoint], Model]] = {
    "openai": OpenAiModel,
    "anthropic": AnthropicModel,
    "local": LocalModel,
}


def made(endpoint: Endpoint) -> Model:
    """The model at this endpoint. Nothing is asked or loaded yet.

    Raises:
        BadInput: its provider wants a key, and there is none.
    """
    if endpoint.hosted and endpoint.key is None:
        raise BadInput(f"{endpoint.name} at {endpoint.address} wants a key: set {endpoint.key_env} in the environment")
    return PROVIDERS[endpoint.provider](endpoint)


def patient(endpoints: Sequence[Endpoint]) -> Patient:
    """The first of these, asked again as often as it says, and then the others in their order."""
    return Patient([made(each) for each in endpoints], attempts=[each.attempts for each in endpoints])
