"""Outlines source code: its definitions and imports, by grammar or, without one, by lines."""
