"""Files that users upload to the BA-Agent service, and the code of its reports: over HTTP, as a client sees them."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
from ba_agent_shop import CODE, Shop, block, reading, structured
from loopback import Server

from sightline.documents.uploads import UploadStore
from sightline.origins.ba_agent import application
from sightline.origins.ba_agent.api import FORM_BYTES

SALES = b"date,amount\n2026-01-05,12.50\n2026-01-06,7.25\n"
FORM = {"content-type": "multipart/form-data; boundary=b"}
OWN_ID = str(UUID(int=0x3F9C0FFEE))


@contextmanager
def served(shop: Shop) -> Iterator[httpx2.Client]:
    """The application in uvicorn on a free port, and a client of it."""
    with (
        Server(application(shop.service)) as server,
        httpx2.Client(base_url=server.url, timeout=60, trust_env=False) as client,
    ):
        yield client


@pytest.mark.slow
def test_a_user_uploads_a_file_asks_about_it_and_gets_it_back(tmp_path: Path) -> None:
    """The model reads it by the announced id, the report refers to it, and the client downloads it."""
    lines: list[str] = []
    shop = Shop(tmp_path, lines)
    with served(shop) as client:
        reply = client.post("/files", files={"file": ("销售 q1.csv", SALES)}, data={"description": "一季度"})
        stored = reply.json()
        assert reply.status_code == 201
        file_id = stored["file_id"]
        assert stored == {
            "file_id": file_id, "filename": "销售 q1.csv", "file_type": "csv", "size_bytes": len(SALES),
            "description": "一季度", "reference": f"upload:{file_id}", "success": True,
        }  # fmt: skip
        lines += [reading(file_id), reading(f"upload:{file_id}"), structured(f"见 <file_ref>{file_id}</file_ref>")]
        answer = client.post("/query", json={"message": "多少？", "session_id": "s", "file_context": [file_id]}).json()
        download = client.get(f"/files/{file_id}")
        again = client.get(f"/files/upload:{file_id}")
    assert answer["response"] == "见 {{FILE:0}}"
    assert answer["metadata"]["warnings"] == []
    [file] = answer["metadata"]["file_refs"]
    assert (file["filename"], file["size_bytes"], file["description"]) == ("销售 q1.csv", len(SALES), "一季度")
    for call in (1, 2):
        assert "2026-01-05,12.50" in shop.sent(call)[-1]["content"]
        assert "销售 q1.csv" in shop.sent(call)[-1]["content"]
    assert download.content == again.content == SALES
    assert download.headers["content-type"] == "text/csv"
    assert "attachment" in download.headers["content-disposition"]


def test_a_clients_own_uuid_is_an_id(tmp_path: Path) -> None:
    """It is announced, read with and without `upload:`, referred to, and cannot be taken twice."""
    report = structured(f"<file_ref>upload:{OWN_ID}</file_ref> 与 <file_ref>{OWN_ID}</file_ref>")
    shop = Shop(tmp_path, [reading(OWN_ID), reading(f"upload:{OWN_ID}"), report])
    with served(shop) as client:
        form: Any = {"files": {"file": ("sales.csv", SALES)}, "data": {"file_id": OWN_ID}}
        assert client.post("/files", **form).json()["file_id"] == OWN_ID
        second = client.post("/files", **form)
        answer = client.post("/query", json={"message": "看", "file_context": {"file_id": OWN_ID}}).json()
    assert second.status_code == 409
    assert "another file_id" in second.json()["error"]
    assert f"upload:{OWN_ID}" in shop.said(0)
    assert all("2026-01-06,7.25" in shop.sent(call)[-1]["content"] for call in (1, 2))
    assert answer["response"] == "{{FILE:0}} 与 {{FILE:0}}"


def test_a_report_names_files_of_earlier_days(tmp_path: Path) -> None:
    """After a restart, an upload that was announced before is still read, and resolved in the report."""
    first = Shop(tmp_path, [structured("收到。")])
    upload = first.service.uploads.add("sales.csv", SALES)
    first.ask("看", file_context=upload.file_id)
    later = Shop(tmp_path, [structured(f"<file_ref>{upload.file_id}</file_ref>")])
    [answer] = later.ask("再看")
    assert answer.response == "{{FILE:0}}"


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """The answer warns, and the model's call says which files its conversation has, and none of others."""
    shop = Shop(tmp_path, [reading("upload:upload_q9"), structured("没有。")])
    there, other = (shop.service.uploads.add("sales.csv", SALES) for _ in range(2))
    [answer] = shop.ask("看", file_context=["upload_q9", there.file_id])
    [warning] = answer.metadata["warnings"]
    assert "upload_q9" in warning
    assert "POST the file to /files" in warning
    assert other.file_id not in warning
    assert there.file_id in shop.sent(1)[-1]["content"]
    assert other.file_id not in shop.sent(1)[-1]["content"]


