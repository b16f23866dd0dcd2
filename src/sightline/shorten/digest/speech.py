"""What was said: the task and the user's words as they stand, and what the assistant decided and found."""

import re
from collections.abc import Iterable, Sequence

from sightline.shorten.dialogue import dialogue_levels
from sightline.shorten.digest.headings import word
from sightline.shorten.digest.sections import Costs, Entry, Filled, bullet
from sightline.shorten.digest.steps import SENTENCE, Spoken, one_line
from sightline.shorten.fill import TokenLimit, fill
from sightline.shorten.sample import READ_LIMIT, read_sample
from sightline.shorten.signals import states_rule

SMALLEST = 6  # tokens below which nothing is cut out of a text
LEAST = 40  # tokens of a message cut short: below that fewer messages say more
PASTED = 4  # one message may take this part of the room at most: what is longer is pasted, not said
SHORT = 12  # bytes of a request that means only "go on"
LONGEST, LEAST_DECISIVE = 220, 20  # characters of a decision at most, bytes at least
SENTENCES = 48  # of one statement that may be decisions

# What a program puts into the user's messages.
_INJECTED = re.compile(
    r"<(system-reminder|command-[a-z]+|local-command-[a-z]+|environment_context|user_instructions|ide_[a-z_]+|"
    r"task-notification|INSTRUCTIONS)\b[^<>]*>"
)
_NOT_SAID = ("[Request interrupted", "Caveat: The messages below")
_CONTINUED = "This session is being continued from a previous conversation"
_FENCED = re.compile(r"```.*?(?:```|$)", re.S)
# What a sentence says when it is worth keeping: a cause or a choice, a preference, a reason, a deed.
_CAUSES = (
    r"root cause|the (?:problem|issue|bug|cause|reason|fix|solution) (?:is|was)|turns out|decided|conclu|"
    r"根因|原因是|问题在于|决定|结论"
)
_CHOICES = (
    r"instead of|rather than|i(?:'ll| will) use|let's (?:use|go with)|we(?:'ll| will| should) (?:use|keep)|chose|"
    r"opt(?:ed)? for|改用|采用|选择|而不是"
)
_REASONS = (
    r"because|since|therefore|so that|which means|confirmed|this means|the key|important|verified|all tests pass|"
    r"因为|因此|所以|已确认|确认了|说明"
)
_DEEDS = r"(?:fixed|added|removed|replaced|implemented|updated|renamed|moved|created)\b|已修复|已添加|已删除|已完成"
_WORTHS = (3.0, 2.5, 1.5, 1.0)
_CUES = re.compile("|".join(f"({cues})" for cues in (_CAUSES, _CHOICES, _REASONS, _DEEDS)))  # in lower case


def said_by_user(users: Sequence[Spoken], earlier: Sequence[str] = ()) -> list[str]:
    """What the user said, without what programs put into the messages; said again, it stands where it was said last."""
    words = dict.fromkeys(earlier)
    for spoken in users:
        text = _typed(spoken.text).strip()
        if text and not text.startswith((*_NOT_SAID, _CONTINUED)):
            words.pop(text, None)
            words[text] = None
    return list(words)


def _typed(text: str) -> str:
    """A message without the elements that a program put into it."""
    kept: list[str] = []
    end = 0
    unclosed: set[str] = set()
    for match in _INJECTED.finditer(text):
        close = f"</{match[1]}>"
        at = text.find(close, match.end()) if match.start() >= end and close not in unclosed else -1
        if at >= 0:
            kept.append(text[end : match.start()])
            end = at + len(close)
        elif match.start() >= end:
            unclosed.add(close)
    return "".join([*kept, text[end:]])


def summaries_among(users: Sequence[Spoken]) -> list[str]:
    """Summaries that an agent put into the user's mouth when it went on after a compaction."""
    return [spoken.text for spoken in users if spoken.text.lstrip().startswith(_CONTINUED)]


def shortened(text: str, tokens: int, costs: Costs) -> str:
    """The text itself if it fits, else its first, last, binding and asking sentences on one line; "" if none fits."""
    whole = costs(bullet(text))
    if whole <= tokens or tokens < SMALLEST:
        return text if whole <= tokens else ""
    prose = _FENCED.sub(" [```] ", text)
    per = max(0.5, len(text) / whole)
    found = fill(
        "", dialogue_levels(read_sample(prose, READ_LIMIT)).summary, costs.count, TokenLimit(tokens - 4, per)
    ).text
    line = " ".join(found.split())
    if line.strip("… ") and costs(bullet(line)) <= tokens:
        return line
    return _clipped(" ".join(prose.split()), tokens, per, costs)


