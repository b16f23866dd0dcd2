"""English: which sentence lays something down for the work. The input is made by `user_sentences.plain`.

It is an order that says how or what not, a wish or a circumstance of the user, a statement that binds, an obligation,
a specification without a verb ("British spelling, two decimals"), or something left for later. A question or a story
is none. What friends say to each other has the same forms ("never give up", "it must feel good"), so the weaker forms
bind only where work is spoken of, and no form does where feelings are and work is not.
"""

import re

from sightline.shorten.rules import vocabulary as v
from sightline.shorten.rules.deferrals import defers, puts_off
from sightline.shorten.rules.imperatives import orders, urges
from sightline.shorten.rules.obligations import forbids, obliges
from sightline.shorten.rules.pattern_table import Table, any_of, word_set
from sightline.shorten.rules.reports import ABSENT, REPORTS, behaves
from sightline.shorten.rules.statements import BOUND, EACH, NORMS, PLEADS, PRACTICES, SAYS, WISHES

WRITTEN = re.compile(r"[a-z]{2}")


def is_constraint(plain: str) -> bool:
    """Whether the sentence, or what follows "one more thing: " or a reason with "so", lays something down."""
    if _lays_down(plain):
        return True
    head, colon, said = plain.partition(": ")
    led = bool(colon) and len(head) <= LED and " " in head
    _, so, then = plain.partition(", so ")
    return ((led and _lays_down(said)) or (bool(so) and _specifies(then))) and not TOLD.in_(plain)


LED = 40  # characters before a colon that only lead in what is said


def _lays_down(plain: str) -> bool:
    work = speaks_of_work(plain)
    if ASKED.in_(plain):
        return (work or not is_sociable(plain)) and REQUESTED.in_(plain) and not TOLD.in_(plain)
    if ANNOUNCED.in_(plain):
        return not TOLD.in_(plain)
    if not work and is_sociable(plain):
        return False
    if ABSENT.at(plain):
        return False
    if (EACH.in_(plain) or NORMS.in_(plain)) and not REPORTS.in_(plain):
        return not TOLD.in_(plain)
    binds = _specifies(plain) or WISHES.in_(plain) or orders(plain) or SAYS.in_(plain) or PRACTICES.in_(plain)
    binds = binds or BOUND.in_(plain) or forbids(plain) or puts_off(plain)
    return (binds or (work and _binds_work(plain)) or REQUESTED.in_(plain)) and not TOLD.in_(plain)


def _binds_work(plain: str) -> bool:
    """Whether a sentence about work has one of the forms that bind nobody where it is about life."""
    return urges(plain) or obliges(plain) or PLEADS.in_(plain) or defers(plain)


# --- Work and friends ----------------------------------------------------------------------------------------------

WORK = word_set(" ".join((v.WORK, v.MANNER, v.NOTATION, v.LANGUAGE)))
# a number, a path, a file, an address, a name in code, a count
VALUE = Table(
    r"\d|\w[./@_]\w|/\w|\w/|::|--\w|(?<!\w)(?:under|below|above|than|within|at most|at least) <count>", count=v.COUNT
)
SOCIAL = word_set(v.SOCIAL)


def speaks_of_work(plain: str) -> bool:
    """Whether a sentence names something that work is about, or a value."""
    return names_work(plain) or (not plain.endswith("!") and VALUE.in_(plain))


def names_work(plain: str) -> bool:
    """Whether a sentence has one of the words of work."""
    words = WORDS.findall(plain)
    return not (WORK.isdisjoint(words) and WORK.isdisjoint([word[:-1] for word in words if word[-1] == "s"]))


def is_sociable(plain: str) -> bool:
    """Whether a sentence is an exclamation, or names what friends talk of."""
    return plain.endswith("!") or not SOCIAL.isdisjoint(WORDS.findall(plain.replace("'s", "")))


# --- What cancels a rule -------------------------------------------------------------------------------------------

# "…, ok?" is no question
ASKED = Table(r"""
    (?<!\bok)(?<!okay)(?<!right)(?<!please)(?<!got it)\?[\"')]{0,2}$  # must it be sorted?
    ^(?:why|how|what|when|where|which|who) (?:do|does|did|can|should|must|to|come|is|are|was|if|about)\b
    ^(?:should|shall|must|can|could|may|do|does|did|is|are) (?:i|we|it|they|the|this|that|he|she|there)\b
    """)
