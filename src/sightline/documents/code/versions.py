"""One saved version of a piece of code: its metadata, its id, and what is measured of it."""

import re
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from sightline.agent.tools.code_by_id import ID
from sightline.documents.code.phrases import say
from sightline.errors import BadCodeId, BadInput
from sightline.shorten.outline.languages import LANGUAGES, language

_ID = re.compile(ID)
EXTENSIONS = tuple(language.extension for language in LANGUAGES)  # of the files of a store, with the dot
_ENDINGS = "|".join(map(re.escape, EXTENSIONS))
_FILE = re.compile(rf"(?P<id>{ID})(?:\.[0-9]{{1,9}})?(?:{_ENDINGS})")
_DESCRIPTION = 100  # characters of the code that are its description if none is given
_LONG = 40  # characters of an id: the longest that the document recommends has 24, the one it calls too long has 43
_EMPTY_WORDS = frozenset({"code", "example", "file", "main", "program", "sample", "script", "temp", "test", "untitled"})


class Saved(Struct, frozen=True):
    """One version of a piece of code. `created_at` is when its id was first stored, `updated_at` when this version was.

    `warning` is for the caller that has just stored it, and is not saved.
    """

    code_id: str
    language: str
    description: str
    line_count: int
    char_count: int
    created_at: str  # ISO 8601, as in a log
    version: int  # from 1
    path: str  # in the store's folder, with "/": the newest is data/{code_id}.{extension}
    session_id: str = ""
    warning: str = ""
    size_bytes: int = 0
    digest: str = ""  # SHA-256 of the bytes
    updated_at: str = ""
    number: int = 0  # ids in the order in which they were first stored

    @property
    def is_earlier(self) -> bool:
        """Whether its file is among the earlier versions."""
        return self.path.startswith("data/versions/")

    @property
    def file_name(self) -> str:
        """The file's name without its folder."""
        return self.path.rpartition("/")[2]


def check_code_id(code_id: str) -> None:
    """Raise BadCodeId if it is not a valid id, which can only be a file's name."""
    if not is_code_id(code_id):
        raise BadCodeId(str(code_id))


def is_code_id(code_id: object) -> bool:
    """Whether it is a valid id of code."""
    return isinstance(code_id, str) and _ID.fullmatch(code_id) is not None


def is_sound(saved: Saved) -> bool:
    """Whether metadata read from a disk can be the store's own, because its names are opened and shown."""
    named = _FILE.fullmatch(saved.file_name)
    return named is not None and named["id"] == saved.code_id and saved.version > 0 and bool(language(saved.language))


def advice(code_id: str, locale: str = "en") -> str:
    """Return how to name it better; "" for a good name."""
    word = code_id.removeprefix("code_").strip("_").lower()
    if len(word) <= 3 or not re.search("[a-z]", word) or word in _EMPTY_WORDS:
        return say("says nothing", locale, code_id=code_id)
    return say("too long", locale, code_id=code_id) if len(code_id) > _LONG else ""


def encoded(code: str) -> bytes:
    """Return the code as it is stored on disk. Raises BadInput if it is empty, or not text."""
    if not isinstance(code, str) or not code.strip():
        raise BadInput("there is no code: hand in its text")
    try:
        return code.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"the code is no valid Unicode: character {error.start} is half of a surrogate pair; replace it"
        ) from error


def described(code: str) -> str:
    """Return the description of code that has none: its beginning, in one line."""
    beginning = code[:_DESCRIPTION].replace("\r\n", " ").replace("\n", " ").replace("\r", " ").strip()
    return f"{beginning}..." if len(code) > _DESCRIPTION else beginning


def measured(saved: Saved, data: bytes) -> Saved:
    """Return the metadata with the measures of these bytes. A line break at the end does not begin a line."""
    code = data.decode("utf-8", "replace")
    return replace(
        saved,
        line_count=code.removesuffix("\n").count("\n") + 1,
        char_count=len(code),
        size_bytes=len(data),
        digest=sha256(data).hexdigest(),
    )


def as_earlier(saved: Saved) -> Saved:
    """Return the metadata of a version once it is among the earlier versions."""
    extension = saved.path[saved.path.rindex(".") :]
    return replace(saved, path=f"data/versions/{saved.code_id}.{saved.version}{extension}")
