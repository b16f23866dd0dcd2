"""The user's own sentences in a message. Code, logs, diffs, markup, letters and pasted documents are not the user's.

Lines become blocks, and blocks become sentences. Each step yields spans of the text, so that what is found is verbatim.
Every pattern is bounded by its line or sentence, so the work does not grow faster than the message.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sightline.shorten.rules.pattern_table import Table
from sightline.values.pattern import pattern

SENTENCE = 400  # characters; of a longer sentence the clause with the cue is kept
PASTED = 3_000  # characters of one paragraph; nobody types a longer one
DOCUMENT_HEADINGS = 3  # headings that make a text a document: a request has one or two
DOCUMENT = 1_500  # characters from the first heading on; a shorter text is a well-ordered request


class Span(NamedTuple):
    """A piece of the text. `kind`: "rule" or "task" under such a heading, "document" or "foreign" in a paste, or ""."""

    start: int
    end: int
    kind: str = ""


def sentences(text: str) -> Iterator[Span]:
    """Yield the user's sentences. A list item under a heading is one sentence."""
    for block in _blocks(text):
        if block.kind and block.end - block.start <= SENTENCE:
            yield block
        elif block.end - block.start <= PASTED:
            yield from _split_block(text, block)


def plain(sentence: str) -> str:
    """Return the sentence as it is judged: lower case, one kind of apostrophe, no quoted text and no emphasis."""
    unquoted = QUOTE.sub("‹›", CAPTION.sub("", sentence.lower().replace("’", "'")))
    return " ".join(HALF_QUOTE.sub("‹›", unquoted).replace("*", "").split())


# --- Blocks -------------------------------------------------------------------------------------------------------

HEADING = pattern(r" {0,3}#{1,6} +\S")
ITEM = pattern(
    r"\s*(?:[-*•·+](?=\s)|\(?\d{1,3}[.)](?=\s)|\d{1,3}[、）．]|（\d{1,2}）|[①-⑳]|[一二三四五六七八九十]{1,3}、)"
    r"\s*(?:\[[ xX]\]\s*)?"
)
LEAD, TRAIL = r"[\s#*_【\[]{0,12}", r"[\s*_】\]]{0,8}[:：]?[\s*_]{0,4}$"
RULE_HEADING = Table(
    r"""
    (?i:<lead>(?:(?:<kind>) ){0,3}<rules>(?: (?:to follow|for (?:this|the|you|my|our)[\w ]{0,30}))?<trail>)
    <lead>(?:具体|格式|基本|写作|其他|硬性|编码|代码|几点|几个|以下|我的|特别)?<rules_zh>(?:如下)?<trail>
    """,
    lead=LEAD,
    trail=TRAIL,
    kind="the|my|our|some|few|a|ground|house|hard|key|important|other|strict|coding|style|writing",
    rules=r"(?:(?:rule|constraint|requirement|convention|restriction|must[- ]have|guideline)s?|(?:do'?s and )?don'?ts)",
    rules_zh="(?:规则|要求|约束|约束条件|限制|限制条件|注意事项|注意|须知|规范|原则|条件)",
)
TASK_HEADING = Table(
    r"""
    (?i:<lead>(?:to-?dos?(?: list)?|<open> (?:tasks|items|work)|(?:tasks )?for later|later|next steps)<trail>)
    <lead>(?:待办|待办事项|后续|后续任务|后续工作|遗留问题|未完成)<trail>
    """,
    lead=LEAD,
    trail=TRAIL,
    open="(?:open|remaining|pending)",
)


def _blocks(text: str) -> Iterator[Span]:
    """Yield the user's paragraphs and list items, with the kind of heading above a list; of a document only items."""
    kind = ""
    for block in _paragraphs(text):
        line = text[block.start : block.end]
        item = ITEM.match(line)
        if RULE_HEADING.at(line) or TASK_HEADING.at(line):
            kind = "rule" if RULE_HEADING.at(line) else "task"
        elif not item:
            kind = ""
            if not block.kind:
                yield block
        elif kind or not block.kind:
            yield Span(block.start + item.end(), block.end, kind)


