"""English: which sentence sets a rule, and which leaves a task for later. The judges read what `own.plain` makes.

A rule is an order that says how or what not, a wish or a circumstance of the user, a statement that binds, an
obligation, or a bare specification ("British spelling, two decimals"). Unless somebody asks, or tells a story.
"""

import re
from collections.abc import Iterator

from sightline.rules.tables import table, word_class

WRITTEN = re.compile(r"[a-z]{2}")

# --- Classes of words ---------------------------------------------------------------------------------------------

# what one tells an agent to do
DOING = word_class("""
    edit change modify touch use write make add delete remove commit push answer reply respond return show run rely give
    list include fix update create look check consider work do send book pick choose output report print call let
    install test review comment suggest translate search keep mention tell ask set refactor implement convert rewrite
    summari[sz]e draft generate find move rename apply format explain cite quote buy order recommend extract deploy read
    store merge accept allow cover count start open replace build try plan clean cancel proceed exchange handle say put
    wait skip stop flag mark pause name save end begin
    """)
# these say how by themselves
HEEDING = word_class("""
    adhere avoid conform confine exclude honou?r imitate limit maintain match mimic mirror omit prefer preserve refrain
    respect restrict
    """)
NUMBER = r"(?:[$€£]?\d[\d.,]*k?|a|an|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|half an?)"
COUNT = r"(?:[$€£]?\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|half)\b)"
LANGUAGE = word_class("english chinese french german spanish italian portuguese dutch japanese korean russian arabic")
NOTATION = word_class("json ya?ml csv markdown html latex xml plain~text pdf eur usd gbp euros? dollars pounds celsius fahrenheit utc 24-hour~\\w+ bold italics brackets parentheses")
# what is counted in a text, and what describes one
UNIT = r"(?:words?|lines?|pages?|sentences?|paragraphs?|bullets?(?: points?)?|columns?|characters?|slides?|items?|steps?)"
MANNER = word_class("""
    spelling tense tone voice (?:first|second|third)~person style(?=[.,!]|$) case format units decimals? currency grammar punctuation lowercase uppercase snake_case camelcase
    pseudonyms? initials jargon capitals emojis? seats? indentation bullets
    """)
# what a task or a text has one of: "our voice is dry"
ATTRIBUTE = word_class("""
    audience budget currency deadline format goal language length limit maximum minimum priority scope style target
    tone voice
    """)
TONE = word_class("brief casual concise formal friendly informal neutral playful plain polite professional short simple warm")
CONDITION = word_class("""
    allergic celiac coeliac colou?r-?blind deaf diabetic dyslexic gluten-free halal kosher \\w+[-~]intolerant
    pescatarian pregnant vegan vegetarian
    """)
BARRED = word_class("""
    banned forbidden frozen mandatory prohibited read-only~for sacred taboo unacceptable untouchable off[-~]limits
    not~(?:acceptable|allowed|negotiable|okay|ok|permitted|wanted|welcome) an?~(?:\\w+~)?must
    """)

# --- What unsays a rule -------------------------------------------------------------------------------------------

# "…, ok?" is no question
ASKED = table(r"""
    (?<!\bok)(?<!okay)(?<!right)(?<!please)(?<!got it)\?[\"')]{0,2}$
    ^(?:(?:and|but|so|also|ok|hmm|wait),? )?(?:why|how (?:do|can|should|to|come|does|is|are|much|many)) [^,]
    ^(?:what|when|where|which|who) (?:must|should|does|do|did|is|are|was|needs?|happens|if|about)\b
    ^(?:should|shall|must|can|could|may|do|does|did) (?:i|we|it|they|you (?:think|know|remember)|the|this|that|he|she)\b
    ^(?:do|ca|could|wo|would|is|are|should|does)n't (?:you|we|it|i|they|that|this|the)\b
    ^(?:is (?:it|there|this|that)|are (?:there|you|we|they))\b
    """)
