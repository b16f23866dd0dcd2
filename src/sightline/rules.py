"""What a user's message asks to be kept: the rules it sets and the tasks it leaves open, verbatim.

Three steps. `_blocks` keeps the user's own words: code, logs, diffs, markup and pasted documents are someone else's.
`_sentences` cuts them. `_is_rule` and `_is_task` judge one sentence by its cues and by what unsays them: a question, a
narration, a third party's rule. Only LOOKED characters are read, in pieces of at most SENTENCE, and every pattern is
bounded by its piece: the work does not grow with the message.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

LOOKED = 16_384  # characters read: of a longer message the first and the last half of this; the rest is pasted
SENTENCE = 400  # characters; a longer sentence is kept as its clause with the cue
PASTED = 3_000  # characters of one paragraph; nobody types a longer one
DOCUMENT_HEADINGS = 3  # headings that make a text a document: people who talk write one or two
DOCUMENT = 1_500  # characters from its first heading on; a shorter one is a well-ordered request

# Whatever is found contains one of these, or stands under a heading that does: most messages are done after one look.
CUES = """
    not never must mustn't only no need needs should shouldn't always sure ensure without avoid refrain stop keep leave
    now here point forward future henceforth nothing most stick instead rather prefer has have ought shall forbidden
    prohibited limits off-limits allowed permitted mandatory rule rules constraint constraints guidelines convention
    conventions requirement requirements restriction restrictions limit careful do's don'ts dont don't cannot can't tops
    matter costs minimum max maximum less fewer question table no-go negotiable non-negotiable option if whenever answer
    reply respond exactly verbatim throughout everywhere exceptions every each all interested care long provided under
    condition important essential critical crucial vital hold steer stay stays remain remains skip treat concise brief
    polite direct honest specific short formal time wait chance hands spare except default below within let's quit any
    unless until must-have must-haves strictly before first todo todos to-do to-dos forget remember remind later after
    afterward afterwards once when still next eventually tomorrow back follow-up follow remaining pending soon backlog
    outstanding wrap finish get another reminder per least