def _paragraphs(text: str) -> Iterator[Span]:
    """Yield lines, joined if a sentence is wrapped or a list item continues; lines of a document are marked."""
    lines = list(_own_lines(text))
    document = _document(text, lines)
    last: Span | None = None
    for line in lines:
        line_text = text[line.start : line.end]
        if last and _continues(text[last.start : last.end], line_text):
            last = last._replace(end=line.end)
            continue
        if last:
            yield last
        last = line._replace(kind="document" if line.start >= document else "") if line_text.strip() else None
    if last:
        yield last


def _continues(paragraph: str, line: str) -> bool:
    """Whether this line continues the paragraph: text wrapped at a margin, or text indented under a list item."""
    if not line.strip() or ITEM.match(line) or HEADING.match(line):
        return False
    if ITEM.match(paragraph) and line.startswith("  "):
        return True
    return len(paragraph) > 50 and line[0].islower() and paragraph[-1] not in ".!?:;。！？：；"


def _document(text: str, lines: list[Span]) -> int:
    """Return where a pasted document begins: at the first heading, if there are several and much text follows."""
    headings = [line.start for line in lines if HEADING.match(text[line.start : line.end])]
    if len(headings) < DOCUMENT_HEADINGS or len(text) - headings[0] < DOCUMENT:
        return len(text)
    return headings[0]


# --- Lines --------------------------------------------------------------------------------------------------------

FENCE = pattern(r"\s*(?:```|~~~)")
TAG = pattern(r"\s*<([A-Za-z][\w:-]{0,60})[^<>\n]{0,200}>")
# what a user does not type: quotes, prompts, tables, comments, logs, stack frames, test reports, code
FOREIGN_LINE = Table(r"""
    \s*(?:\[[\w:.-]{1,40}\] )?(?:[>|$❯⎿│%]|#!|//|/\*|\*/)
    \s*["“「][^"”」]+["”」]\W*$
    \ {4}(?!\s*(?:[-*•]|\d+[.)])\s)|\t
    \s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\s*\[?\d\d:\d\d:\d\d
    \s*\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL)\b\]?[:\s]
    \s+at \S+\(|\s+File \"
    \s*(?:[\w.]{0,80}(?:Error|Exception|Warning)|error|warning|fatal|npm ERR!)(?:\[\w+\])?:
    \S+::\S+ (?:[A-Z]{4}|-)|_{4}|={4}|(?:PASSED|FAILED) |.{0,200} (?:PASSED|FAILED)\s*(?:\[|$)
    \s*(?:def|class|import|from \S+ import|return|func|fn|const|let|var|public|private)\b.{0,300}[:;{}()=]$
    """)
# up to the next empty line: tracebacks, diffs, JSON
FOREIGN_BLOCK = pattern(r"\s*Traceback \(most recent call last\)|diff --git |--- a/|@@ -\d|\s*[\[{]\s*(?:[\"{\[]|$)")
# the paragraph after this line is somebody else's
PASTE_FOLLOWS = Table(
    r"""
    (?i:\b<text>s?\b[^.:]{0,40}:$)
    (?:邮件|文章|原文|日志|合同|通知|全文|文档|报错|材料|公告)[^。：:]{0,10}[:：]$
    """,
    text="(?:e-?mail|article|policy|docs?|documentation|message|text|paragraph|letter|output|transcript|error|quote|"
    "contract|readme|ticket|comment|template|example|sample|excerpt|passage|draft)",
)
LETTER = pattern(r"\s*(?:Dear [^.!?]{1,60}[,:]|(?:尊敬的|亲爱的|各位)[^，。]{1,20}[：:])\s*$")
LETTER_ENDS = pattern(r"\s*(?:(?:best|kind|warm)?\s*regards|sincerely|yours|best wishes|此致|敬上)\b", re.IGNORECASE)


