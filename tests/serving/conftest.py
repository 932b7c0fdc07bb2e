"""The misbehaving provider and the embedded model's server, ready to be asked."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest
from misbehaving_provider import Provider
from played_apis import KEY, Api, Ask, spec_for

from serving import LlamaCppServer, Roster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from misbehaving_provider import Behaviour

    from serving import ChatModel


@pytest.fixture(autouse=True)
def temporary_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Logs that are kept, since their server failed, go where the tests' files go."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    it = Provider()
    server = await asyncio.start_server(it.serve, "127.0.0.1", 0)
    it.port = server.sockets[0].getsockname()[1]
    yield it
    server.close()
    await server.wait_closed()


@pytest.fixture(params=("openai", "anthropic"))
def api(request: pytest.FixtureRequest) -> Api:
    return Api(request.param)


@pytest.fixture
async def ask(api: Api, provider: Provider) -> AsyncIterator[Ask]:
    """Makes the model of the API at hand, over the provider."""
    async with contextlib.AsyncExitStack() as stack:

        async def make(*script: Behaviour, url: str | None = None, **fields: object) -> ChatModel:
            provider.script = list(script)
            spec = spec_for(api, url or provider.root_url, **fields)
            roster = Roster([spec], environ={"IT_KEY": KEY})
            await stack.enter_async_context(roster)
            return roster.models["it"]

        yield make


@pytest.fixture(scope="session")
def llama(model_file: Path) -> Iterator[LlamaCppServer]:
    """The embedded server with the small model, one for all tests."""
    server = LlamaCppServer(model_file, context_size=2048, parallel=2)
    asyncio.run(server.start(patience=120))
    yield server
    asyncio.run(server.aclose())