def form(filename: str | None, data: bytes = b"a,b\n1,2\n", field: str = "file", **fields: str) -> dict[str, Any]:
    return {"files": {field: (filename, data)}, "data": fields}


BAD: dict[str, tuple[int, str, dict[str, Any]]] = {
    "empty": (400, "is empty", form("sales.csv", b"")),
    "no name": (400, "one file", form(None)),
    "path traversal": (400, "plain name", form("../../etc/passwd.csv")),
    "absolute path": (400, "plain name", form("/etc/passwd.csv")),
    "windows path": (400, "plain name", form("..\\boot.csv")),
    "a folder": (400, "plain name", form("folder/")),
    "our own name": (400, "plain name", form("upload.json")),
    "long name": (400, "shorter", form("x" * 300 + ".csv")),
    "bad id": (400, "file_id", form("sales.csv", file_id="../up")),
    "unknown field": (400, "unknown fields", form("sales.csv", color="red")),
    "wrong field": (400, "part named file", form("sales.csv", field="upload")),
    "wrong type": (415, ".csv", form("photo.png", b"\x89PNG")),
    "no type": (415, ".csv", form("README")),
    "no workbook": (415, "CSV", form("sales.xlsx", b"date,amount\n")),
    "too large": (413, "100 bytes", form("sales.csv", b"x" * 101)),
    "much too large": (413, "100 bytes", form("sales.csv", b"x" * (FORM_BYTES + 200))),
    "no form": (415, "multipart/form-data", {"json": {"file": "x"}}),
    "nothing": (415, "multipart/form-data", {}),
    "damaged form": (400, "cut off", {"content": b"--b\r\nx", "headers": FORM}),
    "nameless part": (400, "no name", {"content": b"--b\r\n\r\nx\r\n--b--\r\n", "headers": FORM}),
}  # fmt: skip


def test_a_file_that_cannot_be_taken_is_told_why(tmp_path: Path) -> None:
    """A status, what is wrong and what to do; nothing is stored, and the next file is taken."""
    shop = Shop(tmp_path, [], uploads=UploadStore(tmp_path / "uploads", most_bytes=100))
    with served(shop) as client:
        for name, (status, words, request) in BAD.items():
            reply = client.post("/files", **request)
            assert (name, reply.status_code) == (name, status), reply.text
            assert words in reply.json()["error"], name
            assert reply.json()["success"] is False
        assert not list(tmp_path.glob("uploads/*"))
        assert client.post("/files", **form("sales.csv")).status_code == 201


def test_limits_are_the_programs_to_set(tmp_path: Path) -> None:
    """A store of other sizes and kinds."""
    store = UploadStore(tmp_path / "uploads", most_bytes=5_000_000, types=["dat"])
    shop = Shop(tmp_path, [], uploads=store)
    with served(shop) as client:
        assert client.post("/files", **form("big.DAT", b"x" * 4_500_000)).status_code == 201
        assert client.post("/files", **form("sales.csv")).status_code == 415


