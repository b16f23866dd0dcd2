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
        return {"error": "sheet", "detail": ", ".join(names)}
    if isinstance(wanted, int) and not 0 <= wanted < len(names):
        return {"error": "sheet", "detail": ", ".join(names)}
    name = wanted if isinstance(wanted, str) else names[wanted]
    every = book.get_sheet_by_name(name).iter_rows()
    header = [_shown(cell) for cell in next(every, [])]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow(header)
    total = shown = 0
    for row in every:
        if not any(cell not in ("", None) for cell in row):
            continue
        total += 1
        room = text.tell() < request["most_bytes"]
        if total >= request["start"] and shown < request["rows"] and shown == total - request["start"] and room:
            writer.writerow([_shown(cell) for cell in row])
            shown += 1
    first = min(request["start"], total + 1)
    return {
        "names": names,
        "name": name,
        "columns": header,
        "rows": total,
        "first": first,
        "last": first + shown - 1,
        "text": text.getvalue(),
    }


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
