"""What was said: the task and the user's words unchanged, and what the assistant decided and found."""

import re
from collections.abc import Sequence
from itertools import accumulate, filterfalse

from sightline.providers.agents import ELEMENTS, OPENINGS, SUMMARIES
from sightline.shorten.dialogue import dialogue_levels
from sightline.shorten.digest.headings import word
from sightline.shorten.digest.sections import Costs, Entry, SectionLines, bullet
from sightline.shorten.digest.steps import SENTENCE, Utterance, one_line
from sightline.shorten.fill import TokenLimit, fill
from sightline.shorten.rules import constraints, revoked
from sightline.shorten.rules.pattern_table import word_set
from sightline.shorten.sample import READ_LIMIT, read_sample
from sightline.values.pattern import pattern
from sightline.values.phrases import say

SMALLEST = 6  # tokens; nothing shorter is made of a text
LEAST = 40  # tokens of a text that is cut; below that fewer texts say more
MOST_PARTS = 4  # a pasted text may take a quarter of the budget at most
FILLER = 120  # characters; a longer text says something
LONGEST, SHORTEST = 220, 20  # characters of a decision at most, bytes at least
SENTENCES = 48  # of one statement that are read

# Elements that programs put into the user's messages, or write there alone.
_OPENED = [opening[1:].rstrip(">").split()[0] for opening in OPENINGS if opening.startswith("<")]
_INJECTED = pattern(rf"<({'|'.join((*ELEMENTS, *_OPENED))})\b[^<>]*>")
_NOT_TYPED = (*OPENINGS, *SUMMARIES)
_FENCED = pattern(r"```.*?(?:```|$)", re.S)
# Who says only these words greets, thanks, agrees or promises, and tells nothing.
_FILLER = word_set("""
    a absolutely acknowledged ahead all alright also am and anything appreciate are as at awesome be by bye can
    certainly cheers confirmed continue cool course definitely do done else exactly excellent fine follow for
    forward further get glad go going good got gotcha great happy hear hello help here hey hi how i i'd i'll i'm
    i've in indeed is it it's just keep kept know let like looks made make me mind more morning much my need next
    nice no not note noted of ok okay on once our out perfect please pleasure problem proceed question questions
    really remember remembered right see sense so sounds stick sure thank thanks that that's the them then there
    this to too understand understood up very want we welcome well will with wonderful works worries would yeah yep
    yes you you're your
    """)
_FILLER_ZH = pattern(
    "好的?|收到|明白|了解|知道|清楚|记住|记下|没问题|不客气|谢谢|感谢|多谢|辛苦|可以|行|是的?|对|嗯|继续|当然|没事|再见"
    "|你好|您好|不错|很好|太好|放心|一定|会的?|我们?|你们?|您|就|这样|吧|呢|啊|呀|哦|啦|了|的|都|很|非常|照做|请|下去|按|来|办"
)
_WORD = pattern(r"[^\W_]+(?:['’-][^\W_]+)*")
_MARKS = tuple(say("revoked", locale, text="") for locale in ("en", "zh"))
# Sentences that are worth keeping have one of these cues, in lower case. Each kind of cue has its worth.
_WORTHS = {
    # a cause or decision
    r"root cause|the (?:problem|issue|bug|cause|reason|fix|solution) (?:is|was)|turns out|decided|conclu|"
    r"根因|原因是|问题在于|决定|结论": 3.0,
    # a choice
    r"instead of|rather than|i(?:'ll| will) use|let's (?:use|go with)|we(?:'ll| will| should) (?:use|keep)|chose|"
    r"opt(?:ed)? for|改用|采用|选择|而不是": 2.5,
    # a reason
    r"because|since|therefore|so that|which means|confirmed|this means|the key|important|verified|all tests pass|"
    r"因为|因此|所以|已确认|确认了|说明": 1.5,
    # something done
    r"(?:fixed|added|removed|replaced|implemented|updated|renamed|moved|created)\b|已修复|已添加|已删除|已完成": 1.0,
}
_CUES = pattern("|".join(f"({cues})" for cues in _WORTHS))


def user_texts(users: Sequence[Utterance], previous: Sequence[str] = ()) -> list[str]:
    """Return what the user typed, each text where it was typed last, without what programs put into the messages."""
    words = dict.fromkeys(previous)
    for text in filter(None, [_typed(utterance.text) for utterance in users]):
        words.pop(text, None)
        words[text] = None
    return [text for text in words if not is_filler(text)] or list(words)


