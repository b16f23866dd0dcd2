"""A plug-in of pytest for Strands' own tests: agents without a conversation manager get ours instead of the default."""

from itertools import count
from typing import Any

from strands._context_manager.context_manager import ContextManager

import sightline as sl
from sightline.adapters.strands import SightlineConversationManager

_numbers = count()
_resolve = ContextManager.resolve_conversation_manager


def resolve(context_manager: Any, conversation_manager: Any) -> Any:
    """Ours, if the test names none."""
    if context_manager is None and conversation_manager is None:
        conversation_manager = SightlineConversationManager(
            f"t{next(_numbers)}", sl.Budget(200_000, 4_000), sessions=sl.MemoryStores(), recall=False
        )
    return _resolve(context_manager, conversation_manager)


ContextManager.resolve_conversation_manager = staticmethod(resolve)
