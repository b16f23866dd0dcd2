"""Values without behaviour of their own: items, tokens, profiles, phrases, the clock."""