"""
CUE_WORDS = frozenset(CUES.split())
WORD = re.compile(r"[a-z'-]+")
SPACED = str.maketrans(dict.fromkeys('.,;:!?()[]{}<>*_`"/#|=', " "))  # parts ASCII like WORD, five times as fast
CHINESE_CUE = re.compile(
    "[不别必务禁勿只仅律定今往从每凡统确证尽避内至最控持留优要规约限注须原条绝未待记忘稍回晚后下明提接遗剩完放有到始全用先经切"
    "牢谨严杜遵越概忽以等过无都需]"
)


def rules(text: str) -> list[str]:
    """The sentences in which the user sets a rule: verbatim, in order, each once. Of a long text both ends are read."""
    return _found(text, "rule", _is_rule)


def tasks(text: str) -> list[str]:
    """The sentences in which the user leaves a task for later: verbatim, in order, each once; both ends, as above."""
    return _found(text, "task", _is_task)


def speaks_of_rules(text: str) -> bool:
    """Whether any cue occurs in what is read: if not, `rules` and `tasks` are empty."""
    return any(map(_has_cue, _looked_at(text)))


def _found(text: str, under: str, judge: Callable[[str], bool]) -> list[str]:
    if not speaks_of_rules(text):
        return []
    sentences = ((part[s.start : s.end], s.under) for part in _looked_at(text) for s in _sentences(part))
    kept = (words for words, over in sentences if over == under or (_has_cue(words) and judge(_plain(words))))
    return list(dict.fromkeys(kept))


def _has_cue(text: str) -> bool:
    if text.isascii():
        return not CUE_WORDS.isdisjoint(text.lower().translate(SPACED).split())
    return bool(CHINESE_CUE.search(text)) or not CUE_WORDS.isdisjoint(WORD.findall(text.lower().replace("’", "'")))


def _looked_at(text: str) -> tuple[str, ...]:
    """The parts that are read: the whole text, or its two ends, each a run of whole lines where it has lines."""
    if len(text) <= LOOKED:
        return (text,)
    head, tail = text[: LOOKED // 2], text[-LOOKED // 2 :]
    head, tail = head[: head.rfind("\n") + 1] or head, tail[tail.find("\n") + 1 :]
    if text.count("\n```", 0, len(text) - len(tail)) % 2:  # the tail begins inside a fence
        tail = tail[tail.find("\n```") + 4 :] if "\n```" in tail else ""
    return head, tail


# --- The user's own words -----------------------------------------------------------------------------------------


@cache  # compiled when first asked for: all of them take longer than the rest of the package to load
def _any(alternatives: str) -> re.Pattern[str]:
    """One pattern of many: each line is an alternative."""
    return re.compile("|".join(line.strip() for line in alternatives.strip().splitlines()))


FENCE = re.compile(r"\s*(?:```|~~~)")
# what nobody types: quotes, prompts, tables, comments, logs, stack frames, test reports, code
FOREIGN_LINE = r"""
    \s*(?:[>|$❯⎿│%]|#!|//|/\*|\*/)
    \s*["“「][^"”」]+["”」]\W*$
    \ {4}(?!\s*(?:[-*•]|\d+[.)])\s)|\t
    \s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\s*\[?\d\d:\d\d:\d\d
    \s*\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL)\b\]?[:\s]
    \s+at \S+\(|\s+File \"
    \s*(?:[\w.]{0,80}(?:Error|Exception|Warning)|error|warning|fatal|npm ERR!)(?:\[\w+\])?:
    \S+::\S+ |_{4}|={4}|(?:PASSED|FAILED) |.{0,200} (?:PASSED|FAILED)\s*(?:\[|$)
    \s*(?:def|class|import|from \S+ import|return|func|fn|const|let|var|public|private)\b.{0,300}[:;{}()=]$
    """
FOREIGN_BLOCK = re.compile(  # up to the next empty line: tracebacks, diffs, JSON
    r"\s*Traceback \(most recent call last\)|diff --git |--- a/|@@ -\d|\s*[\[{]\s*(?:[\"{\[]|$)"
)
PASTE_FOLLOWS = re.compile(  # the paragraph after this line is somebody else's
    r"\b(?:e-?mail|article|policy|docs?|documentation|message|text|paragraph|letter|output|transcript|error|quote|"
    r"contract|readme|ticket|comment|template|example|sample|excerpt|passage|draft)s?\b[^.:]{0,40}:$"
    r"|(?:邮件|文章|原文|日志|合同|通知|全文|文档|报错|材料|公告)[^。：:]{0,10}[:：]$",
    re.IGNORECASE,
)
TAG = re.compile(r"\s*<([A-Za-z][\w:-]{0,60})[^<>\n]{0,200}>")
HEADING = re.compile(r" {0,3}#{1,6} +\S")
ITEM = re.compile(
    r"\s*(?:[-*•·+](?=\s)|\(?\d{1,3}[.)](?=\s)|\d{1,3}[、）．]|（\d{1,2}）|[①-⑳]|[一二三四五六七八九十]{1,3}、)"
    r"\s*(?:\[[ xX]\]\s*)?"
)
LEAD, TRAIL = r"[\s#*_【\[]{0,12}", r"[\s*_】\]]{0,8}[:：]?[\s*_]{0,4}$"
RULE_HEADING = re.compile(
    rf"{LEAD}(?:(?:the|my|our|some|few|a|ground|house|hard|key|important|other|strict|coding|style|writing) ){{0,3}}"
    r"(?:rules?|constraints?|requirements?|guidelines|conventions?|restrictions?|must[- ]haves?|(?:do'?s and )?don'?ts)"
    rf"(?: (?:to follow|for (?:this|the|you|my|our)[\w ]{{0,30}}))?{TRAIL}"
    rf"|{LEAD}(?:具体|格式|基本|写作|其他|硬性|编码|代码|几点|几个|以下|我的|特别)?"
    rf"(?:规则|要求|约束|约束条件|限制|限制条件|注意事项|注意|须知|规范|原则|条件)(?:如下)?{TRAIL}",
    re.IGNORECASE,
)
TASK_HEADING = re.compile(
    rf"{LEAD}(?:to-?dos?(?: list)?|(?:open|remaining|pending) (?:tasks|items|work)|(?:tasks )?for later|later|"
    rf"next steps|待办|待办事项|后续|后续任务|后续工作|遗留问题|未完成){TRAIL}",
    re.IGNORECASE,
)


class Span(NamedTuple):
    """A piece of the text; `under` is what stands over it: "rule" or "task", "document" or "foreign", or nothing."""

    start: int
    end: int
    under: str = ""


def _sentences(text: str) -> Iterator[Span]:
    """The user's sentences; an item under a heading is one whole."""
    for block in _blocks(text):
        if block.under and block.end - block.start <= SENTENCE:
            yield block
        elif block.end - block.start <= PASTED:
            yield from _cut(text, block)


def _blocks(text: str) -> Iterator[Span]:
    """The user's paragraphs and list items, with what the heading over a list says; of a document only such items."""
    under = ""
    for block in _paragraphs(text):
        line = text[block.start : block.end]
        item = ITEM.match(line)
        if RULE_HEADING.match(line) or TASK_HEADING.match(line):
            under = "rule" if RULE_HEADING.match(line) else "task"
        elif not item:
            under = ""
            if not block.under:
                yield block
        elif under or not block.under:
            yield Span(block.start + item.end(), block.end, under)


def _paragraphs(text: str) -> Iterator[Span]:
    """Lines, joined where a sentence is wrapped or an item goes on; those of a document are under it."""
    lines = list(_own_lines(text))
    document = _document(text, lines)
    last: Span | None = None
    for line in lines:
        shown = text[line.start : line.end]
        if last and _goes_on(text[last.start : last.end], shown):
            last = last._replace(end=line.end)
            continue
        if last:
            yield last
        last = line._replace(under="document" if line.start >= document else "") if shown.strip() else None
    if last:
        yield last


def _goes_on(paragraph: str, line: str) -> bool:
    """Whether this line continues the paragraph: text wrapped at a margin, or what is indented under an item."""
    if not line.strip() or ITEM.match(line) or HEADING.match(line):
        return False
    if ITEM.match(paragraph) and line.startswith("  "):
        return True
    return len(paragraph) > 50 and line[0].islower() and paragraph[-1] not in ".!?:;。！？：；"


def _document(text: str, lines: list[Span]) -> int:
    """Where a pasted document begins: at the first heading, when there are several and much stands under them."""
    headings = [line.start for line in lines if HEADING.match(text[line.start : line.end])]
    if len(headings) < DOCUMENT_HEADINGS or len(text) - headings[0] < DOCUMENT:
        return len(text)
    return headings[0]


def _own_lines(text: str) -> Iterator[Span]:
    """The lines the user wrote. What is not theirs leaves an empty one, so that nothing is joined across it."""
    foreign = announced = False
    for line in _unfenced_lines(text):
        shown = text[line.start : line.end]
        if line.under:
            foreign = announced = False  # the announced paste was this one
        elif not shown.strip():
            foreign = foreign and announced  # an empty line may stand between the announcement and the paste
        elif FOREIGN_BLOCK.match(shown):
            foreign = True
        elif announced and ITEM.match(shown):  # a list is rather the user's remarks on it
            foreign = False
        announced = announced and not shown.strip()
        own = not foreign and not _any(FOREIGN_LINE).match(shown)
        yield line if own else Span(line.start, line.start)
        if own and PASTE_FOLLOWS.search(shown[-100:]) and not RULE_HEADING.match(shown):
            foreign = announced = True


def _unfenced_lines(text: str) -> Iterator[Span]:
    """The lines outside code fences and elements; a fence and an element each leave an empty line."""
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
            unclosed |= set() if hidden else {tag[1]}  # looked for once: the search goes to the end
        yield Span(position, position, "foreign") if hidden else Span(position, position + len(line))
        position = end + 1 if close < 0 else close + len(f"</{tag[1] if tag else ''}>")


# --- Sentences ----------------------------------------------------------------------------------------------------

STOP = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)"
    r"(?:[.!?…]+[\"'”’)\]*_]{0,3}(?=\s)|[。！？]+[\"”』」）)]{0,2}|[!?]+(?=[\u4e00-\u9fff]))"
)
CLAUSE = re.compile(r"[,;，；：]\s?|: |\s[-–—]+\s")
QUOTE = re.compile(r"\"[^\"]{0,300}\"|“[^”]{0,300}”|「[^」]{0,300}」|《[^》]{0,100}》|`[^`]{1,200}`")
HALF_QUOTE = re.compile(r"(?:^|(?<=\s))[\"“](?=\w).*$|^[^\"”]*[a-z][.!?,]?[\"”](?=\s|$)")  # the next sentence ends it


