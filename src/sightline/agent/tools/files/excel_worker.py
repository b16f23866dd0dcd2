"""A program that `excel` runs, never imported: it reads an Excel file from its input and writes rows as JSON."""

import csv
import io
import json
import resource
import sys
import zipfile
from datetime import date, datetime, time
from typing import Any

_CELL = 32_767  # characters that Excel allows in one cell
_NAME = 100  # characters of a sheet's name that are shown, and _NAMES of them: Excel itself allows 31
_NAMES = 200
_CUT = "…"  # marks what is cut


def main() -> None:
    """Answer the request in the program's argument."""
    request = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"]))  # if the parent has ended
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = _bomb(request) or _rows(request)
    except ImportError:
        answer = {"error": "missing"}
    except MemoryError:
        answer = {"error": "large", "detail": str(request["memory"] >> 20)}
    except Exception as error:  # a broken file makes the libraries fail in many ways
        answer = {"error": "broken", "detail": str(error)[:200]}
    json.dump(answer, sys.stdout)


def _bomb(request: dict[str, Any]) -> dict[str, Any] | None:
    """Return an error if a zip declares more content than is allowed. An old .xls is not a zip."""
    if not zipfile.is_zipfile(sys.stdin.buffer):
        return None
    with zipfile.ZipFile(sys.stdin.buffer) as archive:
        entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    if len(entries) > request["most_entries"]:
        return {"error": "bomb", "detail": f"{len(entries)} files"}
    return {"error": "bomb", "detail": f"{unpacked >> 20} MB"} if unpacked > request["most_unpacked"] else None


def _rows(request: dict[str, Any]) -> dict[str, Any]:
    from python_calamine import CalamineWorkbook

    sys.stdin.buffer.seek(0)
    book = CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
    names, wanted = book.sheet_names, request["sheet"]
    if wanted not in names if isinstance(wanted, str) else not 0 <= wanted < len(names):
        return {"error": "sheet", "detail": ", ".join(_shown_names(names))}
    name = wanted if isinstance(wanted, str) else names[wanted]
    every = book.get_sheet_by_name(name).iter_rows()
    text, room = io.StringIO(), request["most_bytes"]
    writer = csv.writer(text, lineterminator="\n")
    header, taken, _ = _fit(next(every, []), room // 2)
    room -= taken
    if header:
        writer.writerow(header)
    total = written = 0
    for row in every:
        if not any(cell not in ("", None) for cell in row):
            continue
        total += 1
        if total >= request["start"] and written < request["rows"] and written == total - request["start"]:
            cells, taken, whole = _fit(row, room)
            if whole or not written:  # else the row begins the next page
                writer.writerow(cells)
                room -= taken
                written += 1
    first = min(request["start"], total + 1)
    return {
        "names": _shown_names(names),
        "name": _shown_names([name])[0],
        "columns": header,
        "rows": total,
        "first": first,
        "last": first + written - 1,
        "text": text.getvalue(),
    }


def _fit(row: list[Any], room: int) -> tuple[list[str], int, bool]:
    """Return the cells that fit, the bytes they take, and whether they are the whole row.

    A file that stores a long text once can have it in thousands of cells.
    """
    cells: list[str] = []
    taken = 0
    for cell in row:
        text = _shown(cell)
        size = len(text.encode("utf-8", "replace")) + text.count('"') + 3  # with quotes around it, and a comma
        if taken + size > room:
            return [*cells, _CUT], taken, False
        cells.append(text)
        taken += size
    return cells, taken, True


def _shown_names(names: list[str]) -> list[str]:
    """Return the names of sheets, cut to what is shown."""
    cut = [name if len(name) <= _NAME else name[:_NAME] + _CUT for name in names[:_NAMES]]
    return cut if len(names) <= _NAMES else [*cut, _CUT]


def _shown(cell: Any) -> str:
    """Return a cell as a person would write it."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    return str(cell)[:_CELL]


if __name__ == "__main__":
    main()
