"""The files a conversation is about: which are named, how often, and what is read of them."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.files import mentions
from sightline.files.mentions import FileReference, important_files, paths_in, read_file, read_files
from sightline.values.items import Call, Message, Result, Role, Text


def said(text: str, *calls: Call) -> Message:
    return Message(Role.ASSISTANT, (Text(text), *calls))


def call(name: str, **arguments: object) -> Call:
    return Call("c1", name, arguments)


# ------------------------------------------------------------------ paths in text


@pytest.mark.accepts(212)
@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("帮我重构 utils.ts 文件", ["utils.ts"]),
        ("look at /home/ann/app/main.go, then /etc/hosts.", ["/home/ann/app/main.go", "/etc/hosts"]),
        ("in src/app.tsx and ./lib/a.py and ../b/c.rs", ["src/app.tsx", "./lib/a.py", "../b/c.rs"]),
        ("src/config.custom is ours", ["src/config.custom"]),
        ("package.json, README.md; Makefile and docker/Dockerfile", [
            "package.json", "README.md", "Makefile", "docker/Dockerfile"
        ]),
        (r"C:\Users\ann\a.py, D:/shop/b.ts and src\win\c.cs", [r"C:\Users\ann\a.py", "D:/shop/b.ts", r"src\win\c.cs"]),
        (r'open "C:\Program Files\My App\b.ts"', [r"C:\Program Files\My App\b.ts"]),
        ("edit \"src/a.py\" or 'src/b.py' or `src/c.py`", ["src/a.py", "src/b.py", "src/c.py"]),
        ("don't touch src/a.py, it's done", ["src/a.py"]),
        ("修改了src/utils.ts文件，还有（src/b.py）、“src/c.py”。", ["src/utils.ts", "src/b.py", "src/c.py"]),
        ("文档/说明.md 与「笔记.txt」", ["文档/说明.md", "笔记.txt"]),
        ("src/a.py:12:5 and `src/b.py:7`", ["src/a.py", "src/b.py"]),
        ("```12:15:src/app.tsx\ncode\n```", ["src/app.tsx"]),
        ("--- a/src/x.py\n+++ b/src/x.py", ["src/x.py", "src/x.py"]),
        ("`python src/a.py --out=b.json`", ["src/a.py", "b.json"]),
        ("[guide](docs/guide.md) and @src/m.py", ["docs/guide.md", "src/m.py"]),
        ("app/[id]/(shop)/page.tsx", ["app/[id]/(shop)/page.tsx"]),
        ('  File "/srv/shop/cart.py", line 3', ["/srv/shop/cart.py"]),
        ("a.py a.py a.py", ["a.py"] * 3),
    ],
)  # fmt: skip
def test_paths_are_found_where_people_write_them(text: str, paths: list[str]) -> None:
    """Absolute, relative, of Windows, quoted, in code, with line numbers, amid Chinese; each as often as it stands."""
    assert paths_in(text) == paths


@pytest.mark.accepts(212)
@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/src/a.py", "见https://example.com/a.py", "github.com/org/repo/a.go", "ann@example.com",
        "and/or input/output 10/12/2024 TCP/IP", "/compact /help", "e.g. i.e. v1.2.3 3.14", "Node.js and Vue.js",
        "console.log(x); process.env.HOME; self.lock; response.json()", "self.total/self.count", "os.path.join",
        "node_modules/x/index.js .git/config", "logo.png dist.zip", "src/ lib/ /api/v1/users",
        "src/**/*.ts ${dir}/a.ts", "", "...", "//", "`", "中文", "\\\\",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_path_is_none(text: str) -> None:
    """Addresses, words, members, versions, commands, folders, installed packages and pictures."""
    assert paths_in(text) == []


@given(st.text(st.sampled_from("ab/.\\:`'\"()[]@~中，“” \n-"), max_size=60))
def test_any_text_can_be_looked_through(text: str) -> None:
    """Nothing raises, and every path found stands in the text."""
    assert all(path in text for path in paths_in(text))


@pytest.mark.slow('"a', "`a")
@pytest.mark.parametrize("piece", ["a", "a/", "'", ".", "`a", "\\", "/[a", "中/", "a.b(", "a://", '"a'])
def test_a_hostile_text_is_looked_through_in_one_go(piece: str) -> None:
    """Two hundred thousand characters made to be tried again and again are passed over; else this would not end."""
    assert paths_in(piece * (mentions.MOST_CHARACTERS // len(piece))) == []


# ------------------------------------------------------------------ which matter


@pytest.mark.accepts(212)
def test_arguments_of_calls_name_files() -> None:
    """Under the usual keys, in lists and inside other arguments, and in command lines; not in what is written."""
    message = said(
        "",
        call("Read", file_path="src/a.py"),
        call("NotebookEdit", notebook_path="b.ipynb"),
        call("Custom", options={"paths": ["src/c.py", "src/folder"]}),
        call("Bash", command="cat src/d.py | head"),
        call("Write", file_path="LICENCE", content="import src/not_this.py"),
        call("Grep", path="src", pattern="x.py"),
    )
    found = important_files([message], most=10)
    assert {file.path for file in found} == {"src/a.py", "b.ipynb", "src/c.py", "src/d.py", "LICENCE"}


@pytest.mark.accepts(213)
def test_write_and_edit_mark_a_file_modified() -> None:
    """These two and no other tool; once modified a file stays so."""
    messages = [
        said("", call("Edit", file_path="edited.py")),
        said("", call("Write", file_path="written.py")),
        *(said("", call(name, file_path=f"{name}.py")) for name in ("Read", "Glob", "edit", "MultiEdit", "Delete")),
        said("now edited.py is read", call("Read", file_path="edited.py")),
    ]
    modified = {file.path: file.was_modified for file in important_files(messages, most=10)}
    assert {path for path, was in modified.items() if was} == {"edited.py", "written.py"}
    assert len(modified) == 7


@pytest.mark.accepts(214)
def test_mentions_are_counted_and_dated() -> None:
    """Every place counts, text and calls alike; the date is the last message's index; `./` makes no other file."""
    messages = [
        said("a.py and a.py, b.py"),
        said("nothing"),
        said("./a.py", call("Read", file_path="a.py")),
        Message(Role.TOOL, (Result("c1", (Text("b.py: ok"),)),)),
    ]
    assert important_files(messages) == [FileReference("a.py", 4, 2, False), FileReference("b.py", 2, 3, False)]


