"""Finds sessions: on this machine, in a database and in other agents' folders; lists, counts and searches them."""