@pytest.mark.parametrize("path", ["upload_none", "", "..", "../codes", "%2e%2e%2fup", "a%00b", "upload.json"])
def test_an_unknown_file_is_not_found(tmp_path: Path, path: str) -> None:
    """404 in JSON, without the ids of others' files; nothing outside the folder is reached."""
    shop = Shop(tmp_path, [])
    there = shop.service.uploads.add("sales.csv", SALES)
    with served(shop) as client:
        reply = client.get(f"/files/{path}")
        if "../" not in path and path != "..":  # a client resolves these itself
            assert "POST the file to /files first" in reply.json()["error"]
    assert there.file_id not in reply.text
    assert reply.status_code == 404


def test_a_file_that_was_replaced_by_a_folder_is_said(tmp_path: Path) -> None:
    """The client is told to upload it again; the model's call fails and the answer comes."""
    lines: list[str] = []
    shop = Shop(tmp_path, lines)
    upload = shop.service.uploads.add("sales.csv", SALES)
    path = shop.service.uploads[upload.file_id]
    path.unlink()
    path.mkdir()
    lines += [reading(upload.file_id), structured("读不了。")]
    with served(shop) as client:
        reply = client.get(f"/files/{upload.file_id}")
        answer = client.post("/query", json={"message": "看", "file_context": upload.file_id})
    assert (reply.status_code, "upload it again" in reply.json()["error"]) == (500, True)
    assert answer.json()["response"] == "读不了。"


def test_the_code_of_a_report_reaches_the_client(tmp_path: Path) -> None:
    """In the answer, with each reference and each saved code; and later by its id, in any version."""
    newer = CODE + "# newer\n"
    lines = [structured("见 <code_ref>code_sales_analysis</code_ref>", code_blocks=[block()]),
             structured("改了。", code_blocks=[block(code=newer)])]  # fmt: skip
    shop = Shop(tmp_path, lines)
    with served(shop) as client:
        first = client.post("/query", json={"message": "写", "session_id": "s"}).json()["metadata"]
        second = client.post("/query", json={"message": "改", "session_id": "s"}).json()["metadata"]
        newest = client.get("/codes/code_sales_analysis").json()
        oldest = client.get("/codes/code_sales_analysis?version=1").json()
    assert [code["code"] for code in first["code_refs"]] == [CODE]
    assert [code["code"] for code in first["saved_codes"]] == [CODE]
    assert [code["code"] for code in second["saved_codes"]] == [newer]
    assert (newest["code"], newest["version"], newest["language"]) == (newer, 2, "python")
    assert (oldest["code"], oldest["version"]) == (CODE, 1)


@pytest.mark.parametrize(
    ("path", "status"),
    [("code_none", 404), ("code_sales_analysis?version=9", 404), ("code_sales_analysis?version=x", 400), ("", 400),
     ("..%2Fcode_sales_analysis", 400), ("sales", 400)],
)  # fmt: skip
def test_code_that_cannot_be_had_is_told_why(tmp_path: Path, path: str, status: int) -> None:
    """An id that is none, one that is unknown, and a version that there is not."""
    shop = Shop(tmp_path, [])
    shop.store.store("code_sales_analysis", CODE)
    with served(shop) as client:
        reply = client.get(f"/codes/{path}")
    assert (reply.status_code, reply.json()["success"]) == (status, False)
    assert "code_sales_analysis" in reply.json()["error"] or "version" in reply.json()["error"]


def test_other_methods_are_told_the_right_one(tmp_path: Path) -> None:
    """405 with `allow`."""
    with served(Shop(tmp_path, [])) as client:
        for path, method, right in (
            ("/files", "GET", "POST"),
            ("/files/x", "DELETE", "GET"),
            ("/codes/x", "POST", "GET"),
        ):
            reply = client.request(method, path)
            assert (reply.status_code, reply.headers["allow"]) == (405, right)


