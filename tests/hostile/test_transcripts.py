"""Exports for people: whatever a program said, in its text, its error or its name, is only text there."""

import re
from collections.abc import Iterator

import pytest
from tests.conftest import Tried

from sightline import MemoryStore, Session
from sightline.testing import WordCounter
from sightline.values.items import Call, Lod, Message, Opaque, Result, Role, Text
from sightline.view.document import TRANSCRIPTS

HOSTILE = [
    "\x1b]52;c;ZXZpbA==\x07", "\x1b[2J\x1b[1;31mred", "\x9b31m", "failed**\n\n# A heading\n\n", "`\n```\n# out\n",
    "![x](https://evil.example/pixel.png)", '<img src="https://evil.example/p.png">', "<script>alert(1)</script>",
    "</code></details><h1>forged</h1>", "\u202egnp.exe", "\r\n## #9 · user\r\n", "[a]: https://evil.example\n![x][a]",
    "x" * 5_000, "</style><style>@import url(https://evil.example)", "\u2028# heading", "a) of** <b>bold</b>",
]  # fmt: skip
ESCAPES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def places(text: str) -> Iterator[tuple[str, Session]]:
    """A session with this text in each place that a program fills."""
    for place in ("error", "output", "tool", "result name", "opaque", "kind", "said"):
        session = Session(MemoryStore("talk"), token_counter=WordCounter())
        session.user("Go.")
        name = text if place == "tool" else "bash"
        session.add(Message(Role.ASSISTANT, (Text(text if place == "said" else "I look."), Call("c", name, {}))))
        error, output = (text if place == key else "" for key in ("error", "output"))
        named = text if place == "result name" else ""
        session.add(Message(Role.TOOL, (Result("c", (Text(output or "ok"),), error, named),)))
        if place in ("opaque", "kind"):
            kind = text if place == "kind" else "thinking"
            session.add(Message(Role.ASSISTANT, (Text("Done."), Opaque("p", kind, {"thinking": text, "x": 1}))))
        yield place, session


def plain_markdown(text: str) -> str:
    """Markdown without what it shows as it is: fenced blocks, quotations and code."""
    text = re.sub(r"^(`{3,})[^\n]*\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^>.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_a_transcript_says_only_what_we_say_around_it(hostile: str, tried: Tried) -> None:
    """No escape of a terminal, no heading, no image and no tag of another's is in it."""
    for place, session in places(hostile):
        headings = 1 + len({item.id.partition(".")[0] for item in session.items})
        markdown = "".join(TRANSCRIPTS["markdown"](session, "en"))
        assert not ESCAPES.search(markdown), place
        bare = plain_markdown(markdown)
        assert len(re.findall(r"^#{1,6} ", bare, re.MULTILINE)) == headings, (place, bare)
        assert not re.search(r"!\[|<[a-z/!]|https?:", bare, re.IGNORECASE), (place, bare)
        html = "".join(TRANSCRIPTS["html"](session, "en"))
        assert not ESCAPES.search(html), place
        body = html.partition("</head>")[2]
        assert not re.search(r"<(?:img|script|style|link|iframe|b)\b|forged</h1>", body), place
        assert "default-src 'none'" in html
        tried("hostile texts in transcripts", 2)


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_the_label_of_a_shortened_result_is_one_line(hostile: str) -> None:
    """An error or a name in it opens and closes no line of ours."""
    for place, session in places(hostile):
        if place not in ("error", "tool", "result name"):
            continue
        session.add(Message(Role.ASSISTANT, (Call("d", "bash" if place != "tool" else hostile, {}),)))
        text = "\n".join(f"The valve {number} opens." for number in range(300))
        error, named = (hostile if place == key else "" for key in ("error", "result name"))
        session.add(Message(Role.TOOL, (Result("d", (Text(text),), error, named),)))
        reader, row = session.log.reader, len(session.log.timeline.kind) - 1
        for lod in (Lod.SUMMARY, Lod.GIST):
            reader.timeline.short_size(row, lod)
            lines = reader.rendition(row, lod).split("\n")
            labels = [line for line in lines if not line.startswith(("The valve", "…"))]
            assert labels
            assert all(re.fullmatch(r"\[[^\[\]]*\]", line) for line in labels), (place, labels)
