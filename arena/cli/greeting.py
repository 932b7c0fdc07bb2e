"""What `arena up` says of itself: where votes are kept, whose they are, which models answer."""

from __future__ import annotations

import asyncio
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from arena.settings import Settings
    from serving.roster import HealthReport, ModelSpec

_NAMES_TOLD = 5
# What runs on this machine was started before the pages opened, or plays a file.
_REMOTE = frozenset({"openai", "anthropic"})


def tell_record(settings: Settings) -> list[str]:
    """Where the votes are kept, and whether they may be another arena's.

    Raises:
        Refusal: the database cannot be opened.
    """
    from arena.cli.arenas import opening

    configured = {model.name for model in settings.models}
    with opening(settings) as store:
        recorded = set(store.battles.cards())
        votes = store.exclusions.totals().votes
    told = [f"Votes are kept in {_name_record(settings)}: {votes:,} so far."]
    return told + _tell_strangers(recorded, configured, settings) if votes else told


def _name_record(settings: Settings) -> str:
    from sqlalchemy.engine import make_url

    url = make_url(settings.database.url)
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.render_as_string(hide_password=True)


def _tell_strangers(recorded: Set[str], configured: Set[str], settings: Settings) -> list[str]:
    strangers = sorted(recorded - configured)
    if not strangers:
        return []
    more = len(strangers) - _NAMES_TOLD
    names = ", ".join(strangers[:_NAMES_TOLD]) + (f" and {more} more" if more > 0 else "")
    if recorded & configured:
        return [f"It also has models that are not in the settings any more: {names}."]
    is_file = settings.database.url.startswith("sqlite")
    apart = 'data_dir = "arena-data"' if is_file else "another database.url"
    warning = (
        f"Warning: these votes are on other models ({names}) and none is on these. If they are "
        f"another arena's, both would share one record: stop this one and write {apart} into its "
        "settings."
    )
    return [warning]


def check_models_beside(specs: Sequence[ModelSpec], say: Callable[[str], None]) -> Thread | None:
    """Asks models elsewhere once, while the pages are open already, and says which do not answer.

    Args:
        specs: of all models.
        say: takes a line.

    Returns:
        What asks, `None` where there is none to ask. It ends with the process.
    """
    asked = [spec for spec in specs if spec.enabled and _is_elsewhere(spec)]
    if not asked:
        return None
    asking = Thread(target=_check, args=(asked, say), name="models", daemon=True)
    asking.start()
    return asking


def _is_elsewhere(spec: ModelSpec) -> bool:
    return spec.backend in _REMOTE or spec.base_url is not None


def _check(specs: Sequence[ModelSpec], say: Callable[[str], None]) -> None:
    reports = asyncio.run(ask_all(specs))
    failing = [report for report in reports if report.status != "ok"]
    for report in failing:
        say(f"{report.name} does not answer ({report.status}): {report.message}")
    if failing:
        say(f"Of {len(reports)} models elsewhere {len(failing)} do not. To ask again: "
            "arena models check")  # fmt: skip
    else:
        say(f"All {len(reports)} models elsewhere answer.")


async def ask_all(specs: Sequence[ModelSpec]) -> list[HealthReport]:
    """Asks each model as a battle does; those that run on this machine are started for it."""
    from serving.roster import Roster

    roster = Roster(specs)
    try:
        await roster.start(keep_going=True)
        return await asyncio.gather(*(roster.check(spec.name) for spec in specs))
    finally:
        await roster.aclose()
