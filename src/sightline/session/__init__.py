"""The facade that most programs hold: say what happened, compose what the model sees.

The work is done in the packages below. Others import from `session.session`, `session.items` and `session.summaries`.
"""
