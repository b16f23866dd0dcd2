"""What kind of text a result is, and which function knows how to shorten it."""

from collections.abc import Callable

from sightline.shorten.diffs import diff, is_diff
from sightline.shorten.lines import Levels, View
from sightline.shorten.listings import is_listing, listing
from sightline.shorten.logs import is_log, is_test_run, is_traceback, log, test_run, traceback
from sightline.shorten.prose import prose
from sightline.shorten.source import is_file, is_source, source
from sightline.shorten.tables import is_table, table

CLASSES: tuple[tuple[Callable[[View], bool], Callable[[View], Levels]], ...] = (
    # The first that says yes. What unmistakable lines tell comes before what goes by shares of lines.
    (is_file, source),
    (is_diff, diff),
    (is_test_run, test_run),
    (is_traceback, traceback),
    (is_listing, listing),
    (is_source, source),
    (is_log, log),
    (is_table, table),
)


def levels_of(seen: View) -> Levels:
    """The pieces both levels of a text are chosen from."""
    for belongs, render in CLASSES:
        if belongs(seen):
            return render(seen)
    return prose(seen)
