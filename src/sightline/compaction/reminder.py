"""What a conversation must not lose to a compaction that another program makes, and the text that gives it back.

It is found by the same rules as for our own compactions: what the user laid down and did not revoke, word for word, the
first and the current request, and what is still to be done.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, field

from sightline.shorten.digest.headings import heading
from sightline.shorten.digest.outcomes import TodoList, concerns_plan, open_lines
from sightline.shorten.digest.sections import Costs, bullet
from sightline.shorten.digest.speech import is_request, task_lines, user_texts
from sightline.shorten.digest.steps import Utterance
from sightline.shorten.rules import chinese, constraints, own_words, said_text
from sightline.shorten.rules.revocations import Lifted
from sightline.shorten.rules.short_form import short_form
from sightline.values.excerpt import stands_alone
from sightline.values.items import Call, Message, Result, Role, plain_text
from sightline.values.phrases import Phrases, say, texts

MOST_CHARS = 16_000  # of a request that is kept: more is pasted
_TASK, _OPEN = 0.25, 0.15  # of the tokens: for the requests, and for what is to be done
_say = Phrases(texts("reminder"))


class Sentence(Struct, frozen=True):
    """What the user laid down, word for word."""

    message: int  # the number of the user's message
    text: str


class Reminder(Struct):
    """What was said so far, as far as it must not be lost. It can be stored, and continued by later messages."""

    messages: int = 0  # of the user
    in_chinese: int = 0  # how many of these
    laid_down: list[Sentence] = field(default_factory=list)  # in order, also what was revoked since
    first: str = ""  # the user's first request
    current: str = ""  # and the newest one
    todos: TodoList = field(default_factory=TodoList)

    @property
    def locale(self) -> str:
        """The language that the user writes."""
        return "zh" if 2 * self.in_chinese > self.messages else "en"

    def add(self, messages: Iterable[tuple[Message, bool]]) -> None:
        """Add messages, each with whether a program wrote it in the user's place."""
        calls: dict[str, Call] = {}
        results: dict[str, str] = {}
        said = ""  # by the assistant last
        for message, by_program in messages:
            if message.role is Role.USER and not by_program:
                self._add_user(own_words(message.parts, lambda: (said,)))  # noqa: B023 - it is called at once
            elif message.role is Role.ASSISTANT:
                said = said_text(message.parts)
                self.todos.add_text(plain_text(message.parts))
                calls |= {part.id: part for part in message.parts if isinstance(part, Call) and concerns_plan(part)}
            for part in message.parts:
                if isinstance(part, Result) and part.id in calls:
                    results[part.id] = plain_text(part.parts)
        for call in calls.values():
            self.todos.add_call(call, results.get(call.id, ""))

    def _add_user(self, text: str) -> None:
        for typed in user_texts([Utterance(0, text)]):
            self.messages += 1
            self.in_chinese += bool(chinese.WRITTEN.search(typed))
            self.laid_down += (Sentence(self.messages, sentence) for sentence in constraints(typed))
            if is_request(typed):
                self.first = self.first or typed[:MOST_CHARS]
                self.current = typed[:MOST_CHARS]

    def in_force(self) -> list[str]:
        """Return what the user laid down and did not revoke, the newest first, each once."""
        lifted, sentences = Lifted(lambda message: message - 1), dict[str, None]()
        for constraint in reversed(self.laid_down):
            if not lifted.takes(constraint.text, constraint.message):
                sentences[constraint.text] = None
        return list(sentences)

    def text(self, *, tokens: int, count: Callable[[str], int], visible: str = "", locale: str = "") -> str:
        """Return what the `visible` text does not say, in at most `tokens` tokens; "" if it says everything.

        What the user laid down comes first, word for word if that fits, else in short. Of too many, the newest are
        given. Pure: the same arguments give the same text.
        """
        locale, costs = locale or self.locale, Costs(count)
        pieces: list[str] = []
        for lines in self._parts(tokens, costs, visible, locale):
            piece = "\n".join(lines)
            if lines and costs.count("\n\n".join([*pieces, piece])) <= tokens:
                pieces.append(piece)
        return "\n\n".join(pieces)

    def _parts(self, tokens: int, costs: Costs, visible: str, locale: str) -> Iterator[list[str]]:
        first, current = ("" if stands_alone(request, visible) else request for request in (self.first, self.current))
        task = task_lines(first, current, int(tokens * _TASK), costs, locale).lines if first or current else []
        budget, todo = int(tokens * _OPEN), list[str]()
        for line in open_lines(self.todos.todos() or ()):
            cost = costs(bullet(line))
            if cost <= budget and not stands_alone(line.removeprefix("[ ] "), visible):
                todo.append(bullet(line))
                budget -= cost
        requests, undone = ([heading(name, locale), *lines] for name, lines in (("task", task), ("open", todo)))
        left = tokens - sum(map(costs, (*requests, *undone)))
        hidden = [sentence for sentence in self.in_force() if not is_readable(sentence, visible)]
        yield _constraint_lines(hidden, left, costs, locale)
        yield requests if task else []
        yield undone if todo else []


def is_readable(constraint: str, visible: str) -> bool:
    """Whether a text says a constraint: word for word, or in a short form with every number, name and negation."""
    return stands_alone(constraint, visible) or stands_alone(short_form(constraint), visible)


def _constraint_lines(hidden: list[str], tokens: int, costs: Costs, locale: str) -> list[str]:
    """Return a heading and a line for each, in the order they were said. `hidden`: the newest first."""
    if not hidden:
        return []
    head = say("binding", locale)
    whole = [bullet(sentence) for sentence in hidden]
    if costs(head) + sum(map(costs, whole)) <= tokens:
        return [head, *reversed(whole)]
    left, lines = tokens - costs(head) - costs(_say("older", locale, count=len(hidden))), list[str]()
    for sentence in hidden:
        line = bullet(short_form(sentence))
        if costs(line) > left:
            break
        left -= costs(line)
        lines.append(line)
    older = len(hidden) - len(lines)
    return [head, *([_say("older", locale, count=older)] if older else []), *reversed(lines)] if lines else []
