"""Sentences that were written after the patterns and not used to make them: how many constraints are recognised.

    python -m benchmarks.quality.unseen_sentences

Who changes a pattern because of a sentence here moves that sentence to `tests/shorten/rules/sentences.py`.
"""

from sightline.shorten.rules import constraints

BINDING = (
    "Every screen has to work on a phone.",
    "The courier picks up at 16:45.",
    "Our tenant id is t-5521.",
    "Don't quote the 2021 survey.",
    "Put the totals in the last column.",
    "Please use the informal you in German.",
    "I can only pay by invoice.",
    "The auditor's name is Helene Brandt.",
    "Passwords never belong in the repository.",
    "Leave the header row alone.",
    "We ship only within the EU.",
    "The room is booked until 18:30.",
    "Give me at most four options.",
    "Translate names literally? No: keep names as they are.",
    "My budget is 300 pounds a night.",
    "The model number is XR-900.",
    "Always show prices with tax.",
    "Nothing older than 2020, please.",
    "You are not allowed to email the client.",
    "The backup runs at 02:00 every night.",
    "Tables before text.",
    "Mention the warranty in each answer.",
    "My manager's email is ruth@quay.example.",
    "The company was founded in 1987, use that in the bio.",
    "Count business days, not calendar days.",
    "每封邮件都要抄送法务。",
    "仓库编号是W-77。",
    "不要引用2021年的调查。",
    "合计放在最后一列。",
    "快递下午四点四十五来取。",
    "只发欧盟境内。",
    "最多给我四个选项。",
    "价格一律含税。",
    "审计员叫韩雪。",
    "密码不能进仓库。",
    "我每晚预算三百镑。",
    "不许给客户发邮件。",
    "按工作日算，不按自然日。",
    "备份每天凌晨两点跑。",
    "表头不要动。",
)
NEAR = (
    "The courier was late again.",
    "I can't believe it works.",
    "Nothing changed since yesterday.",
    "The survey from 2021 was a mess.",
    "You never told me about the fee.",
    "Two of the four options look fine.",
    "Is the room booked until 18:30?",
    "I should have read the manual first.",
    "My brother only eats pizza.",
    "Hope you always get what you want.",
    "The tests take about 4 minutes here.",
    "He must be the new auditor.",
    "I need a coffee before we start.",
    "That column is always empty on Mondays.",
    "We had to restart the backup twice.",
    "Never mind, I found it.",
    "Could you list the open tickets?",
    "Let me know how it goes!",
    "Don't you love spring?",
    "The error appears only in Firefox.",
    "快递又迟到了。",
    "没想到居然能用。",
    "昨天以来什么都没变。",
    "我应该先看说明书的。",
    "我弟弟只吃披萨。",
    "他一定是新来的审计员。",
    "这一列周一总是空的。",
    "错误只在火狐里出现。",
    "能列一下未关闭的工单吗？",
    "算了，我找到了。",
)


def main() -> None:
    missed = [sentence for sentence in BINDING if not constraints(sentence)]
    false = [sentence for sentence in NEAR if constraints(sentence)]
    print(f"recognised: {len(BINDING) - len(missed)} of {len(BINDING)}; missed:", *missed, sep="\n  ")
    print(f"taken for one: {len(false)} of {len(NEAR)}:", *false, sep="\n  ")


if __name__ == "__main__":
    main()
