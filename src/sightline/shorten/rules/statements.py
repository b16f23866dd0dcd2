"""English: statements that lay something down: what the user wants, how things are done, how things of a kind are."""

from sightline.shorten.rules import vocabulary as v
from sightline.shorten.rules.pattern_table import Table, any_of

MONTH = any_of("january february march april june july august september october november december")
# when work is due: a day, a time, or what it is needed for
MOMENT = (
    rf"(?:noon|midnight|\d|\w+day\b|tomorrow|tonight|(?:the )?(?:end|next|start)\b|{MONTH}|"
    r"(?:the|our|my|this|their) (?:[\w-]+ ){0,2}(?:call|demo|interview|launch|meeting|presentation|release|review)\b)"
)

# what the user wants, has or is
WISHES = Table(
    r"""
    \b<me> (?:<degree> )*(?:prefer|favou?r)\b(?! (?:this|that|to (?:wait|leave|go|pick)))  # i prefer tabs
    \b<me>(?:'?d| would) (?:<degree> )*(?:rather|prefer)\b(?! (?:not |to )?(?:go|stay|wait|leave|die))
    \b<me>(?:'d like| would like| like| need| want) (?:it|this|them|everything|(?:the|all|my|your) \w+) <how>
    \b<me>(?:'d| would)? (?:like|want|need) .{1,60} in (?:\w+ )?(?:form|format|order|<language>|<notation>|<code>)\b
    \b<me><want> <some>(?!<not_how>)(?:[\w-]+ ){0,2}<manner>\b  # i want british spelling
    \b<me><want> <some><tone> (?:[\w-]+s|language|prose|wording|code|text)\b(?! (?:up|to)\b)  # i want short functions
    \b<me><want> (?:only |just |exactly )?<count>\w* (?!items?\b|steps?\b)<unit>\b  # i want three paragraphs
    \b<me><want> <work><done_>? (?:tomorrow|tonight|<by> <moment>)  # i need it by friday
    \b<me> (?:really )?(?:like|love|expect) (?:[\w-]+ ){0,3}<answers>\b|\bi value \w  # i like direct answers
    ^i(?:'d like| want| need| would like) (?:everything|all \w+|it all) in\b  # i want everything in metric units
    ^if (?:there|you)\b.{1,60}, i want (?!to\b)  # if there is a choice, i want blue
    (?<!no, )\bi (?:really )?(?:do not|don't) want (?:you|any|the|it|this|a|your|my|more|to be <done>)\b
    \b<me> only (?:want|need|accept|eat|fly)\b(?! (?:it|one|an?|\d+)\b)  # we only accept cash
    \bi(?:'m| am) (?:not (?:looking for|interested in)|only interested in)\b  # i'm only interested in
    \bi(?:'d| would) appreciate (?!it\b|that\b|your|you\b|if you could)[\w-]+
    \b<me> can't do (?:\w+days?|mornings|nights)\b
    ^it would be (?:good|great|better|best|nice) if (?:the|it|this|all|every|there|you (?:used|kept|wrote|could keep))\b
    ^<me>(?:'ve| have)? (?:decided|agreed|settled) (?:against|not to use|to use|to stick)\b
    \b(?:in|with|use) an? <aid>\b
    \b(?:<me>|(?:my|our) \w+) (?:can't|cannot) (?:have|eat|take) (?!another|any ?more|that|it\b|to\b)\w+, so \w
    \b<me> (?:can't|cannot|can not|can only) (?:spend|exceed|afford more|go (?:over|up to)|have \w+[.!]?$)
    \b<me> (?:can't|cannot) eat (?!another|any ?more|that|it\b)
    \b<me> (?:really )?(?:hate|dislike|can't stand) (?!\w+days\b|it\b|this|that|the\b|to\b|how|when|my)
    \b<me> want (?:all|every|everything|any)\b[\w ]{0,30} \w+ed\b|^we use .{1,40}, not \w  # i want all names removed
    \b(?:i|we) <do_not> (?:drive|fly|smoke)\b(?! another| any ?more| that| it\b)
    \b(?:i|we|she|he) <do_not> (?:eat|drink)\b(?! another| any ?more| that| it\b)
    ^(?:\w+,? )?<people>(?:'m|'s|'re| am| is| are) (?:\w+ly |\w+[- ]|also |both )?<condition>\b
    \b(?:have|has|having|got) (?:an? )?(?:[\w-]+ ){0,3}(?:allerg(?:y|ies)|intolerance)\b  # i have a nut allergy
    """,
    me="(?:i|we)",
    want="(?: want| need|(?:'d| would) like| must have)",
    some="(?:an? |the |all |only |just )?",
    not_how=r"(?:to|you|your|my|his|her|their|that|this)\b",
    work=r"(?:it|this|that|them|these|everything|all of it|(?:the|your|my|all) (?:[\w-]+ ){0,2}[\w-]+)",
    done_=r"(?: (?:to be )?(?:done|ready|\w+ed))",
    by="(?:by|before|until|no later than|not later than)",
    moment=MOMENT,
    unit=any_of(v.UNIT),
    count=v.COUNT,
    manner=any_of(v.MANNER),
    code=any_of(v.CODE),
    aid="(?:wheelchair|walking stick|stroller|pram|guide dog|screen reader)",
    degree="(?:really|strongly|generally|usually|much|always|would|definitely)",
    how=r"(?:to (?:be (?!at|on|for|sent|\w+ed\b)|<seem>)|as|under|within|without|<tone>)\b",
    seem="(?:stay|sound|read|feel|look|run|work|fit|support|load)",
    tone=any_of(v.TONE),
    answers=any_of(v.ANSWER),
    do_not="(?:don't|doesn't|do not|can't)",
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
    ^(?:nobody|no one|none of you)(?: [\w-]+){0,4} (?:may|should|must)\b  # nobody may touch prod
    \byou(?:'re| are) (?:not|never|only) to \w|\b<may_not> [a-z]+ (?:any )?(?:more|less|longer|later|\w+er) than\b
    \b(?:is|are) (?:[\w-]+ )?(?:limited|capped|restricted) to (?!the fact)\w  # the api is limited to 60 calls
    ^whatever you (?:choose|pick|change|use|build|write|add)\b[^.]{0,60}, \w  # whatever you choose, it runs offline
    ^we <practise> [^.]{1,40} only[.!]?$|^(?:the |my |our )?<look>: \w|\bmy (?:\w+ )?preference (?:is|would)\b
    ^the (?:less|fewer|more|\w+er)\b.{0,40} the better[.!]?$  # the shorter the better
    \b(?:has|have|needs?) to be [\w ]{2,30} by <moment>
    ^(?:if|when|whenever) you\b[^.?]{3,90}, (?:please |always |just |first )*<doing>\b(?! me)
    \bneeds? (?:my|our) <consent>\b|\byou (?:may|can) [\w ]{0,20}(?:at most|up to|no more than)\b
    ^(?:it|this|everything) (?:has|needs?) to (?:work|run|fit|support|compile|load|scale|match|build)\b
    ^(?:nobody|no one) (?:but|except|other than) \w+ \w
    \bit(?:'s| is) (?:fine|ok|okay) (?:to|if)\b.{3,80}\bbut (?:not|don't|only)\b
    \bi lean towards? (?!\w+ing\b)\w
    ^if there(?:'s| is| are)\b[^.?]{2,60}, (?:please )?<doing>\b  # if there is a choice, take one
    \bunder no circumstances\b|\b(?:until|unless) <approved>\b  # unless i ask
    \bwithout (?:asking|my <consent>|checking with|telling me|confirming)\b  # nothing without my word
    \b(?:ask|check with|confirm with|tell|show|consult) me (?:first|before)\b  # ask me first
    (?:is|are|'s|'re) (?:not (?:acceptable|allowed|permitted|wanted|welcome)|off[- ]limits)\b  # they are not wanted
    \b(?:deal[ -]?breaker|out of the question|off the table|no-go|non-?negotiable|not an option|no exceptions)\b
    \b(?:so|any|anything|everything|all) [^.,]{1,60}(?:is|are) (?:off|out)\b  # so gluten is out
    ^anything (?:<beyond>|\w+[ai]ble)\b.* (?:is|needs|must|should|gets|goes|can|has)\b
    ^(?:anything|everything|every|each|all|any|new)\b[^.,]{0,60} <goes> (?!an? [45]\d\d\b)<into>\b
    \byou (?:may|can) .{1,80}\bbut (?:nothing|not|no|never|only|leave)\b
    ^you may not (?!see|find|tell|just)
    \b(?:you|we) (?:shouldn't|(?:should|need to|have to|ought to) (?:not|never|always|only|make sure|ensure|avoid))\b
    \b<cannot> (?:exceed|change|contain|include|appear|go (?:over|above|below))\b  # it cannot exceed
    \b<cannot> be (?:changed|used|touched|modified|edited|deleted|moved|shared|longer)\b  # they can't be moved
    \b<attribute> (?:should|needs to|has to|must) be\b  # the tone should be warm
    ^<case>, (?:please |then |just |you )*(?:ask|stop|say|skip|flag|wait|pause|use|leave|tell me (?!wh))\b
    """,
    count=v.COUNT,
    practise=any_of(v.PRACTISE),
    doing=any_of(v.DOING),
    look="(?:tone|style|voice|language|format|audience|length|scope)",
    moment=MOMENT,
    may_not=r"(?:may not|must not|mustn't|should not|shouldn't|shall not|cannot|can't)",
    consent=r"(?:approval|permission|consent|ok|okay|say|say-so|confirmation|sign-off|go-ahead|agreement|word|review)",
    approved="(?:i (?:say|tell|ask|approve|confirm|explicitly)|otherwise|asked|told)",
    beyond="(?:above|over|below|under|beyond|before|after|with|without|longer|older|more|less|else|that)",
    goes="(?:needs?|goes|go|belongs?|lives?|gets?)",
    into="(?:my|a|an|in|into|under|to|through)",
    cannot="(?:cannot|can't|may not|can not)",
    attribute=any_of(v.ATTRIBUTE),
    case=r"(?:if|when|in case) (?!yes\b|no\b|not\b|they do\b)[^.?]{1,120}",
)
# what somebody does as a practice, or holds to be best
PRACTICES = Table(
    r"""
    (?<!to )(?<!can )\b(?:stays?|remains?) (?:under|below|within|above|as|the same|un\w+ed)\b
    ^(?:the|my|our|your)(?: [\w'-]+){0,2} <attribute>(?: (?:for|of) [\w' -]{1,30})? (?:is|are|:) (?!<fault>)
    ^(?:i|we) \w+ [^.]{1,40} only[.!]?$
    ^(?!people|users)[a-z-]+s (?:never|always) (?:go|get|come|belong|stay|live|need|use|start|end)\b
    ^(?:the|our|my) <person> (?:really )?(?:hates?|likes?|prefers?|wants?|expects?|dislikes?|insists? on) \w
    ^<us> (?:<only>|never|always) <practise>\b(?!.*\b(?:much|often|yet)\b)  # we only ship books
    ^i (?:<only>|can't|cannot|won't|will not|may not) (?:pay|accept|use|meet|attend|sign|travel)\b
    ^only (?!<count>.{0,30} can\b|.*<trouble>)[\w.-]+ (?:[\w.-]+ )?<entitled>\b
    ^we (?:have|need) to be .{2,60}\b(?:by|before|early|\d)\b|^ideally\b
    \bwould be (?:best|ideal|preferable)\b
    ^our [\w ]{2,30} (?:forbids?|bans?|prohibits?|requires?|mandates?)\b|^i <want> to <approve>\b.{0,60}\b<before>\b
    ^before (?:you \w|\w+ing\b)[^.?]{2,60}, (?:please |always |first |you )*(?:<doing>|let me)\b
    \b(?:an?|the) [\w -]{3,40}(?:,? if possible| preferred)[.!]?$  # an aisle seat if possible
    """,
    person="(?:client|customer|editor|reader|audience|publisher|sponsor|landlord|investor)s?",
    want="(?:want|need|would like|'d like)",
    approve=r"(?:approve|review|see|sign|check|confirm|read|know|be (?:asked|told|informed|consulted))",
    before="(?:before|first|each|every|any|whenever)",
    trouble=r"\b(?:bug|error|issue|problem)s?\b",
    entitled="(?:may|can|should|has|have|approves?|signs?|decides?|gets?)",
    us="(?:we|our \\w+)",
    only="(?:can only|may only|don't|do not|only)",
    count=v.COUNT,
    practise=any_of(v.PRACTISE),
    doing=any_of(v.DOING),
    attribute=any_of(v.ATTRIBUTE),
    fault=r"(?:wrong|broken|weird|off|not|unclear|missing|different|too|so|reached|exceeded|what|that|to|already)\b",
)
# what a team must not do; what it is not able to do just now is a report
BOUND = Table(
    r"""
    ^(?:<lead>,? )?<us> <cannot> (?:\w+ly |also )?(?:<practise>|<alter>)\b(?!<in>)(?!.*\b<present>\b)  # we can't use it
    """,
    lead="(?:and|but|also|sorry|note that|remember|unfortunately|for now|this (?:year|quarter|month))",
    us="(?:we|our \\w+)",
    cannot="(?:can't|cannot|can not|won't|will not|may not|mustn't)",
    practise=any_of(v.PRACTISE),
    alter=any_of(v.ALTER),
    **{"in": " (?:in|into|on|onto|out)\\b"},
    present=any_of(r"now again today currently still since yesterday any~?more at~the~moment errors? fail\w* it~\w+s"),
)
# the same, in words that people use of life as well
PLEADS = Table(
    r"""
    ^you (?:cannot|can't) (?!see|find|tell|just)
    ^we (?:need|have) to (?:avoid|comply|keep|preserve|remain|stay|stick|support|target|use) \w
    ^i(?:'d like| want| would like) no (?!more\b)[\w-]+s\b  # i want no comments
    \b(?:as long as|provided that|on (?:the )?condition that) (?!i\b)  # as long as it compiles
    \byour [\w ]{2,30} (?:should|needs? to|has to)\b
    \b(?:matters?|counts?) more\b|\bcare more about\b|\b(?:is|are) more important than\b  # clarity matters more
    ^i find [^.]{2,60} (?:\w+er|more \w+) (?:to \w+ )?than\b
    ^i(?:'m| am) (?:fine|ok|okay|happy) with [^.]{3,60} <provided>\b
    \bi(?:'d| would) like to (?:avoid|keep|stick|stay|not)\b
    \b(?:it's|it is) (?:very |really )?(?:important|essential|critical|crucial|vital) (?:that|to|you)\b
    (?:\b(?:is|are)|'s|'re) (?:\w+ly )?(?:<barred>|an? (?:\w+ )?must)\b|\b(?:is|are) (?:not|never|only) to be\b
    \bi (?:don't|do not|won't) (?:want|accept) (?!to <idle>)[\w-]+
    ^<always>\b[^.?]{3,90}, (?:please |then |also |just |you )*<doing>\b
    """,
    provided="(?:if|as long as|but|for)",
    doing=any_of(v.DOING),
    idle=r"(?:go|be|do|bother|sound|waste|lose|miss|have to|risk|talk|get|overthink|make things)\b",
    always="(?:whenever|every time|each time|any time|anytime)",
    barred=any_of(v.BARRED),
)
# how each thing of a kind is
EACH = Table(
    r"^(?:all|every|each) (?:[\w'-]+ ){1,5}(?:is|are|has|have|ends?|starts?|begins?|gets?|uses?|goes|needs?|stays?) \w"
)
# how things of a kind are, in general
NORMS = Table(
    r"""
    ^<things> <are>(?:<arranged>|[a-z]+-case|[a-z]+_case|limited|capped)\b|^<things> (?:follow|belong|stay) \w
    ^<things> (?:come|go) (?:with|before|after|first|last|in|as|under)\b
    ^<things> (?:get|have|need) (?:an?|no|their|two)\b
    ^(?:<things>|the [\w ]{2,30}) (?:(?:start|begin|end)s? with|comes? (?:first|last))\b  # names begin with a letter
    ^<things>(?: <that> [\w' -]{2,30})? (?:take|carry|return) an? (?!while|long|lot|moment|minute|few|look)\w
    ^<things> are (?:always|never|only) \w
    ^(?:the|all|our|your|my) [\w ]{2,30} (?:stays?|remains?) \w  # the header stays blue
    """,
    things=r"(?!<one>)(?:(?:all|the|our|new|your|any|most) )?(?:[\w'-]+ ){0,3}(?!<no_things>)[a-z-]{2,}s",
    one=r"(?:i|it|he|she|they|we|you|there|this|that|what|who|my|his|her|when|if|as)\b",
    no_things=r"(?:this|always|is|was|has|does|its|us|yes|as|sometimes|perhaps|users|people)\b",
    are="(?:are|must be) (?:always |only |never )?",
    arranged=any_of(v.ARRANGED),
    that="(?:that|which|with|in|of|for)",
)