# a rule in the clothes of a question
REQUESTED = table(
    r"""
    \b<could> (?:please |also |just |maybe )*(?:make sure|ensure|avoid|not|never|always|only|stop|refrain)\b
    \b<could> (?:please |also |just |maybe )*keep(?! \w+ing)\b
    ^<could> .{0,200}\b(?:without \w+ing|but (?:don't|do not|not|only|keep))\b
    """,
    could="(?:can|could|would|will) (?:you|we)",
)
# somebody else's rule, a guess, a story
TOLD = table(
    r"""
    (?<!\bi )(?<!\bi've )(?<!\bi just )\b<says>\b  # the contract says
    \b<others> (?:\w+ly |also |just |even |always |keeps? )?<say>\b  # the docs recommend
    \bkeeps? (?:telling|saying|asking)\b|\b(?:i was|i am|i'm|we were|was|been) (?:told|asked|instructed|supposed)\b|\baccording to\b
    ^(?:it |that |this )?(?:looks|seems|sounds|appears)\b|^(?:apparently|turns out|maybe|perhaps)\b
    ^i (?:wonder|noticed|guess|suspect|assume|thought|heard|read|see|saw|found|understand|tried|believe|think)\b
    \b(?:should|must)(?:n't)? (?:never |not |always |only )?\w+\b.{0,80}<contrast>  # it should sort but does not
    ^(?:i|we) (?:really )?(?:prefer|like|want)\b.{0,80}, but (?:the|he|she|they|it|my|our|we)\b  # …, but they chose
    """,
    says=word_class("says said told tells claims claimed states stated insists insisted warns warned wrote suggested requires~that required~that"),
    others=word_class("""
        he she they docs? documentation guides? people everyone someone team policy linter compiler manual who which it
        reviewers? boss manager company
        """),
    say=word_class(r"""
        say tell telling claim claiming suggests? requires? required complains? recommends? recommended thinks? wants~me
        """),
    contrast=r"\b(?:but|yet|however|though)\b.{0,30}\b(?:do|does|did|is|isn't|doesn't|fail|still|get|keep|instead|happen)",
)

# --- Orders: where an imperative may stand ------------------------------------------------------------------------

START = table(r"""
    [,;:(—–] ?|\s[-–—]+ |\.\.+ ?
    \b(?:and|but|so|or|then|also|(?<!i'll )just|please|pls|plz|again|therefore|you to|ok|okay|though|yes|yeah|sure)[ ]
    \b(?:remember to|remember|note that|note|important|importantly|otherwise|instead|however|circumstances)[ ]
    """)
