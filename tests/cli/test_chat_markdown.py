"""Markdown as it comes in: every block once, nothing lost, nothing that acts on the terminal."""

import re
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sightline.agent.events import TextDelta
from sightline.cli.chat.markdown import Block, Blocks, parse_markdown, whole_blocks
from sightline.cli.chat.screen import Screen
from sightline.cli.phrases import Phrases

ANSWER = """Two things:
of one paragraph

1. first

   with a second paragraph
2. second
   ```sh
   make

   test
   ```

```python
def load():

    return 1
```
right after it
# A title
| a | b |
|---|---|
| 1 | 2 |

the end"""

BLOCKS = [
    "Two things:\nof one paragraph",
    "1. first\n\n   with a second paragraph",
    "2. second\n   ```sh\n   make\n\n   test\n   ```",
    "```python\ndef load():\n\n    return 1\n```",
    "right after it",
    "# A title",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "the end",
]


def taken(pieces: list[str]) -> list[str]:
    blocks = Blocks()
    found = [block for piece in pieces for block in blocks.add(piece)] + blocks.finish()
    return [block.text for block in found]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_blocks_are_those_a_reader_sees(size: int) -> None:
    """Items of lists with their paragraphs and code, a fence as a whole, whatever the pieces are."""
    assert taken([ANSWER[at : at + size] for at in range(0, len(ANSWER), size)]) == BLOCKS


def test_a_block_is_given_as_soon_as_nothing_can_change_it() -> None:
    """A heading and a fence at their last line, a paragraph when the next block begins."""
    blocks = Blocks()
    assert blocks.add("# Title\nsome ") == [Block("# Title")]
    assert blocks.unfinished == ["some "]
    assert blocks.add("words\n\n") == []
    assert blocks.add("```\ncode\n") == [Block("some words")]
    assert blocks.add("```\n") == [Block("```\ncode\n```")]
    assert blocks.unfinished == []


def test_an_item_is_given_as_soon_as_the_next_begins() -> None:
    """A long list is printed from its top while it comes; only its last item is unfinished."""
    blocks = Blocks()
    assert blocks.add("Steps:\n1. one\n   - a\n   - b\n") == [Block("Steps:")]
    assert blocks.add("2. two\n\n3. thr") == [Block("1. one\n   - a\n   - b", 1)]
    assert blocks.unfinished == ["2. two", "", "3. thr"]
    assert blocks.add("ee\n") == [Block("2. two", 2, continues=True)]
    assert (blocks.unfinished, blocks.number) == (["3. three"], 3)


@pytest.mark.parametrize(("text", "numbers"), [
    ("1. a\n1. b\n1. c", [(1, False), (2, True), (3, True)]),  # Markdown counts on whatever is written
    ("7) a\n9) b", [(7, False), (8, True)]),
    ("1. a\n2) b", [(1, False), (2, False)]),  # another mark is another list
    ("1. a\n\nwords\n\n5. b", [(1, False), (None, False), (5, False)]),
    ("- a\n- b\n* c", [(None, False), (None, True), (None, False)]),
    ("words\n5. no list", [(None, False)]), ("words\n-", [(None, False)]),
    ("- a\n  1. x\n  2. y\n- b", [(None, False), (None, True)]),
])  # fmt: skip
def test_items_are_those_of_markdown(text: str, numbers: list[tuple[int | None, bool]]) -> None:
    """Each with its number, and whether it goes on with the list before it."""
    assert [(block.number, block.continues) for block in whole_blocks(text)] == numbers


def test_a_fence_that_never_ends_is_still_shown() -> None:
    """An answer may be cut off in the middle of its code."""
    assert taken(["text\n```python\nx = 1\n\ny = 2"]) == ["text", "```python\nx = 1\n\ny = 2"]


def test_code_within_a_line_opens_no_fence() -> None:
    """Three backticks that are closed on the same line are ordinary text."""
    assert taken(["```x``` is code\n\nmore"]) == ["```x``` is code", "more"]


@pytest.mark.parametrize(("end", "is_end"), [("```", True), ("   ```  ", True), ("    ```", False), ("\t```", False)])
def test_a_fence_is_ended_by_a_line_that_is_indented_by_three_blanks_at_most(end: str, is_end: bool) -> None:
    """One that is indented by more is a line of the code."""
    blocks = Blocks()
    ended = bool(blocks.add(f"```\ncode\n{end}\n"))
    assert ended == is_end
    assert [block.text for block in blocks.finish()] == ([] if is_end else [f"```\ncode\n{end}"])


