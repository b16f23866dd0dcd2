"""Forms with files, as browsers and `curl -F` send them: multipart/form-data."""

from email.message import Message
from typing import NamedTuple

from sightline.errors import BadInput

_MOST_PARTS = 20
_HOW = "send multipart/form-data with a part named file, such as curl -F file=@sales.csv"


class NoForm(BadInput):
    """The request is not a form with files."""


class Part(NamedTuple):
    """One field of a form. Of a file, `filename` is the name that its user has for it; else it is None."""

    name: str
    filename: str | None
    data: bytes

    @property
    def text(self) -> str:
        """The field as text. Raises BadInput."""
        try:
            return self.data.decode()
        except UnicodeDecodeError as error:
            raise BadInput(f"the field {self.name!r} is not UTF-8: byte {error.start} cannot be read") from error


def read_form(content_type: str, body: bytes) -> list[Part]:
    """Return the fields of a form, in order. Raises NoForm for another content type, BadInput for a damaged form."""
    declared = Message()
    declared["content-type"] = content_type
    boundary = declared.get_boundary("") or ""
    if declared.get_content_type() != "multipart/form-data" or not boundary:
        raise NoForm(f"the body is {content_type or 'of no stated type'}: {_HOW}")
    _, *pieces = (b"\r\n" + body).split(b"\r\n--" + boundary.encode("latin-1", "replace"), _MOST_PARTS + 2)
    if not pieces or not pieces[-1].startswith(b"--"):
        raise BadInput(f"the form is cut off, or has more than {_MOST_PARTS} fields: {_HOW}")
    return [_part(piece) for piece in pieces[:-1]]


def _part(piece: bytes) -> Part:
    head, blank, data = piece.lstrip(b" \t").removeprefix(b"\r\n").partition(b"\r\n\r\n")
    header = Message()
    for line in head.decode("utf-8", "replace").split("\r\n") if blank else ():
        field, _, value = line.partition(":")
        if field.strip().lower() == "content-disposition":
            header["content-disposition"] = value.strip()
    name = header.get_param("name", None, "content-disposition")
    if not isinstance(name, str):
        raise BadInput(f"a field of the form has no name: {_HOW}")
    filename = header.get_filename(None)
    return Part(name, filename, data)
