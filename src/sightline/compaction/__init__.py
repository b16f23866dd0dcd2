"""Compacting: a summary takes the place of the oldest units. Made by a model or by rule, and undone at will."""

from sightline.compaction.compactor import SECONDS, Compacted, Compactor, Job, Summarizer
from sightline.compaction.loss import Loss, Lost

__all__ = ["SECONDS", "Compacted", "Compactor", "Job", "Loss", "Lost", "Summarizer"]
