"""How far one database goes: what turns cost, what saturates first, and a simulation of a fleet.

`python -m benchmarks.scaling` measures everything on a PostgreSQL of the tests and prints it. With `--docs` it writes
docs/scaling.md from `page.md`, and its picture.
"""
