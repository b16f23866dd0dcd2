"""Which lines of the files in work are shown first: two blocks that are equal in all else differ in their worth."""

from collections import Counter
from typing import Any

from sightline import MemoryStore, Session
from sightline.recall.definitions import definitions_of
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


def test_a_definition_that_the_user_names_comes_whole_before_all_else() -> None:
    """Also those of its blocks that do not say its name, and whatever else is said of the file."""
    body = "\n".join(f"    #\n    step_{at} = other_orders(step_{at})\n    #\n    #\n" for at in range(40))
    text = "\n".join([function("other_orders"), f"def settle():\n{body}", function("later")])
    session = opened("Mend settle.", shop=text)
    call(session, "bash", "other_orders other_orders", command="true")
    shown = best(session)
    named = [block for block in shown if block.is_named]
    assert len(named) > 5
    assert shown[: len(named)] == named
    assert {line.text for block in named for line in block.lines} >= {
        line for line in body.split("\n") if "step" in line
    }
    assert not any("other_orders():" in line.text for block in named for line in block.lines)


def test_lines_that_an_error_names_come_first() -> None:
    text = "\n".join(function(name, 30) for name in ("alpha", "bravo", "delta"))
    session = opened(shop=text, other=text)
    told = 'File "/r/shop.py", line 40\nother.py: 3 errors, lime.py:20'
    call(session, "bash", told, command="python run.py")
    first = best(session)[0]
    assert first.text.path == "shop.py"
    assert first.lines[0].number <= 40 <= first.lines[-1].number
    assert [block.features.place for block in best(session)].count(1.0) <= 2


def test_a_line_belongs_to_the_definition_that_its_indentation_says() -> None:
    python = ["x = 1", "class Shop:", "  def sell(", "    self,", "  ) -> int:", "", "    return 1", "  y = 2", "z = 3"]
    go = ["func Open(a int)", "{", "\tif a {", "\t}", "}", "var b", "func (s *T) Close() {", "\ts.a()", "}", ""]
    assert definitions_of([*enumerate(python, 1)]) == ["", "Shop", *["sell"] * 5, "Shop", ""]
    assert definitions_of([*enumerate(go, 1)]) == [*["Open"] * 5, "", *["Close"] * 3, ""]
    ruby = ["def sell", "  a", "end", "end_of_day = 2"]
    assert definitions_of([*enumerate(ruby, 1)]) == ["sell", "sell", "sell", ""]
    assert definitions_of([(1, "def sell():"), (2, "    a"), (9, "    b")]) == ["sell", "sell", ""]
