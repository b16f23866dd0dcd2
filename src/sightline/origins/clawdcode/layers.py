"""What the layers of a context say about its messages: the recent tool calls, the tools' states, the topics.

The document names these fields and never fills them. Here they follow from the messages alone, so a session that is
loaded has them as before, and a compaction does not empty them.
"""

from sightline.files.mentions import paths_in
from sightline.origins.clawdcode.messages import is_summary, readable, result_id
from sightline.origins.clawdcode.values import ContextLayer, ContextMessage, ToolCallRecord, ToolState
from sightline.shorten import identifiers
from sightline.values.items import Call

RECENT_CALLS = 50  # the newest; as many as the messages of the default filter
TOPICS = 20  # the newest
_PER_MESSAGE = 8  # topics of one message: a message that names more is a listing


def observe(layers: ContextLayer, message: ContextMessage) -> None:
    """Add what one more message says.

    Its calls become records that are pending until their result comes; the first result counts. A tool's state is that
    of its newest call. Topics are the files and identifiers that the user's messages name, the newest last.
    """
    if message.role == "assistant":
        for call in readable(message).parts:
            if isinstance(call, Call):
                record = ToolCallRecord(call.id, call.name, call.input, message.timestamp, "pending")
                layers.tool.recent_calls = [*layers.tool.recent_calls, record][-RECENT_CALLS:]
                _note_state(layers, record)
    elif message.role == "tool":
        _add_result(layers, message)
    elif message.role == "user" and not is_summary(message):
        named = [*paths_in(message.content), *identifiers(message.content, _PER_MESSAGE)][:_PER_MESSAGE]
        topics = dict.fromkeys(reversed([*layers.conversation.topics, *named]))  # the last mention of each counts
        layers.conversation.topics = list(topics)[:TOPICS][::-1]


def _add_result(layers: ContextLayer, message: ContextMessage) -> None:
    answered, error = result_id(message), (message.metadata or {}).get("error")
    for record in reversed(layers.tool.recent_calls):
        if record.id == answered and record.status == "pending":
            record.output, record.status = message.content, "error" if error else "success"
            record.error = str(error) if error else None
            _note_state(layers, record, message.timestamp)
            return


def _note_state(layers: ContextLayer, record: ToolCallRecord, finished: int | None = None) -> None:
    """Set the state of a tool after a call of it was made, or finished."""
    before = layers.tool.tool_states.get(record.name) or ToolState("pending", 0, 0, 0)
    layers.tool.tool_states[record.name] = ToolState(
        status=record.status,
        calls=before.calls + (finished is None),
        errors=before.errors + (record.status == "error"),
        last_used=record.timestamp if finished is None else finished,
    )
