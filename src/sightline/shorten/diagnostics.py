"""What compilers, type checkers and package managers report: errors first, with their place and their source."""

from sightline.shorten.failures import failure_order
from sightline.shorten.lines import Levels, View, line_levels
from sightline.values.pattern import pattern

_ERROR = pattern(
    r"\n(?:error(?:\[\w{1,12}\])?: |fatal(?: error)?: |npm (?:error|ERR!) |make(?:\[\d+\])?: \*\*\* |"
    r"\S{1,300}:\d+(?::\d+)?: (?:fatal )?error: |\S{1,300}\(\d+(?:,\d+)?\): (?:fatal )?error |"
    r"\S{1,200}\.go:\d+:\d+: |[ \t]+\d+:\d+ +error )"
)


def is_diagnostics(view: View) -> bool:
    """Whether a line reports an error in the form of a known tool."""
    return _ERROR.search(view.sample.text) is not None


def diagnostic_levels(view: View) -> Levels:
    """Show every error, those alike once before they repeat, then the place and the source of each, then the end."""
    marks = view.trouble_marks()
    return line_levels(view, marks, marks, order=failure_order(view, terse=True))
