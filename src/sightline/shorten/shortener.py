"""The protocol of shorteners: what one kind of text is shortened to."""

from typing import Protocol, runtime_checkable

from sightline.shorten.lines import Levels, View


@runtime_checkable
class Shortener(Protocol):
    """Shortens one kind of text, such as logs or diffs. Pure: the same view gives the same answers.

    It offers lines and values with their worth, and the engine takes as many as fit. So it need not know the sizes of
    the levels, and cannot exceed them. `lines.line_levels(view, marks, quoted)` makes the levels from marks of lines.
    It must not change the view, and must take any text. It is asked about results of tools and windows; of a
    JSON document that wraps one long text, about that text. `sightline.testing.check_shortener` proves what is
    promised here.
    """

    @property
    def name(self) -> str:
        """What a warning calls it. Of two that a program registers under one name the later is used."""

    def accepts(self, view: View) -> bool:
        """Whether the text is of this kind."""

    def levels(self, view: View) -> Levels:
        """What the summary and the gist of an accepted text are chosen from. Both renderings show the label."""
