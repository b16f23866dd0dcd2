"""Which lines of the files in work are shown first: two blocks that are equal in all else differ in their worth."""

from collections import Counter
from typing import Any

from sightline import MemoryStore, Session
from sightline.recall.files_in_work import Block, FilesInWork, count_shared
from sightline.values.items import Call


def function(name: str, lines: int = 10) -> str:
    return "\n".join([f"def {name}():", *["    #"] * lines, ""])


def call(session: Session, tool: str, result: str, **arguments: Any) -> None:
    request = Call(f"c{len(session.items)}", tool, arguments)
    session.assistant([request])
    session.tool_result(request.id, result)


def opened(question: str = "Mend it.", **files: str) -> Session:
    """A session that has read these files, one after the other."""
    session = Session(MemoryStore("a"))
    session.user(question)
    for name, text in files.items():
        call(session, "read_file", text, path=f"{name}.py")
    return session


def best(session: Session) -> list[Block]:
    """All blocks, the best first."""
    blocks = FilesInWork(session.log).blocks(lambda _row: False)
    return sorted(blocks, key=lambda block: block.worth, reverse=True)


def first_lines(session: Session) -> list[str]:
    return [block.lines[0].text for block in best(session)]


def test_the_file_that_was_used_last_comes_first() -> None:
    session = opened(old=function("alpha"), new=function("gamma", 11))
    assert first_lines(session) == ["def gamma():", "def alpha():"]


def test_lines_that_were_changed_come_before_others() -> None:
    text = "\n".join(function(name) for name in ("alpha", "bravo", "delta"))
    session = opened(shop=text)
    changed = {"path": "shop.py", "old_string": function("bravo"), "new_string": function("omega", 14)}
    call(session, "edit", "The file has been changed.", **changed)
    for number in range(8):
        call(session, "bash", "ok", command=f"true {number}")
    assert first_lines(session)[0] == "def omega():"


def test_a_block_that_the_users_message_speaks_of_comes_first() -> None:
    names = ("alpha_orders", "gamma_orders")
    files = {"shop": "\n".join(map(function, names))}
    for name in names:
        session = opened(f"Mend {name}.", **files)
        for number in range(8):
            call(session, "bash", "ok", command=f"true {number}")
        assert first_lines(session)[0] == f"def {name}():"


def test_a_block_that_the_newest_results_speak_of_comes_first() -> None:
    names = ("alpha_orders", "gamma_orders")
    for name in names:
        session = opened(shop="\n".join(map(function, names)))
        call(session, "bash", f"{name} has failed", command="pytest")
        assert first_lines(session)[0] == f"def {name}():"


def test_of_equal_blocks_the_short_one_comes_first() -> None:
    session = opened(shop="\n".join((function("alpha", 20), function("gamma", 9))))
    assert first_lines(session)[0] == "def gamma():"


def test_a_word_that_every_block_has_tells_little() -> None:
    """Two words of each block are wanted: those that other blocks have too count less."""
    texts = [
        "def alpha():\n    common_one\n    common_two\n" + "    #\n" * 7,
        "def gamma():\n    special_one\n    common_one\n" + "    #\n" * 7,
        "def delta():\n    common_one\n    common_two\n" + "    #\n" * 7,
    ]
    session = opened("Look at common_one, common_two and special_one.", shop="\n".join(texts))
    for number in range(8):
        call(session, "bash", "ok", command=f"true {number}")
    assert first_lines(session)[0] == "def gamma():"


def test_the_order_of_words_does_not_change_what_they_are_worth() -> None:
    """A set has another order in each process, and sums of fractions depend on it."""
    words = [f"word_{n}" for n in range(40)]
    wanted, often = Counter(words), Counter({word: 10 + 3 * n for n, word in enumerate(words)})
    assert len({count_shared(words[n:] + words[:n], wanted, often) for n in range(40)}) == 1


def test_a_file_whose_letters_take_more_tokens_is_shown_as_far_as_it_fits() -> None:
    """How many tokens a character takes is only known when the text is counted."""
    lines = [
        "".join(chr(0x4E00 + (37 * at + 101 * n) % 3000) for n in range(30)) if at % 10 else "" for at in range(600)
    ]
    session = opened(shop="\n".join(lines))
    note = FilesInWork(session.log).choose(4_000, lambda _row: False)
    assert note is not None
    assert session.log.reader.counter.count("\n".join(lines[:40])) > 1_000