def _clipped(line: str, tokens: int, per: float, costs: Costs) -> str:
    chars = int((tokens - 3) * per)
    while chars > 8:
        clip = one_line(line, chars)
        if costs(bullet(clip)) <= tokens:
            return clip
        chars = chars * 3 // 4
    return ""


def task_lines(first: str, current: str, room: int, costs: Costs, locale: str) -> Filled:
    """The first request, in half of the room if the current one needs the other half, and that."""
    requests = {"first": first, "current": current if current != first else ""}
    told = {f"{word(key, locale)}: ": text for key, text in requests.items() if text}
    needs = [costs(bullet(label + text)) for label, text in told.items()]
    lines, left, whole = [], room, True
    for i, (label, text) in enumerate(told.items()):
        own = left - min(sum(needs[i + 1 :]), room // 2)
        shown = shortened(text, own - costs(label), costs)
        line = bullet(label + shown)
        whole = whole and shown == text
        if shown and costs(line) <= left:
            lines.append(line)
            left -= costs(line)
    return Filled(lines, room - left, whole)


def current_of(words: Sequence[str]) -> str:
    """The newest request that is more than a word of consent."""
    return next((text for text in reversed(words) if len(text.encode()) > SHORT), words[-1] if words else "")


def answers_of(assistant: Sequence[Spoken], shown: str, earlier: Sequence[str] = ()) -> list[str]:
    """What the assistant said and no entry of the page shows yet."""
    entries = {line.removeprefix("- ") for line in shown.split("\n")}
    said = dict.fromkeys([*earlier, *(spoken.text.strip() for spoken in assistant)])
    return [text for text in said if text not in entries]


def word_lines(texts: Sequence[str], room: int, costs: Costs) -> Filled:
    """Messages: short ones whole, long ones cut to an equal length, in a small room those that bind and the newest."""
    needs = {text: costs(bullet(text)) for text in texts}
    chosen = _preferred(needs, room)
    cap = max(LEAST, min(_equal([needs[text] for text in chosen], room), room // PASTED))
    lines, used, whole = [], 0, len(chosen) == len(needs)
    for text in chosen:
        shown = text if needs[text] <= cap else shortened(text, cap, costs)
        whole = whole and shown == text
        if shown and used + costs(bullet(shown)) <= room:
            lines.append(bullet(shown))
            used += costs(lines[-1])
    return Filled(lines, used, whole)


def _preferred(needs: dict[str, int], room: int) -> list[str]:
    """As many as fit, long ones cut to the least: in half of the room those that bind, in the rest the newest."""
    if sum(min(need, LEAST) for need in needs.values()) <= room:
        return list(needs)
    newest = list(reversed(needs))
    binding = _fitting([text for text in newest if states_rule(text)], needs, room // 2)
    left = room - sum(min(needs[text], LEAST) for text in binding)
    kept = {*binding, *_fitting([text for text in newest if text not in binding], needs, left)}
    return [text for text in needs if text in kept]


def _fitting(texts: Iterable[str], needs: dict[str, int], room: int) -> set[str]:
    """The first ones that fit."""
    kept = set()
    for text in texts:
        room -= min(needs[text], LEAST)
        if room < 0:
            break
        kept.add(text)
    return kept


def _equal(needs: Sequence[int], room: int) -> int:
    """The length to which all are cut so that they fill the room together."""
    left = room
    for i, need in enumerate(sorted(needs)):
        each = left // (len(needs) - i)
        if need > each:
            return each
        left -= need
    return room


def decision_entries(assistant: Sequence[Spoken], earlier: Sequence[str], length: int) -> list[Entry]:
    """Sentences in which the assistant chooses, explains or concludes; the last statement counts whatever it says."""
    found: dict[str, Entry] = {text: Entry(i - len(earlier), text, 0.8) for i, text in enumerate(earlier)}
    for spoken in assistant:
        if not _CUES.search(spoken.text.lower()):
            continue
        for sentence in SENTENCE.split(_FENCED.sub(" ", spoken.text))[:SENTENCES]:
            worth = _decisive(sentence)
            if worth:
                line = one_line(sentence.replace("**", "").strip(" #*->|✅"), LONGEST)
                found[line] = Entry(spoken.place, line, worth * (0.5 + spoken.place / max(1, length)))
    if assistant:
        line = one_line(SENTENCE.split(assistant[-1].text.strip())[0], LONGEST)
        found[line] = Entry(assistant[-1].place, line, 4.0)
    return [entry for entry in found.values() if entry.text]


def _decisive(sentence: str) -> float:
    if len(sentence.encode()) < LEAST_DECISIVE or sentence.endswith((":", "：")):
        return 0.0
    cues = [match.lastindex for match in _CUES.finditer(sentence.lower())]
    return max((_WORTHS[cue - 1] for cue in cues if cue), default=0.0)
