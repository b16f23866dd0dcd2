"""English orders that say how or what not: an imperative that binds by itself, or a task with a manner."""

import re
from collections.abc import Iterator

from sightline.shorten.rules import vocabulary as v
from sightline.shorten.rules.pattern_table import Table, any_of, word_set


def orders(plain: str) -> bool:
    """Whether an order begins somewhere in the sentence that binds, and is not only a task."""
    starts = list(_starts(plain))
    if any(BINDS.at(plain, start) for start in starts):
        return True
    tasks = [start for start in starts if _does(plain, start)]
    manners = [manner.start() for manner in HOW.pattern.finditer(plain)] if tasks else []
    return any(0 < manner - start <= REACH for start in tasks for manner in manners)


def urges(plain: str) -> bool:
    """Whether an order begins somewhere that friends give each other too: it binds only where work is spoken of."""
    return any(URGES.at(plain, start) for start in _starts(plain))


REACH = 200  # characters from the verb to its manner


# --- Where an imperative may stand --------------------------------------------------------------------------------

START = Table(r"""
    ^\w{4,}ly\s|\btry (?:to|and)\s|[,;:(—–]\s?|\s[-–—]+\s|\.\.+\s?
    \b(?:and|but|so|or|then|also|(?<!i'll )just|please|pls|plz|again|therefore|you to|ok|okay|though|yes|yeah|sure)\s
    \b(?:(?:remember|note|important|importantly)(?: that)?|otherwise|instead|however|circumstances)\s
    """)
GOES_ON = ("and ", "or ", "just ", "also ")  # these may continue what somebody does
DOERS = word_set("i we they he she it who which that me us him her them my is was has helps been can could will would")


def _starts(plain: str) -> Iterator[int]:
    """Yield the beginnings of clauses, except where "and" continues what somebody does."""
    yield 0
    for start in START.pattern.finditer(plain):
        if start[0] not in GOES_ON or not _somebody_does(plain[: start.start()]):
            yield start.end()


def _somebody_does(before: str) -> bool:
    words = re.split("[,;]", before)[-1].replace("'", " ").split()
    return not DOERS.isdisjoint(words) and "you" not in words


# --- Any verb -----------------------------------------------------------------------------------------------------

VERB = re.compile(r"[a-z]+(?= )")
OBJECT = re.compile(
    r" (?:an?|the|my|your|our|its|all|any|each|every|it|them|this|these|anything|to|on|in|with|for|up|"
    r"instead|rather|[a-z]+s)\b(?!')"
)
DOING = word_set(v.DOING)
NO_VERB = re.compile(r".*(?:s|ed|ing|ly|[^aeiouy]{4}|tion|ment|ness)$")  # what no verb at the head ends with
NO_VERBS = word_set("""
    a after all an and another any anyone anything are as at because before both but by can could did do does each
    either else even every everyone everything few first for from good great had half has have he hello here hey hi his
    how i if in into is it its just last later less made many may maybe me might mine more most much must my neither
    never new next nice nil no nobody none nor not nothing now of off oh ok okay on once one only or our out over part
    perhaps please quite rather really right same she should since so some someone something soon still such sure thank
    that the their them then there they this those though three to today too two under until up very was we well were
    what when where whether which while who whole why will with without would yeah yep yes yet you your people python
    four five six seven eight nine ten
    """)


def _does(plain: str, start: int) -> bool:
    """Whether the verb of a task is here: a known verb, or a word at the head of the sentence that looks like one."""
    verb = VERB.match(plain, start)
    if not verb:
        return False
    return verb[0] in DOING or _heads(plain, verb[0], start)


def _heads(plain: str, word: str, start: int) -> bool:
    """Whether this word is at the head of the sentence like a verb: not inflected, and with an object after it."""
    bare = word not in NO_VERBS and not NO_VERB.match(word)
    return start == 0 and bare and bool(OBJECT.match(plain, len(word)))