def mark_revoked(texts: Sequence[str], locale: str) -> dict[str, str]:
    """Return each text with a mark after each constraint that a later text revokes, or that was marked before."""
    typed = [_unmarked(text) for text in texts]
    marked = {}
    for text, own, laid_down in zip(texts, typed, revoked(typed), strict=True):
        off = [constraint for constraint, lifted in laid_down.items() if lifted or _is_marked(constraint, text)]
        marked[text] = own if off else text
        for constraint in off:
            marked[text] = marked[text].replace(constraint, say("revoked", locale, text=constraint), 1)
    return marked


def _unmarked(text: str) -> str:
    for mark in _MARKS:
        text = text.replace(mark, "")
    return text


def _is_marked(constraint: str, text: str) -> bool:
    return any(constraint + mark in text for mark in _MARKS)


def _holding(text: str) -> list[str]:
    """Return the constraints in a text that are not marked as revoked."""
    return [constraint for constraint in constraints(_unmarked(text)) if not _is_marked(constraint, text)]


def _without_revoked(text: str) -> str:
    """Return a text without what is marked: of a text that is cut, the mark could be cut off."""
    for constraint in constraints(_unmarked(text)) if _unmarked(text) != text else ():
        for mark in _MARKS:
            text = text.replace(constraint + mark, "")
    return text.strip()


def first_request(users: Sequence[Utterance]) -> str:
    """Return the first text that the user typed, without greetings if there is anything else."""
    texts = [_typed(utterance.text) for utterance in users]
    return next(filter(is_request, texts), next(filter(None, texts), ""))


def is_request(text: str) -> bool:
    """Whether the user typed something in a message that says anything."""
    typed = _typed(text)
    return bool(typed) and not is_filler(typed)


def _typed(text: str) -> str:
    """Return what the user typed of a message; "" if a program wrote all of it."""
    typed = _without_injected(text).strip()
    return "" if typed.startswith(_NOT_TYPED) else typed


def is_filler(text: str) -> bool:
    """Whether a text only greets, thanks, agrees or promises: "Acknowledged.", "Sure, go on.", 好的，明白了。"""
    words = _WORD.findall(_FILLER_ZH.sub(" ", text[:FILLER].lower().replace("’", "'")))
    return len(text) <= FILLER and _FILLER.issuperset(words)


def _without_injected(text: str) -> str:
    """Return a message without the elements that a program put into it."""
    typed: list[str] = []
    end = 0
    unclosed: set[str] = set()
    for match in _INJECTED.finditer(text):
        close = f"</{match[1]}>"
        at = text.find(close, match.end()) if match.start() >= end and close not in unclosed else -1
        if at >= 0:
            typed.append(text[end : match.start()])
            end = at + len(close)
        elif match.start() >= end:
            unclosed.add(close)
    return "".join([*typed, text[end:]])


def continuation_summaries(users: Sequence[Utterance]) -> list[str]:
    """Return the summaries that an agent wrote as a user message when it continued after a compaction."""
    return [utterance.text for utterance in users if utterance.text.lstrip().startswith(SUMMARIES)]


def shorten_text(text: str, tokens: int, costs: Costs) -> str:
    """Return the text if it fits, else its first, last, rule and question sentences on one line; "" if none fits."""
    cost = costs(bullet(text))
    if cost <= tokens or tokens < SMALLEST:
        return text if cost <= tokens else ""
    prose = _FENCED.sub(" [```] ", _without_revoked(text))
    per = max(0.5, len(text) / cost)
    excerpt = fill(
        "", dialogue_levels(read_sample(prose, READ_LIMIT)).summary, costs.count, TokenLimit(tokens - 4, per)
    ).text
    line = " ".join(excerpt.split())
    if line.strip("… ") and costs(bullet(line)) <= tokens:
        return line
    chars = int((tokens - 3) * per)
    while chars > 8:
        clip = one_line(" ".join(prose.split()), chars)
        if costs(bullet(clip)) <= tokens:
            return clip
        chars = chars * 3 // 4
    return ""


