"""What the user calls branches: the arguments of `/fork`, and the labels of the branches there are."""

import re

from sightline.cli.chat.chat import Chat
from sightline.errors import BadInput
from sightline.log import LONGEST_NAME, branch_label, is_branch_name

_ITEM = re.compile(r"#?\d+")


def labels(chat: Chat) -> dict[str, str]:
    """Return what each branch of the chat's session is called on screen, by its name in the log."""
    return {branch: branch_label(branch) for branch in chat.session.branches}


def split_arguments(chat: Chat, rest: str) -> tuple[str, str | None]:
    """Return the item that `/fork` is given, or an empty text, and the name, in any order.

    Raises:
        BadInput: a text that is neither, or the name of another branch.
    """
    item, name = "", None
    for word in rest.split():
        if _ITEM.fullmatch(word):
            if item:
                raise BadInput(chat.words("usage", usage="/fork [ID] [NAME]"))
            item = word.removeprefix("#")
        elif not is_branch_name(word) or name is not None:
            raise BadInput(chat.words("bad branch name", name=word, most=LONGEST_NAME))
        else:
            name = word
    if name in labels(chat).values():
        raise BadInput(chat.words("branch taken", name=name))
    return item, name