def _cut(text: str, block: Span) -> Iterator[Span]:
    """The sentences of a paragraph; of one that is too long, its clauses."""
    for sentence in _pieces(text, block, STOP):
        if sentence.end - sentence.start <= SENTENCE:
            yield sentence
            continue
        for clause in _pieces(text, sentence, CLAUSE):
            for start in range(clause.start, clause.end, SENTENCE):  # what has no commas is cut anyhow
                yield Span(start, min(start + SENTENCE, clause.end))


def _pieces(text: str, span: Span, mark: re.Pattern[str]) -> Iterator[Span]:
    """What the marks part, each piece with its mark, without the spaces around it."""
    ends = [match.end() for match in mark.finditer(text, span.start, span.end)]
    start = span.start
    for end in (*ends, span.end):
        piece = text[start:end]
        if piece.strip():
            yield Span(end - len(piece.lstrip()), start + len(piece.rstrip()))
        start = end


def _plain(sentence: str) -> str:
    """The sentence as the judges read it: lower case, one kind of apostrophe, what is quoted or emphasised unmarked."""
    plain = QUOTE.sub("‹›", sentence.lower().replace("’", "'"))
    plain = HALF_QUOTE.sub("‹›", plain).replace("*", "")
    return " ".join(plain.split())


# --- English ------------------------------------------------------------------------------------------------------

CHINESE = re.compile(r"[\u4e00-\u9fff]")
ENGLISH = re.compile(r"[a-z]{2}")
# "…, ok?" is no question
ASKED = r"""
    (?<!\bok)(?<!okay)(?<!right)(?<!please)(?<!got it)\?[\"')]{0,2}$
    ^(?:(?:and|but|so|also|ok|hmm|wait),? )?(?:why|how (?:do|can|should|to|come|does|is|are|much|many)) [^,]
    ^(?:what|when|where|which|who) (?:must|should|does|do|did|is|are|was|needs?|happens|if|about)\b
    ^(?:should|shall|must|can|could|may|do|does|did) (?:i|we|it|they|you (?:think|know|remember)|the|this|that|he|she)\b
    ^(?:do|ca|could|wo|would|is|are|should|does)n't (?:you|we|it|i|they|that|this|the)\b
    ^(?:is (?:it|there|this|that)|are (?:there|you|we|they))\b
    """
# a rule in the clothes of a question
REQUESTED = r"""
    \b(?:can|could|would|will) (?:you|we) (?:please |also |just |maybe )*(?:make sure|ensure|avoid|not|never)\b
    \b(?:can|could|would|will) (?:you|we) (?:please |also |just |maybe )*(?:always|only|stop|refrain|keep(?! \w+ing))\b
    ^(?:can|could|would|will) (?:you|we) .{0,200}\b(?:without \w+ing|but (?:don't|do not|not|only|keep))\b
    """
