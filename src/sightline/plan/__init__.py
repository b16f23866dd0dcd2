"""Decides which units are shown, and each item at which level of detail.

Numbers in, numbers out: no text is read here. Others use `plan`, `strategies` and `notices`.
"""
