"""What was said: the task and the user's words as they stand, and what the assistant decided and found."""

import re
from collections.abc import Sequence

from sightline.digest.headings import word
from sightline.digest.page import NOTHING, Costs, Entry, Filled, bullet
from sightline.digest.steps import Spoken, one_line
from sightline.renditions.dialogue import dialogue
from sightline.renditions.pack import Room, fill
from sightline.renditions.prose import MUST
from sightline.renditions.sample import ROOM, look
from sightline.renditions.values import values_in

SMALLEST = 6  # tokens below which nothing is cut out of a text
LEAST = 14  # tokens below which a message cut short says nothing
FIRST_SHARE = 0.5  # of the room for the task
PASTED = 4  # one message may take this part of the room at most: what is longer is pasted, not said
SHORT = 12  # characters of a request that means only "go on"
LONGEST = 220  # characters of a decision
NAMING = 0.25  # what a name in a sentence adds to its worth
SENTENCES = 12  # of one statement that may be decisions

# What a program puts into the user's messages.
_INJECTED = re.compile(
    r"<(system-reminder|command-[a-z]+|local-command-[a-z]+|environment_context|user_instructions|ide_[a-z_]+|"
    r"task-notification|INSTRUCTIONS)\b[^>]*>.*?</\1>",
    re.S,
)
_NOT_SAID = ("[Request interrupted", "Caveat: The messages below")
_CONTINUED = "This session is being continued from a previous conversation"
_FENCED = re.compile(r"```.*?(?:```|$)", re.S)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
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
    r"因为|因此|所以|确认|说明"
)
_DEEDS = r"\b(?:fixed|added|removed|replaced|implemented|updated|renamed|moved|created)\b|已修复|已添加|已删除|已完成"
_CUES = ((3.0, _CAUSES), (2.5, _CHOICES), (1.5, _REASONS), (1.0, _DEEDS))
_DECIDED = tuple((worth, re.compile(cue, re.I)) for worth, cue in _CUES)


def said_by_user(users: Sequence[Spoken], earlier: Sequence[str] = ()) -> list[str]:
    """What the user said, without what programs put into the messages; said again, it stands where it was said last."""
    words = dict.fromkeys(earlier)
    for spoken in users:
        text = _INJECTED.sub("", spoken.text).strip() if "<" in spoken.text else spoken.text.strip()
        if text and not text.startswith((*_NOT_SAID, _CONTINUED)):
            words.pop(text, None)
            words[text] = None
    return list(words)


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
    found = fill("", dialogue(look(prose, ROOM)).summary, costs.count, Room(tokens - 4, per)).text
    line = " ".join(found.split())
    if line and costs(bullet(line)) <= tokens:
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
    """The first and the current request."""
    labels = [f"{word(key, locale)}: " for key in ("first", "current")]
    if not first:
        return NOTHING
    current = "" if current == first else current
    needed = costs(bullet(labels[1] + current)) if current else 0
    own = room - min(needed, int(room * (1 - FIRST_SHARE)))
    lines, used, whole = [], 0, True
    for label, text in zip(labels, (first, current), strict=True):
        if not text:
            continue
        shown = shortened(text, min(own, room - used) - costs(label), costs)
        whole = whole and shown == text
        if shown:
            lines.append(bullet(label + shown))
            used += costs(lines[-1])
        own = room
    while lines and used > room:
        used -= costs(lines.pop())
    return Filled(lines, used, whole)


def current_of(words: Sequence[str]) -> str:
    """The newest request that is more than a word of consent."""
    return next((text for text in reversed(words) if len(text) > SHORT), words[-1] if words else "")


def word_lines(texts: Sequence[str], room: int, costs: Costs) -> Filled:
    """The user's messages: short ones whole, long ones cut to an equal length, in a small room the newest only."""
    chosen = list(texts)
    needs = [costs(bullet(text)) for text in chosen]
    if room < LEAST * len(chosen) and sum(needs) > room:
        chosen = _preferred(chosen, room // LEAST)
        needs = [costs(bullet(text)) for text in chosen]
    cap = max(LEAST, min(_equal(needs, room), room // PASTED))
    lines, used, whole = [], 0, len(chosen) == len(texts)
    for text, need in zip(chosen, needs, strict=True):
        shown = text if need <= cap else shortened(text, cap, costs)
        whole = whole and shown == text
        if shown and used + costs(bullet(shown)) <= room:
            lines.append(bullet(shown))
            used += costs(lines[-1])
    return Filled(lines, used, whole)


def _preferred(texts: list[str], most: int) -> list[str]:
    """So many of them: those that bind and the newest."""
    if most <= 0:
        return []
    binding = [i for i, text in enumerate(texts) if any(stem in text.lower() for stem in MUST)][-max(1, most // 2) :]
    kept = set(binding)
    newest = [i for i in range(len(texts) - 1, -1, -1) if i not in kept][: most - len(binding)]
    return [texts[i] for i in sorted([*binding, *newest])]


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
        for sentence in _SENTENCE.split(_FENCED.sub(" ", spoken.text))[: SENTENCES * 4]:
            line = one_line(sentence.replace("**", "").strip(" #*->|✅"), LONGEST)
            worth = _decisive(line)
            if worth:
                found[line] = Entry(spoken.place, line, worth * (0.5 + spoken.place / max(1, length)))
    if assistant:
        line = one_line(_SENTENCE.split(assistant[-1].text.strip())[0], LONGEST)
        found[line] = Entry(assistant[-1].place, line, 4.0)
    return [entry for entry in found.values() if entry.text]


def _decisive(line: str) -> float:
    if len(line) < 20 or line.endswith((":", "：")):
        return 0.0
    worth = max((worth for worth, cue in _DECIDED if cue.search(line)), default=0.0)
    return worth + min(1.0, NAMING * len(values_in(line)))
