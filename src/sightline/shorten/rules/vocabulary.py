"""English word classes, and the words of which at least one is in every constraint."""

from sightline.shorten.rules.pattern_table import word_set

COUNT = r"(?:[$€£]?\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|half)\b)"

# what an agent is asked to do
DOING = """
    edit change modify touch use write make add delete remove commit push answer reply respond return show run rely
    give list include fix update create look check consider work do send book pick choose output report print call
    let install test review comment suggest translate search keep mention tell ask set refactor implement convert
    rewrite summarise summarize draft generate find move rename apply format explain cite quote buy order recommend
    extract deploy read store merge accept allow cover count start open replace build try plan clean cancel proceed
    exchange handle say put wait skip stop flag mark pause name save end begin address attach calculate close
    compare confirm copy declare define describe design discuss document draw express highlight insert log organise
    organize phrase plot present provide publish render schedule split state structure take upload verify
    """

# verbs that people use of anything, not only of work: after "never" or "don't" they say little
COMMON_VERBS = """
    allow ask begin build buy count do end find give keep let look make move open put say start stop take tell try
    wait work
    """
# what says how things shall be written or arranged, not only that they shall be
SHAPING = """
    write wrap quote name format spell indent round sort group mark label cite number separate align prefix suffix
    express count measure store log put sign abbreviate capitalise capitalize escape pad join spell
    """
# what one does once, with some things that one does not have yet
FETCHING = """
    find search list show get book buy order add create make compare suggest recommend generate look check open
    read send draft write run test review install extract upload attach provide present plot draw insert schedule
    fix update translate include take return output plan confirm cancel cover
    """
# what a team does or does not do, as its practice
PRACTISE = """
    use ship deploy support accept store send publish share allow commit push merge do sell invoice pay charge bill
    release quote round host log test document target rely
    """
# what changes or binds something for others: who says that it cannot be done forbids it
ALTER = """
    add adopt alter break buy change commit delay delete disclose downgrade drop edit exceed expose extend hire include
    introduce mention migrate modify move outsource overwrite postpone raise redesign refactor remove rename replace
    restructure reveal rewrite skip spend switch touch update upgrade
    """
# what work is about: what is written, built, counted, bought and booked
WORK = """
    account accuracy agenda airport amount answer api app article backend backlog backup bill billing booking
    branch bucket budget bug bullet button cache calendar certificate changelog chart checkout citation clarity
    client code column command commit config configuration constant contract copyright correctness cost credential
    currency customer dashboard data database dataset deadline decimal dependencies dependency deploy deployment
    diff doc docstring document documentation draft email endpoint env error essay estimate export feature file
    filename flag flight folder font footnote format formatter framework frontend function grammar graph header
    heading host hotel import indentation input interface invoice itinerary json language layout latency layover
    letter library line link linter list log mail markdown meeting menu merge merged method migration model module
    network notation notebook output package page paragraph parameter parser password patch payment pdf pipeline
    placeholder port prefix price print prod production project prompt prose punctuation python queries query quote
    readability readme rebase receipt refactor refactoring refund release replies reply repo report repository
    request reservation response restaurant result retries retry row sample schema screenshot script seat secret
    section sentence server shipment simplicity slide snippet spelling spreadsheet sql staging style styling
    summaries summary syntax system table tax template tense terminal test text ticket timeout title token tone
    transcript translation type typescript unit url user utc variable vendor version vpn warning website wording
    workflow yaml
    """
# what friends talk of
SOCIAL = """
    yourself yourselves together family families friend friends friendship love loved loves loving lover feel feels
    feeling feelings dream dreams heart hearts happy happiness joy fun smile smiles life journey memory memories
    positive positivity kind kindness safe strong proud hug hugs enjoy amazing awesome beautiful wonderful great worry
    believe hope hopes support supportive supporting community passion passions inspire inspiring inspires luck lucky
    soul spirit god bless kid kids child children mom mum dad mother father sister brother son daughter husband wife
    baby babies pet pets dog dogs puppy cat cats growth healing self-care motivated motivating inspiration
    encouragement courage brave vibes special birthday birthdays anniversary wedding weddings party parties concert
    concerts holiday holidays haha lol cherish relax rest judge alone difference world eachother care
    """

# The words below are cues too: plain words, in every form.

# verbs that already say how
HEEDING = """
    adhere aim assume avoid confine conform eliminate emphasise emphasize employ exclude honor honour imitate limit
    maintain match maximise maximize mimic minimise minimize mirror omit prefer preserve prioritise prioritize refrain
    respect restrict strive
    """
# what describes a text or a product
MANNER = """
    spelling tense tone voice units decimal decimals currency grammar punctuation lowercase uppercase
    snake_case camelcase initials jargon capitals emoji emojis seat seats indentation bullets
    """
# what a text is counted in
UNIT = """
    word words line lines page pages sentence sentences paragraph paragraphs bullet bullets column columns character
    characters slide slides item items step steps
    """
TONE = """
    brief casual compact clear concise conversational detailed direct formal friendly humorous informal light
    minimal neutral playful plain polite professional serious short simple small succinct terse warm
    """