DOES = re.compile(r"\b(?:i|i'll|i've|we|they|he|she|it|who)\b(?!.*\byou\b)[^,;]*$")
ORDERS = table(
    r"""
    (?:do not|don't|dont) (?!<states>)\w
    never (?!mind|again|<past>)\w|(?:always|only ever|strictly) (?!\w+ing\b|<past>)\w|only <doing>\b|<doing> only \w
    (?:also |always )?(?:make (?:absolutely |very )?sure|be (?:very )?sure to|ensure)\b
    <heeding> (?!it\b|that\b|my\b)\w|stick (?:to|with)\b|focus (?:\w+ )?on\b|assume (?!so\b)\w|treat [^.]{1,60} as\b
    (?:stop|quit) (?!by\b|it\b)\w+ing\b
    follow (?:the|our|my|this|existing) (?:[\w'-]+ )*(?:style|conventions?|patterns?|format|guide(?:lines)?|order)\b
    leave (?:[\w'-]+ ){1,6}(?:alone|as is|as they are|as it is|un\w+ed|intact|out|blank|empty)\b|leave out\b
    keep (?!an eye|going|me |up|at it|trying|it up|working|on\b|track|in mind|my eye|(?!every|no|any)\w+ing\b)(?:[\w'-]+ ){1,6}\w
    (?:talk|speak|write|sound) (?:to me )?(?:like|as if)\b
    use (?!it\b|that\b|this\b|my\b|\S*[\d@])\w|(?:talk|speak|write|answer|explain) (?:\w+ )?\w{3,}ly\b|nothing (?:with|over|above|under|below|too|that)\b|at most \S
    (?<!and )(?<!or )no (?!<answer>)[\w'/é-]+(?:[ ,]+[\w'/-]+){0,6}[.!]?$
    (?:answer|reply|respond|explain|communicate) (?:me |it |to me )?(?:only )?(?:in|with|as|like|using)\b
    (?:hold off|steer clear|stay (?!tuned)|spare me|hands off|skip (?:the|any|all))\b
    be (?!there|here|back|right|able|sure|on|in|at|a\b|the\b|done|my\b)(?:very |more |as |extra )?[a-z]+(?:[.!,]|$| (?:and|with|about|in|when|but)\b)
    let's (?:not|keep|stick|avoid|only|always|never)\b
    (?:every|each|all|nothing) (?!time|day|week)(?:[^.,]{1,50} )?(?:needs?|gets?|goes|go|stays?)\b
    <doing> .{0,200}\b(?:without (?:\w+ing|my|first|any)|rather than|instead of|verbatim|throughout|at all times)\b
    <doing> .{0,200}\b(?:(?:each|every) time|at a time|before (?:you|\w+ing)|wait for my|by default)\b
    <doing> .{0,200}\b(?:exactly(?! (?:as|what|how|where|why|which))|only (?:if|when)|except)\b
    <doing> .{0,200}\b(?:at (?:most|least)|no more than|max(?:imum)?|up to|under|below|within|(?:fewer|less) than) <count>
    <doing> .{0,200}(?:(?:,|\bbut|\band) (?:not|never|only|nothing)|(?:,|\bbut) (?:leave|keep))\b
    <doing> .{0,200}\b(?:after|before|with|on|at) (?:each|every)\b|<doing> .{0,80}\b(?:in|with|using) (?:the |an? )?(?:\w+ )?<manner>\b
    not (?:a single|one \w|before|until|more|less)\b
    (?:write|name|format|prefix|spell|quote|wrap|sort|round|start|end|mark|label|put)\b.{0,40}\b(?:all|every|each|any)\b
    (?:hard |strict |house |one |another |new |my |the |key )?(?:rules?|constraints?|requirements?)(?: \d)?: ?\S
    """,
    doing=DOING,
    heeding=HEEDING,
    manner=MANNER,
    count=COUNT,
    # after "don't": what is told of oneself, not ordered
    states=word_class("""
        know see think believe understand have need care mind like want feel get seem exist matter really even you we i
        worry they forget quite recall find hear bother appear actually suppose agree work match yet hesitate remember
        """) + r"\b",
    past=word_class(r"got had been was were saw heard did came went knew seen done found \w+ed") + r"\b",
    # "No …" that answers or tells
    answer=word_class(r"""
        worries problem idea need one wonder luck such i it that this the thanks? way errors? outputs? results? response
        difference changes? clue longer matter rush news you we he she they doubt not but just please hurry don't do can
        my what there further other explicit pending expected specific particular preference strong now questions
        constraints more~(?:questions|errors?|issues?|problems?)
        """) + r"\b",
)

# --- Statements ---------------------------------------------------------------------------------------------------

