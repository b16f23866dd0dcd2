"""Whether a composed request is legal, and keeps what every request must keep."""

from collections.abc import Sequence

from benchmarks.quality.messages import REQUEST, History, Message, count_message, count_messages, is_system, text_of

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_LONG = 400  # characters from which a text may be cut
_HEAD = 100  # characters of it that must still stand at its start


def mandatory(history: History) -> list[int]:
    """Indexes of what every request must show: the leading system block, the last user message, the newest exchange."""
    keep = set(range(_leading(history)))
    keep.update([at for at, message in enumerate(history) if message["role"] == "user"][-1:])
    last = len(history) - 1
    keep.add(last)
    while last >= 0 and history[last]["role"] == "tool":
        last -= 1
        keep.add(last)
    return sorted(at for at in keep if at >= 0)


def mandatory_tokens(history: History) -> int:
    """Return the tokens of the smallest valid request."""
    return REQUEST + sum(count_message(history[at]) for at in mandatory(history))


def _leading(history: History) -> int:
    return next((at for at, message in enumerate(history) if not is_system(message)), len(history))


def problems(
    composed: Sequence[Message], history: History, budget: int, tokens: int | None = None, feasible: bool | None = None
) -> list[str]:
    """Return the names of what is wrong with a request; empty if it is valid.

    The budget does not count where what is mandatory alone exceeds it.
    """
    if not composed:
        return ["empty"]
    found = _sequence(composed) | _lost(composed, history)
    if feasible is None:
        feasible = mandatory_tokens(history) <= budget
    if feasible and (count_messages(composed) if tokens is None else tokens) > budget:
        found.add("over_budget")
    return sorted(found)


def _sequence(composed: Sequence[Message]) -> set[str]:
    """Roles, system text first, calls and their answers in pairs."""
    pairs, leading = _Pairs(), True
    for message in composed:
        role = message.get("role")
        if role not in ROLES:
            pairs.found.add("role")
            continue
        leading = leading and is_system(message)
        if is_system(message) and not leading:
            pairs.found.add("system_not_first")
        if role == "tool":
            pairs.answered(message.get("tool_call_id"))
            continue
        pairs.closed()
        if role == "assistant" and message.get("tool_calls"):
            pairs.opened({call["id"] for call in message["tool_calls"]})
        elif not text_of(message.get("content")).strip():
            pairs.found.add("empty_message")
    pairs.closed()
    return pairs.found


class _Pairs:
    """Follows calls and answers."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._made: set[str] = set()
        self._open: set[str] | None = None  # None: the message before made no calls

    def opened(self, calls: set[str]) -> None:
        self._made, self._open = calls, set(calls)

    def answered(self, call: object) -> None:
        if self._open is None or call not in self._made:
            self.found.add("orphan_tool")
        elif call not in self._open:
            self.found.add("dup_tool")
        else:
            self._open.discard(str(call))

    def closed(self) -> None:
        if self._open:
            self.found.add("orphan_call")
        self._open = None


def _lost(composed: Sequence[Message], history: History) -> set[str]:
    """The system text, the last user message and the newest message must still be there."""
    found: set[str] = set()
    system = next((text_of(message["content"]) for message in history if is_system(message)), None)
    if system is not None:
        shown = "\n".join(text_of(message.get("content")) for message in composed if is_system(message))
        if system.strip() not in shown:
            found.add("system_lost")
    asked = next((text_of(message["content"]) for message in reversed(history) if message["role"] == "user"), None)
    users = [text_of(message.get("content")) for message in composed if message["role"] == "user"]
    if asked is not None and not any(_keeps(text, asked.strip()) for text in users):
        found.add("last_user_lost")
    wanted, last = history[-1], composed[-1]
    same = _keeps(text_of(last.get("content")), text_of(wanted.get("content")).strip())
    if wanted["role"] != last["role"] or not same:
        found.add("tail_lost")
    return found


def _keeps(shown: str, wanted: str) -> bool:
    """Return whether a text is shown: equal, contained, or in a shorter form that keeps the head of a long text."""
    shown = shown.strip()
    return wanted in shown or (len(wanted) > _LONG and shown[:_HEAD] == wanted[:_HEAD])
