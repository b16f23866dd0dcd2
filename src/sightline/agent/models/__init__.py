"""Models for the agent: each takes a payload and streams the reply. What they promise is in `model`."""

from sightline.agent.models.model import (
    Model,
    ModelInfo,
    Reply,
    Request,
    RetryScheduled,
    TextDelta,
    full_reply,
)
from sightline.providers.prices import Price

__all__ = ["Model", "ModelInfo", "Price", "Reply", "Request", "RetryScheduled", "TextDelta", "full_reply"]