OTHERS = (
    r"(?:he|she|they|it|boss|manager|docs?|documentation|manual|policy|page|article|error|message|log|readme|website|who|"
    r"someone|everyone|people|company|team|teacher|doctor|which|linter|compiler|spec|guide|tutorial|book|reviewer|"
    r"customer|vendor|bank|airline|landlord|school|installer|advisor|colleague)"
)
SAYING = (
    r"(?:says?|said|told|tells|claims?|claimed|suggests?|suggested|states|stated|requires?|required|insists?|insisted|"
    r"warns|warned|complains?|wants me|wrote|recommends?|recommended|thinks?)"
)
CONTRAST = r"\b(?:but|yet|however|though)\b.{0,30}\b(?:do|does|did|is|isn't|doesn't|fail|still|get|keep|instead|happen)"
# somebody else's rule, a guess, a story
TOLD = rf"""
    \b{OTHERS} (?:also |just |even |always |clearly |explicitly )?{SAYING}\b
    \b(?:i was|i am|i'm|we were|was|been) (?:told|asked|instructed|supposed)\b|\baccording to\b
    ^(?:it |that |this )?(?:looks|seems|sounds|appears)\b|^(?:apparently|turns out|maybe|perhaps)\b
    ^i (?:wonder|noticed|guess|suspect|assume|thought|heard|read|see|saw|found|understand)\b
    \b(?:should|must)(?:n't)? (?:never |not |always |only )?\w+\b.{{0,80}}{CONTRAST}
    """
START = re.compile(  # after this an imperative may stand
    r"[,;:(—–] ?|\s[-–—]+ |\.\.+ ?|\b(?:and|but|so|or|then|also|(?<!i'll )just|please|pls|plz|again|therefore|you to|"
    r"ok|remember to|okay|though|yes|note that|note|important|importantly|remember|otherwise|instead|however|yeah|sure|"
    r"circumstances) "
)
STATES = (  # after "don't": what is told of oneself, not ordered
    r"(?:know|see|think|believe|understand|have|need|care|mind|like|want|feel|get|seem|exist|matter|really|even|you|we|i|"
    r"worry|they|forget|quite|recall|find|hear|bother|appear|actually|suppose|agree|work|match|yet|hesitate|remember)\b"
)
PAST = r"(?:got|had|been|was|were|saw|heard|did|came|went|knew|seen|done|found|\w+ed)\b"
DOING = (  # what one tells an agent to do
    r"(?:edit|change|modify|touch|use|write|make|add|delete|remove|commit|push|answer|reply|respond|return|show|run|rely|"
    r"give|list|include|fix|update|create|look|check|consider|work|do|send|book|pick|choose|output|report|print|call|let|"
    r"install|test|review|comment|suggest|translate|search|keep|mention|tell|ask|set|refactor|implement|convert|rewrite|"
    r"summari[sz]e|draft|generate|find|move|rename|apply|format|explain|cite|quote|buy|order|recommend|extract|deploy|"
    r"read|focus|store|merge|accept|allow|cover|count|start|open|replace|build|try|plan|clean|cancel|proceed|exchange|"
    r"preserve|handle|say|put|wait|skip|stop|flag|mark|pause|name|save|end|begin)"
)
NO_RULE = (  # "No …" that answers or tells
    r"(?:worries|problem|idea|need|one|wonder|luck|such|i|it|that|this|the|thanks?|way|errors?|outputs?|results?|response|"
    r"difference|changes?|clue|longer|matter|rush|news|you|we|he|she|they|doubt|not|but|just|please|hurry|don't|do|can|"
    r"my|what|there|further|other|explicit|pending|expected|specific|particular|preference|strong|now|"
    r"more questions|questions|constraints)\b"
)
COUNT = r"(?:\$|€)?(?:\d|one\b|two\b|three\b|four\b|five\b|six\b|ten\b)"
KEPT = (
    r"(?:under|below|within|as|same|short|simple|polite|brief|formal|small|unchanged|intact|consistent|concise|private|"
    r"separate|minimal|clean|compatible|backwards?|professional|casual|neutral|light|green|sync|to)\b"
)
# where an imperative may stand
ORDERS = rf"""
    (?:do not|don't|dont) (?!{STATES})\w
    never (?!mind|again|{PAST})\w|(?:always|only ever|strictly) (?!\w+ing\b|{PAST})\w|only {DOING}\b
    (?:also |always )?(?:make (?:absolutely |very )?sure|be (?:very )?sure to|ensure|be (?:very )?careful)\b
    avoid\b|refrain from|stick (?:to|with)\b|limit (?:yourself|it|the|your)\b|^prefer\b
    (?:stop|quit) (?!by\b|it\b)\w+ing\b
    leave (?:[\w'-]+ ){{1,6}}(?:alone|as is|as they are|as it is|un\w+ed|intact)\b
    keep (?!an eye|going|me |up|at it|trying|it up|working|on\b)(?:[\w'-]+ ){{1,6}}{KEPT}
    keep (?:it|everything|things|the \w+|your \w+) (?!up|going|coming|until|for)\w
    use [^.;]{{1,60}} (?:and )?not\b|nothing (?:with|over|above|under|below|too|that)\b|at most \S
    (?<!and )(?<!or )no (?!{NO_RULE})[\w'/-]+(?:[ ,]+[\w'/-]+){{0,6}}[.!]?$
    {DOING}\b.{{0,200}}\bwithout (?:\w+ing|my|first|any)\b
    (?:answer|reply|respond) (?:me )?(?:only )?(?:in|with|as|like|using)\b|treat [^.]{{1,60}} as\b
    (?:hold off|steer clear|stay (?:away|within|under|out|in)|spare me|hands off|skip (?:the|any|all)|leave out)\b
    be (?:concise|brief|polite|direct|honest|specific|short|formal)\b|let's (?:not|keep|stick|avoid|only|always|never)\b
    (?:every|each|all|nothing) (?!time|day|week)(?:[^.,]{{1,50}} )?(?:needs?|gets?|goes|go|stays?)\b
    {DOING}\b.{{0,200}}\b(?:rather than|instead of|verbatim|throughout|at all times|(?:each|every) time|at a time)\b
    {DOING}\b.{{0,200}}\b(?:exactly(?! (?:as|what|how|where|why|which))|everywhere|before (?:you|\w+ing)|wait for my)\b
    {DOING}\b.{{0,200}}\b(?:only (?:if|when)|except|by default|but (?:not|never|leave|keep|only))\b
    {DOING}\b.{{0,200}}\b(?:at (?:most|least)|no more than|max(?:imum)?|up to|under|below|within) {COUNT}
    {DOING}\b.{{0,200}}\b(?:fewer|less) than {COUNT}|not (?:a single|one \w|before|until|more|less)\b
    (?:write|name|format|prefix|spell|quote|wrap|sort|round|start|end|mark|label|put)\b.{{0,40}}\b(?:all|every|each|any)\b
    (?:hard |strict |house |one |another |new |my |the |key )?(?:rules?|constraints?|requirements?)(?: \d)?: ?\S
    """
