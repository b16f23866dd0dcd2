"""English: whether something must be, or with emphasis should: "the name must be short", not "that must be a bug"."""

import re

from sightline.shorten.rules.pattern_table import Table, word_set

OBLIGATION = Table(
    r"""
    \b(?:(must|mustn't|shall)|should|shouldn't|ought to|(?:needs?|has|have) to)\b (?:<adverb> )*(be (?!<participle>))?\w
    """,
    adverb="(?:not|never|always|only|also|all)",
    participle=r"(?:\w+(?:ed|en|wn)|met|sent|put|set|made|run|kept|held|left|paid|built|found|done)\b",
)
NOT = re.compile(r"(?:must|shall) (?:\w+ )?(?:not|never|only)\b|mustn't")
SUBJECT = re.compile(r"[\w'›]+(?<!ly)(?= )")
ADVERBS = frozenset({"also", "just", "then", "now", "always", "never", "all", "each", "both"})
NO_THING = frozenset({"", "you", "we", "and", "or", "but", "please"})
WHO_TELLS = word_set(  # what these people must do is no rule for the agent
    """
    i i'll i'd he she they who people someone everyone everybody users employees boss manager kids friend to do not dont
    don't doesn't didn't would will might may what which that still we'll you'll callers no longer
    """
)
GUESSED = Table(
    r"""
    \w+(?:'t| to)? (?:still |not )?have (?:\w+ed|been|had|gone|got|taken|felt|lost|made|come|forgotten)\b
    \w+(?:'t| to)? (?:still |not )?(?:work\b|help\b|already|probably|come from)
    \w+ (?:feel|mean|bring|love|miss|seem|look|sound|know|enjoy|taste)\b|<be> (?:so|such|really|very|quite|\w+ing)\b
    <be> (?:some|something|because|due|related|within|wrong|missing|why|how|hard|tired|fine|able|okay?|good|\d+)\b
    <be> an? (?:\w+ )?(?:bug|issue|problem|error|mistake|glitch|typo|way|reason|joke|race|simple|quick|good|lot)\b
    (?:(?<=\bit )|(?<=\bthis ))must (?:\w+ )?be (?:<its> (?!<one>)|\w+'s )\w  # it must be the cache
    """,
    its="(?:the|my|our|your|his|her|their)",
    one=r"(?:default|final|first|last|next|only|same)\b",
    be=r"\w+(?:'t| to)? (?:still |not |definitely )?be",
)
# with one of these, "should" and "needs to" make a rule
WEIGHT = Table(r"""
    \b(?:never|always|only|all|every|each|any|no|not|nothing|without|under|at most|at least|within|more than)\b|n't\b
    \b(?:less than|exactly|format|same|both|max(?:imum)?|min(?:imum)?|before|first|unless|everything|strictly|\d+)\b
    """)


def obliges(plain: str) -> bool:
    """Whether the sentence puts an obligation on a thing or on the agent."""
    return any(_binding(plain, obligation) for obligation in OBLIGATION.pattern.finditer(plain))


def forbids(plain: str) -> bool:
    """Whether the sentence says what must not be."""
    return any(
        NOT.search(obligation[0]) and _binding(plain, obligation) for obligation in OBLIGATION.pattern.finditer(plain)
    )


def _binding(plain: str, obligation: re.Match[str]) -> bool:
    words = SUBJECT.findall(plain, max(0, obligation.start() - 60), obligation.start())
    who = next((word for word in reversed(words) if word not in ADVERBS), "")
    if who in WHO_TELLS or GUESSED.at(plain, obligation.start()):
        return False
    if obligation[1]:  # must
        return True
    has_to_be = obligation[2] and "to be" in obligation[0]
    return who not in NO_THING and bool(has_to_be or WEIGHT.in_(plain[plain.rfind(",", 0, obligation.start()) + 1 :]))
