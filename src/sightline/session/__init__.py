"""The facade that most programs hold: say what happened, compose what the model sees.

The work is done in the rooms below. Others use `session` and `settings`.
"""
