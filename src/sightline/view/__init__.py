"""Looks at sessions that are there: their calls, their payloads, where their tokens went.

Nothing here changes a session or calls a model. The command line, the server and the adapters show what it finds.
"""
