"""How many tokens of a payload come before a place in it, and how many two payloads have in common."""

from sightline.compose.render import first_change
from sightline.values.profiles import Profile
from sightline.wire.payload import Payload


def reused_tokens(before: Payload | None, after: Payload, profile: Profile) -> int:
    """Return the tokens of the blocks that both payloads begin with; the head is the first block.

    Windows do not count, because they come after everything that could be shared. Exact for the `stable` layout.
    """
    if before is None:
        return 0
    changed = None if after.shares_blocks_of(before) else first_change(before.chain, after.chain)
    return before.plan.tokens if changed is None else tokens_before(changed, after, profile)


def tokens_before(block: int, payload: Payload, profile: Profile) -> int:
    """Return the tokens of a payload before one of its blocks; the head is block 0."""
    return payload.plan.fixed + sum(block_tokens(payload, profile)[: block - 1]) if block else 0


def block_tokens(payload: Payload, profile: Profile) -> list[int]:
    """Return the tokens of each message of the body, framing included. With the head they sum to `payload.tokens`."""
    sizes: dict[str, int] = {}
    for line in payload.plan.lines():
        message = line.id.partition(".")[0]  # a call is part of the message that makes it
        sizes[message] = sizes.get(message, 0) + line.tokens + profile.framing(line.kind)
    plan = payload.plan
    marker = plan.body - plan.preface_tokens - sum(sizes.values())
    own = [plan.preface_tokens, marker] if plan.preface else [marker]  # the messages that show no item, in order
    return [sizes.get(message.id, 0) if message.id else own.pop(0) for message in payload.body]
