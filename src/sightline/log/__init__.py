"""Keeps what happened: entries, the stores that hold them, and columns to find them by.

Nothing here decides what a model sees. Others use `entries`, `journal`, `reader`, `timeline` and `stores`.
"""
