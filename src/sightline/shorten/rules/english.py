"""English: which sentence lays something down for the work. The input is made by `user_sentences.plain`.

It is an order that says how or what not, a wish or a circumstance of the user, a statement that binds, an obligation,
a specification without a verb ("British spelling, two decimals"), or something left for later. A question or a story
is none. What friends say to each other has the same forms ("never give up", "it must feel good"), so the weaker forms
bind only where work is spoken of, and no form does where feelings are and work is not.
"""

import re

from sightline.shorten.rules import vocabulary as v
from sightline.shorten.rules.imperatives import orders, urges
from sightline.shorten.rules.obligations import forbids, obliges
from sightline.shorten.rules.pattern_table import Table, any_of, word_set

WRITTEN = re.compile(r"[a-z]{2}")


def is_constraint(plain: str) -> bool:
    work = speaks_of_work(plain)
    if not work and is_sociable(plain):
        return False
    if ASKED.in_(plain):
        return REQUESTED.in_(plain) and not TOLD.in_(plain)
    binds = _specifies(plain) or WISHES.in_(plain) or orders(plain) or SAYS.in_(plain) or forbids(plain)
    return (binds or (work and _binds_work(plain)) or REQUESTED.in_(plain)) and not TOLD.in_(plain)


def _binds_work(plain: str) -> bool:
    """Whether a sentence about work has one of the forms that bind nobody where it is about life."""
    return urges(plain) or obliges(plain) or PLEADS.in_(plain) or (LATER.in_(plain) and not NOT_LATER.in_(plain))


# --- Work and friends ----------------------------------------------------------------------------------------------

WORK = word_set(" ".join((v.WORK, v.MANNER, v.NOTATION, v.LANGUAGE)))
# a number, a path, a file, an address, a name in code, a count
VALUE = Table(
    r"\d|\w[./@_]\w|/\w|\w/|::|--\w|(?<!\w)(?:under|below|above|than|within|at most|at least) <count>", count=v.COUNT
)
SOCIAL = word_set(v.SOCIAL)


def speaks_of_work(plain: str) -> bool:
    """Whether a sentence names something that work is about, or a value."""
    words = WORDS.findall(plain)
    if not WORK.isdisjoint(words) or not WORK.isdisjoint([word[:-1] for word in words if word[-1] == "s"]):
        return True
    return not plain.endswith("!") and VALUE.in_(plain)


def is_sociable(plain: str) -> bool:
    """Whether a sentence is an exclamation, or names what friends talk of."""
    return plain.endswith("!") or not SOCIAL.isdisjoint(WORDS.findall(plain.replace("'s", "")))


# --- What cancels a rule -------------------------------------------------------------------------------------------