NOT_WANTED = r"to (?:go|be|do|bother|sound|waste|lose|miss|have to|risk|talk|get|overthink|make things)\b"
CASE = r"(?:if|when|in case) (?!yes\b|no\b|so\b|not\b|they do\b)[^.?]{1,120}"
# anywhere
SAYS = rf"""
    \b{DOING}(?<!read) only (?!one\b)\w|\b(?:you|to) (?:may |can )?only (?!have\b)\w+|^(?:[\w'-]+ ){{1,6}}only[.!]?$
    \b(?:no|not) (?:more|less|fewer|later|earlier|longer|bigger|older) than\b
    \b(?:want|need|like|expect) (?:you|it|this) to (?:always|never|only|not|make sure|ensure|avoid|stop|keep (?!on))
    \bfrom (?:now|here|this point) on|\b(?:going|moving) forward\b|\bhenceforth\b|^in (?:the )?future,
    \bunder no circumstances\b|\bwhatever you do\b|\bat all costs\b|\bno matter what\b|\bbut without \w+ing\b
    \bwithout (?:asking|my (?:approval|permission|consent|ok|say|confirmation)|checking with|telling me|confirming)\b
    \b(?:is|are) (?:\w+ )?(?:forbidden|prohibited|not allowed|off[- ]limits|mandatory|not permitted|an? (?:\w+ )?must)\b
    \byou(?:'re| are) (?:not|never|only) (?:allowed|permitted) to\b|\byou(?:'re| are) (?:not )?to \w
    \b(?:until|unless) (?:i (?:say|tell|ask|approve|confirm|explicitly)|otherwise|asked|told)\b
    \b(?:ask|check with|confirm with|tell|show|consult) me (?:first|before)\b|\bask (?:first|before) \w+ing\b
    (?<!no, )\bi (?:really )?(?:do not|don't) want (?!{NOT_WANTED})(?:you|any|the|it|this|a|to|your|my|more)\b
    \b(?:i|we) only (?:want|need|accept|eat|fly)\b|\bi only care about\b
    \bi(?:'m| am) (?:not looking for|only interested in)\b
    \b(?:i|we)(?:'d| would) rather (?:you|not|have)|\bprefer(?: not| .{{1,60}}\b(?:over|instead of|rather than))\b
    \b(?:i|we) (?:can't|cannot|can not|can only) (?:spend|exceed|afford|go (?:over|up to)|eat|have \w+[.!]?$)
    \b(?:you|we) (?:shouldn't|(?:should|need to|have to|ought to) (?:not|never|always|only|make sure|ensure|avoid))\b
    ^you (?:cannot|can't|may not) (?!see|find|tell|just)\w|^they must (?:not|never|only|always)\b
    \b(?:cannot|can't|may not|can not) (?:exceed|change|contain|include|appear|go (?:over|above|below))\b
    \b(?:cannot|can't|may not|can not) be (?:changed|used|touched|modified|edited|deleted|moved|shared|longer)\b
    ^(?:the|my|our|your|any|these|those|all) (?:[\w'-]+ ){{1,3}}(?:can't|cannot|may not) be\b
    \bnot (?:above|over|below|under|before|after|beyond) {COUNT}|\b(?:in|as|with) (?:[\w'-]+ ){{1,3}}only\b[,;.!]?
    ^(?:one|two|\d+) (?:[\w'-]+ ){{1,4}}per \w|^needs (?!to\b)\w
    ^[\w '-]{{3,40}} first, [\w '-]{{3,40}} (?:second|last|later)\b
    \b(?:out of the question|off the table|no-go|non-?negotiable|not an option|deal ?breaker|hands off|no exceptions)\b
    (?<!to )(?<!can )\b(?:stays?|remains?) (?:under|below|within|above|as|the same|un\w+ed)\b
    \bi(?:'d like| would like| need| want) (?:it|this|everything|(?:the|all) \w+) (?:to (?:be|stay)|under|within)\b
    \b(?:at (?:the )?most|max(?:imum)?|tops|or (?:less|fewer)|minimum)[.!)]?$
    \b(?:as long as|provided that|on (?:the )?condition that) (?!i\b)
    ^(?!(?:i|we|it|that|this|he|she|they|you)\b)[\w -]{{3,40}}, not [\w -]{{3,40}}[.!]?$
    \b(?:it's|it is) (?:very |really )?(?:important|essential|critical|crucial|vital) (?:that|to|you)\b
    ^(?:whenever|any ?time|every time|each time) you\b
    ^{CASE}, (?:please |then |just |you )*(?:ask|stop|say|skip|flag|wait|pause|use|leave|tell me (?!wh))\b
    """
