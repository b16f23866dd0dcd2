"""Outlines source code: its functions and classes, by grammar or, without one, by lines."""
