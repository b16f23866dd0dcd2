"""English: what reports how things are or behave, just now or as a fault: nothing that the assistant is to hold to."""

from sightline.shorten.rules import vocabulary as v
from sightline.shorten.rules.pattern_table import Table, any_of

# how things go just now, or went, or go on an occasion
REPORTS = Table(
    r"""
    \b(?:now|again|today|currently|still|already|just|since|tonight|recently|meanwhile|sometimes|often|usually)\b
    \b(?:bug|bugs|issue|problem|problems|error|errors|wrong|wrongly|incorrectly|broken|slow|slower|faster|red|green|down|missing|fail\w*)\b
    \d[\d.,]* ?(?:seconds?|ms|minutes?|hours?|years?|times|lines|rows|files|tests|degrees|miles|of)\b
    \b(?:long|years? old|ago)\b|<count> (?:seconds|minutes|hours)\b  # all pages need ten seconds
    \b(?:crash\w*|hang|hangs|time out|times out|coverage|looks?|seems?|great|nice|amazing|lovely|too|so)\b
    \b(?:when|whenever|once|until|while|even|after|if|as soon as) (?:i|it|he|she|they|we|users?|\w+ing)\b
    \b(?:after|at|on|during) (?:every |each |an? )?<event>\b|\b(?:when|if|after) you <operate>\b  # blank after login
    \b(?:stays?|remains?) (?:\w+ )?<stuck>\b  # the page stays blank
    \b(?:is|are) (?:\w+ly |all )?<spoilt>\b|\b(?:gets?|gives?|returns?|throws?) (?:an? )?[45]\d\d\b  # each gets a 403
    """,
    count=v.COUNT,
    event=any_of(
        """
        boot click crash load log-?in log-?out mobile re-?boot refresh reload resize restart save sign-?in sign-?up
        start start-?up submit tap time-?out upgrade
        """
    ),
    operate=any_of("click press open scroll type log hover tap select submit resize refresh reload start close"),
    stuck=any_of("blank busy empty frozen idle invisible loading offline pending silent stuck unresponsive"),
    spoilt=any_of("corrupt(?:ed)? dead garbled gone lost mangled stale stuck unreachable unreadable upside~down"),
)
# what a thing does, told of one or several: a specification has no such verb. It follows its subject, whose number it
# has, and is not the first part of a noun ("load time")
BEHAVES = Table(
    r"""
    (?<=[a-rt-z] )(?:appears|breaks|compiles|crashes|disappears|fails|flickers|freezes|hangs|happens|loads|passes)\b
    (?<=[a-rt-z] )(?:arrives|completes|exists|finishes|succeeds|survives)\b
    ^only <the> (?:very )?(?:first|last|second|third|final) [\w-]*[a-rt-z] [a-z]+s<after>  # only my last commit builds
    ^only <part> of <the> (?:[\w-]+ )*[\w-]+s (?!<place>\b)[a-z]  # only half of the rows arrive
    (?<=[a-rt-z] )(?:renders|responds|returns|works|opens|closes|starts|stops|\w+s (?:up|fine|correctly))<after>
    (?<=s )(?:appear|break|compile|crash|disappear|fail|flicker|freeze|hang|load|pass|render|respond|work|open)<after>
    \b(?:appeared|broke|compiled|crashed|disappeared|failed|froze|hung|loaded|passed|rendered|worked)\b
    """,
    the="(?:the|my|our|your|his|her|this|that|these|those)",
    part=rf"(?:half|some|most|part|few|a few|{v.COUNT}\d*)",
    place="(?:above|after|as|at|before|below|between|by|for|from|in|of|on|only|over|per|please|since|that|to|under|which|with)",
    after=r"(?=[.,!;]|$| (?:on|in|at|when|after|for|with|now|again|correctly|and|but|but not)\b)",
)
# a count of faults: five errors, not six
FAULTS = Table(
    r"^(?:still |again |only |just )?<count>\d* (?:[\w-]+ )?(?:errors?|warnings?|failures?|crash(?:es)?|bugs?)\b",
    count=v.COUNT,
)

# what is not there, or does not come; with a condition it is a rule
ABSENT = Table(
    r"^no (?:[\w-]+ ){0,2}[\w-]+s <come>(?: <way>)?(?: (?:at all|any ?more|yet))?[.!]?$|^no [\w -]{2,40} since \w",
    come=any_of("appear arrive come exist get go match show turn reach~(?:the|my|our|its)~\\w+"),
    way=any_of("back in out through up"),
)


def behaves(plain: str) -> bool:
    """Whether a sentence that could be a specification tells what things do, or counts faults."""
    return BEHAVES.in_(plain) or FAULTS.at(plain)