def test_bytes_of_a_form_arrive_as_they_are(tmp_path: Path) -> None:
    """Also line ends, NULs, and what looks like the border of a part."""
    data = b"\r\n--b\r\n\n\r\0--\xff\r\n\r\n"
    shop = Shop(tmp_path, [])
    with served(shop) as client:
        file_id = client.post("/files", **form("x.txt", data)).json()["file_id"]
        assert client.get(f"/files/{file_id}").content == data


def test_two_uploads_of_one_id_do_not_mix(tmp_path: Path) -> None:
    """Of many that come at once, one is stored and the others are refused."""
    shop = Shop(tmp_path, [])

    async def post(client: httpx2.AsyncClient, number: int) -> int:
        reply = await client.post("/files", **form("a.csv", json.dumps([number] * 999).encode(), file_id="same"))
        return reply.status_code

    async def post_all(url: str) -> list[int]:
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as client:
            return list(await asyncio.gather(*(post(client, number) for number in range(8))))

    with Server(application(shop.service)) as server:
        statuses = asyncio.run(post_all(server.url))
    assert sorted(statuses) == [201] + [409] * 7
    assert len(set(json.loads(shop.service.uploads.read("same")))) == 1
    assert [path.name for path in shop.service.uploads.folder.iterdir()] == ["same"]


def calling(*calls: tuple[str, dict[str, Any]]) -> str:
    return structured([{"tool_name": name, "arguments": arguments} for name, arguments in calls], "tool_call")


def test_a_file_is_read_by_the_names_that_models_use(tmp_path: Path) -> None:
    """`read_file`, and the arguments file_id and id; nothing is sent back to the model as wrong."""
    shop = Shop(tmp_path, lines := [])
    upload = shop.service.uploads.add("sales.csv", SALES)
    shop.store.store("code_sales_analysis", CODE)
    names = ({"path": upload.file_id}, {"file_id": upload.file_id}, {"id": f"upload:{upload.file_id}"})
    lines += [calling(*(("read_file", name) for name in names), ("file_reader", {"code_id": "code_sales_analysis"}))]
    lines += [structured("好。")]
    [answer] = shop.ask("看", file_context=upload.file_id)
    assert (answer.response, answer.metadata["warnings"]) == ("好。", [])
    results = [message["content"] for message in shop.sent(1)[-4:]]
    assert sum("2026-01-05,12.50" in text for text in results) == 3
    assert sum(CODE in text for text in results) == 1


def test_one_bad_call_does_not_stop_the_others(tmp_path: Path) -> None:
    """An unknown tool, and arguments that are none, fail by themselves; the model reads why in their results."""
    shop = Shop(tmp_path, lines := [])
    upload = shop.service.uploads.add("sales.csv", SALES)
    lines += [calling(("fly", {}), ("file_reader", {"path": upload.file_id}), ("file_reader", {"colour": "red"}))]
    lines += [structured("好。")]
    shop.ask("看", file_context=upload.file_id)
    assert len(shop.model.asked) == 2
    results = [message["content"] for message in shop.sent(1)[-3:]]
    assert sum("2026-01-05,12.50" in text for text in results) == 1
    assert sum("'fly'" in text for text in results) == 1
    assert sum("path" in text and "12.50" not in text for text in results) == 1


def test_the_gist_of_a_file_is_one_line(tmp_path: Path) -> None:
    """Of code, a table, JSON and text: nothing of what stands in the file follows it."""
    shop = Shop(tmp_path, lines := [])
    files = {
        "a.py": CODE, "b.csv": "date,amount\n" + "2026-01-05,12.50\n" * 300,
        "c.json": json.dumps({"key": ["value-in-the-file"] * 200}), "d.txt": "Error: bad\n" + "some words " * 400,
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / "files" / name).write_text(text)
    lines += [calling(*(("file_reader", {"path": name}) for name in files)), structured("好。"), structured("好。")]
    shop.ask("读", "继续")
    gists = [message["content"] for message in shop.sent(2) if "[文件已读取]" in message["content"]]
    assert len(gists) == 4
    for gist in gists:
        assert "\n" not in gist
        assert "step-" not in gist
