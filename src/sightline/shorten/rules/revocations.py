"""Sentences that lift an earlier rule, or set one that the other tables take for a story. Both bind."""

from sightline.shorten.rules.pattern_table import Table

ENGLISH = Table(
    r"""
    <start>(?:forget|scratch|disregard|ignore|drop|cancel) (?:that|this|it|what i said|<all> <earlier>)\b  # forget that
    \b(?:disregard|ignore|drop|cancel) <all> <earlier>\b  # you can drop the old rule
    \b<rule>s?\b.{0,60}\b(?:no longer|doesn't|don't) (?:appl|hold|count|matter)  # the rule no longer applies
    \byou (?:may|can) (?!<begin>).{0,80}\b(?:now|again|after all|from now on)\b(?!.*\?)  # you may touch it now
    \byou (?:don't|do not|no longer) (?:have|need) to\b.{0,80}\b(?:any ?more|any longer|now|from now on)\b
    ^(?:nobody|no one|none of you) (?:may|should|must)\b  # nobody may touch prod
    ^i(?:'d like| want| need| would like) (?:everything|all \w+|it all) in\b  # i want everything in metric units
    """,
    start=r"(?:^|[,;:.] |\b(?:please|ok|okay|just|actually|so) )",
    begin="(?:proceed|go|start|begin|continue|book|close|confirm)",
    all="(?:the|my|all)",
    earlier=r"(?:earlier |previous |old |last |first )?(?:<rule>s?|instructions?)",
    rule="(?:rule|restriction|constraint|limit|requirement|convention|ban)",
)
CHINESE = Table(
    r"""
    (?:规则|要求|限制|约定|规定|禁令)[^，。]{0,12}(?:作废|取消|解除|不再|失效|不算)  # 前面说的规则作废
    (?:忘掉|忘了|忽略|不用管|别管)[^，。]{0,4}(?:之前|前面|刚才|上面)[^，。]{0,8}(?:规则|要求|限制|话|说的)
    ^(?!.*[？?])(?:现在|以后|接下来)?[^，。]{0,6}<no_need>(?![^，。]*<kindly>)[^，。]{1,30}了  # 现在不用先跑测试了
    ^(?:现在|以后|接下来)你?可以[^，。]{1,30}了  # 现在可以改数据库了
    ^(?:请|你)?必须(?:使用|用|按|以|先|在)  # 必须使用过去时
    """,
    no_need="(?:不用|不必|无需|不需要)",
    kindly="(?:担心|考虑|客气|谢|着急|麻烦)",
)


def lifts(sentence: str) -> bool:
    """Whether this plain sentence, in English or Chinese, lifts a rule."""
    return ENGLISH.in_(sentence) or (not sentence.isascii() and CHINESE.in_(sentence))
