"""Excel files made by hand, so that they can also be made wrong."""

import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def workbook(path: Path, sheets: dict[str, Sequence[Sequence[object]]], *, filler: int = 0, entries: int = 0) -> Path:
    """An .xlsx with these rows. `filler`: zeros that it unpacks to besides; `entries`: empty files in it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _types(len(sheets)))
        archive.writestr("_rels/.rels", _relations([("officeDocument", "xl/workbook.xml")]))
        archive.writestr("xl/workbook.xml", _book(list(sheets)))
        numbers = range(1, len(sheets) + 1)
        archive.writestr(
            "xl/_rels/workbook.xml.rels", _relations([("worksheet", f"worksheets/sheet{n}.xml") for n in numbers])
        )
        for number, rows in zip(numbers, sheets.values(), strict=True):
            archive.writestr(f"xl/worksheets/sheet{number}.xml", _sheet(rows))
        if filler:
            with archive.open("xl/media/image1.bin", "w", force_zip64=True) as file:
                for _ in range(filler >> 20):
                    file.write(bytes(1 << 20))
        for number in range(entries):
            archive.writestr(f"xl/media/{number}", b"")
    return path


def lying(path: Path, size: int) -> Path:
    """The same zip, saying in its directory that every file in it has this size unpacked."""
    data = bytearray(path.read_bytes())
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        data[at + 24 : at + 28] = struct.pack("<I", size)
        at = data.find(b"PK\x01\x02", at + 46)
    path.write_bytes(bytes(data))
    return path


def _types(sheets: int) -> str:
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = [f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>']
    parts += [
        f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{kind}.worksheet+xml"/>'
        for number in range(1, sheets + 1)
    ]
    rels = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    return f'<Types xmlns="{_PACKAGE}/content-types">{rels}{"".join(parts)}</Types>'


def _relations(targets: Sequence[tuple[str, str]]) -> str:
    inside = "".join(
        f'<Relationship Id="r{number}" Type="{_RELATIONS}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{inside}</Relationships>'


def _book(names: Sequence[str]) -> str:
    sheets = "".join(
        f'<sheet name="{escape(name)}" sheetId="{number}" r:id="r{number}"/>' for number, name in enumerate(names, 1)
    )
    return f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}"><sheets>{sheets}</sheets></workbook>'


def _sheet(rows: Sequence[Sequence[object]]) -> str:
    lines = []
    for number, row in enumerate(rows, 1):
        cells = "".join(_cell(f"{chr(65 + column)}{number}", cell) for column, cell in enumerate(row))
        lines.append(f'<row r="{number}">{cells}</row>')
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def _cell(place: str, value: object) -> str:
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'
