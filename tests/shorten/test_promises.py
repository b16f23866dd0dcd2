"""What holds for every item, whatever its text."""

import json
import re
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.shorten import Shorter, identifiers, shorten, subject_of
from sightline.values.items import Blob, Call, File, Image, Item, Kind, Opaque, Result, Text

TOKENS = re.compile(r"[A-Za-z]{1,5}|[0-9]{1,3}|\s+|.", re.DOTALL)


def count(text: str) -> int:
    """A stand-in vocabulary: five letters, three digits, a run of blanks or one other character make a token."""
    text.encode()  # a tokenizer takes no lone surrogate
    return sum(1 for _ in TOKENS.finditer(text))


def result(text: str) -> Item:
    return Item("412", Kind.RESULT, (Result("c", (Text(text),)),))


LINES = st.sampled_from(
    [
        "src/app/models.py:12: class Order(Base):",
        "    def total_price(self, tax_rate=0.19):",
        "2024-05-16 10:01:02 ERROR worker_7 failed: timeout after 3000 ms",
        '{"order_id": "W1234567", "items": [1, 2, 3]}',
        "diff --git a/x.py b/x.py",
        "@@ -1,3 +1,4 @@",
        "+    return self.cache_key",
        "订单号20240516001必须在今天发货。",
        "The quick brown fox jumps over the lazy dog again and again.",
        "",
        "\t",
        "| a | b | c |",
        "x" * 900,
        "\x00\x1b[31mred\x1b[0m\r10%\r20%",
        "=== 3 failed, 12 passed in 2.1s ===",
        "Traceback (most recent call last):",
        '  File "/srv/app.py", line 88, in handle',
        "ValueError: bad literal 'x9'",
    ]
)
TEXTS = st.one_of(
    st.lists(LINES, min_size=1, max_size=120).map("\n".join),
    st.text(max_size=3000),
    st.text(alphabet=st.characters(codec=None, categories=["Cs", "Cc", "Lo", "Nd", "Po"]), min_size=300, max_size=900),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=80),
        lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=12), inner, max_size=8),
        max_leaves=60,
    ).map(lambda value: json.dumps([value] * 6, ensure_ascii=False)),
)
KINDS = st.sampled_from([Kind.RESULT, Kind.USER, Kind.ASSISTANT, Kind.SYSTEM, Kind.WINDOW, Kind.SUMMARY, Kind.RECALL])

MESSAGES = (Kind.USER, Kind.ASSISTANT, Kind.SYSTEM, Kind.SUMMARY)


def legal(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def assert_levels(shorter: Shorter, original: int, tokens: int = 60, most: int = 300, least: int = 0) -> None:
    """Sizes as promised, each level smaller than the one above."""
    if original < 80:
        assert shorter == Shorter(None, None)
        return
    above = original
    if shorter.summary is not None:
        assert count(shorter.summary) <= 800
        assert count(shorter.summary) < above
        above = count(shorter.summary)
    if shorter.gist is not None:
        assert count(shorter.gist) <= min(most, tokens + 0.05 * original, max(least, original * 0.25))
        assert count(shorter.gist) < above


@given(TEXTS, KINDS, st.sampled_from(["en", "zh"]))
def test_levels_are_bounded_and_ordered(text: str, kind: Kind, locale: str) -> None:
    """A summary has at most 800 tokens, a gist at most 300 and a quarter, or 40 of a message; each level is smaller."""
    parts = (Result("c", (Text(text),)),) if kind is Kind.RESULT else (Text(text),)
    shorter = shorten(Item("7", kind, parts), count=count, name="run", subject="src/app.py", locale=locale)
    assert_levels(shorter, count(legal(text)), least=40 if kind in MESSAGES else 0)


@pytest.mark.slow
@given(TEXTS)
def test_every_shortened_text_carries_its_handle(text: str) -> None:
    """A gist begins with its label, and a summary has it on a line of its own."""
    shorter = shorten(result(text), count=count, name="run")
    assert shorter.gist is None or shorter.gist.startswith("[#412: ")
    assert shorter.summary is None or "\n[#412 run: " in f"\n{shorter.summary}"


@pytest.mark.slow
@given(TEXTS)
def test_the_summary_of_a_result_begins_as_the_result(text: str) -> None:
    """The first 120 characters are the original's own, or as many as a fifth of it."""
    summary = shorten(result(text), count=count, name="run").summary
    if summary is not None:
        same = min(120, len(text) // 5)
        assert summary[:same] == legal(text)[:same]


@pytest.mark.slow
@given(TEXTS)
def test_same_input_same_bytes(text: str) -> None:
    """Shortening is deterministic."""
    assert shorten(result(text), count=count) == shorten(result(text), count=count)


ARGUMENTS = st.dictionaries(
    st.text(max_size=10),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
        lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(max_size=10), inner, max_size=30),
        max_leaves=20,
    ),
    max_size=6,
)


