"""Names that the user gave to branches: an annotation on each branch, because a branch itself is named by an id."""

import re
from pathlib import Path

from sightline.cli.chat.chat import Chat
from sightline.cli.options import branch_label
from sightline.errors import BadInput
from sightline.log import entries

ANNOTATION = "branch_name"
LONGEST = 40  # characters: a name stands in a column
_NAME = re.compile(rf"[^\W\d_][\w./-]{{0,{LONGEST - 1}}}")
_ITEM = re.compile(r"#?\d+")


def read_names(file: Path) -> dict[str, str]:
    """Return the names of a log's branches by their ids. Lines without such an annotation are not decoded."""
    found: dict[str, str] = {}
    mark = f'"subtype":"{ANNOTATION}"'.encode()
    try:
        with file.open("rb") as lines:
            for line in lines:
                if mark in line:
                    found |= _name_in(line)
    except OSError:  # nothing has been said in it yet
        return {}
    return found


def _name_in(line: bytes) -> dict[str, str]:
    try:
        entry = entries.decode(line)
        name = entries.decode_data(entry, str) if entry.subtype == ANNOTATION else ""
    except (BadInput, *entries.UNREADABLE):  # damaged: the branch still has its id
        return {}
    return {entry.branch: name} if _NAME.fullmatch(name) else {}


def labels(chat: Chat) -> dict[str, str]:
    """Return what each branch of the chat's session is called, by its id: its name, else the id itself."""
    names = read_names(chat.here.folder.file(chat.session.id))
    return {each: names.get(each) or branch_label(each) for each in chat.session.branches}


def split_arguments(chat: Chat, rest: str) -> tuple[str, str]:
    """Return the item and the name that `/fork` is given, in any order; empty: not given.

    Raises:
        BadInput: a text that is neither, or the name of another branch.
    """
    item = name = ""
    for word in rest.split():
        if _ITEM.fullmatch(word):
            if item:
                raise BadInput(chat.words("usage", usage="/fork [ID] [NAME]"))
            item = word.removeprefix("#")
        elif not _NAME.fullmatch(word) or name:
            raise BadInput(chat.words("bad branch name", name=word, most=LONGEST))
        else:
            name = word
    if name in labels(chat).values():
        raise BadInput(chat.words("branch taken", name=name))
    return item, name
