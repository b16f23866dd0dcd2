"""A session with all that a transcript shows: Markdown, a picture, thinking, calls with results, and a long result."""

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

from sightline import Budget, Session
from sightline.log.stores.session_folder import Folder

ROOM = Budget(60_000, 500)
MODEL = "claude-sonnet-5"
LINES = 2_000  # of the long result
NEEDLE = "the needle stands here"
ANSWER = f"""## What I found

The hash is **compared with itself**; see [the docs](https://example.org/a) and [more](javascript:alert(1)).

1. first
   - nested

| file | changed |
|---|---|
| `login.py` | yes |

```python
def check(user):  # the {NEEDLE}
    return "yes"
```

<script>window.hacked = 1</script> ![remote](https://evil.example/i.png) <img src=x onerror='window.hacked=2'>
"""


def keep_read_session(folder: Path, session_id: str = "read") -> None:
    """Keep the session in a folder."""
    with Session.new(folder, stores=Folder(folder, folder / "home"), session_id=session_id) as session:
        session.system("You are careful. " * 100)
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_png(40, 20)}"}}
        session.user([{"type": "text", "text": "Why does *login* fail?"}, picture])
        read = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "src/login.py"}}
        run = {"type": "tool_use", "id": "t2", "name": "bash", "input": {"command": "pytest -x\npytest -q"}}
        thinking = {"type": "thinking", "thinking": "I read the file first.", "signature": "x"}
        _answer(session, [thinking, {"type": "text", "text": "I look."}, read, run])
        lines = [f"{number}: line {number} of the file" for number in range(LINES)]
        session.tool_result("t1", "\n".join([*lines, "the far end"]))
        session.tool_result("t2", "1 failed", error=True)
        _answer(session, [{"type": "text", "text": ANSWER}])


def _answer(session: Session, content: list[dict[str, Any]]) -> None:
    session.compose(ROOM)
    usage = {"input_tokens": 300, "cache_read_input_tokens": 900, "output_tokens": 80}
    session.reply({"type": "message", "role": "assistant", "model": MODEL, "content": content, "usage": usage})


def _png(width: int, height: int) -> str:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x20\x80\xc0" * width for _ in range(height))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    data = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode()
