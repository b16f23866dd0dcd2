"""Compacting: a summary takes the place of the oldest units. Made by a model or by rule, and undone at will."""