def _own_lines(text: str) -> Iterator[Span]:
    """Yield the lines that the user wrote. Other lines become empty ones, so that nothing is joined across them."""
    foreign = announced = letter = False
    for line in _unfenced_lines(text):
        line_text = text[line.start : line.end]
        letter = (letter and not LETTER_ENDS.match(line_text)) or (line.start > 0 and bool(LETTER.match(line_text)))
        if line.kind:
            foreign = announced = False  # this was the announced paste
        elif not line_text.strip():
            foreign = foreign and announced  # an empty line may be between the announcement and the paste
        elif FOREIGN_BLOCK.match(line_text):
            foreign = True
        elif announced and ITEM.match(line_text):  # a list is probably the user's remarks
            foreign = False
        announced = announced and not line_text.strip()
        own = not (foreign or letter or FOREIGN_LINE.at(line_text))
        yield line if own else Span(line.start, line.start)
        is_colon = line_text.endswith((":", "："))  # with which each of these patterns ends
        if own and is_colon and PASTE_FOLLOWS.in_(line_text[-100:]) and not RULE_HEADING.at(line_text):
            foreign = announced = True


def _unfenced_lines(text: str) -> Iterator[Span]:
    """Yield the lines outside code fences and elements. A fence and an element each become an empty line."""
    position, fenced, unclosed = 0, False, set[str]()
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        line = text[position:end].rstrip()
        tag = TAG.match(line)
        close, hidden = -1, fenced
        if FENCE.match(line):
            fenced = not fenced
            hidden = True
        elif tag and not fenced and tag[1] not in unclosed:
            close = text.find(f"</{tag[1]}>", position)
            hidden = close >= 0
            unclosed |= set() if hidden else {tag[1]}  # searched once, because the search goes to the end
        yield Span(position, position, "foreign") if hidden else Span(position, position + len(line))
        position = end + 1 if close < 0 else close + len(f"</{tag[1] if tag else ''}>")


# --- Sentences ----------------------------------------------------------------------------------------------------

STOP = Table(
    r"""
    <abbreviated>[.!?…]+[\"'”’)\]*_]{0,3}(?=\s)
    [。！？]+[\"”』」）)]{0,2}|[!?]+(?=[\u4e00-\u9fff])
    """,
    abbreviated=r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)",
)
CLAUSE = Table(r"[,;，；：]\s?|:\s|\s[-–—]+\s")
QUOTE = pattern(r"\"[^\"]{0,300}\"|“[^”]{0,300}”|「[^」]{0,300}」|《[^》]{0,100}》|`[^`]{1,200}`")
CAPTION = pattern(r"\[[^\[\]]{12,400}\](?!\()")  # what a program says of a picture; a link has an address
HALF_QUOTE = pattern(r"(?:^|(?<=\s))[\"“](?=\w).*$|^[^\"”]*[a-z][.!?,]?[\"”](?=\s|$)")  # the next sentence ends it
# the rest of the paragraph is the material to work on
MATERIAL = Table(
    r"""
    (?i:\b(?:translate|proofread|rephrase|paraphrase|polish|correct|summari[sz]e)\b(?![^.:]*\b<terms>)[^.:\n]{0,40}:\s)
    (?:翻译|润色|改写|校对|概括|解释)(?![^。：:]*(?:要求|规则|注意|条件|时))[^。，：:\n]{0,10}[:：]
    """,
    terms="(?:rule|constraint|requirement|condition|way|style|note)s?",
)


def _split_block(text: str, block: Span) -> Iterator[Span]:
    """Yield the sentences of a paragraph; of a sentence that is too long, its clauses."""
    material = MATERIAL.pattern.search(text, block.start, block.end)
    own = block._replace(end=material.end()) if material else block
    for sentence in _split_at(text, own, STOP):
        if sentence.end - sentence.start <= SENTENCE:
            yield sentence
            continue
        for clause in _split_at(text, sentence, CLAUSE):
            for start in range(clause.start, clause.end, SENTENCE):  # a text without commas is cut anywhere
                yield Span(start, min(start + SENTENCE, clause.end))


def _split_at(text: str, span: Span, mark: Table) -> Iterator[Span]:
    """Yield the pieces between the marks, each with its mark and without surrounding spaces."""
    quoted = [quote.span() for quote in QUOTE.finditer(text, span.start, span.end)]
    marks = (match.span() for match in mark.pattern.finditer(text, span.start, span.end))
    ends = [end for at, end in marks if not any(start < at and end < close for start, close in quoted)]
    start = span.start
    for end in (*ends, span.end):
        piece = text[start:end]
        if piece.strip():
            yield Span(end - len(piece.lstrip()), start + len(piece.rstrip()))
        start = end
