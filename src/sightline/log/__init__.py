"""Keeps what happened: the entries of a session, the stores they are written to, and columns to find them by.

Nothing here decides which items a model sees. Others import `journal` (read and write a log), `levels` (items at a
level of detail), `columns` and `branches` (look-ups), `entries` and `annotations` (what is on disk), `stores`, and
`conflict` (write again after another writer).
"""