# what an agent gives
ANSWER = """
    answers responses replies explanations summaries suggestions outputs edits comments examples sources citations
    """
LANGUAGE = "english chinese french german spanish italian portuguese dutch japanese korean russian arabic"
CODE = "bash golang java javascript kotlin perl php python ruby rust scala sql swift typescript"
NOTATION = """
    json yaml csv markdown html latex xml pdf eur usd gbp chf euro euros dollars pounds francs yen kroner celsius
    fahrenheit utc gmt cet est pst bold italics brackets parentheses 24-hour
    """
# what a task or a text has one of
ATTRIBUTE = """
    audience budget currency deadline format goal language length limit maximum minimum priority scope style target
    tone voice
    """
CONDITION = """
    allergic celiac coeliac color-blind colour-blind colorblind colourblind deaf diabetic dyslexic gluten-free halal
    intolerant kosher pescatarian pregnant vegan vegetarian
    """
BARRED = "banned forbidden frozen mandatory prohibited read-only sacred taboo unacceptable untouchable off-limits"
ARRANGED = """
    rounded sorted grouped separated formatted written spelled abbreviated capitalised capitalized aligned named
    numbered quoted prefixed indented
    """

# what facts are given about: things that have a number, a name or a place
FACT = """
    account address alias api app assignee backend backup bank boss branch bucket budget build card client cluster
    code contact cap code~name codename container contract contractor coordinator courier course currency customer
    database deadline deposit device directory domain due~date editor email endpoint environment extension fee file
    fiscal~year floor folder framework frontend gate group host hostname id identifier instance invoice iban ip key
    landlord language launch lead licence license limit location login manager maximum minimum model name number
    order organisation organization owner package passport password path pipeline platform policy port postcode
    price project provider queue quota rate reference region registry release repo repository retention reviewer
    room salary schema script seat serial~number server service shift size sku slot sprint stack supplier table tag
    target tax team template tenant threshold ticket time~zone timezone timeout token tool total unit url user
    username vat vendor venue version vpn warehouse website window zip
    """
# how a thing is or what it does as a rule
STATES = """
    is are goes go runs run starts start ends end opens open closes close lives live costs cost holds hold seats
    seat needs need pays pay ships ship belongs belong expires expire begins begin leaves leave arrives arrive
    departs depart meets meet covers cover supports support accepts accept allows allow handles handle owns own
    charges charge fits fit weighs weigh listens listen speaks speak renews renew resets reset rotates rotate lands
    land picks pick expects expect approves approve moved rescheduled postponed bills bill serves serve takes
    """
# of facts: what they have besides a thing, a digit or a state
FACT_VERBS = """
    use deploy host target invoice ship note remember that record records information know fyi heads-up reminder mind
    aware responsible charge approves signs reviews handles owns decides there called named freeze launch
    """

OTHER_CUES = """
    not never must mustn't only no need needs should shouldn't always sure ensure without stop keep leave out off
    now here point forward future nothing anything most stick instead rather has have ought shall allowed permitted
    rule rules constraint constraints guidelines convention conventions requirement requirements restriction
    restrictions do's don'ts dont don't cannot can't tops matter costs max less fewer question table no-go
    negotiable non- option if whenever answer reply respond exactly verbatim throughout everywhere exceptions every
    each all interested care long longer provided under over up between condition important essential critical
    crucial vital hold steer stay stays remain remains skip treat time wait chance hands spare except default below
    within let's quit any unless until must-have must-haves strictly before first use focus talk speak write explain
    be like as hate dislike want allergy allergies dealbreaker deal-breaker breaker library limits aisle per least
    following follow prefers favor favour bad eat drink drive fly smoke above person case form preferred preferably
    todo todos to-do to-dos forget remember remind later after afterward afterwards once when still next eventually
    tomorrow back follow-up remaining pending soon scratch disregard ignore drop cancel again anymore nobody none
    everything may backlog outstanding wrap finish get another reminder file piece one clearly honestly briefly
    concisely directly immediately simply plainly politely sparingly proactively stand value love expect secrets
    belong rest whole entire note record fyi call called named titled goes go lives live sort indent align
    capitalise capitalize pad prefix suffix truncate abbreviate hyphenate round find ideally best matters counts fine
    comes last end ends begins starts begin start quote cite list number ping nudge notify alert park shelve
    postpone defer yet alphabetically chronologically separately individually whatever possible anytime preference
    better try delay finally lastly tone appreciate decided agreed settled wheelchair stroller pram
    """
CUE_CLASSES = (
    " ".join(word_set(DOING) - word_set(COMMON_VERBS) - word_set(FETCHING)),
    SHAPING,
    HEEDING,
    MANNER,
    UNIT,
    TONE,
    ANSWER,
    LANGUAGE,
    NOTATION,
    ATTRIBUTE,
    CONDITION,
    BARRED,
    ARRANGED,
    FACT.replace("~", " "),
    OTHER_CUES,
)
CUES = word_set(" ".join(CUE_CLASSES))