# what the user wants, has or is
WISHES = table(
    r"""
    \b<me> (?:<degree> )*(?:prefer(?!red)|favou?r)\b(?! (?:this|that|to (?:wait|leave|go|pick)))
    \b<me>(?:'?d| would) (?:<degree> )*(?:rather|prefer)\b
    \b<me>(?:'d like| would like| like| need| want) (?:(?:it|this|them|everything|(?:the|all|my|your) \w+) <how>|(?:my|your) \w+ (?:as|in)\b)
    (?<!no, )\bi (?:really )?(?:do not|don't) want (?!<idle>)(?:you|any|the|it|this|a|to|your|my|more)\b
    \b(?:want|need|like|expect) (?:you|it|this) to (?:always|never|only|not|make sure|ensure|avoid|stop|keep (?!on))
    \b<me> only (?:want|need|accept|eat|fly)\b|\bi only care about\b|\bi(?:'m| am) (?:not looking for|only interested in)\b
    \b<me> (?:can't|cannot|can not|can only) (?:spend|exceed|afford|go (?:over|up to)|eat|have \w+[.!]?$)
    \b(?:i|we|she|he) (?:don't|doesn't|do not|can't) (?:eat|drink|drive|fly|smoke)\b
    \b<people>(?:'m|'s|'re| am| is| are) (?:\w+ly |also |both )?<condition>\b
    \b(?:have|has|having|got) (?:an? )?(?:[\w-]+ ){0,3}(?:allerg(?:y|ies)|intolerance)\b
    \bi(?:'ve| have)(?: got)? an? (?:bad|weak|injured|broken) (?:ankle|back|heart|hip|knee|leg|shoulder|stomach|wrist)s?\b
    \b<me> (?:really )?(?:hate|dislike|can't stand) (?!it\b|this|that|the\b|to\b|how|when|my)
    \b<me> want (?:all|every|everything|any)\b[\w ]{0,30} \w+ed\b|^we use .{1,40}, not \w
    """,
    me="(?:i|we)",
    degree="(?:really|strongly|generally|usually|much|always|would|definitely)",
    how=r"(?:to (?:be (?!at|on|for|sent)|stay|sound|read|feel|look)|as|under|within|without|short|brief|simple|plain|formal|casual)\b",
    idle=r"to (?:go|be|do|bother|sound|waste|lose|miss|have to|risk|talk|get|overthink|make things)\b",
    people=r"(?:i|we|he|she|they|(?:my|our) \w+|\w+ of (?:us|them)|guests?|kids)",
    condition=CONDITION,
)
# anywhere
SAYS = table(
    r"""
    \b(?:you|to) (?:may |can )?only (?!have\b)\w+|^(?:[\w'-]+ ){1,6}only[.!]?$
    \b(?:no|not) (?:more|less|fewer|later|earlier|longer|bigger|older) than\b
    \bfrom (?:now|here|this point) on|\b(?:going|moving) forward\b|\bhenceforth\b|^in (?:the )?future,
    ^(?:for|during|throughout) (?:this|the) (?:whole|entire|rest)\b
    \bunder no circumstances\b|\bwhatever you do\b|\bat all costs\b|\bno matter what\b|\bbut without \w+ing\b
    \bwithout (?:asking|my (?:approval|permission|consent|ok|say|confirmation)|checking with|telling me|confirming)\b
    \b(?:is|are) (?:\w+ly )?<barred>\b|\b(?:deal ?-?breaker|out of the question|off the table|no-go)\b
    \b(?:non-?negotiable|not an option|hands off|no exceptions)\b
    \b(?:so|any|anything|everything|all) [^.,]{1,60}(?:is|are) (?:off|out)\b
    \byou(?:'re| are) (?:not|never|only) (?:allowed|permitted) to\b|\byou(?:'re| are) (?:not )?to \w
    \byou (?:may|can) .{1,80}\bbut (?:nothing|not|no|never|only|leave)\b
    \b(?:until|unless) (?:i (?:say|tell|ask|approve|confirm|explicitly)|otherwise|asked|told)\b
    \b(?:ask|check with|confirm with|tell|show|consult) me (?:first|before)\b|\bask (?:first|before) \w+ing\b
    \bprefer(?: not| .{1,60}\b(?:over|instead of|rather than))\b
    \b(?:you|we) (?:shouldn't|(?:should|need to|have to|ought to) (?:not|never|always|only|make sure|ensure|avoid))\b
    ^you (?:cannot|can't|may not) (?!see|find|tell|just)\w|^they must (?:not|never|only|always)\b
    \b<cannot> (?:exceed|change|contain|include|appear|go (?:over|above|below))\b
    \b<cannot> be (?:changed|used|touched|modified|edited|deleted|moved|shared|longer)\b
    ^(?:the|my|our|your|any|these|those|all) (?:[\w'-]+ ){1,3}<cannot> be\b
    \bnot (?:above|over|below|under|before|after|beyond) <count>|\b(?:in|as|with) (?:[\w'-]+ ){1,3}only\b[,;.!]?
    ^(?:anything|everything|every|each|all|any|new)\b[^.,]{0,60} (?:needs?|goes|go|belongs?|lives?|gets?) (?:my|a|an|in|into|under|to|through)\b
    (?<!to )(?<!can )\b(?:stays?|remains?) (?:under|below|within|above|as|the same|un\w+ed)\b
    ^(?:the|my|our|your)(?: [\w'-]+){0,2} <attribute>(?: (?:for|of) [\w' -]{1,30})? (?:is|are|:) (?!<fault>)
    \b<attribute> (?:should|needs to|has to|must) be\b|\b(?:is|are) (?:not|never|only) to be\b|\b(?:tight|small|limited) budget\b
    ^anything (?:above|over|below|under|beyond|before|after|with|without|longer|older|more|less|else|that|\w+able|\w+ible)\b.* (?:is|needs|must|should|gets|goes|can|has)\b
    ^(?!people|users)[a-z-]+s (?:never|always) (?:go|get|come|belong|stay|live|need|use|start|end)\b
    <count>[^.,]{0,20} (?:at (?:the )?(?:very )?most|max(?:imum)?|tops|or (?:less|fewer))(?:[.!,)]|$)
    \b(?:as long as|provided that|on (?:the )?condition that) (?!i\b)
    \b(?:it's|it is) (?:very |really )?(?:important|essential|critical|crucial|vital) (?:that|to|you)\b
    ^(?:whenever|any ?time|every time|each time) you\b
    ^<case>, (?:please |then |just |you )*(?:ask|stop|say|skip|flag|wait|pause|use|leave|tell me (?!wh))\b
    """,
    barred=BARRED,
    cannot="(?:cannot|can't|may not|can not)",
    count=COUNT,
    attribute=ATTRIBUTE,
    fault=r"(?:wrong|broken|weird|off|not|unclear|missing|different|too|so|reached|exceeded|what|that|already)\b",
    case=r"(?:if|when|in case) (?!yes\b|no\b|so\b|not\b|they do\b)[^.?]{1,120}",
)