@pytest.mark.slow
@given(ARGUMENTS | TEXTS | st.none(), st.none() | TEXTS)
def test_a_shortened_call_is_a_json_object(given_input: object, raw: str | None) -> None:
    """Both levels of a call parse as a JSON object within the sizes, whatever the arguments were."""
    call = Call("c", "edit", given_input, raw)
    original = raw if raw is not None else json.dumps({} if given_input is None else given_input, ensure_ascii=False)
    shorter = shorten(Item("412.2", Kind.CALL, (call,)), count=count)
    assert_levels(shorter, count(legal(original)), 120, 400, 0)
    for level in shorter:
        if level is not None:
            assert isinstance(json.loads(level, parse_constant=pytest.fail), dict)


@pytest.mark.slow("'......'x10000000", "'aaaaaa'x10000000", "'line_{'x10800000")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "a" * 10_000_000,
        "." * 10_000_000,
        "word and number 12345 in a line " * 320_000,
        "line_{} of src/app/file.py\n" * 400_000,
        "\x00" * 1_000_000,
        "\ud800" * 5000,
        "{" * 200_000,
        "[" * 3000 + "]" * 3000,
        '{"a": ' * 500 + "1" + "}" * 500,
        "-" * 300_000,
        "/" * 300_000,
        "\r" * 300_000,
        "\x1b[" * 100_000,
        " " * 500_000,
        "\n" * 500_000,
    ],
    ids=lambda text: f"{text[:6]!r}x{len(text)}",
)
def test_no_text_makes_it_raise(text: str) -> None:
    """Hostile and huge texts are shortened, not refused, as results, messages and arguments."""
    shorten(result(text), count=count)
    shorten(Item("1", Kind.USER, (Text(text),)), count=count)
    shorten(Item("1.1", Kind.CALL, (Call("c", "x", {"text": text}),)), count=count)
    identifiers(text)


def test_the_work_on_a_huge_text_is_bounded() -> None:
    """Of ten megabytes only a bounded part is ever counted."""
    counted = 0

    def counting(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return count(text)

    shorter = shorten(result("some_name = value_{}  # src/app.py\n" * 300_000), count=counting)
    assert shorter.summary is not None
    assert counted < 512 * 1024


def test_size_and_subject_stand_in_the_header() -> None:
    """The label of a summary says the tool, the subject, lines, tokens and how to see it all.

    That of a gist says only the tokens: the call says the rest.
    """
    text = "\n".join(f"value_{n} = {n}" for n in range(300))
    shorter = shorten(result(text), count=count, name="Read", subject="src/app.py")
    assert shorter.summary is not None
    assert shorter.gist is not None
    tokens = f"{count(text):,}"
    label = f"[#412 Read src/app.py: 300 lines, {tokens} tokens; shortened, expand #412 for all]"
    assert label in shorter.summary.split("\n")
    assert shorter.gist.startswith(f"[#412: {tokens} tokens]\n")


def test_the_label_follows_the_locale() -> None:
    """A Chinese session gets Chinese labels; an unknown locale reads English."""
    text = "这是一个很长的句子，里面有很多字。" * 60
    chinese = shorten(Item("3", Kind.USER, (Text(text),)), count=count, locale="zh-CN")
    other = shorten(Item("3", Kind.USER, (Text(text),)), count=count, locale="xx")
    assert chinese.summary is not None
    assert other.summary is not None
    assert "\n[#3 用户消息：" in chinese.summary
    assert "\n[#3 user message: " in other.summary
    assert chinese.summary[:100] == other.summary[:100] == text[:100]


def test_a_failed_result_says_so() -> None:
    """The error word of a result stands in its label."""
    item = Item("9", Kind.RESULT, (Result("c", (Text("a_b " * 400),), "interrupted"),))
    shorter = shorten(item, count=count, name="bash")
    assert shorter.summary is not None
    assert "[#9 bash interrupted: " in shorter.summary


def test_pictures_and_files_become_labels() -> None:
    """An item that is only a picture or a file is its label at both lower levels."""
    image = Image("image/png", data="AAAA", width=1024, height=768)
    file = File("application/pdf", data="A" * 163840, name="report.pdf")
    shorter = shorten(Item("5", Kind.USER, (image, file)), count=count)
    assert shorter.summary == shorter.gist == "[image image/png 1024×768]\n[file report.pdf application/pdf, 120 KB]"


def test_a_picture_beside_a_long_text_keeps_its_label() -> None:
    """A result with a picture and a long text shows the label and the text's shortening."""
    parts = (Image("image/png", width=10, height=20), Text("alpha_beta gamma\n" * 300))
    shorter = shorten(Item("5", Kind.RESULT, (Result("c", parts),)), count=count, name="shot")
    for level in shorter:
        assert level is not None
        assert "[image image/png 10×20]" in level
        assert "alpha_beta" in level


def test_opaque_parts_vanish() -> None:
    """A provider's own blocks leave no trace below full."""
    opaque = Opaque("anthropic", "thinking", {"thinking": "secret_plan_77"})
    shorter = shorten(Item("5", Kind.ASSISTANT, (opaque, Text("We keep going. " * 200))), count=count)
    assert shorter.summary is not None
    assert "secret_plan_77" not in "".join(filter(None, shorter))
    assert shorten(Item("5", Kind.ASSISTANT, (opaque,)), count=count) == Shorter(None, None)


def test_bytes_that_are_no_text_are_shown_with_replacement_characters() -> None:
    """A blob is shortened like the text a reader sees."""
    blob = Blob(b64encode(b"\xff word " * 300).decode())
    shorter = shorten(Item("5", Kind.USER, (blob,)), count=count)
    assert shorter.summary is not None
    assert "\ufffd word" in shorter.summary


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        ({"file_path": "/a/b.py", "pattern": "x"}, "/a/b.py"),
        ({"command": ["bash", "-lc", "ls -la"]}, "ls -la"),
        ({"cmd": ["git", "status"]}, "git status"),
        ({"url": "https://example.org/x"}, "https://example.org/x"),
        ({"query": " find me "}, "find me"),
        ({"path": "", "pattern": "TODO"}, "TODO"),
        ({"count": 3}, ""),
        (["x"], ""),
        (None, ""),
    ],
)
def test_subject_of_a_call(arguments: object, subject: str) -> None:
    """The path, command, URL or query a call is about is found in its arguments, or nothing is."""
    assert subject_of(Call("c", "tool", arguments)) == subject


