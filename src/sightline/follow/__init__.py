"""Follows conversations that another program holds: its list of messages, and the calls that it makes with them.

Others import `history.History` for one list, and `turns.Turns` for the calls of a program's requests.
"""
