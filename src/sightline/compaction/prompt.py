"""The request for a summary of a conversation, and the summary in a model's answer."""

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from sightline.errors import SightlineError
from sightline.values.escape import plain_name
from sightline.values.phrases import Phrases, texts
from sightline.values.screen_text import fenced

T = TypeVar("T")

FAILED = "[Automatic compaction failed; using fallback]"
_MAX_ERROR_CHARS = 2000  # of an error that is shown to people: some contain whole pages
NOTICE_CHARS = 200  # of an error that the model is told of, because it replaces messages and must be shorter
_MOST_PROGRAMS = 20  # messages of programs that are named
_LEAST_TOKENS = 200  # of a file: less of it is of no use

_SECTIONS = 9  # of a summary

_say = Phrases(texts("summary_prompt"))


def instruction(
    files: Mapping[str, str],
    *,
    max_tokens: int,
    count: Callable[[str], int],
    locale: str,
    programs: Sequence[str] = (),
) -> tuple[str, list[str]]:
    """Return the message that asks for a summary of everything before it, and the paths of the files that it shows.

    `programs`: what programs said in the user's place. The newest are named by their first words.
    """
    lines = [f"{number}. {_say(f'section {number}', locale)}" for number in range(1, _SECTIONS + 1)]
    text = "\n".join([_say("task", locale), *lines])
    if programs:
        named = [f"- {plain_name(said)}" for said in programs[-_MOST_PROGRAMS:]]
        text = "\n".join([text, "", _say("programs", locale), *(["- …"] if programs[_MOST_PROGRAMS:] else []), *named])
    max_tokens -= count(text) + count(_say("files", locale))
    sections: dict[str, str] = {}
    for path, content in files.items():
        if max_tokens < _LEAST_TOKENS:
            break
        name, text_shown, needed = path, content, count(content) + 40  # the fences and the name
        if needed > max_tokens:  # half of what would fit, because a text's tokens are not spread evenly
            text_shown = content[: len(content) * max_tokens // (2 * needed)]
            name = _say("beginning", locale, path=path, lines=text_shown.count("\n") + 1)
        sections[path] = f"### {name}\n{fenced(text_shown)}"
        max_tokens -= count(sections[path]) + 1
    return "\n\n".join([text, _say("files", locale), *sections.values()] if sections else [text]), list(sections)


def summary_in(answer: str) -> str:
    """Return the summary in a model's answer: the content of `<summary>`, if that is all of the answer."""
    text = answer.encode("utf-8", "replace").decode().strip()
    marked = re.fullmatch(r"(?s)(?:<analysis>.*?</analysis>\s*)?<summary>(.*)</summary>", text)
    return marked[1].strip() if marked else text


# ---------------------------------------------------------------------- the answer


class NoSummary(SightlineError):
    """A model gave no answer, or none that can replace a part of a conversation."""


def no_summary(key: str, locale: str, **values: Any) -> NoSummary:
    """Return an error that says why there is no summary, in the language of the session."""
    return NoSummary(_say(key, locale, **values))


def ask_model(model: Callable[[T], Any], request: T, seconds: float, locale: str = "en") -> Any:
    """Return the model's answer. It is called in a thread of its own, so that one that hangs blocks nobody.

    Raises:
        NoSummary: there is no answer in time; whatever the model raised is its cause.
    """
    answers: SimpleQueue[Any] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(model(request))
        except BaseException as error:  # also what would end the thread, because the conversation goes on
            answers.put(error)

    threading.Thread(target=ask, name="sightline-summary", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except Empty:
        raise no_summary("late", locale, seconds=seconds) from None
    if isinstance(answer, BaseException):
        raise NoSummary(str(answer) or type(answer).__name__) from answer
    return answer


def check_words(summary: str, conversation: Iterable[str], locale: str = "en") -> None:
    """Raises NoSummary for a summary without words, or in a script that the conversation does not use."""
    if not summary:
        raise no_summary("empty", locale)
    if not any(map(str.isalnum, summary)):
        raise no_summary("wordless", locale)
    if _is_foreign(summary, conversation):
        raise no_summary("foreign", locale)


_KNOWN_SCRIPTS = frozenset({"LATIN", "CJK", "FULLWIDTH", "MODIFIER", "MATHEMATICAL"})  # of the languages of the request


def _is_foreign(summary: str, conversation: Iterable[str]) -> bool:
    """Return whether most of a summary is in a script of which neither request nor conversation has a letter."""
    letters = [letter for letter in summary if letter.isalpha()]
    strange = [letter for letter in letters if not letter.isascii() and _script(letter) not in _KNOWN_SCRIPTS]
    if len(strange) * 2 <= len(letters):
        return False
    used = {letter for text in conversation for letter in text if not letter.isascii()}
    scripts = {_script(letter) for letter in used if letter.isalpha()}
    return sum(_script(letter) not in scripts for letter in strange) * 2 > len(letters)


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


def error_text(error: object, most: int = _MAX_ERROR_CHARS) -> str:
    """Return an error's message, cut to a length that can be shown."""
    text = str(error) or type(error).__name__
    return text if len(text) <= most else f"{text[:most]}…"


def fallback(messages: int, error: str) -> str:
    """Return the notice of a compaction without a summary, in the words of the ClawdCode document."""
    return (
        f"{FAILED}\n\n"
        f"An error occurred during compaction. Retained the latest {messages} messages (~30%).\n\n"
        f"Error: {error}\n\n"
        "The conversation can continue, but consider retrying with /compact."
    )


# ---------------------------------------------------------------------- what people are told


def done(locale: str) -> str:
    """Return that a compaction succeeded."""
    return _say("done", locale)


def facts(pre_tokens: int, post_tokens: int, files: Iterable[str], locale: str) -> str:
    """Return the facts of a compaction: the tokens before and after, the change, the files included."""
    percent = Decimal(pre_tokens - post_tokens) * 100 / pre_tokens if pre_tokens else Decimal(0)
    change = f"{'-' if percent >= 0 else '+'}{abs(percent).quantize(Decimal('0.1'), ROUND_HALF_UP)}"
    names = ", ".join(files) or _say("no files", locale)
    return _say("facts", locale, pre=pre_tokens, post=post_tokens, change=change, files=names)


def fallback_report(error: str, locale: str) -> str:
    """Return what people are told of a compaction for which the model gave no summary."""
    return _say("fallback", locale, error=error)


def too_little(locale: str) -> str:
    """Return what people are told if there are too few messages to compact."""
    return _say("too little", locale)


def not_shorter(locale: str, error: str = "") -> str:
    """Return what people are told if a compaction would save nothing, and why the model gave no summary, if so."""
    told = _say("not shorter than it", locale)
    return f"{told} ({error})" if error else told
