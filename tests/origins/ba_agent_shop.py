"""A BA-Agent service over a folder, and what its model says."""

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from sightline.origins.ba_agent import BAAgentService, CodeStore, QueryResult
from sightline.testing import ScriptedModel, Ticking, numbered_ids

Json = dict[str, Any]

CODE = "def load_data(path):\n    return open(path).read()\n\n\ndef clean_data(rows):\n" + "".join(
    f"    rows = rows[{n}:]  # step-{n}-of-cleaning\n" for n in range(140)
)


def structured(content: Any, kind: str = "complete", **action: Any) -> str:
    """A response in the document's form."""
    return json.dumps(
        {
            "task_analysis": "用户想要分析销售数据。",
            "execution_plan": "R1: 读取; R2: 报告",
            "current_round": action.pop("round", 1),
            "action": {"type": kind, "content": content} | action,
        },
        ensure_ascii=False,
    )


def reading(path: str) -> str:
    """A response that reads a file."""
    return structured(
        [{"tool_name": "file_reader", "tool_call_id": "call_1", "arguments": {"path": path}}], "tool_call"
    )


def block(code_id: str = "code_sales_analysis", code: str = CODE, **more: Any) -> Json:
    return {"code_id": code_id, "language": "python", "description": "销售数据分析", "code": code} | more


class Shop:
    """A service over a folder, with a model that says its lines."""

    def __init__(self, folder: Path, lines: list[Any], **options: Any) -> None:
        self.model = ScriptedModel(lines)
        self.store = CodeStore(folder / "codes", clock=Ticking())
        (folder / "files").mkdir(exist_ok=True)
        self.service = BAAgentService(
            self.model,
            self.store,
            sessions=folder / "sessions",
            project=folder / "files",
            ids=numbered_ids(),
            **options,
        )

    def run(self, queries: Coroutine[Any, Any, Any]) -> Any:
        """What comes of them; the service is closed afterwards."""

        async def closing() -> Any:
            try:
                return await queries
            finally:
                await self.service.close()

        return asyncio.run(closing())

    def ask(self, *messages: str, session_id: str = "s", **options: Any) -> list[QueryResult]:
        """One query after the other."""

        async def all_of_them() -> list[QueryResult]:
            return [await self.service.query(message, session_id, **options) for message in messages]

        return self.run(all_of_them())  # type: ignore[no-any-return]

    def sent(self, call: int) -> list[Json]:
        """The messages of one model call, content as text."""
        return [message | {"content": _text(message["content"])} for message in self.model.asked[call]["messages"]]

    def said(self, call: int) -> str:
        """All of them in one."""
        return "\n".join(message["content"] for message in self.sent(call))


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)
