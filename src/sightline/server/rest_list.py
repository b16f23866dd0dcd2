"""Operations on the list of sessions, on imports, and on the server itself."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import PurePath
from typing import BinaryIO, get_args

from starlette.requests import ClientDisconnect, Request

from sightline import __version__
from sightline.errors import BadInput
from sightline.plan.strategies import names as strategy_names
from sightline.server.rest_operation import ApiRequest, Busy, NotFound, QuotaExceeded, TooLarge
from sightline.server.rest_values import (
    Economy,
    FileChoice,
    FindSessionsQuery,
    FoundSessions,
    ImportFacts,
    ImportList,
    ModelFacts,
    OverviewQuery,
    ServerFacts,
    SessionPage,
    SessionsQuery,
    UploadQuery,
)
from sightline.server.safety import throw_body_away
from sightline.server.uploads import Uploads
from sightline.view.catalog.overview import Overview
from sightline.view.document import TRANSCRIPTS
from sightline.wire import registry

_PIECE = 1 << 20  # bytes after which a body that does not say its length is compared with what its sender may store
LOG_FORMAT = "jsonl"


def export_formats() -> list[str]:
    """Return the formats that a conversation can be exported in."""
    return [LOG_FORMAT, *TRANSCRIPTS, *registry.names()]


async def get_server(request: ApiRequest) -> ServerFacts:
    """Say what this server has and can do."""
    model, places = request.server.model, request.server.sessions.places
    return ServerFacts(
        version=__version__,
        project=str(request.server.sessions.project),
        everywhere=places.everywhere,
        model=None if model is None else ModelFacts(model.info.name, model.info.window),
        strategies=strategy_names(),
        economies=list(get_args(Economy)),
        wires=list(registry.names()),
        formats=export_formats(),
        apps=sorted(request.server.apps),
    )


async def list_sessions(request: ApiRequest) -> SessionPage:
    """Return a part of the list of sessions and files."""
    query: SessionsQuery = request.query
    return await request.server.listing.page(query)


async def find_sessions(request: ApiRequest) -> FoundSessions:
    """Return the sessions in which something matches."""
    query: FindSessionsQuery = request.query
    return await request.server.finder.find(query)


async def get_overview(request: ApiRequest) -> Overview:
    """Return the sums over all sessions that have been counted."""
    query: OverviewQuery = request.query
    return await request.server.listing.overview(query.project, query.since)


# ---------------------------------------------------------------------- recordings


async def begin_import(request: ApiRequest) -> ImportFacts:
    """Import a file that the list offers. No other file is read, whatever path is named."""
    body: FileChoice = request.body
    offered = await asyncio.to_thread(request.server.listing.catalog.find_offered, body.path)
    if offered is None:
        raise NotFound("this file is not among those that the list of sessions offers; drop it on the page instead")
    return request.server.imports.begin(offered)


async def upload(request: ApiRequest) -> ImportFacts:
    """Import a file whose bytes are the body."""
    query: UploadQuery = request.query
    name = PurePath(query.name.replace("\\", "/")).name
    if not name.strip(". ") or "\0" in name or len(name.encode("utf-8", "replace")) > 200:
        raise BadInput(f"{query.name[:60]!r} cannot name a file")
    name = name.encode("utf-8", "replace").decode()
    received = _Received(request.server.uploads, request.http)
    folder = await asyncio.to_thread(request.server.uploads.room.make_folder)
    try:
        with (folder / name).open("xb") as file:
            await received.write_to(file)
        if query.modified is not None:  # its time is that of the talk, if nothing in it says more
            os.utime(folder / name, (query.modified, query.modified))
        return request.server.imports.begin_upload(folder, name, check=received.checker(), ended=received.give_back)
    except BaseException as error:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        received.give_back()
        if isinstance(error, Busy | TooLarge | QuotaExceeded):  # so that clients that send all first read the answer
            await throw_body_away(received.pieces)
        raise


class _Received:
    """The body of an upload, as far as it has come."""

    def __init__(self, uploads: Uploads, request: Request) -> None:
        self._uploads, self._request, self._size = uploads, request, 0
        self.pieces = request.stream()

    async def write_to(self, file: BinaryIO) -> None:
        """Receive all of it. Raises BadInput, TooLarge, Busy, QuotaExceeded."""
        declared = self._request.headers.get("content-length", "")
        self._uploads.check(int(declared[:20]) if declared.isdigit() else 0)
        checked = 0
        try:
            async for piece in self.pieces:
                if self._size + len(piece) > self._uploads.most:
                    raise self._uploads.too_large()
                self._uploads.take(len(piece))
                self._size += len(piece)
                await asyncio.to_thread(file.write, piece)
                if self._size >= checked + _PIECE:
                    checked = self._size
                    await self._check_quota(checked)
        except ClientDisconnect as error:
            raise BadInput("the request was cut off") from error
        if not self._size:
            raise BadInput("the body is empty: send the bytes of the file")
        await self._check_quota(self._size)

    async def _check_quota(self, size: int, *, anew: bool = False) -> None:
        if self._uploads.quota is not None:
            await self._uploads.quota(self._request, size, anew)

    def checker(self) -> Callable[[], None]:
        """Return what raises QuotaExceeded, in a thread, when the sender stores as much as it may."""
        loop = asyncio.get_running_loop()

        def check() -> None:
            if self._uploads.quota is not None:
                asyncio.run_coroutine_threadsafe(self._check_quota(0, anew=True), loop).result()

        return check

    def give_back(self) -> None:
        """Have its room again."""
        self._uploads.give_back(self._size)
        self._size = 0


async def list_imports(request: ApiRequest) -> ImportList:
    """Return the last imports."""
    return ImportList(request.server.imports.all())


async def get_import(request: ApiRequest) -> ImportFacts:
    """Return one import, and how far it is."""
    facts = request.server.imports.get(request.path["import"])
    if facts is None:
        raise NotFound(
            f"no import {request.path['import'][:40]!r} at this server; GET /api/imports lists its last ones. "
            "An import is known only to the server that runs it; the sessions it makes are in GET /api/sessions of "
            "every server"
        )
    return facts
