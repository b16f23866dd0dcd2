"""Operations on the list of sessions, on imports, and on the server itself."""

import asyncio
import os
import shutil
from pathlib import PurePath
from typing import BinaryIO, get_args

from starlette.requests import ClientDisconnect, Request

from sightline import __version__
from sightline.errors import BadInput
from sightline.plan.strategies import names as strategy_names
from sightline.server.imports import upload_folder
from sightline.server.rest_chat import chat_needs
from sightline.server.rest_list_values import (
    FileChoice,
    ImportFacts,
    ImportList,
    ModelFacts,
    ServerFacts,
    SessionPage,
    SessionsQuery,
    UploadQuery,
)
from sightline.server.rest_operation import Asked, NotFound, TooLarge
from sightline.server.rest_values import Economy
from sightline.session.document import TRANSCRIPTS
from sightline.wire import registry

MOST_UPLOADED = 1 << 30  # bytes: the longest recordings have some hundred megabytes
LOG_FORMAT = "jsonl"


def export_formats() -> list[str]:
    """Return the formats that a conversation can be exported in."""
    return [LOG_FORMAT, *TRANSCRIPTS, *registry.names()]


async def get_server(asked: Asked) -> ServerFacts:
    """Say what this server has and can do."""
    model, places = asked.server.model, asked.server.sessions.places
    return ServerFacts(
        version=__version__,
        project=str(asked.server.sessions.project),
        everywhere=places.everywhere,
        model=None if model is None else ModelFacts(model.info.name, model.info.window),
        chat_needs=chat_needs(),
        strategies=strategy_names(),
        economies=list(get_args(Economy)),
        wires=list(registry.names()),
        formats=export_formats(),
        apps=sorted(asked.server.apps),
    )


async def list_sessions(asked: Asked) -> SessionPage:
    """Return a part of the list of sessions and files."""
    query: SessionsQuery = asked.query
    return await asked.server.listing.page(query)


# ---------------------------------------------------------------------- recordings


async def begin_import(asked: Asked) -> ImportFacts:
    """Import a file that the list offers. No other file is read, whatever path is named."""
    body: FileChoice = asked.body
    offered = await asyncio.to_thread(asked.server.listing.catalog.find_offered, body.path)
    if offered is None:
        raise NotFound("this file is not among those that the list of sessions offers; drop it on the page instead")
    return asked.server.imports.begin(offered)


async def upload(asked: Asked) -> ImportFacts:
    """Import a file whose bytes are the body."""
    query: UploadQuery = asked.query
    name = PurePath(query.name.replace("\\", "/")).name
    if not name.strip(". ") or "\0" in name or len(name.encode("utf-8", "replace")) > 200:
        raise BadInput(f"{query.name[:60]!r} cannot name a file")
    name = name.encode("utf-8", "replace").decode()
    folder = await asyncio.to_thread(upload_folder)
    try:
        with (folder / name).open("xb") as file:
            if not await _receive(asked.request, file):
                raise BadInput("the body is empty: send the bytes of the file")
        if query.modified is not None:  # its time is that of the talk, if nothing in it says more
            os.utime(folder / name, (query.modified, query.modified))
        return asked.server.imports.begin_upload(folder, name)
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        raise


async def _receive(request: Request, file: BinaryIO) -> int:
    size = 0
    try:
        async for piece in request.stream():
            size += len(piece)
            if size > MOST_UPLOADED:
                raise TooLarge(f"a file has at most {MOST_UPLOADED:,} bytes; use `sightline import` for a larger one")
            await asyncio.to_thread(file.write, piece)
    except ClientDisconnect as error:
        raise BadInput("the request was cut off") from error
    return size


async def list_imports(asked: Asked) -> ImportList:
    """Return the last imports."""
    return ImportList(asked.server.imports.all())


async def get_import(asked: Asked) -> ImportFacts:
    """Return one import, and how far it is."""
    found = asked.server.imports.get(asked.path["import"])
    if found is None:
        raise NotFound(f"no import {asked.path['import'][:40]!r}; GET /api/imports lists the last ones")
    return found
