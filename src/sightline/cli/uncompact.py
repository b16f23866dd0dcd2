"""`sightline uncompact`: the last compaction undone, or one item of it brought back."""

import re
from typing import Any

import click

from sightline.cli.compact import open_session, tokens_change
from sightline.cli.compaction_view import Covered, compactions
from sightline.cli.options import branch_option, budget_options, known_budget, place, session_argument, with_json
from sightline.cli.render import console, print_json
from sightline.cli.sessions import branch_label, switch
from sightline.errors import BadInput
from sightline.log.journal import Journal
from sightline.values.items import Lod

_ITEM = re.compile(r"#?\d+(?:\.\d+)?")


@click.command(short_help="Undo the last compaction, or bring back one item.")
@session_argument
@click.argument("item_id", metavar="[ID]", required=False)
@budget_options
@branch_option
@with_json
def uncompact(
    session_id: str | None,
    item_id: str | None,
    window: int | None,
    output: int | None,
    branch: str | None,
    as_json: bool,
) -> None:
    """Show again what the last compaction covers, or only one item of it. The log before it is untouched.

    A number alone is the id of an item in the newest session. How the room is shared is decided as ever: what does
    not fit is shortened again.

    \b
    Examples:
      sightline uncompact
      sightline uncompact 39
      sightline uncompact V1StGXR8 39 --window 32000
    """
    here = place()
    if item_id is None and session_id and _ITEM.fullmatch(session_id) and session_id not in here.folder.sessions():
        session_id, item_id = None, session_id
    journal = here.journal(here.find(session_id))
    switch(journal, branch)
    covered = _to_undo(journal, item_id)
    allowed = known_budget(journal, window, output)
    with open_session(journal) as session:
        before = session.preview(allowed).tokens
        session.summaries.undo(item_id)
        after = session.preview(allowed)
        row = None if item_id is None else journal.row(item_id)
        shown = row is None or (journal.timeline.unit[row] in after.plan and after.plan.lod(row) is Lod.FULL)
    facts: dict[str, Any] = {"session": session.id, "branch": branch_label(session.branch)}
    facts |= {"boundary": covered.boundary, "item": item_id and item_id.removeprefix("#"), "shown": shown}
    if as_json:
        print_json(facts | {"pre_tokens": before, "post_tokens": after.tokens, "limit": after.plan.limit})
        return
    out, words = console(), here.words
    key = "all brought back" if item_id is None else "brought back" if shown else "will be brought back"
    out.print(words(key, **facts | covered._asdict()), soft_wrap=True)
    out.print(tokens_change(words, before, after.tokens, after.plan.limit), soft_wrap=True)


def _to_undo(journal: Journal, item_id: str | None) -> Covered:
    """The compaction that is to be undone, or that covers this item. Raises BadInput."""
    holding = [each for each in compactions(journal) if each.state == "holds"]
    session = journal.store.session_id
    if not holding:
        raise BadInput(f"nothing is compacted in session {session!r}; `sightline compact --report` shows what was")
    if item_id is None:
        return holding[-1]
    row, timeline = journal.row(item_id), journal.timeline
    if row is None:
        raise BadInput(
            f"no item #{item_id.removeprefix('#')} in session {session!r}; `sightline sessions show` lists them"
        )
    for each in holding:
        first, last = timeline.row(each.first), timeline.row(each.last)
        assert first is not None
        assert last is not None
        if timeline.unit[first] <= timeline.unit[row] <= timeline.unit[last]:
            return each
    runs = ", ".join(f"#{each.first} to #{each.last}" for each in holding)
    raise BadInput(f"item #{item_id.removeprefix('#')} is covered by no summary: they cover {runs}")