# a rule in the form of a question
REQUESTED = Table(
    r"""
    \b<could> <softly>(?:ensure|avoid|not|never|always|only|stop|refrain)\b  # could you avoid loops?
    \b<could> <softly>(?:make sure(?! (?:that|it|this)'s)|keep(?! \w+ing))\b  # can you keep it short?
    ^<could> .{0,200}\b(?:without \w+ing|but (?:don't|do not|not|only|keep))\b  # could you sort it without copying?
    """,
    could="(?:can|could|would|will) (?:you|we)",
    softly="(?:please |also |just |maybe )*",
)
# somebody else's rule, a guess, a story
TOLD = Table(
    r"""
    (?<!\bi )(?<!\bi've )(?<!\bi just )(?<!explicitly )(?<!until )(?<!unless )\b<says>\b|\baccording to\b
    \b<others> (?:\w+ly |also |just |even |always )?<say>\b|\bkeeps? (?:telling|saying|asking)\b  # the docs recommend
    \b(?:i was|i am|i'm|we were|was|been) (?:told|asked|instructed|supposed)\b  # i was told
    ^(?:it |that |this )?(?:looks|seems|sounds|appears)\b
    ^(?:hm+,? |well,? |so,? |ok,? |but )?(?:apparently|turns out|maybe|perhaps)\b
    ^i (?:wonder|noticed|guess|suspect|assume|thought|heard|read|see|saw|found|understand|tried|believe|think|feel)\b
    ^(?:\w+,? )?i(?:'ll| will) (?!.*\b(?:you|please|don't)\b)  # i'll keep the old one
    \b(?:should|must)(?:n't)? (?:never |not |always |only )?\w+\b.{0,80}<contrast>  # it should sort but does not
    ^(?:no,? )?i (?:don't|do not) (?:want|need)\b.{0,80}\b(?:at the moment|right now|yet|now)[.!]?$
    ^(?:i|we) (?:really )?(?:prefer|like|want)\b.{0,80}, but (?:the|he|she|they|it|my|our|we)\b
    \b(?:error|message|warning|output|label|sign)(?: (?:was|is|reads))?: \S  # the error was: you must not pass none
    """,
    says=any_of("""
        says said told tells claims claimed states stated insists insisted warns warned wrote suggested requires~that
        required~that
        """),
    others=any_of("""
        he she they it docs? documentation guides? people everyone someone team policy linter compiler manual who which
        reviewers? boss manager company
        """),
    say=any_of("say tell claim suggests? requires? required complains? recommends? recommended thinks? wants~me"),
    contrast=r"\b(?:but|yet|however|though)\b.{0,30}\b(?:do|does|did|is|isn't|doesn't|fail|still|get|keep|happen)",
)

# --- Announced ----------------------------------------------------------------------------------------------------

# "one condition: …": whatever follows, however it is said
ANNOUNCED = Table(
    r"""
    ^<then>(?:please )?(?:note|important|attention|reminder|keep in mind|bear in mind|to remember)[:!] <three>
    ^<then>(?:remember|note): <three>|^<then><one>?(?:<which> )?<rule>s?: <three>  # one condition: it stays here
    """,
    then="(?:and |also,? |but |oh,? |ok,? |so )?",
    one="(?:one|another|a|an|my|our|the|two|only|last|first|second) ",
    which="(?:more|other|further|last|important|hard|final|small|only)",
    rule="(?:condition|rule|constraint|requirement|restriction|caveat|must)",
    three=r"(?:\S+ ){2}\S",
)

# --- Specifications: no verb, no person, only how it shall be -----------------------------------------------

