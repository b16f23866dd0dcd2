"""How often a turn through the proxy asks the database: a number, so that it cannot grow unnoticed."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from loopback import Server
from test_proxy_load import at_once
from through_proxy import HEADERS, MODELS, TOKEN
from upstream import Upstream

from postgres_server import PostgresServer
from sightline import PostgresStores
from sightline.fleet.database import Database
from sightline.server.access_token import hash_token
from sightline.server.app import create_app
from sightline.server.config import Config

FIRST, MORE = 3, 4  # turns


class CountingDatabase(Database):
    """Counts the statements that are sent, by their first word; an append is one of its own."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.sent: Counter[str] = Counter()

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """A connection whose statements are counted."""
        with super().connection() as connection:
            yield _Counted(connection, self.sent)


class _Counted:
    def __init__(self, connection: Any, sent: Counter[str]) -> None:
        self._connection, self._sent = connection, sent

    def execute(self, statement: bytes, *given: Any, **more: Any) -> Any:
        """Count it, and send it."""
        word = "append" if b"moved AS" in statement else statement.split(maxsplit=1)[0].decode()
        if b"pg_notify" not in statement:  # events are sent by a thread of their own, several at once
            self._sent[word] += 1
        return self._connection.execute(statement, *given, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def asked(folder: Path, url: str, turns: int, **options: Any) -> Counter[str]:
    """The statements of a server that lives for one conversation."""
    folder.mkdir()
    with Upstream(at_once) as upstream, closing(PostgresStores(url)) as stores:
        stores.database = database = CountingDatabase(url)
        told = {"anthropic": upstream.anthropic_url, "openai": upstream.openai_url}
        config = Config(
            folder=folder, root=folder, stores=stores, upstreams=told, token_hash=hash_token(TOKEN), **options
        )
        server = Server(create_app(config))
        server.start()
        messages: list[dict[str, Any]] = []
        for turn in range(turns):
            messages.append({"role": "user", "content": f"Question {turn} " + "and much more " * 200})
            sent = httpx2.post(
                f"{server.url}/v1/chat/completions", json={"model": MODELS["chat"], "messages": messages},
                headers=HEADERS["chat"], timeout=60, trust_env=False,
            )  # fmt: skip
            messages.append(sent.json()["choices"][0]["message"])
        server.stop()
        assert len(stores.sessions()) == 1
        return database.sent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "each"),
    [({}, {"append": 3}), ({"window": 4_000}, {"append": 4, "SELECT": 2})],
    ids=["as it came", "shortened"],
)
def test_a_turn_asks_the_database_so_often(
    tmp_path: Path, postgres: PostgresServer, options: dict[str, Any], each: dict[str, int]
) -> None:
    """It writes the request, the answer, and what the agent got of it; nothing is read.

    If it composes, that is written, too; before that it looks at most twice: whether others have written, and whether
    others have indexed more.
    """
    few = asked(tmp_path / "few", postgres.url(), FIRST, **options)
    many = asked(tmp_path / "many", postgres.url(), FIRST + MORE, **options)
    further = {word: many[word] - few[word] for word in many if many[word] != few[word]}
    assert further.keys() == each.keys()
    assert further["append"] == each["append"] * MORE
    assert all(further[word] <= count * MORE for word, count in each.items())
