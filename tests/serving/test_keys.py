"""A key is shown nowhere, whatever a provider does with it."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING

import pytest
from misbehaving_provider import collect
from played_apis import (
    KEY,
    send_error_after,
    spec_for,
)

from serving import (
    Interrupted,
    Roster,
    RosterError,
    ServingError,
)

if TYPE_CHECKING:
    from misbehaving_provider import Connection, Provider
    from played_apis import Api, Ask


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_a_key_is_never_shown_even_if_the_provider_quotes_it(
    status: int, ask: Ask, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def echo(connection: Connection) -> None:  # a careless provider
        headers = connection.request.headers
        await connection.send_status(status, {"error": {"message": f"I saw {headers}"}})

    model = await ask(echo)
    with pytest.raises(ServingError) as caught:
        await collect(model)
    assert KEY in str(provider.requests[0].headers)
    error: BaseException | None = caught.value
    assert "".join(traceback.format_exception(caught.value)).count(KEY) == 0
    while error is not None:
        assert KEY not in f"{error} {error!r} {error.__dict__} {error.args}"
        error = error.__cause__ or error.__context__
    assert KEY not in f"{model} {model!r}"
    assert KEY not in caplog.text


async def test_a_key_is_never_shown_when_a_stream_quotes_it(
    api: Api, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model = await ask(send_error_after(api, "Hel", message=f"I saw {KEY}"))
    with pytest.raises(Interrupted, match="I saw") as caught:
        await collect(model)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("value", ["", "  ", "two words", "line\nbreak", "schlüssel"])
async def test_a_variable_without_a_usable_key_is_named_at_the_start(value: str, api: Api) -> None:
    roster = Roster([spec_for(api, "http://localhost:1")], environ={"IT_KEY": value})
    with pytest.raises(RosterError, match=r"'it'.* variable IT_KEY") as caught:
        await roster.start()
    assert value.strip() == "" or value not in str(caught.value)
    assert not roster.models