OBLIGATION = re.compile(
    r"\b(?:(must|mustn't|shall)|should|shouldn't|ought to|(?:needs?|has|have) to)\b "
    r"(?:(?:not|never|always|only|also|all) )*"
    r"(be (?!(?:\w+(?:ed|en|wn)|met|sent|put|set|made|run|kept|held|left|paid|built|found|done)\b))?\w"
)
SUBJECT = re.compile(r"[\w'›]+(?<!ly)(?= )")
ADVERBS = frozenset({"also", "just", "then", "now", "always", "never", "all", "each", "both"})
NO_THING = frozenset({"", "you", "we", "and", "or", "but", "please"})
TELLERS = """
    i i'll i'd he she they who people someone everyone everybody users employees boss manager kids friend to do not dont
    don't doesn't didn't would will might may what which that still we'll you'll callers no longer
"""
WHO_TELLS = frozenset(TELLERS.split())  # what they must is no rule for the agent
BE = r"\w+(?:'t| to)? (?:still |not |definitely )?be"
# "must be a bug", "must have missed it", "should work"
GUESSED = rf"""
    \w+(?:'t| to)? (?:still |not )?(?:have (?!to|an?\b|at|the|no|\d)\w|work\b|help\b|already|probably|come from)
    \w+(?:'t| to)? (?:see|find|tell|just|trust)\b
    {BE} (?:some|something|because|due|related|within|wrong|missing|why|how|nice|fun|hard|tired|fine|able|okay?|good)\b
    {BE} (?:easy|enough|possible|working|there|ready|done|right|true|\d+|the (?!same|first|last|only|exact)\w+)\b
    {BE} an? (?:\w+ )?(?:bug|issue|problem|error|mistake|glitch|typo|way|reason|joke|race|simple|quick|good|lot)\b
    """
WEIGHT = re.compile(  # what makes a rule of "should" and "needs to"
    r"\b(?:never|always|only|all|every|each|any|no|not|nothing|without|under|at most|at least|within|more than|"
    r"less than|exactly|format|same|both|max(?:imum)?|min(?:imum)?|before|first|unless|everything|strictly|\d+)\b|n't\b"
)


def _is_rule(plain: str) -> bool:
    if CHINESE.search(plain) and _is_chinese_rule(plain):
        return True
    if not ENGLISH.search(plain):
        return False
    if _any(TOLD).search(plain) or (_any(ASKED).search(plain) and not _any(REQUESTED).search(plain)):
        return False
    starts = (0, *(start.end() for start in START.finditer(plain)))
    ordered = any(_any(ORDERS).match(plain, at) for at in starts)
    return bool(ordered or _any(SAYS).search(plain) or _any(REQUESTED).search(plain) or _obliges(plain))


def _obliges(plain: str) -> bool:
    """Whether something must, or should with weight: "the name must be short", not "that must be a bug"."""
    for found in OBLIGATION.finditer(plain):
        words = SUBJECT.findall(plain, max(0, found.start() - 60), found.start())
        who = next((word for word in reversed(words) if word not in ADVERBS), "")
        if who in WHO_TELLS or _any(GUESSED).match(plain, found.start()):
            continue
        has_to_be = found[2] and "to be" in found[0]
        if found[1] or (
            who not in NO_THING and (has_to_be or WEIGHT.search(plain, plain.rfind(",", 0, found.start()) + 1))
        ):
            return True
    return False


# --- What is left for later ---------------------------------------------------------------------------------------

LATE = r"(?:later(?: on)?|afterwards?|eventually|at some point)"
DATED = rf"(?:{LATE}|next (?:week|month|time|sprint)|tomorrow)"
ONCE = r"(?:and |then |ok,? |also,? )?(?:once|when|as soon as)"
OVER = r"(?:done|finish(?:ed|es)?|complete[sd]?|ready|pass(?:es|ed)?|merged|green|deployed|over)"
LATER = rf"""
    ^to-?dos?\b|\bto-?dos?(?: for later| list)?[:-]|\b(?:don't|do not|dont) forget\b
    \bfor later\b|\b(?:another|some other) (?:day|time)\b|\breminder\b[^.]{{0,40}}[:,]
    (?:^|[,;:] |\b(?:please|and|also|but|then|just) )(?:remember to\b|remind me (?:to|about|that|of)\b)
    \b(?:can|could) you remind me\b|\bstill (?:to do|outstanding|on the list)\b|\bfollow[- ]up (?:task|item|pr|ticket)\b
    \b{DATED},? (?:we|you|please)(?: also| still)?(?:'ll| will| need| should| can| have| must| add| do)\b
    ^{DATED},? {DOING}\b|\b(?:we'll|we will|we can|we should|we need|you can|you should|let's)\b.{{0,80}}\b{LATE}\b
    \b(?:{DOING}|tackle|leave|save)\b.{{0,80}}\b{LATE}\b
    ^(?:and |then |right |so |ok,? |also )?(?:after (?:that|this|you|it|the|we|all)\b.{{0,80}}, |afterwards,? \w)
    ^(?:and |then |right |so |ok,? |also )?after (?:that|this) \w
    ^{ONCE} you(?:'re| are|'ve| have)? (?:done|finished?)\b
    ^{ONCE} (?:that|this|it|all|everything|the|ci|tests?)\b.{{0,60}}\b{OVER}\b
    \b(?:we|you|i|it|[\w-]+s?) still (?:needs?|ha(?:ve|s)) to\b|\b(?:come|circle|get) back to (?:that|this|it|the)\b
    \bput (?:it|that|this) on (?:the|your|my) (?:list|backlog)\b|\b(?:can|will have to) wait\b
    \bget to (?:it|that|this)\b
    \bwhen you (?:get a chance|have (?:a )?(?:time|moment|minute))\b
    \bbefore (?:you|we) (?:finish|wrap up|leave|go|close)\b
    """