@pytest.mark.accepts(216, 215, 211)
def test_the_vector_of_six_files() -> None:
    """One edited, others mentioned 3, 2, 2, 1, 1 times: the edited one first, the older of the last two dropped."""
    messages = [
        said("one.py three.py three.py"),
        said("two.py two.py"),
        said("", call("Edit", file_path="edited.py")),
        said("three.py pair.py pair.py"),
        said("once.py"),
    ]
    found = [file.path for file in important_files(messages)]
    assert found == ["edited.py", "three.py", "pair.py", "two.py", "once.py"]
    assert "one.py" not in found


@pytest.mark.accepts(215, 211)
@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), max_size=40), st.integers(0, 9))
def test_the_order_is_modified_then_mentions_then_recent(steps: list[tuple[str, bool]], most: int) -> None:
    """For every history, against the plain definition; never more than asked for."""
    messages = [said("", call("Edit" if edits else "Read", file_path=f"{name}.py")) for name, edits in steps]
    expected = sorted(
        {name for name, _ in steps},
        key=lambda name: (
            (name, True) not in steps,
            -sum(each == name for each, _ in steps),
            -max(index for index, (each, _) in enumerate(steps) if each == name),
        ),
    )
    assert [file.path for file in important_files(messages, most)] == [f"{name}.py" for name in expected[:most]]
    assert len(important_files(messages)) <= 5


@pytest.mark.slow
def test_a_huge_message_is_looked_through_up_to_a_limit() -> None:
    """What a dump names beyond its beginning does not count."""
    text = "a.py " + "x " * mentions.MOST_CHARACTERS + "b.py"
    assert [file.path for file in important_files([said(text)])] == ["a.py"]


# ------------------------------------------------------------------ reading


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("print(1)\n", encoding="utf-8")
    return root


@pytest.mark.accepts(217, 211)
@pytest.mark.parametrize(("count", "ending"), [(999, "\n"), (1000, "\n"), (1000, ""), (1001, ""), (5000, "\n")])
def test_a_thousand_lines_are_read(project: Path, count: int, ending: str) -> None:
    """A longer file gives exactly its first thousand and says so; one that is not longer gives all of itself."""
    lines = [f"line {number}" for number in range(count)]
    (project / "long.txt").write_text("\n".join(lines) + ending, encoding="utf-8")
    [text] = read_files(["long.txt"], project).values()
    assert read_file("long.txt", project) == text
    if count > 1000:
        assert text.split("\n") == [*lines[:1000], mentions.TRUNCATED]
    else:
        assert text == "\n".join(lines) + ending