def test_a_fence_in_a_list_is_ended_where_the_list_is_indented() -> None:
    """There the blanks count from the fence's own."""
    item = "- a\n  - b\n\n      ```\n      code\n      ```"
    assert taken([f"{item}\n\nNext."]) == [item, "Next."]


def test_a_fence_that_is_indented_by_four_blanks_opens_none() -> None:
    """Outside of lists it is a line of code by itself."""
    assert taken(["    ```\n\nNext."]) == ["    ```", "Next."]


class Piece(str):
    """A piece that counts how many characters are copied to put something before it."""

    copied = 0

    def __radd__(self, before: str) -> str:
        Piece.copied += len(before)
        return before + str(self)


def test_a_long_line_in_many_pieces_costs_no_more_than_a_short_one() -> None:
    """What has come is not copied for each further piece, neither by the blocks nor by the screen."""
    Piece.copied = 0
    blocks, screen = Blocks(), Screen(Console(file=StringIO()), Phrases("en", "chat"), lambda: 0.0)
    for _ in range(2_000):
        assert blocks.add(Piece("word ")) == []
        screen.show(TextDelta(Piece("word ")))
    assert [block.text for block in blocks.finish()] == ["word " * 2_000]
    assert Piece.copied == 0


lines = st.lists(
    st.sampled_from(
        ["", "  ", "words", "- item", "  more", "```", "~~~py", "    code", "# head", "1. one", "| a |", "\t"]
    ),
    max_size=12,
).map("\n".join)


@given(lines | st.text(), st.integers(1, 9))
def test_nothing_said_is_lost(text: str, size: int) -> None:
    """All blocks together are the text, blank lines between them aside, however it was cut."""
    whole = [line.removesuffix("\r") for line in text.split("\n")]
    shown = "\n".join(taken([text[at : at + size] for at in range(0, len(text), size)])).split("\n")
    assert [line for line in shown if line.strip()] == [line for line in whole if line.strip()]


def drawn(text: str, **options: bool) -> str:
    out = StringIO()
    Console(file=out, width=60, force_terminal=True, color_system="truecolor", **options).print(parse_markdown(text))
    return out.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[2J\x1b]0;title\x07 gone",
        "&#27;[2J and &#x1b;]0;t&#7;",
        "```\n\x1b[2J\n```",
        "`\x1b[2J`",
        "[a](http://x/&#27;[2J)",
        "![\x1b[2J](http://x)",
        "| \x1b[2J |\n|---|\n| &#155;2J |",
        "# \x9b2J",
    ],
)
def test_no_text_acts_on_the_terminal(text: str) -> None:
    """Only the colours that we set ourselves come out, whether the control character is there or spelled."""
    shown = re.sub(r"\x1b\[[0-9;]*m", "", drawn(text))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)


def test_markup_and_tags_in_an_answer_are_text() -> None:
    """Neither rich's markup nor HTML is interpreted or swallowed."""
    shown = re.sub(r"\x1b\[[0-9;]*m", "", drawn("[bold red]x[/] <b>y</b> <code_ref>code_a</code_ref> :smile:"))
    assert "[bold red]x[/] <b>y</b> <code_ref>code_a</code_ref> :smile:" in shown


def test_an_address_stands_beside_its_words() -> None:
    """No link hides where it leads to."""
    shown = drawn("[your bank](http://evil.example)")
    assert "http://evil.example" in shown
    assert "\x1b]8" not in shown


def test_an_address_that_stands_apart_is_shown() -> None:
    """The block with the link is drawn before the address has come, so both are shown as they were written."""
    shown = [re.sub(r"\x1b\[[0-9;]*m", "", drawn(block)) for block in taken([
        "See [the guide][1] and [more][two].\n\n[1]: https://one.example\n[two]: https://two.example \"T\"\n",
    ])]  # fmt: skip
    assert "See [the guide][1] and [more][two]." in shown[0]
    assert [line.strip() for line in shown[1].splitlines() if line.strip()] == [
        "[1]: https://one.example", '[two]: https://two.example "T"',
    ]  # fmt: skip


@pytest.mark.parametrize("mark", ["1. ", "- "])
def test_a_fence_on_the_line_of_a_list_mark_is_one(mark: str) -> None:
    """What is between its ends is code, and what follows is not."""
    inside = " " * len(mark)
    item = f"{mark}```bash\n{inside}# install\n{inside}```"
    assert [block.text for block in whole_blocks(f"{item}\n\nNext.\n\n# Title")] == [item, "Next.", "# Title"]