SAID = st.lists(
    st.sampled_from(
        [
            "We looked at src/app/models.py and it was fine.",
            "Nothing of any weight stands in this sentence, nor in the next.",
            "Never touch order_total in MAX_RETRIES = 20240516001!",
            "Can OrderLine be moved?\n\n",
            "这句话没有什么特别的内容只是用来占位置而已。",
        ]
    ),
    min_size=20,
    max_size=90,
).map(" ".join)


@pytest.mark.slow
@given(SAID, st.sampled_from([Kind.USER, Kind.ASSISTANT]))
def test_what_was_said_is_shortened_further(text: str, kind: Kind) -> None:
    """Of a message a summary keeps at most 38 % of the tokens and a gist 12 %, 60 at most."""
    shorter, original = shorten(Item("7", kind, (Text(text),)), count=count), count(text)
    assert shorter.summary is None or count(shorter.summary) <= original * 0.38
    assert shorter.gist is None or count(shorter.gist) <= min(60, original * 0.12)


@given(TEXTS, KINDS)
def test_tokens_that_are_known_need_not_be_counted(text: str, kind: Kind) -> None:
    """Who gives the tokens of the text gets the same bytes."""
    parts = (Result("c", (Text(text),)),) if kind is Kind.RESULT else (Text(text),)
    item, tokens = Item("7", kind, parts), count(legal(text))
    assert shorten(item, count=count, tokens=tokens) == shorten(item, count=count)


def test_a_short_reply_has_only_a_gist() -> None:
    """Below a thousand tokens what the assistant said goes to its gist in one step; what the user said does not."""
    text = "We keep going with src/app/models.py, one step at a time. " * 30
    assert shorten(Item("7", Kind.ASSISTANT, (Text(text),)), count=count).summary is None
    assert shorten(Item("7", Kind.ASSISTANT, (Text(text),)), count=count).gist is not None
    assert shorten(Item("7", Kind.USER, (Text(text),)), count=count).summary is not None


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner), max_leaves=20)


@pytest.mark.parametrize("value", [list(range(500)), {"scores": list(range(500))}, {"a": [1], "b": [True, None] * 200}])
def test_lists_of_numbers_are_shortened(value: object) -> None:
    """They are no tables."""
    shorter = shorten(result(json.dumps(value)), count=count)
    assert shorter.gist
    assert count(shorter.gist) < count(json.dumps(value))


@pytest.mark.slow
@given(JSON)
def test_no_json_makes_it_raise(value: object) -> None:
    """Repeated until it is long enough to be shortened."""
    for document in ([value] * 60, {f"k{i}": value for i in range(60)}):
        shorten(result(json.dumps(document)), count=count)
