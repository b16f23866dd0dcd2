"""Says of recorded sessions where their tokens went, what caching, reading again and compactions cost, and what would
save most. It reads and counts, and prints nothing.

Others import `session_report.report_of` for one session, `talk.conversation_of` for one that Sightline stores,
`totals.report_over` for several, `phrases.told` for the words of a piece of advice, `page.page` for an HTML page, and
the values of `values`.
"""