NOT_LATER = r"""
    \b(?:see|talk to|catch|speak to) (?:you|ya|u)\b|\bday after tomorrow|\bi'll eventually|^every time\b|^whenever\b
    \bi(?:'ll| will| can| might| am going to|'m going to) (?:[\w']+ ){1,12}(?:later|tomorrow|next week|afterwards?)
    \b(?:i|we|it|they|he|she) \w+ed\b.{0,60}\b(?:later|afterwards?)\b|^i (?:don't|can't) remember|^i still have to
    \b(?:minutes?|hours?|days?|weeks?|seconds?|years?|moments?|or|sooner) later\b
    \blater (?:than|versions?|flights?|time|date|one|train)\b|^after .{0,100}, i'll (?!need)
    ^(?:after|once|when)\b.{0,100}, (?:\w+ )?(?:i|it|we|they|the \w+|nothing|everything|that) (?:\w+(?:ed|s)|got|saw)\b
    ^(?:after|once|when)\b.{0,100}, (?:i|it|we|they|the \w+) (?:get|see|fail|were|had|stop|could|just|can't|don't|did)\b
    """


def _is_task(plain: str) -> bool:
    if CHINESE.search(plain) and _any(ZH_LATER).search(plain):
        return not (ZH_ASKED.search(plain) or ZH_NOT_LATER.search(plain))
    if not ENGLISH.search(plain):
        return False
    return bool(_any(LATER).search(plain)) and not (
        _any(NOT_LATER).search(plain) or _any(TOLD).search(plain) or _any(ASKED).search(plain)
    )


# --- Chinese ------------------------------------------------------------------------------------------------------

ZH_CLAUSE = re.compile(r"[，,；;：:。！!（）()]| - ")
ZH_ASKED = re.compile(
    r"(?<!可以吗)(?<!行吗)(?<!好吗)(?<!好不好)(?<!行不行)[？?][\"”]?$|[吗呢么][。.!！~]?$(?<!好吗)(?<!行吗)"
)
ZH_WONDERS = re.compile(  # in this clause only
    "为什么|为啥|怎么办|怎么回事|是不是|能不能|可不可以|要不要|有没有|是否|有什么|是什么|什么意思|哪些|哪个"
)
ZH_OTHERS = (
    "(?:老板|公司|经理|领导|他们?|她们?|它们?|文档|官方|医生|老师|别人|人家|手册|系统|论文|书[里上]|网[上站]|教程|学校|客户|同事|"
    "朋友|妈|爸|物业|房东|平台|日志|报错|提示|说明书?|政策|法律)"
)
# somebody else's rule, a guess, a story
ZH_TOLD = rf"""
    {ZH_OTHERS}[^，。]{{0,4}}(?:说|规定|写着|写道|里写|要求|表示|提示|建议|禁止|强调|告诉|认为|觉得|显示|必须|不让|只能|不能)
    据说|听说|听人说|看起来|好像|似乎|应该是|可能是|肯定是|以为|原来|本来|居然|竟然|突然
    """
