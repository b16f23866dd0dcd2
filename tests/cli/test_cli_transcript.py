"""`sightline sessions export --format markdown|html`: to be read, and nobody's text is more than text."""

import json
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from sightline import MemoryStore, Session
from sightline.cli.export import write_pieces
from sightline.errors import BadInput
from sightline.log.stores.session_folder import Folder
from sightline.session.items import Items
from sightline.view.document import TRANSCRIPTS, html, markdown

Run = Callable[..., Result]
OURS = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "p", "main", "article", "h2", "a", "time", "pre",
    "code", "details", "summary",
}  # fmt: skip
HOSTILE = (
    "</pre></details></article><script>alert(1)</script><img src=x onerror=alert(1)>\n"
    "## #99 · user · 2026\n```\n````` \n<!-- \"' & \x1b[31m </style><style>*{}</style>\r\n--- end"
)


class Elements(HTMLParser):
    """What a browser finds in a page: its elements with their attributes, and the texts in them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: set[tuple[str, str]] = set()
        self.opened: list[str] = []
        self.texts: list[str] = []
        self.others: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes |= {(tag, name) for name, _ in attrs}
        if tag != "meta":
            self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)


@pytest.fixture
def hostile(root: Path) -> None:
    """A session in which every text that others decide tries to be more than text."""
    call = {"id": "c1", "type": "function", "function": {"name": HOSTILE, "arguments": json.dumps({"a": HOSTILE})}}
    picture = {"type": "image_url", "image_url": {"url": "https://x.example/<script>"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": HOSTILE}, picture], "when": HOSTILE},
        {"role": "assistant", "content": HOSTILE, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": HOSTILE},
    ]
    with Session.new("/shop", root=root, session_id="hostile") as session:
        session.system(HOSTILE)
        session.extend(messages)


def test_markdown_says_who_said_what_and_when(run: Run, root: Path) -> None:
    """A message has its number, speaker and time; a call its arguments; a result its text; an image its name."""
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}
    with Session.new("/shop", root=root, session_id="small") as session:
        session.extend([
            {"role": "user", "content": [{"type": "text", "text": "Look.\n\nHere."}, picture], "when": "8 May 2026"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "one\n```\ntwo"},
            {"role": "assistant", "content": "Done."},
        ])  # fmt: skip
    text = run("sessions", "export", "small", "--format", "markdown").stdout
    first, *others = text.split("\n## ")
    assert first.startswith("# Session small, branch main\n\n4 messages")
    assert others[0].partition("\n")[0].endswith(" · user · `8 May 2026`")
    assert "> Look.\n>\n> Here.\n\n**image** `image/png, 5 B`" in others[0]
    assert " · assistant · `" in others[1]
    assert '**call** `read_file`\n\n```json\n{\n  "path": "a.py"\n}\n```' in others[1]
    assert "**result of** `read_file`\n\n````\none\n```\ntwo\n````\n" in others[2]
    assert others[3].endswith("\n\n> Done.\n")


def test_no_line_of_a_text_is_a_line_of_the_markdown(run: Run, hostile: None) -> None:
    """Outside of fences, every line of others begins as a quotation; a fence is longer than any in its content."""
    text = run("sessions", "export", "hostile", "--format", "markdown").stdout
    fence, headings = "", []
    for line in text.split("\n"):
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith("```"):
            fence = line.removesuffix("json")
            assert len(fence) > 5
        elif line.startswith("#"):
            headings.append(line)
        else:
            assert line.startswith((">", "**", "4 messages")) or not line
    assert not fence
    assert len(headings) == 5  # of the session and its four messages
    assert not any(heading.startswith("## #99") for heading in headings)
    assert "\x1b" not in text
    assert "\r" not in text


def test_html_has_no_element_but_ours(run: Run, hostile: None) -> None:
    """Whatever the texts say: every element is closed where we close it, none is a script, none loads anything."""
    page = run("sessions", "export", "hostile", "--format", "html").stdout
    found = Elements(page)
    assert set(found.names) <= OURS
    assert not found.opened
    assert not found.others
    assert {name for _, name in found.attributes} == {
        "lang",
        "charset",
        "name",
        "content",
        "http-equiv",
        "class",
        "id",
        "href",
    }
    assert found.names.count("article") == 4
    assert found.names.count("style") == 1
    assert found.names.count("details") == 1
    assert sum("<script>alert(1)</script>" in each for each in found.texts) >= 5
    assert "prefers-color-scheme: dark" in page
    assert "\x1b" not in page


@pytest.mark.parametrize("format_", list(TRANSCRIPTS))
def test_a_transcript_has_every_message(run: Run, format_: str) -> None:
    """As many as the command tells, in the language that is asked for, to a file and to standard output alike."""
    told = json.loads(run("sessions", "export", "--format", format_, "-o", "out", "--json").stdout)
    written = Path("out").read_bytes()
    assert told["bytes"] == len(written)
    assert told["messages"] == written.count(b"<article " if format_ == "html" else b"\n## #") > 10
    assert run("sessions", "export", "--format", format_).stdout_bytes == written
    assert "条消息" in run("--lang", "zh", "sessions", "export", "--format", format_).stdout


@pytest.mark.parametrize("make", [markdown, html])
def test_a_transcript_is_made_message_by_message(
    root: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Session, str], Any]
) -> None:
    """The first message is written before the third is read, so a session need not fit into memory."""
    read: list[str] = []
    before = Items.__iter__

    def watched(items: Items) -> Any:
        for item in before(items):
            read.append(item.id)
            yield item

    monkeypatch.setattr(Items, "__iter__", watched)
    with Session.inspect("login-bug", "/shop", root=root) as session:
        pieces = make(session, "en")
        next(pieces)
        assert read == []
        next(pieces)
        assert len(read) <= 2


@pytest.mark.parametrize("text", ["</blockquote><h2>#99 · user</h2>", "<!-- hidden", "![](https://e.example/x)"])
def test_what_could_leave_a_quotation_stands_between_fences(text: str) -> None:
    """Markdown has tags, comments and images: such a text is shown as it is, and does nothing."""
    session = Session(MemoryStore("s"))
    session.user(text)
    assert f"```\n{text}\n```" in "".join(markdown(session, "en"))


THOUGHT = "The user\nwants <b>milk</b>."
THOUGHTS = {
    "anthropic": {"role": "assistant", "content": [
        {"type": "thinking", "thinking": THOUGHT, "signature": "x"}, {"type": "text", "text": "Yes."},
    ]},
    "responses": {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": THOUGHT}]},
    "a server": {"role": "assistant", "content": "Yes.", "reasoning_content": THOUGHT},
}  # fmt: skip


@pytest.mark.parametrize("provider", THOUGHTS)
def test_what_the_model_thought_is_in_a_transcript(provider: str) -> None:
    """Marked as thinking, in HTML folded away; its text is only text."""
    session = Session(MemoryStore("s"))
    session.extend([{"role": "user", "content": "Milk?"}, THOUGHTS[provider]])
    text, page = ("".join(make(session, "en")) for make in (markdown, html))
    assert "**thinking**\n\n```\nThe user\nwants <b>milk</b>.\n```" in text
    assert '<details><summary>thinking (2 lines)</summary>\n<pre class="text">\nThe user\nwants &lt;b&gt;' in page
    assert "**思考**" in "".join(markdown(session, "zh"))


def test_thinking_that_is_encrypted_is_named() -> None:
    """There is nothing to read in it."""
    session = Session(MemoryStore("s"))
    blocks = [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Yes."}]
    session.extend([{"role": "user", "content": "Milk?"}, {"role": "assistant", "content": blocks}])
    assert "**block of the provider** `anthropic redacted_thinking`" in "".join(markdown(session, "en"))


def test_colours_of_a_terminal_are_no_part_of_a_transcript() -> None:
    """The sequences are left out whole; one line is one line."""
    session = Session(MemoryStore("s"))
    call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    session.extend([
        {"role": "user", "content": "Run it."}, {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "\x1b[1;31mFAILED\x1b[0m test_a"},
    ])  # fmt: skip
    assert "\n```\nFAILED test_a\n```" in "".join(markdown(session, "en"))
    assert "<code>run</code> (1 line)</summary>" in "".join(html(session, "en"))


def test_an_export_replaces_no_file_unless_it_is_told_to(run: Run) -> None:
    """The file stays as it is, and the message names --force; /dev/stdout is no file that could be lost."""
    Path("talk.md").write_text("mine")
    refused = run("sessions", "export", "--format", "markdown", "-o", "talk.md")
    assert (refused.exit_code, Path("talk.md").read_text()) == (1, "mine")
    assert "add --force" in " ".join(refused.stderr.split())
    assert run("sessions", "export", "--format", "markdown", "-o", "talk.md", "--force").exit_code == 0
    assert Path("talk.md").read_text().startswith("# Session login-bug")
    assert run("sessions", "export", "-o", "/dev/null").exit_code == 0


@pytest.mark.parametrize("force", [False, True])
def test_an_export_that_fails_in_its_middle_leaves_no_part_of_a_file(tmp_path: Path, force: bool) -> None:
    """What was there is there, and nothing beside it."""

    def pieces() -> Iterator[bytes]:
        yield b"first"
        raise BadInput("the second cannot be read")

    file = tmp_path / "talk.md"
    if force:
        file.write_text("mine")
    with pytest.raises(BadInput):
        write_pieces(file, pieces(), force=force)
    assert [each.name for each in tmp_path.iterdir()] == (["talk.md"] if force else [])
    assert not force or file.read_text() == "mine"


def test_an_export_of_a_damaged_log_says_what_is_missing(run: Run, folder: Folder) -> None:
    """The rest is written whole."""
    log = folder.file("login-bug")
    lines = log.read_bytes().split(b"\n")
    at = next(number for number, line in enumerate(lines) if b'"type":"user"' in line)
    log.write_bytes(b"\n".join([*lines[:at], b"{broken" + lines[at][7:], *lines[at + 1 :]]))
    done = run("sessions", "export", "--format", "markdown", "-o", "talk.md")
    assert done.exit_code == 0
    assert "Damaged lines of the log that are ignored: 1" in done.stderr
    assert Path("talk.md").read_text().count("\n## #") > 10
