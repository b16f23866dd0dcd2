"""What aider writes anew in each request is told from the conversation, in each of its modes."""

import json
from typing import Any

import pytest

from sightline.follow.rewritten import is_rewritten, split_rewritten

FILES = "I have *added these files to the chat* so you can go ahead and edit them.\n\na.py\n```\nx = 1\n```\n"
RULES = "# *SEARCH/REPLACE block* Rules:\n\n" + "Every *SEARCH* section must match.\n" * 4
OK = {"role": "assistant", "content": "Ok."}
EDIT = {"role": "assistant", "content": "Ok, any changes I propose will be to those files."}
SAID = [{"role": "user", "content": "Change x."}, {"role": "assistant", "content": "Ok, x is 2."}]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def split(listed: list[dict[str, Any]], system: str = f"Act as an expert.\n{RULES}") -> tuple[list[Any], int]:
    """The conversation, and how many messages were written anew."""
    messages = [json.dumps(message).encode() for message in listed]
    told = split_rewritten(messages, system)
    return [json.loads(message) for message in told.said], len(told.anew)


NOW = user("And y.")
CASES = {
    "files": ([*SAID, user(FILES), EDIT, NOW], 2),
    "no files yet": ([user("I am not sharing any files that you can edit yet."), OK, *SAID, NOW], 2),
    "read-only files": ([user("Here are some READ ONLY files, provided for your reference.\n"), OK, *SAID, NOW], 2),
    "rules as a message of the system": ([*SAID, user(FILES), EDIT, NOW, {"role": "system", "content": RULES}], 3),
    "rules after the question": ([*SAID, user(FILES), EDIT, user(f"And y.\n\n{RULES}")], 3),
    "pictures": (
        [*SAID, user(FILES), EDIT, user([{"type": "text", "text": "a.png"}, {"type": "image_url"}]), OK, NOW], 4,
    ),
    "with breakpoints": (
        [*SAID, user([{"type": "text", "text": FILES, "cache_control": {"type": "ephemeral"}}]), EDIT, NOW], 2,
    ),
    "examples": ([user("Change f."), EDIT, user("I switched to a new code base. Don't …"), OK, *SAID, NOW], 4),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_conversation_is_what_the_user_and_the_model_said(name: str) -> None:
    """In its order, and the question without what is put behind it."""
    listed, count = CASES[name]
    assert split(listed) == ([*SAID, NOW], count)


def test_a_question_that_ends_like_the_system_prompt_by_chance_stays() -> None:
    """A few characters are no rules; a picture that the user asks about is the question."""
    assert split([*SAID, user("And y.\n\nmust match.")])[0][-1] == user("And y.\n\nmust match.")
    asked = user([{"type": "text", "text": "What is this?"}, {"type": "image_url"}])
    assert split([*SAID, asked]) == ([*SAID, asked], 0)
    assert split([user(FILES), EDIT]) == ([user(FILES), EDIT], 0)  # nothing else is left to be the conversation


def test_a_request_with_tools_has_none() -> None:
    """aider has no tools, so another agent may speak of such files."""
    assert is_rewritten(FILES.encode(), None)
    assert not is_rewritten(FILES.encode(), [{"name": "read"}])
    assert not is_rewritten(b'{"messages": []}', None)
