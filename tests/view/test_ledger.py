"""One number for one thing: the list of sessions, the page of tokens and the report agree."""

from pathlib import Path

import pytest
from log_samples import CLAUDE, CODEX, as_file

from sightline import Budget, Session, samples
from sightline.imports.detection import conversations
from sightline.imports.importer import import_into
from sightline.log.stores.session_folder import Folder
from sightline.view.catalog.log_count import LogCount
from sightline.view.inspection import count
from sightline.view.replay.formats import recorded
from sightline.view.replay.replay import replay
from sightline.view.report.session_report import report_of
from sightline.view.report.talk import conversation_of
from sightline.view.token_tree import token_tree

SMALL = Budget(16_000, 1_000)


def listed(session: Session) -> int:
    """The tokens that the list of sessions shows."""
    log = LogCount()
    log.add(line.data for line in session.log.store.scan())
    return log.counted().tokens


def by_kind(session: Session) -> dict[str, int]:
    """The kinds of the page of tokens."""
    return {node.name: node.tokens for node in token_tree(session, ("kind",)).root.children}


def reported(session: Session) -> dict[str, int]:
    """The kinds of the report, without what only the provider's usage tells of."""
    shares = report_of(conversation_of(session.log.store), economies=()).kinds
    return {share.name: share.tokens for share in shares if share.name != "unlogged"}


@pytest.mark.parametrize("name", samples.names())
def test_all_views_of_a_sample_have_the_same_tokens(name: str, tmp_path: Path) -> None:
    """By kind too, with thinking and what was recalled."""
    sample = samples.load(name)
    recording = recorded({"system": sample.system, "tools": sample.tools, "messages": sample.messages})
    with Session.new(tmp_path, stores=Folder.at(tmp_path / "logs")) as session:
        for _ in replay(session, recording, SMALL):
            pass
        assert by_kind(session) == reported(session)
        assert listed(session) == count(session).tokens == sum(by_kind(session).values())


@pytest.mark.parametrize("lines", [CLAUDE, CODEX], ids=["Claude Code", "Codex"])
def test_all_views_of_an_imported_log_have_the_same_tokens(lines: list[object], tmp_path: Path) -> None:
    """A log with a compaction: its summary counts too."""
    file = tmp_path / "log.jsonl"
    file.write_bytes(as_file(lines))
    stores = Folder.at(tmp_path / "logs")
    (conversation,) = conversations(file)
    done = import_into(stores, conversation, tmp_path)
    with Session.resume(done.session, tmp_path, stores=stores) as session:
        assert by_kind(session) == reported(session)
        assert listed(session) == sum(by_kind(session).values())