# its manner, its limits, its conditions
HOW = Table(
    r"""
    \b(?:without \w+|rather than|instead of|verbatim|throughout|by default|at all times|(?:each|every) time)\b
    (?<!day )\bat a time\b
    \b(?:before (?:you|\w+ing)|wait for my|only (?:if|when)|except|unless|(?:after|before|with|on|at) (?:each|every))\b
    \b(?:exactly(?! (?:as|what|how|where|why|which))|(?:when|where)ever possible|when (?:appropriate|in doubt|unsure))\b
    \b(?:at (?:most|least)|no more than|max(?:imum)?|up to|under|below|within|(?:fewer|less) than) <count>  # up to 5
    (?:,|\bbut|\band) (?:not|never|only|nothing)\b  # …, but not the name
    \b(?:in|with|using) (?:the |an? )?(?:\w+ )?(?:<manner>|person|style|case|format)\b  # in a warm tone
    \b(?:clearly|honestly|briefly|concisely|directly|immediately|simply|plainly|politely|sparingly|proactively)\b
    \b(?:british|american|plain|simple) english\b  # in plain english
    \b(?:for|in|of|to|with|on|from|at) (?:each|every|any)(?:thing)?\b|\bin the same \w  # a test for each class
    \b(?:for|in|of|to|on|from) (?:all )?new [a-z]+s\b|\bfirst\b.{3,40}\b(?:after|afterwards|last|second)[.!]?$
    \bwhenever\b|\b(?:every|each) (?:[\w-]+ ){1,3}(?:to|with|as|by|at|before|after|under) \w
    \b(?:alphabetical|chronological|numerical|separate|individual)ly\b|\bin (?:[\w-]+ )?(?:<notation>|<language>)\b
    \b(?:file by file|step by step|one by one|line by line|piece by piece)\b  # one by one
    """,
    count=v.COUNT,
    manner=any_of(v.MANNER),
    notation=any_of(v.NOTATION),
    language=any_of(v.LANGUAGE),
)

# --- Verbs that bind by themselves --------------------------------------------------------------------------------

CLASSES = {
    "not": "(?:do not|don't|dont)(?! mention it)",
    "doing": any_of(v.DOING),
    "verb": any_of(" ".join(sorted(DOING - word_set(v.COMMON_VERBS)))),
    "common": any_of(v.COMMON_VERBS) + r"\b",
    "object": OBJECT.pattern,
    "heeding": any_of(v.HEEDING),
    "shaped": any_of(v.SHAPING),
    "shaping": any_of(
        " ".join(sorted(word_set(v.SHAPING) | (DOING - word_set(v.COMMON_VERBS) - word_set(v.FETCHING))))
    ),
    "one": r"(?:the|this|that|these|those|my|your|our|his|her|it|its|them|me|us|an?|some)\b",
    "place": "(?:in|with|at|as|by|below|under|between|using|on|without|before|after|like)",
    "answers": any_of(v.ANSWER),
    "tone": any_of(v.TONE),
    # after "don't": what is told of oneself, not ordered
    "states": any_of("""
        know see think believe understand have need care mind like want feel get seem exist matter really even you we i
        worry they forget quite recall find hear bother appear actually suppose agree work match yet hesitate remember
        """)
    + r"\b",
    "past": any_of(r"got had been was were saw heard did came went knew seen done found \w+ed") + r"\b",
    "goes_on": r"(?:an eye|my eye|me |up|at it|it up|on\b|track|in mind|in touch|(?!every|no|any)\w+ing\b)",
    "not_how": r"(?:there|here|back|right|able|sure|on|in|at|a|the|done|my)\b",
    "asked": r"(?:i|we|it|they|you|the|this|that|he|she|there|be|work|have)\b",
    # "No …" that answers or tells
    "reply": any_of("""
        worries problem idea need one wonder luck such i it that this the thanks? way errors? outputs? results? response
        difference changes? clue longer matter rush news you we he she they doubts? not but just please hurry don't do
        can my what there further other explicit pending expected specific particular preference strong now questions
        constraints no more~(?:questions|errors?|issues?|problems?) prob
        """)
    + r"\b",
}