def task_lines(first: str, current: str, budget: int, costs: Costs, locale: str) -> SectionLines:
    """Return the first request, in half of the budget if the current one needs the other half, and the current one."""
    requests = {
        f"{word('first', locale)}: ": first,
        f"{word('current', locale)}: ": current if current != first else "",
    }
    requests = {label: text for label, text in requests.items() if text}
    needs = [costs(bullet(label + text)) for label, text in requests.items()]
    lines, left, complete = [], budget, True
    for i, (label, text) in enumerate(requests.items()):
        own = left - min(sum(needs[i + 1 :]), budget // 2)
        shortened = shorten_text(text, own - costs(label), costs)
        line = bullet(label + shortened)
        complete = complete and shortened == text
        if shortened and costs(line) <= left:
            lines.append(line)
            left -= costs(line)
    return SectionLines(lines, budget - left, complete)


def unshown_texts(said: Sequence[Utterance], page: str, previous: Sequence[str] = ()) -> list[str]:
    """Return what the assistant or a program said and no entry of the page shows yet."""
    entries = {line.removeprefix("- ") for line in page.split("\n")}
    texts = dict.fromkeys([*previous, *(utterance.text.strip() for utterance in said)])
    return [text for text in texts if text not in entries and not is_filler(text)]


def text_lines(texts: Sequence[str], budget: int, costs: Costs) -> SectionLines:
    """Return short texts whole and long ones cut to an equal length; in a small budget what binds and the newest."""
    needs = {text: costs(bullet(text)) for text in texts}
    chosen = _choose_texts(needs, budget)
    lengths = _lengths({text: needs[text] for text in chosen}, budget)
    lines, used, complete = [], 0, len(chosen) == len(needs)
    for text in chosen:
        shortened = text if needs[text] <= lengths[text] else shorten_text(text, lengths[text], costs)
        complete = complete and shortened == text
        if shortened and used + costs(bullet(shortened)) <= budget:
            lines.append(bullet(shortened))
            used += costs(lines[-1])
    return SectionLines(lines, used, complete)


def _lengths(needs: dict[str, int], budget: int) -> dict[str, int]:
    """Return how long each text may be. What alone is longer than the budget was pasted, and gives way to the rest."""
    typed = {text: need for text, need in needs.items() if need <= budget}
    pasted = len(needs) - len(typed)
    cap = max(LEAST, _equal_length([*typed.values()], budget - LEAST * pasted))
    left = budget - sum(min(need, cap) for need in typed.values())
    rest = max(LEAST, min(left // max(1, pasted), budget // MOST_PARTS))
    return {text: cap if text in typed else rest for text in needs}


def _choose_texts(needs: dict[str, int], budget: int) -> list[str]:
    """Return as many as fit, long ones cut: those with constraints in half of the budget, the newest in the rest."""
    if sum(min(need, LEAST) for need in needs.values()) <= budget:
        return list(needs)
    newest = list(reversed(needs))
    rules = _take_fitting([text for text in newest if _holding(text)], needs, budget // 2)
    left = budget - sum(min(needs[text], LEAST) for text in rules)
    chosen = {*rules, *_take_fitting([text for text in newest if text not in rules], needs, left)}
    return [text for text in needs if text in chosen]


def _take_fitting(texts: Sequence[str], needs: dict[str, int], budget: int) -> set[str]:
    """Return the first texts that fit."""
    used = accumulate(min(needs[text], LEAST) for text in texts)
    return {text for text, cost in zip(texts, used, strict=True) if cost <= budget}


def _equal_length(needs: Sequence[int], budget: int) -> int:
    """Return the length to which all are cut so that together they fill the budget."""
    left = budget
    for i, need in enumerate(sorted(needs)):
        length = left // (len(needs) - i)
        if need > length:
            return length
        left -= need
    return budget


def decision_entries(assistant: Sequence[Utterance], previous: Sequence[str], length: int) -> list[Entry]:
    """Return sentences in which the assistant chooses, explains or concludes, and the first of its last statement."""
    entries: dict[str, Entry] = {text: Entry(i - len(previous), text, 0.8) for i, text in enumerate(previous)}
    worths = [0.0, *_WORTHS.values()]
    for utterance in assistant:
        if not _CUES.search(utterance.text.lower()):
            continue
        for sentence in SENTENCE.split(_FENCED.sub(" ", utterance.text))[:SENTENCES]:
            is_statement = len(sentence.encode()) >= SHORTEST and not sentence.endswith((":", "："))
            cues = _CUES.finditer(sentence.lower() if is_statement else "")
            if worth := max((worths[cue.lastindex or 0] for cue in cues), default=0.0):
                line = one_line(sentence.replace("**", "").strip(" #*->|✅"), LONGEST)
                entries[line] = Entry(utterance.place, line, worth * (0.5 + utterance.place / max(1, length)))
    last = next((utterance for utterance in reversed(assistant) if not is_filler(utterance.text)), None)
    if last:
        sentences = SENTENCE.split(last.text.strip())
        line = one_line(next(filterfalse(is_filler, sentences), sentences[0]), LONGEST)
        entries[line] = Entry(last.place, line, 4.0)
    return [entry for entry in entries.values() if entry.text]