# "…, ok?" is no question
ASKED = Table(r"""
    (?<!\bok)(?<!okay)(?<!right)(?<!please)(?<!got it)\?[\"')]{0,2}$  # must it be sorted?
    ^(?:why|how|what|when|where|which|who) (?:do|does|did|can|should|must|to|come|is|are|was|if|about)\b  # why must it
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
    ^(?:it |that |this )?(?:looks|seems|sounds|appears)\b|^(?:apparently|turns out|maybe|perhaps)\b
    ^i (?:wonder|noticed|guess|suspect|assume|thought|heard|read|see|saw|found|understand|tried|believe|think|feel)\b
    ^(?:\w+,? )?i(?:'ll| will) (?!.*\b(?:you|please|don't)\b)  # i'll keep the old one
    \b(?:should|must)(?:n't)? (?:never |not |always |only )?\w+\b.{0,80}<contrast>  # it should sort but does not
    ^(?:no,? )?i (?:don't|do not) (?:want|need)\b.{0,80}\b(?:at the moment|right now|yet|now)[.!]?$
    ^(?:i|we) (?:really )?(?:prefer|like|want)\b.{0,80}, but (?:the|he|she|they|it|my|our|we)\b  # i prefer a, but they
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

# --- Statements ---------------------------------------------------------------------------------------------------

# what the user wants, has or is
WISHES = Table(
    r"""
    \b<me> (?:<degree> )*(?:prefer|favou?r)\b(?! (?:this|that|to (?:wait|leave|go|pick)))  # i prefer tabs
    \b<me>(?:'?d| would) (?:<degree> )*(?:rather|prefer)\b(?! (?:not |to )?(?:go|stay|wait|leave|die))
    \b<me>(?:'d like| would like| like| need| want) (?:it|this|them|everything|(?:the|all|my|your) \w+) <how>
    \b<me>(?:'d| would)? (?:like|want|need) .{1,60} in (?:\w+ )?(?:form|format|order|<language>|<notation>)\b
    \b<me> (?:really )?(?:like|love|expect) (?:[\w-]+ ){0,3}<answers>\b|\bi value \w  # i like direct answers
    ^i(?:'d like| want| need| would like) (?:everything|all \w+|it all) in\b  # i want everything in metric units
    ^if (?:there|you)\b.{1,60}, i want (?!to\b)  # if there is a choice, i want blue
    (?<!no, )\bi (?:really )?(?:do not|don't) want (?!<idle>)(?:you|any|the|it|this|a|to|your|my|more)\b
    \b<me> only (?:want|need|accept|eat|fly)\b(?! (?:it|one|an?|\d+)\b)  # we only accept cash
    \bi(?:'m| am) (?:not looking for|only interested in)\b  # i'm only interested in
    \b<me> (?:can't|cannot|can not|can only) (?:spend|exceed|afford more|go (?:over|up to)|eat|have \w+[.!]?$)
    \b<me> (?:really )?(?:hate|dislike|can't stand) (?!it\b|this|that|the\b|to\b|how|when|my)  # i hate long intros
    \b<me> want (?:all|every|everything|any)\b[\w ]{0,30} \w+ed\b|^we use .{1,40}, not \w  # i want all names removed
    \b(?:i|we|she|he) (?:don't|doesn't|do not|can't) (?:eat|drink|drive|fly|smoke)\b  # i don't drive
    ^(?:\w+,? )?<people>(?:'m|'s|'re| am| is| are) (?:\w+ly |\w+[- ]|also |both )?<condition>\b  # my kids are allergic
    \b(?:have|has|having|got) (?:an? )?(?:[\w-]+ ){0,3}(?:allerg(?:y|ies)|intolerance)\b  # i have a nut allergy
    """,
    me="(?:i|we)",
    degree="(?:really|strongly|generally|usually|much|always|would|definitely)",
    how=r"(?:to (?:be (?!at|on|for|sent|\w+ed\b)|stay|sound|read|feel|look)|as|under|within|without|<tone>)\b",
    tone=any_of(v.TONE),
    answers=any_of(v.ANSWER),
    idle=r"to (?:go|be(?! <done>)|do|bother|sound|waste|lose|miss|have to|risk|talk|get|overthink|make things)\b",
    done="(?:called|charged|contacted|transferred|interrupted|rushed)",
    people=r"(?:i|we|he|she|they|(?:my|our) \w+|\w+ of (?:us|them)|guests?|kids)",
    condition=any_of(v.CONDITION),
    language=any_of(v.LANGUAGE),
    notation=any_of(v.NOTATION),
)
# how things are, must be or are done
SAYS = Table(
    r"""
    \b(?:you|to) (?:may |can )?only (?!have\b)\w+|\b(?:in|as|with) (?:[\w'-]+ ){1,3}only\b  # you may only read
    \b(?:no|not) (?:more|less|fewer|later|earlier|longer|bigger|older) than\b  # no later than
    <count>[^.,]{0,20} (?:at (?:the )?(?:very )?most|max(?:imum)?|tops|or (?:less|fewer))(?:[.!,)]|$)  # 300 at most
    \bfrom (?:now|here|this point) on|\b(?:going|moving) forward\b|^in (?:the )?future,  # from now on
    ^(?:for|during|throughout) (?:this|the) (?:whole|entire|rest)\b  # for this whole chat
    ^(?:nobody|no one|none of you) (?:may|should|must)\b  # nobody may touch prod
    \bunder no circumstances\b|\b(?:until|unless) <approved>\b  # unless i ask
    \bwithout (?:asking|my (?:approval|permission|consent|ok|say|confirmation)|checking with|telling me|confirming)\b
    \b(?:ask|check with|confirm with|tell|show|consult) me (?:first|before)\b  # ask me first
    (?:is|are|'s|'re) (?:not (?:acceptable|allowed|permitted|wanted|welcome)|off[- ]limits)\b  # they are not wanted
    \b(?:deal[ -]?breaker|out of the question|off the table|no-go|non-?negotiable|not an option|no exceptions)\b
    \b(?:so|any|anything|everything|all) [^.,]{1,60}(?:is|are) (?:off|out)\b  # so gluten is out
    ^anything (?:<beyond>|\w+[ai]ble)\b.* (?:is|needs|must|should|gets|goes|can|has)\b  # anything above 50 is too much
    ^(?:anything|everything|every|each|all|any|new)\b[^.,]{0,60} <goes> (?:my|a|an|in|into|under|to|through)\b
    \byou (?:may|can) .{1,80}\bbut (?:nothing|not|no|never|only|leave)\b
    ^you may not (?!see|find|tell|just)
    \b(?:you|we) (?:shouldn't|(?:should|need to|have to|ought to) (?:not|never|always|only|make sure|ensure|avoid))\b
    \b<cannot> (?:exceed|change|contain|include|appear|go (?:over|above|below))\b  # it cannot exceed
    \b<cannot> be (?:changed|used|touched|modified|edited|deleted|moved|shared|longer)\b  # they can't be moved
    \b<attribute> (?:should|needs to|has to|must) be\b  # the tone should be warm
    ^<case>, (?:please |then |just |you )*(?:ask|stop|say|skip|flag|wait|pause|use|leave|tell me (?!wh))\b  # if so, ask
    """,
    count=v.COUNT,
    approved="(?:i (?:say|tell|ask|approve|confirm|explicitly)|otherwise|asked|told)",
    beyond="(?:above|over|below|under|beyond|before|after|with|without|longer|older|more|less|else|that)",
    goes="(?:needs?|goes|go|belongs?|lives?|gets?)",
    cannot="(?:cannot|can't|may not|can not)",
    attribute=any_of(v.ATTRIBUTE),
    case=r"(?:if|when|in case) (?!yes\b|no\b|not\b|they do\b)[^.?]{1,120}",
)
# the same, in words that people use of life as well
PLEADS = Table(
    r"""
    (?<!to )(?<!can )\b(?:stays?|remains?) (?:under|below|within|above|as|the same|un\w+ed)\b  # names stay as they are
    ^(?:the|my|our|your)(?: [\w'-]+){0,2} <attribute>(?: (?:for|of) [\w' -]{1,30})? (?:is|are|:) (?!<fault>)
    ^you (?:cannot|can't) (?!see|find|tell|just)
    ^(?:i|we) \w+ [^.]{1,40} only[.!]?$|^(?:every|each|all) [\w ]{2,30} (?:ends?|begins?|starts?)\b
    \b(?:as long as|provided that|on (?:the )?condition that) (?!i\b)  # as long as it compiles
    \b(?:it's|it is) (?:very |really )?(?:important|essential|critical|crucial|vital) (?:that|to|you)\b
    (?:\b(?:is|are)|'s|'re) (?:\w+ly )?(?:<barred>|an? (?:\w+ )?must)\b|\b(?:is|are) (?:not|never|only) to be\b
    ^(?!people|users)[a-z-]+s (?:never|always) (?:go|get|come|belong|stay|live|need|use|start|end)\b  # secrets never go
    """,
    barred=any_of(v.BARRED),
    attribute=any_of(v.ATTRIBUTE),
    fault=r"(?:wrong|broken|weird|off|not|unclear|missing|different|too|so|reached|exceeded|what|that|to|already)\b",
)

# --- Specifications: no verb, no person, only how it shall be -----------------------------------------------

SPECIFIES = Table(
    r"""
    \b(?:up to|at (?:most|least)|under|below|within|between|max|min|(?:less|more|\w+er) than) <count>  # up to 5
    \b(?:at (?:the )?(?:very )?(?:most|least)|max(?:imum)?|tops|or (?:less|fewer|more)|minimum)(?:[.!),]|$)
    \b<number> (?:[\w-]+ ){0,3}(?:per \w+|each|an? (?:day|week|month|hour|night|person))\b  # one line per change
    ^(?:only )?<number> (?:short |single |full )?<unit>[.!,]?$|\bbudget\b[^.]{0,20} <count>  # one page
    \b<manner>\b|\bat a time\b|\bstandard library\b  # british spelling
    \b\w+ (?:style|case|format)(?:[.!,]|$)  # 24-hour format
    \b(?:in|as) (?:<language>|<notation>)(?:[.!,;]|$| please)
    ^(?!thanks)[a-z-]+s as (?!the|this|that|my|our|your|an?\b)\w
    \b(?:simple|plain|easy|british|american) (?:english|language|words|text)\b
    ^(?:very |more |rather )?<tone>(?: (?:and|but|yet) \w+)?(?:[.,!]|$)
    ^[\w '-]{3,40} first, [\w '-]{3,40} (?:second|last|later|after|afterwards|next)\b  # code first, explanation after
    ^(?!well|mmm|yes|yeah|oh)[\w -]{3,40}, not (?!yet|bad|now|really)[\w -]{3,40}[.!]?$  # tabs, not spaces
    ^(?!just )[\w-]+(?: [\w-]+)? over [\w-]+(?: [\w-]+)?[.!]?$  # tabs over spaces
    \b\w+ only(?:[.!,]|$)|^only (?!one\b)[\w' -]{3,40}[.!]?$|\b(?:less|fewer) \w+  # names only
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
    return SPECIFIES.in_(bare)


# --- For later ----------------------------------------------------------------------------------------------------

LATE = r"(?:later(?: on)?|afterwards?|eventually|at some point)"
LATER = Table(
    r"""
    ^to-?dos?\b|\bto-?dos?(?: for later| list)?[:-]|\b(?:don't|do not|dont) forget\b|\bfor later\b  # todo: the docs
    (?:^|[,;:] |\b(?:please|and|also|but|then|just) )(?:remember to\b|remind me (?:to|about|that|of)\b)
    \b(?:can|could) you remind me\b|\breminder\b[^.]{0,40}[:,]|\bstill (?:to do|outstanding|on the list)\b
    \b<dated>,? (?:we|you|please)(?: also| still)?(?:'ll| will| need| should| can| have| must| add| do)\b
    ^<dated>,? <doing>\b|\b(?:we'll|we will|we can|we should|we need|you can|you should|let's)\b.{0,80}\b<late>\b
    (?:^|[,;:] |\b(?:please|and|then|but) )(?:<doing>|tackle|leave|save)\b[^,]{0,60}\b<late>\b  # tackle the docs later
    ^<then>(?:after (?:that|this|you|it|the|we|all)\b.{0,80}, |afterwards,? \w|after (?:that|this) \w)
    ^<then><once> you(?:'re| are|'ve| have)? (?:done|finished?)\b  # once you're done
    ^<then><once> (?:that|this|it|all|everything|the|ci|tests?)\b.{0,60}\b<over>\b  # when the tests pass
    \b(?:we|you|i|it|[\w-]+s?) still (?:needs?|ha(?:ve|s)) to\b|\b(?:come|circle|get) back to (?:that|this|it|the)\b
    \b(?:can|will have to) wait\b|\bwhen you (?:get a chance|have (?:a )?(?:time|moment|minute))\b  # the docs can wait
    \bbefore (?:you|we) (?:finish|wrap up|leave|go|close)\b  # before we wrap up
    """,
    doing=any_of(v.DOING),
    late=LATE,
    dated=rf"(?:{LATE}|next (?:week|month|time|sprint)|tomorrow)",
    then="(?:and |then |right |so |ok,? |also,? )?",
    once="(?:once|when|as soon as)",
    over="(?:done|finish(?:ed|es)?|complete[sd]?|ready|pass(?:es|ed)?|merged|green|deployed|over|out)",
)
# what the user does, what is past, and "later" in a comparison
NOT_LATER = Table(r"""
    \bi(?:'ll| will| can| might| am going to|'m going to) (?:[\w']+ ){1,12}(?:later|tomorrow|next week|afterwards?)
    \b(?:i|we|it|they|he|she) \w+ed\b.{0,60}\b(?:later|afterwards?)\b|^i still have to|^after .{0,100}, i'll (?!need)
    \b(?:minutes?|hours?|days?|weeks?|seconds?|years?|moments?|or|sooner) later\b
    \blater (?:than|versions?|time|date|one)\b
    ^(?:after|once|when)\b.{0,100}, (?:\w+ )?(?:i|it|we|they|the \w+|nothing|everything|that) (?:\w+(?:ed|s)|got|saw)\b
    ^(?:after|once|when)\b.{0,100}, (?:i|it|we|they|the \w+) (?:get|see|fail|were|had|stop|could|just|can't|don't|did)\b
    """)