# --- Specifications: no verb, no person, only what it shall be like -----------------------------------------------

SPECIFIES = table(
    r"""
    \b(?:up to|at (?:the )?(?:very )?(?:most|least)|under|below|within|between|max(?:imum)?|min(?:imum)?) <count>
    \b(?:(?:fewer|less|more|longer|shorter|later|earlier) than) <count>
    \b(?:at (?:the )?(?:very )?(?:most|least)|max(?:imum)?|tops|or (?:less|fewer|more)|minimum)(?:[.!),]|$)
    ^(?:one|two|\d+) (?:[\w'-]+ ){1,4}per \w|^needs (?!to\b)\w|\b<number> (?:[\w-]+ ){0,2}<unit> (?:per|each|an?)\b
    \b<number> (?:[\w-]+ ){1,3}(?:per|a|each) (?:day|week|month|hour|night|person)\b
    \bbudget\b[^.]{0,20} <count>|^(?:only )?<number> (?:short |single |full )?<unit>[.!,]?$
    \b<manner>\b|\bin <language>(?:[.!,;]|$| please)|\b(?:in|as) <notation>(?:[.!,;]|$| please)|^<notation> only\b
    \b(?:british|american) english\b|\b(?:active|passive) voice\b|\bstandard library\b
    ^[\w '-]{3,40} first, [\w '-]{3,40} (?:second|last|later|after|afterwards|next)\b
    ^[\w -]{3,40}, not [\w -]{3,40}[.!]?$|\b\w+ only[.!,]|\b(?:throughout|everywhere|verbatim|by default)\b
    ^only (?!one\b)[\w' -]{3,40}[.!]?$|\b(?:less|fewer) \w+|\bat a time\b|^(?:very |more |a bit |rather )?<tone>(?: and \w+)?[.,!]
    \b(?:simple|plain|easy|british|american) (?:english|language|words|text)\b
    ^(?!errors?|issues?|problems?|bugs?|changes?|failures?|thanks?)[a-z-]+s as (?!the|this|that|my|our|your|an?\b|production|case|\d{4})[\w:/-]+(?: [\w-]+)?(?:[.!,;]|$)
    ^[\w-]+(?: [\w-]+)? over [\w-]+(?: [\w-]+)?[.!]?$
    \b(?:rounded|sorted|grouped|separated|formatted|written|spelled|abbreviated|capitali[sz]ed|aligned) (?:by|to|in|as|with|out|at|from)\b
    """,
    count=COUNT,
    number=NUMBER,
    unit=UNIT,
    manner=MANNER,
    language=LANGUAGE,
    notation=NOTATION,
    tone=TONE,
)
REASON = re.compile(r",? (?:because|since)\b|, (?:so|as|my|i|i'm|we|it|it's|they|the)\b")
# a sentence with one of these has a verb, or speaks of this one thing
FINITE = frozenset(
    """
    i i'm i've i'd i'll you you're he she they it it's there's we we're this that these those is are was were am be been
    isn't aren't wasn't has have had hasn't haven't do does did don't doesn't didn't will would can could should may
    might must shall won't can't got gets get works worked look looks fails failed shows showed says said see saw thanks thank hi
    that's here's what's let's need hello sorry wow oh yes yeah yep nope ok okay what why how where when who which if error failed
    """.split()
)
WORDS = re.compile(r"[a-z0-9'_-]+")
TASK_VERB = table(r"^(?:please |then |now |and |so |also )*<doing>\b(?! (?:only|case)\b)|^(?:the|my|your|our|a|an|\w+ed)\b", doing=DOING)