BINDS = Table(
    r"""
    <not> <verb>\b|(?:never|always|only ever|strictly) <verb>\b  # do not push
    (?:never|<not>) (?!<common>|<states>|<past>)[a-z]+<object>  # don't paint the door
    ^(?:please )?never (?!<common>|<past>|mind|again|be\b)[a-z]+ \w  # never catch exceptions
    ensure\b|(?:remind me|don't forget|do not forget|remember) to <verb>\b  # ensure that it closes
    only <doing>\b|<doing> only \w|not (?:a single|one \w|before|until|more|less)\b  # only edit the tests
    <heeding> (?!it\b|that\b|so\b|for\b)\w  # avoid loops
    (?:follow|stick (?:to|with)) (?:[\w'-]+ ){1,6}(?:style|conventions?|patterns?|principles|practices|format|guide\w*)
    use (?!it\b|that\b|this\b|my\b|[^.]*(?:\d{4}|[$@]|_\d))\w|(?:stop|quit) (?!by\b|it\b)\w+ing\b  # use pytest
    leave (?:[\w'./-]+ ){1,6}(?:alone|as is|as they are|as it is|un\w+ed|intact|out|blank|empty)\b|leave no \w
    keep (?:all )?(?:the|its|their) (?:current|existing|old|original|same) \w  # keep the old names
    keep (?!<goes_on>)(?:[\w'-]+ ){0,4}(?:under|below|within|to|in|at|between|as|out of) (?:[\w'-]+ ){0,3}\w
    (?:be|stay|sound|keep (?:it|them|this|things|(?:the|your) \w+)) (?:very |more |as )?<tone>\b  # be terse
    (?:delay|postpone|defer|shelve|hold(?: back)?) (?!on\b)[^.,]{2,40} (?:until|till|for now)\b
    (?:ask|tell|inform|notify|consult|contact|check with) (?!me|him|her|them)[\w.]+ (?:if|when|before) (?!<asked>)\w
    (?:hold off|steer clear|stay away from|spare me|hands off)\b|skip (?!to|this|that|it|ahead|\d)\w  # skip the intro
    (?:talk|speak|write|sound) (?:to me )?(?:like|as if)\b|(?:talk|speak|write|answer|explain) (?:\w+ )?\w{3,}ly\b
    ask (?:for |me )?(?:\w+ ){0,2}(?:questions?|clarification|confirmation|permission)\b  # ask one question
    (?:answer|reply|respond|explain|communicate) (?:me |it |to me )?(?:only )?(?:in|with|as|like|using)\b
    <doing> (?:nothing|nobody|no one)\b  # rename nothing
    (?:call|name) (?:the|it|this|that|your) (?:[\w-]+ ){0,3}\w*[_.\d]\w*  # call it total_cents
    (?:indent|align|capitali[sz]e|pad|prefix|suffix|truncate|abbreviate|hyphenate|round(?: up| down)?(?: to)?) (?!of)\w
    (?:call|address) me (?!back|when|if|at|on|now|later|tomorrow|to)\w|refer to .{1,40} as \w  # call me captain
    <doing> (?:(?!the|this|these|that|my)[\w-]+,? ){0,4}<answers>\b  # give short answers
    (?<!and )(?<!or )no (?!<reply>)[\w'/é-]+(?:[ ,]+[\w'/-]+){0,10}[.!]?$  # no new dependencies
    nothing (?:with|over|above|under|below|that)\b|^should (?:not |never |always |only )?(?!<asked>)[a-z]+ \w
    (?:<shaping>|start|end)\b.{0,40}\b(?:all|every|each|any)\b  # name every branch after its ticket
    <shaping> (?!<one>)(?:[a-z'-]+ ){0,2}[a-z-]{2,}s <place> \w|(?:ask|check|confirm|wait) (?:with )?(?:me )?before\b
    """,
    **CLASSES,
)
# what friends tell each other too: stay safe, never give up, let's keep going
URGES = Table(
    r"""
    <not> (?!<states>)\w|let's (?:not|keep|stick|avoid|only|always|never)\b  # don't give up
    never (?!mind|again|<past>)\w|(?:always|only ever|strictly) (?!\w+ing\b|<past>)\w  # never give up
    (?:also |always )?(?:make (?:absolutely |very )?sure|be (?:very )?sure to|ensure)\b  # make sure it closes
    stick (?:to|with)\b|focus (?:\w+ )?on\b|treat [^.]{1,60} as\b|stay (?!tuned)\w|nothing too\b
    keep (?!<goes_on>)(?:[\w'-]+ ){1,6}\w  # keep the old names
    be (?!<not_how>)(?:very |more |as |extra |\w+ly )?[a-z]+(?:[.!,]|$| (?:and|with|about|in|when|but)\b)  # be brutal
    nothing (?:[^.,]{1,50} )?(?:needs?|gets?|goes|go|stays?)\b
    (?:<shaped>|order|title) (?:the|all|each|every|your)\b.{1,60}\b(?:by|as|with|after)\b
    write (?:the|all|your) (?:\w+ )?\w+s in \w|show me .{1,60} first\b  # write the comments in english
    """,
    **CLASSES,
)
