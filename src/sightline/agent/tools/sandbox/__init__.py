"""Runs a program shut off from network and files. What it runs, and who asked for it, is decided in `program`."""
