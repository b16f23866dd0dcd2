"""Entries: a message is the same before it is written and after it is read."""

import json
from itertools import count
from random import Random

import pytest

from sightline.files.project import NOWHERE
from sightline.log import entries
from sightline.log.drafts import Drafts
from sightline.log.entries import Entry
from sightline.testing.wire_histories import make_history
from sightline.values.items import Image, Message, Opaque, Part, Role, Text

TEXTS = ("", "plain", 'a "quote" and a \\', "line\nline\t\x00\x7f", "höher 中文 🚢")
PARTS: list[tuple[Part, ...]] = [
    (),
    *((Text(text),) for text in TEXTS),
    (Text(""), Text("two")),
    (Image("image/png", "iVBORw0KGgo"),),
    (Opaque("p", "k", {"a": [1, None]}), Text("seen")),
]


def drafts() -> Drafts:
    ids = count(1)
    return Drafts("s", lambda: 1_700_000_000_000, lambda: f"id{next(ids)}", NOWHERE)


def drafted(messages: list[Message]) -> list[Entry]:
    return drafts().messages(messages, lambda _: None, "en")[0]


@pytest.mark.parametrize("parts", PARTS)
def test_parts_are_read_as_they_were_given(parts: tuple[Part, ...]) -> None:
    """From the entry as it was made, and from its line. A text alone stands in the line as a JSON string."""
    [made] = drafted([Message(Role.USER, parts)])
    line = entries.encode(made)
    assert entries.parts_of(made) == entries.parts_of(entries.decode(line))
    assert entries.parts_of(made) == (() if parts == (Text(""),) else parts)
    content = json.loads(line)["message"]["content"]
    assert isinstance(content, str) == (not parts or (len(parts) == 1 and isinstance(parts[0], Text)))


@pytest.mark.parametrize("seed", range(40))
def test_the_items_of_an_entry_do_not_depend_on_the_disk(seed: int) -> None:
    """Those of an entry that was just made are those of its line, with calls and results of every kind."""
    messages = [message for unit in make_history(Random(seed), "anthropic") for message in unit]
    for made in drafted(messages):
        assert entries.items_of(made) == entries.items_of(entries.decode(entries.encode(made)))


def test_a_text_is_in_memory_once() -> None:
    """An entry that was just made has the very text that it was given, because a list of them may be long."""
    text = "the log of a whole night\n" * 100
    [made] = drafted([Message(Role.USER, (Text(text),))])
    assert made.message is not None
    assert made.message.content is text
