"""English: what is left for later, and what only speaks of later."""

from sightline.shorten.rules import vocabulary as v
from sightline.shorten.rules.pattern_table import Table, any_of


def defers(plain: str) -> bool:
    """Whether a sentence about work leaves something for later. Of life the same words say little."""
    return LATER.in_(plain) and not NOT_LATER.in_(plain)


def puts_off(plain: str) -> bool:
    """Whether the sentence puts off a task."""
    return PUTS_OFF.in_(plain) and not NOT_LATER.in_(plain)


LATE = r"(?:later(?: on)?|afterwards?|eventually|at some point)"
LATER = Table(
    r"""
    \bbefore (?:you|we) (?:finish|wrap up|leave|go|close)\b  # before we wrap up
    ^to-?dos?\b|\bto-?dos?(?: for later| list)?[:-]|\b(?:don't|do not|dont) forget\b|\bfor later\b  # todo: the docs
    (?:^|[,;:] |\b(?:please|and|also|but|then|just) )(?:remember to\b|remind me (?:to|about|that|of)\b)
    \b<dated>,? (?:we|you|please)(?: also| still)?(?:'ll| will| need| should| can| have| must| add| do)\b
    ^<dated>,? <doing>\b|\b(?:we'll|we will|we can|we should|we need|you can|you should|let's)\b.{0,80}\b<dated>\b
    (?:^|[,;:] |\b(?:please|and|then|but) )(?:<doing>|tackle|leave|save)\b[^,]{0,60}\b<late>\b
    ^<then>(?:after (?:that|this|you|it|the|we|all)\b.{0,80}, |afterwards,? \w|after (?:that|this) \w)
    ^<then><once> you(?:'re| are|'ve| have)? (?:done|finished?)\b  # once you're done
    ^<then><once> (?:that|this|it|all|everything|the|ci|tests?)\b.{0,60}\b<over>\b  # when the tests pass
    \b(?:we|you|i|it|[\w-]+s?) still (?:needs?|ha(?:ve|s)) to\b|\b(?:come|circle|get) back to (?:that|this|it|the)\b
    \b(?:can|will have to) wait\b|\bwhen you (?:get a chance|have (?:a )?(?:time|moment|minute))\b
    ^<then>(?:<once>|after) [^,.]{3,50}, (?:please |also |then )?<doing>\b  # once they have answered, send it
    (?:^|[,;:] |\b(?:please|and|then) )(?:ping|nudge|alert|notify|remind) me\b
    """,
    doing=any_of(v.DOING),
    late=LATE,
    dated=rf"(?:{LATE}|next (?:week|month|time|sprint)|tomorrow)",
    then="(?:and |then |right |so |ok,? |also,? )?",
    once="(?:once|when|as soon as)",
    over="(?:done|finish(?:ed|es)?|complete[sd]?|ready|pass(?:es|ed)?|merged|green|deployed|over|out)",
)
# of a task, whatever it is
PUTS_OFF = Table(
    r"""
    \b(?:can|could) you remind me\b|\breminder\b[^.]{0,40}[:,]|\bstill (?:to do|outstanding|on the list)\b
    ^after [^,.]{3,40},? (?:we|you) (?:should|need|have|must|can|will)\b|\bpending:|\bnot now:  # pending: x
    \bat the very end\b
    \b<leave> [^.,]{2,60} (?:for|to|till|until) <then_>\b|\b<leave> [^.,]{2,60} (?:aside|off)\b  # park it for now
    \b(?:we'll|we will|we can|let's|you can)\b[^.,]{2,60}\banother (?:day|time)\b  # we'll fix it another day
    \b(?:on|onto|to|in) the (?:to-?do(?: list)?|backlog)\b|\bon(?:to)? the list\b|\bcan (?:come|follow|happen) later\b
    <not> (?:start|begin|work|touch|look|merge|deploy)\b[^.,]{0,60}\byet\b  # don't start on the docs yet
    ^(?:and |then )?(?:at the (?:very )?end|finally|lastly|as a last step),? (?:please |also )?<doing>\b
    """,
    leave="(?:leave|save|keep|postpone|defer|park|shelve|push|move|hold|delay)",
    then_=r"(?:the (?:end|next)|last|later|now|another|next|a later|after|phase|version|v\d|tomorrow|when|\w+day)",
    **{"not": "(?:do not|don't|dont)"},
    doing=any_of(v.DOING),
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