SPECIFIES = Table(
    r"""
    \b(?:up to|at (?:most|least)|under|below|within|between|max|min|(?:less|more|\w+er) than) <count>  # up to 5
    \b(?:at (?:the )?(?:very )?(?:most|least)|max(?:imum)?|tops|or (?:less|fewer|more)|minimum)(?:[.!),]|$)
    \b<number> (?:[\w-]+ ){0,3}(?:per \w+|each|an? (?:day|week|month|hour|night|person))\b  # one line per change
    ^(?:roughly|about|around|approximately|some|exactly) <count>[\d,.]* (?:\w+ )?<unit>\b  # about 800 words
    ^(?:only )?<number> (?:short |single |full )?<unit>[.!,]?$|\bbudget\b[^.]{0,20} <count>  # one page
    \b<manner>\b|(?<!day )\bat a time\b|\bstandard library\b  # british spelling
    \b\w+ (?:style|case|format)(?:[.!,]|$)  # 24-hour format
    \b(?:in|as) (?:<language>|<notation>)(?:[.!,;]|$| please)
    ^(?!thanks)[a-z-]+s as (?!the|this|that|my|our|your|an?\b)\w
    \b(?:simple|plain|easy|british|american) (?:english|language|words|text)\b
    ^(?:very |more |rather )?<tone>(?: (?:and|but|yet) \w+)?(?:[.,!]|$)
    ^[\w '-]{3,40} first, [\w '-]{3,40} (?:second|last|later|after|afterwards|next)\b  # code first, explanation after
    ^[\w '-]{3,40} first, then [\w '-]{3,40}[.!]?$|^[\w-]{3,20}s before [\w-]{3,20}[.!]?$
    ^(?!well|mmm|yes|yeah|oh)[\w -]{3,40}, not (?!yet|bad|now|really)[\w -]{3,40}[.!]?$  # tabs, not spaces
    ^(?:much |a bit |slightly )?(?:[a-z]+er|more|less) [\w -]{3,30},? please[.!]?$
    ^(?:better|rather) an? [\w ]{3,30} than \w
    ^[\w -]{3,30} (?:rather than|instead of) \w
    ^(?!just )[\w-]+(?: [\w-]+)? over [\w-]+(?: [\w-]+)?[.!]?$  # tabs over spaces
    \b\w+ only(?:[.!,]|$)|^only (?!one\b)[\w' -]{3,40}(?:, please)?[.!]?$|\b(?:less|fewer) \w+  # names only
    ^prefer(?:red|ably)\b|\bpreferred[.!]?$|\b(?:throughout|everywhere|verbatim|by default)\b  # red preferred
    \b<arranged> (?:by|to|in|as|with|out|at|from)\b  # sorted by date
    """,
    count=v.COUNT,
    number=r"(?:[$€£]?\d[\d.,]*k?|a|an|one|two|three|four|five|six|seven|eight|nine|ten|half an?)",
    unit=any_of(v.UNIT),
    manner=any_of(v.MANNER),
    language=any_of(v.LANGUAGE),
    notation=any_of(v.NOTATION),
    tone=any_of(v.TONE),
    arranged=any_of(v.ARRANGED),
)
# a sentence with one of these has a verb, or is about one thing that exists
VERBS = word_set(
    """
    i i'm i've i'd i'll you you're he she they it it's there's we we're this that that's these those is are was were
    am be been isn't aren't wasn't has have had hasn't haven't do does did don't doesn't didn't will would can could
    should may might must shall won't can't got gets get need works worked look looks fails failed shows showed says
    said see saw requires needs uses returns makes drops takes gives means seems keeps runs thanks thank hi hello
    sorry wow oh yes yeah yep nope ok okay what what's why how where when who which if error here's let's
    """
)
WORDS = re.compile(r"[a-z0-9'_-]+")
NOT_BARE = Table(
    r"^(?:please |then |now |and |so |also )*<doing>\b|^(?:the|my|your|our|a|an|(?!preferred)\w+ed)\b",
    doing=any_of(v.DOING),
)
# what follows is the reason, not the rule
REASON = re.compile(r",? (?:because|since)\b|, (?:so|as|my|i|i'm|we|it|it's|they|the)\b")
BARE = 160  # characters; a longer sentence has a verb


def _specifies(plain: str) -> bool:
    """Whether this is a specification without a verb: "Amounts in euros, two decimals"."""
    bare = REASON.split(plain, maxsplit=1)[0]
    if len(bare) > BARE or NOT_BARE.at(bare) or not VERBS.isdisjoint(WORDS.findall(bare)):
        return False
    return SPECIFIES.in_(bare) and not behaves(bare)