@pytest.mark.accepts(218)
def test_what_cannot_be_read_is_skipped(project: Path) -> None:
    """Missing, binary, not UTF-8, a folder, a name that is none, one without permission, a link in a circle."""
    (project / "nul.py").write_bytes(b"print(1)\0\1")
    (project / "latin.txt").write_bytes("é".encode("latin-1"))
    (project / "loop.py").symlink_to("loop.py")
    names = ["missing.py", "nul.py", "latin.txt", "src", "loop.py", "a\0b.py", "x" * 5000, "", "src/a.py"]
    assert read_files(names, project) == {"src/a.py": "print(1)\n"}
    assert read_files(["src/a.py"], project / "nowhere") == {}


@pytest.mark.accepts(218)
def test_an_unreadable_file_is_skipped(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permission denied is no exception, whoever runs the test."""

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert read_file("src/a.py", project) is None


@pytest.mark.accepts(218)
def test_pipes_and_devices_are_not_opened(project: Path) -> None:
    """A pipe nobody writes to would wait for ever; a device is no file."""
    os.mkfifo(project / "pipe.py")
    (project / "zero.py").symlink_to("/dev/zero")
    assert read_files(["pipe.py", "zero.py"], project) == {}
    assert read_files(["pipe.py", "zero.py", "/dev/zero"], project, folders=None) == {}


@pytest.mark.accepts(218)
def test_of_a_huge_file_only_the_beginning_is_read(project: Path) -> None:
    """One line without end is cut at the limit, between two characters, and marked."""
    with (project / "huge.txt").open("wb") as file:
        file.write("你".encode() * (mentions.MOST_BYTES // 3 + 10))
        file.truncate(1 << 33)  # eight gigabytes of nothing behind it
    text = read_file("huge.txt", project)
    assert text is not None
    text, mark = text.split("\n")
    assert mark == mentions.TRUNCATED
    assert set(text) == {"你"}
    assert len(text) == mentions.MOST_BYTES // 3


@pytest.mark.accepts(219)
def test_reading_stays_inside_the_project(project: Path, tmp_path: Path) -> None:
    """Neither `..`, nor an absolute path, nor a link leads out; inside, both of the latter are fine."""
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (tmp_path / "shop-too").mkdir()
    (tmp_path / "shop-too" / "b.py").write_text("b", encoding="utf-8")
    (project / "link.txt").symlink_to(tmp_path / "secret.txt")
    (project / "up").symlink_to(tmp_path)
    (project / "inside.py").symlink_to("src/a.py")
    outside = ["../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "up/secret.txt", "../shop-too/b.py"]
    assert read_files(outside, project) == {}
    assert set(read_files(outside, project, folders=None)) == set(outside)
    inside = ["inside.py", str(project / "src" / "a.py"), "src/../src/a.py"]
    assert set(read_files(inside, project)) == set(inside)


@pytest.mark.accepts(219)
def test_a_linked_project_is_itself(project: Path, tmp_path: Path) -> None:
    """A root that is a link contains what lies where it leads."""
    (tmp_path / "linked").symlink_to(project)
    assert read_files(["src/a.py"], tmp_path / "linked") == {"src/a.py": "print(1)\n"}


def test_keys_are_not_read_because_somebody_named_them(project: Path) -> None:
    """A text that mentions a file of secrets does not get it into a summary."""
    for name in (".env", ".env.local", "id_rsa", "server.pem", "tls.key"):
        (project / name).write_text("TOKEN=1", encoding="utf-8")
    (project / "harmless.py").symlink_to(".env")
    assert read_files([".env", ".env.local", "id_rsa", "server.pem", "tls.key", "harmless.py"], project) == {}


def test_a_byte_order_mark_is_no_text(project: Path) -> None:
    """Windows editors write one; nobody wants to read it."""
    (project / "bom.py").write_bytes(b"\xef\xbb\xbfprint(1)\r\n")
    assert read_files(["bom.py"], project) == {"bom.py": "print(1)\r\n"}
