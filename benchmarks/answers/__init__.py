"""Does a model answer better? A real model reads what composers show of long chats, and its answers are scored.

`python -m benchmarks.answers` composes, asks and scores. `generate.py` asks on another machine, alone.
"""
