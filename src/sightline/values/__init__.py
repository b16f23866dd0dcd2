"""Values that all packages use: items, settings, profiles, token counts, phrases, the clock. Nothing here reads a log.

Others import from every module here: `items`, `settings`, `profiles`, `tokens`, `phrases`, `excerpt`, `schema`, `lock`
and `clock`.
"""
