"""Run as a program of its own by `sheets`, never imported: an Excel file on its input, rows as JSON on its output."""

import csv
import io
import json
import resource
import sys
import zipfile
from datetime import date, datetime, time
from typing import Any

_CELL = 32_767  # characters that Excel puts into one cell: what is longer is no cell
_NAME = 100  # characters of a sheet's name that are shown, and _NAMES of them: Excel itself allows 31
_NAMES = 200
_CUT = "…"  # stands for what is not shown


def main() -> None:
    """Answer the one request that this process was started with."""
    request = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"]))  # if nobody is left to stop it
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = _bomb(request) or _rows(request)
    except ImportError:
        answer = {"error": "missing"}
    except MemoryError:
        answer = {"error": "large", "detail": str(request["memory"] >> 20)}
    except Exception as error:  # a broken file fails in as many ways as there are libraries behind this
        answer = {"error": "broken", "detail": str(error)[:200]}
    json.dump(answer, sys.stdout)


def _bomb(request: dict[str, Any]) -> dict[str, Any] | None:
    """An error where a zip says that it holds more than is allowed. An old .xls is no zip."""
    if not zipfile.is_zipfile(sys.stdin.buffer):
        sys.stdin.buffer.seek(0)
        return None
    with zipfile.ZipFile(sys.stdin.buffer) as archive:
        entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    if len(entries) > request["most_entries"]:
        return {"error": "bomb", "detail": f"{len(entries)} files"}
    if unpacked > request["most_unpacked"]:
        return {"error": "bomb", "detail": f"{unpacked >> 20} MB"}
    return None


def _rows(request: dict[str, Any]) -> dict[str, Any]:
    from python_calamine import CalamineWorkbook

    sys.stdin.buffer.seek(0)
    book = CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
    names, wanted = book.sheet_names, request["sheet"]
    if isinstance(wanted, str) and wanted not in names:
        return {"error": "sheet", "detail": ", ".join(_named(names))}
    if isinstance(wanted, int) and not 0 <= wanted < len(names):
        return {"error": "sheet", "detail": ", ".join(_named(names))}
    name = wanted if isinstance(wanted, str) else names[wanted]
    every = book.get_sheet_by_name(name).iter_rows()
    text, room = io.StringIO(), request["most_bytes"]
    writer = csv.writer(text, lineterminator="\n")
    header, taken, _ = _fitting(next(every, []), room // 2)
    room -= taken
    if header:
        writer.writerow(header)
    total = shown = 0
    for row in every:
        if not any(cell not in ("", None) for cell in row):
            continue
        total += 1
        if total >= request["start"] and shown < request["rows"] and shown == total - request["start"]:
            cells, taken, whole = _fitting(row, room)
            if whole or not shown:  # else the next page begins with it
                writer.writerow(cells)
                room -= taken
                shown += 1
    first = min(request["start"], total + 1)
    return {
        "names": _named(names),
        "name": _named([name])[0],
        "columns": header,
        "rows": total,
        "first": first,
        "last": first + shown - 1,
        "text": text.getvalue(),
    }


def _fitting(row: list[Any], room: int) -> tuple[list[str], int, bool]:
    """The cells as they are shown while there is room, the bytes they take, and whether they are all of the row.

    A file that has a long text once can have it in thousands of cells.
    """
    cells: list[str] = []
    taken = 0
    for cell in row:
        shown = _shown(cell)
        size = len(shown.encode("utf-8", "replace")) + shown.count('"') + 3  # with quotes around it, and a comma
        if taken + size > room:
            return [*cells, _CUT], taken, False
        cells.append(shown)
        taken += size
    return cells, taken, True


def _named(names: list[str]) -> list[str]:
    """Names of sheets, as far as they are shown."""
    cut = [name if len(name) <= _NAME else name[:_NAME] + _CUT for name in names[:_NAMES]]
    return cut if len(names) <= _NAMES else [*cut, _CUT]


def _shown(cell: Any) -> str:
    """A cell as a reader would write it."""
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