def _specifies(plain: str) -> bool:
    """Whether this is a bare specification: "Amounts in euros, two decimals"."""
    plain = REASON.split(plain, maxsplit=1)[0]
    if len(plain) > 160 or not FINITE.isdisjoint(WORDS.findall(plain)) or TASK_VERB().match(plain):
        return False
    return bool(SPECIFIES().search(plain))


# --- Obligations --------------------------------------------------------------------------------------------------

OBLIGATION = re.compile(
    r"\b(?:(must|mustn't|shall)|should|shouldn't|ought to|(?:needs?|has|have) to)\b "
    r"(?:(?:not|never|always|only|also|all) )*"
    r"(be (?!(?:\w+(?:ed|en|wn)|met|sent|put|set|made|run|kept|held|left|paid|built|found|done)\b))?\w"
)
SUBJECT = re.compile(r"[\w'›]+(?<!ly)(?= )")
ADVERBS = frozenset({"also", "just", "then", "now", "always", "never", "all", "each", "both"})
NO_THING = frozenset({"", "you", "we", "and", "or", "but", "please"})
WHO_TELLS = frozenset(  # what they must is no rule for the agent
    """
    i i'll i'd he she they who people someone everyone everybody users employees boss manager kids friend to do not dont
    don't doesn't didn't would will might may what which that still we'll you'll callers no longer
    """.split()
)
# "must be a bug", "must have missed it", "should work"
GUESSED = table(
    r"""
    \w+(?:'t| to)? (?:still |not )?(?:have (?!to|an?\b|at|the|no|\d)\w|work\b|help\b|already|probably|come from)
    \w+(?:'t| to)? (?:see|find|tell|just|trust)\b
    <be> (?:some|something|because|due|related|within|wrong|missing|why|how|nice|fun|hard|tired|fine|able|okay?|good)\b
    <be> (?:easy|enough|possible|working|there|ready|done|right|true|\d+|the (?!same|first|last|only|exact)\w+)\b
    <be> an? (?:\w+ )?(?:bug|issue|problem|error|mistake|glitch|typo|way|reason|joke|race|simple|quick|good|lot)\b
    """,
    be=r"\w+(?:'t| to)? (?:still |not |definitely )?be",
)
WEIGHT = re.compile(  # what makes a rule of "should" and "needs to"
    r"\b(?:never|always|only|all|every|each|any|no|not|nothing|without|under|at most|at least|within|more than|"
    r"less than|exactly|format|same|both|max(?:imum)?|min(?:imum)?|before|first|unless|everything|strictly|\d+)\b|n't\b"
)


def _obliges(plain: str) -> bool:
    """Whether something must, or should with weight: "the name must be short", not "that must be a bug"."""
    for found in OBLIGATION.finditer(plain):
        words = SUBJECT.findall(plain, max(0, found.start() - 60), found.start())
        who = next((word for word in reversed(words) if word not in ADVERBS), "")
        if who in WHO_TELLS or GUESSED().match(plain, found.start()):
            continue
        has_to_be = found[2] and "to be" in found[0]
        if found[1] or (
            who not in NO_THING and (has_to_be or WEIGHT.search(plain, plain.rfind(",", 0, found.start()) + 1))
        ):
            return True
    return False


def is_rule(plain: str) -> bool:
    """Whether this sentence sets a rule."""
    if TOLD().search(plain) or (ASKED().search(plain) and not REQUESTED().search(plain)):
        return False
    ordered = any(ORDERS().match(plain, at) for at in _starts(plain))
    stated = WISHES().search(plain) or SAYS().search(plain) or REQUESTED().search(plain)
    return bool(ordered or stated or _obliges(plain) or _specifies(plain))


def _starts(plain: str) -> Iterator[int]:
    """Where an imperative may stand; not where "and" only goes on with what somebody does."""
    yield 0
    for start in START().finditer(plain):
        if start[0] not in ("and ", "or ", "just ") or not DOES.search(plain, 0, start.start()):
            yield start.end()
