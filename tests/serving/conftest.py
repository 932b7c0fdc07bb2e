"""The misbehaving provider and the embedded model's server, ready to be asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from misbehaving_provider import Provider

from serving import LlamaCppServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    it = Provider()
    server = await asyncio.start_server(it.serve, "127.0.0.1", 0)
    it.port = server.sockets[0].getsockname()[1]
    yield it
    server.close()
    await server.wait_closed()


@pytest.fixture(scope="session")
def llama(model_file: Path) -> Iterator[LlamaCppServer]:
    """The embedded server with the small model, one for all tests."""
    server = LlamaCppServer(model_file, context_size=2048, parallel=2)
    asyncio.run(server.start(patience=120))
    yield server
    asyncio.run(server.aclose())
