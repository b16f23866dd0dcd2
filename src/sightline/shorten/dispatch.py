"""Which kind of text a result is, and which function shortens it."""

from collections.abc import Callable

from sightline.shorten.diffs import diff_levels, is_diff
from sightline.shorten.lines import Levels, View
from sightline.shorten.listings import is_listing, listing_levels
from sightline.shorten.logs import is_log, is_test_run, is_traceback, log_levels, test_run_levels, traceback_levels
from sightline.shorten.prose import prose_levels
from sightline.shorten.source import is_code_file, is_source, source_levels
from sightline.shorten.tables import is_table, table_levels

SHORTENERS: tuple[tuple[Callable[[View], bool], Callable[[View], Levels]], ...] = (
    # The first that accepts the text. Tests for unmistakable lines come before tests for shares of lines.
    (is_code_file, source_levels),
    (is_diff, diff_levels),
    (is_test_run, test_run_levels),
    (is_traceback, traceback_levels),
    (is_listing, listing_levels),
    (is_source, source_levels),
    (is_log, log_levels),
    (is_table, table_levels),
)


def text_levels(view: View) -> Levels:
    """Return the levels of a text, by the first shortener that accepts it; of any other text, as prose."""
    return next((levels(view) for accepts, levels in SHORTENERS if accepts(view)), None) or prose_levels(view)
