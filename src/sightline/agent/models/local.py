"""A GGUF file as a model, in this process: llama.cpp's own server, asked over the loopback as any other endpoint.

That server listens on a port of its own in any case. Using the port instead of callbacks gives one way of streaming
for all models, and closing the connection stops the reply, also while the prompt is still read.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from sightline.agent.models import Reply, Request, TextDelta
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import import_optional
from sightline.agent.models.openai import OpenAiModel
from sightline.agent.models.secret import Secret
from sightline.errors import ModelRefused
from sightline.values.clock import nanoid

THREADS = 1  # on a busy machine several threads wait for each other
BATCH = 128  # tokens of a prompt that are read at once; a reply can be stopped between two batches


class LocalModel:
    """The model in a GGUF file. The first request loads it, and `close` unloads it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.info = endpoint, endpoint.info
        self._loading = asyncio.Lock()
        self._server: Any = None
        self._model: OpenAiModel | None = None

    async def stream(self, request: Request) -> AsyncGenerator[TextDelta | Reply, None]:
        async with aclosing((await self._load()).stream(request)) as answer:
            async for piece in answer:
                yield piece

    async def close(self) -> None:
        model, self._model = self._model, None
        if model is not None:
            await model.close()
        self._server = None

    async def _load(self) -> OpenAiModel:
        async with self._loading:
            if self._model is None:
                key = nanoid()  # because the port is open to everyone on this machine
                self._server = await asyncio.to_thread(_start_server, self.endpoint, key)
                address = f"{self._server.listening_address}/v1"
                self._model = OpenAiModel(replace(self.endpoint, base_url=address, key=Secret(key)))
            return self._model


def _start_server(endpoint: Endpoint, key: str) -> Any:
    """Start the server with this model.

    Raises:
        ModelRefused: the file is missing, or is not a model.
        BadInput: xllamacpp is not installed.
    """
    if not Path(endpoint.gguf).is_file():
        raise ModelRefused(f"no file {endpoint.gguf}: `gguf` in sightline.toml names a model's .gguf file")
    xllamacpp = import_optional("xllamacpp", "a model in this process", "local")
    try:
        return xllamacpp.Server(_parameters(xllamacpp.CommonParams(), endpoint, key))
    except (RuntimeError, ValueError) as error:
        raise ModelRefused(f"{endpoint.gguf} cannot be loaded as a model: {error}") from error


def _parameters(parameters: Any, endpoint: Endpoint, key: str) -> Any:
    parameters.model.path = endpoint.gguf
    parameters.model_alias = {endpoint.name}  # else replies name the file's path as their model
    parameters.n_ctx = endpoint.info.window
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = BATCH
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = THREADS
    parameters.api_keys = [key]
    parameters.ui = False
    parameters.warmup = False
    parameters.verbosity = -1  # else it writes into the terminal
    return parameters
