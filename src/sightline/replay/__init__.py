"""Reads recorded conversations and composes them again, call by call. Sessions do the composing."""
