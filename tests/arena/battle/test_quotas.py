"""How much one voter and one address may ask for in a time."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from limits.storage import storage_from_string
from staged_models import VOTER, StagedModel, conducting, watch

from arena.battle.crowding import Asker
from arena.battle.quotas import Deed, Quotas, QuotaSpent, Rates
from arena.cli.preflight import check_rates
from arena.rules.battles import BattleStatus, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arena.store import Store

START_SECONDS = 60
ADA, BEN = Asker("ada", "192.0.2.1"), Asker("ben", "192.0.2.1")


async def count(quotas: Quotas, deed: Deed, asker: Asker, *, tries: int = 20) -> int:
    """How many of some tries are let through."""
    done = 0
    for _ in range(tries):
        try:
            await quotas.spend(deed, asker)
        except QuotaSpent:
            continue
        done += 1
    return done


async def test_a_voter_and_an_address_have_each_their_own() -> None:
    quotas = Quotas(Rates(of_voter={Deed.VOTE: "3/hour"}, of_address={Deed.VOTE: "5/hour"}))
    assert await count(quotas, Deed.VOTE, ADA) == 3
    assert await count(quotas, Deed.VOTE, BEN) == 2  # of the five of their address
    assert await count(quotas, Deed.VOTE, Asker("carl", "192.0.2.2")) == 3
    assert await count(quotas, Deed.BATTLE, ADA) == 20  # nothing is said of those


async def test_fresh_cookies_do_not_help_and_nobody_shares_an_unknown_address() -> None:
    quotas = Quotas(Rates(of_voter={Deed.VOTE: "3/hour"}, of_address={Deed.VOTE: "4/hour"}))
    asked = [Asker(f"cookie-{number}", "192.0.2.1") for number in range(30)]
    assert sum([await count(quotas, Deed.VOTE, one, tries=1) for one in asked]) == 4
    asked = [Asker(f"cookie-{number}") for number in range(30)]
    assert sum([await count(quotas, Deed.VOTE, one, tries=1) for one in asked]) == 30


async def test_every_part_of_a_rate_holds_and_the_wait_is_told() -> None:
    quotas = Quotas(Rates(of_voter={Deed.REGENERATION: "2/minute; 3/hour"}))
    assert await count(quotas, Deed.REGENERATION, ADA) == 2
    with pytest.raises(QuotaSpent) as spent:
        await quotas.spend(Deed.REGENERATION, ADA)
    assert 1 <= spent.value.seconds <= 60


async def test_what_is_refused_is_not_counted() -> None:
    """A page that tries again and again does not keep itself out for ever."""
    quotas = Quotas(Rates(of_voter={Deed.VOTE: "1/second"}, of_address={Deed.VOTE: "3/hour"}))
    assert await count(quotas, Deed.VOTE, ADA, tries=50) == 1
    assert await count(quotas, Deed.VOTE, BEN, tries=50) == 1
    assert await count(quotas, Deed.VOTE, Asker("carl", ADA.address), tries=50) == 1


async def test_an_empty_rate_is_no_limit_and_a_wrong_one_is_named() -> None:
    assert await count(Quotas(Rates(of_voter={Deed.VOTE: ""})), Deed.VOTE, ADA) == 20
    with pytest.raises(ValueError, match=r'"often", which is no rate\. Write for'):
        Quotas(Rates(of_voter={Deed.VOTE: "often"}))


async def test_a_battle_is_not_regenerated_hundreds_of_times(store: Store) -> None:
    release = asyncio.Event()
    release.set()
    models = StagedModel("Amber", release, "A"), StagedModel("Birch", release, "B")
    quotas = Quotas(
        Rates(of_voter={Deed.REGENERATION: "3/hour", Deed.VOTE: "1/hour", Deed.BATTLE: "2/hour"})
    )
    async with conducting(store, *models, quotas=quotas) as conductor:
        battle_id = (await conductor.start("Why?", VOTER)).battle_id
        await watch(conductor, battle_id)
        for _ in range(3):
            await conductor.regenerate(battle_id, VOTER)
            await watch(conductor, battle_id)
        with pytest.raises(QuotaSpent):
            await conductor.regenerate(battle_id, VOTER)
        view = await conductor.vote(battle_id, VOTER, Outcome.TIE)  # what is there can be voted on
        assert view.status is BattleStatus.VOTED
        await conductor.start("Why?", VOTER)
        with pytest.raises(QuotaSpent):
            await conductor.start("Why?", VOTER)


@pytest.fixture
def redis_url(need: Callable[..., str], tmp_path: Path) -> Iterator[str]:
    """A Redis of our own."""
    program = need("redis-server", "valkey-server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ("--port", str(port), "--save", "", "--dir", str(tmp_path), "--bind", "127.0.0.1")
    with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL) as server:
        deadline = time.monotonic() + START_SECONDS
        url = f"redis://127.0.0.1:{port}"
        while not storage_from_string(url).check():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield url
        server.terminate()


async def test_several_processes_count_together_in_a_redis(redis_url: str) -> None:
    rates = Rates(of_voter={Deed.VOTE: "5/hour"}, of_address={Deed.VOTE: "7/hour"})
    first, second = Quotas(rates, redis_url), Quotas(rates, redis_url)
    assert await count(first, Deed.VOTE, ADA, tries=3) == 3
    assert await count(second, Deed.VOTE, ADA) == 2
    assert await count(first, Deed.VOTE, BEN) == 2
    check_rates(redis_url)


async def test_while_the_redis_is_away_people_go_on_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    quotas = Quotas(Rates(of_voter={Deed.VOTE: "1/hour"}), "redis://127.0.0.1:1")
    assert await count(quotas, Deed.VOTE, ADA, tries=3) == 3
    assert "rates.storage is away" in caplog.text
