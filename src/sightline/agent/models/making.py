"""From what the configuration says to a model that can be asked."""

import warnings
from collections.abc import Callable, Sequence

from sightline.agent.models import Model
from sightline.agent.models.anthropic import AnthropicModel
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.local import LocalModel
from sightline.agent.models.openai import OpenAiModel
from sightline.agent.models.retry import RetryingModel
from sightline.errors import BadInput

PROVIDERS: dict[str, Callable[[Endpoint], Model]] = {
    "openai": OpenAiModel,
    "anthropic": AnthropicModel,
    "local": LocalModel,
}


def made(endpoint: Endpoint) -> Model:
    """The model at this endpoint. Nothing is asked or loaded yet.

    Raises:
        BadInput: it wants a key, and there is none.
    """
    if endpoint.keyless:
        named = f" ({endpoint.key_said} names it)" if endpoint.key_said else ""
        raise BadInput(f"{endpoint.name} at {endpoint.address} wants a key: set {endpoint.key_place}{named}")
    return PROVIDERS[endpoint.provider](endpoint)


def patient(
    endpoints: Sequence[Endpoint], locale: str = "en", *, warn: Callable[[str], object] = warnings.warn
) -> RetryingModel:
    """The first of these, asked again as often as it says, and then the others in their order.

    One of the others that cannot take the first one's place is told of, and done without.

    Raises:
        BadInput: the first one wants a key, and there is none.
    """
    first, *others = endpoints
    able = [first]
    for each in others:
        if why := _unable(each, first):
            name, (en, zh) = each.label or each.name, why
            warn(f"备用模型 {name} 不使用：{zh}" if locale == "zh" else f"fallback {name} is left out: {en}")
        else:
            able.append(each)
    return RetryingModel([made(each) for each in able], attempts=[each.attempts for each in able])


def _unable(endpoint: Endpoint, first: Endpoint) -> tuple[str, str] | None:
    """Why a model cannot be asked in another's place, in English and Chinese."""
    if endpoint.keyless:
        return f"it wants a key; set {endpoint.key_env}", f"需要密钥，请设置 {endpoint.key_env}"
    if not first.tools:  # plain text, which every model takes
        return None
    if not endpoint.tools:
        return "it takes no tools", "它不使用工具"
    if endpoint.native != first.native:  # what is asked is written before it is known who answers
        mine, other = str(endpoint.native).lower(), f"{first.label or first.name}: {str(first.native).lower()}"
        return f"native is {mine} ({other}); they must be the same", f"native 为 {mine}（{other}），两者须一致"
    return None