ZH_TELLER = re.compile(  # a clause about the speaker
    r"^(?:但是?|可是?|所以|因为|然后|不过|而且|其实|因此|现在|最近|昨天|今天|刚才|刚刚)?"
    r"(?:我们?(?!的(?!电脑|手机))|咱们?|他们?|她们?|它们?|大家|别人)"
    r"(?!要求|希望|只要|不要|不想要|需要你|要你|想要你|说过|只想|不希望|不允许|没(?:有)?(?:同意|确认))"
)
# each alternative begins with its character: the search skips all others
ZH_BINDS = r"""
    不要(?!紧|钱|脸|命|说|忘|担心|客气|着急|急)|不准(?!确)|不许|不得(?!不|了|已)|不允许|不可以
    别(?<![特区分级类性识个判鉴差告离辨国派]别)(?![的人墅名处扭致样家提说担客着急看忘谢怕]|介意|难过)
    禁止|严禁|切勿|请勿|切忌|必须|务必|一定要|一定不|一律|千万(?!富|元|级|人|美)|绝不|绝对不|绝对要|永远不要
    不能(?<=你不能)
    不能(?:改|动|删|覆盖|修改|使?用(?!了|的|$)|出现|超|低于|少|多|泄|写|碰|丢|破坏|影响|有|包含|引入|提|直接)
    不能(?:随|省|漏|重复|晚|早|是|跳过|变|公开|外传|发|给|让|再)|只[能准限许](?!说|好|怪|.*了)
    只(?:要|需要?)(?!.{0,30}[就都])
    只(?<![一二两三四五六七八九十几多这那每船]只)(?![有是好剩见会想怕顾管得要需能准限许])(?!.{0,6}[了到过])
    仅限|仅使?用|仅允许|仅保留|仅[从对针]|以后(?!我)[^了]{0,20}[都要请不别用先]|今后[^了]{0,20}[都要请不别用先]
    往后[^了]{0,20}[都要请不别用先]|从(?:现在|今天|今|此|这次|下次)(?:开始|起|以后|往后)|每次.{0,20}[都先要前后]|凡是
    凡.{1,10}[都必]|统一[用使采为成放写按]|所有.{1,20}(?:都要|都用|都得|需要|均|都应|都不|应该)|任何.{1,20}都不
    每[个条一].{1,20}(?:都要|都用|都得|需要|均|应该)|确保|保证(?<!没有保证)(?!金)|尽量|尽可能|避免|避开|忽略|不超过
    不[大小晚早]于|不高于|不低于|不少于|不多于|以内|至少[要有留写给保]|最多(?!的)|控制在|保持|保留|优先(?!级)|无需
    不(?:用|必|需要)(?:客套|客气话|解释|道歉|寒暄|重复|总结|写|加|输出|给出|列|翻译|展示|说明|问我|注释)
    不(?:改动?|动|碰|新增|引入|考虑|接受|坐|住|吃)(?![了过得起])|不带|不含|不出现|不涉及|不提及|不想要|不想看到|不希望
    没有我的|未经我|未经允许|始终|全程|全部用|都用|先问我|先告诉我|先跟我|先征|等我[说确回同]|经我同意|我同意后|我确认后
    切记|牢记|谨记|严格|杜绝|遵循|遵守|越.{1,3}越好|一概|统统|记住(?!了)|请用|用.{1,8}(?:回答|回复|输出|交流)|须
    请先.{1,20}再|全部.{1,12}再|需要?(?:注明|标注|包含|附|支持|兼容|符合|满足|提前|经过)
    """
# how the work shall look; a rule that is announced
ZH_SHAPE = r"""
    (?:语气|格式|字数|标题|风格|颜色|内容|语言|文字|预算|座位|酒店|房间|价格|代码|命名)[^，。]{0,6}[要须](?!求|不要|是|么)
    (?:变量名?|注释|回复|回答|输出|结果|图片|图表|日期|金额|文件名)[^，。]{0,6}[要须](?!求|不要|是|么)
    以.{1,12}(?:格式|形式|口吻|语气|身份|风格)
    [^我你他她它们想需只都就还不]{2,8}要(?:有|用|写|放|加|够|能|带|包含|短|简|清|突出|体现|符合|支持|统一|一致)(?!.*了$)
    ^(?:规则|要求|约束|限制|注意|原则|前提|硬性要求|注意事项)[:：]\s?\S
    """
ZH_PERMITS = re.compile("可以不|不一定|不必须|要是|也行|都行|都可以|随便|无所谓|不要也|不需要也|没必要|不是不")
ZH_LATER = r"""
    待办|to-?do\b|(?<![我你还不])记得(?!我|上次|之前|以前|你)|(?:别|不要|千万别|可别)忘|提醒我|下一步
    放一放|先放着|以后再说|下个版本
    稍后(?!重试|再试|见)|回头(?!见|客|率|看|路|一)|晚点(?!到|见)
    (?:等会儿?|待会儿?|过会儿?|一会儿?)(?:再|还要|要|帮|把|记)
    (?:之后|以后|后面)(?:还?要|再|还得|还需要?|记得|需要)|最后(?:别忘|记得|还要)|有空再|有空的时候|到时候(?:再|记得)
    (?:(?:完成?|搞定)(?:了?之后|了?以后|后|了)?|(?:结束|上线|通过|好)(?:之后|以后|后))[，,]?(?:再(?!告)|还要|请|把|帮|提醒|记得|通知|发|更新|顺便)
    (?:明天|下周|下个月|下次|周[一二三四五六日末])[^，。]{0,6}(?:再|还要|还得|要做|需要|得)
    后续(?:还|再|要|需要)|接下来(?:还|再|要)
    还(?:没做|没写|需要补|要补|剩)|先[^。]{1,40}(?:再|然后|接着)|等.{2,20}再(?!见|说)
    """
ZH_NOT_LATER = re.compile(
    "我们?(?:稍后|回头|晚点|等会|待会|过会|明天|下周)|请稍后|回头见|(?:还|你|不|我)记得|(?<!别)(?<!要)忘记?了|每次|请先|全部"
)


def _is_chinese_rule(plain: str) -> bool:
    """Whether a clause of the sentence binds, and nothing says that somebody asks, tells or permits."""
    if not _binds(plain) or ZH_ASKED.search(plain) or _any(ZH_TOLD).search(plain):
        return False
    return any(
        _binds(clause) and not (ZH_TELLER.search(clause) or ZH_PERMITS.search(clause) or ZH_WONDERS.search(clause))
        for clause in map(str.strip, ZH_CLAUSE.split(plain))
    )


def _binds(plain: str) -> bool:
    return bool(_any(ZH_BINDS).search(plain) or _any(ZH_SHAPE).search(plain))
