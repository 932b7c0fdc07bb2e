"""Votes from an arena's database, aggregated there, and the recipe of its leaderboards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.cli.rank.votes import Request, Source, describe_times, say_times
from arena.cli.refusals import Refusal
from arena.leaderboards.judges import gather_verdicts
from arena.leaderboards.recipe import Recipe, read_recipe
from arena.leaderboards.style import FEATURES, measure_votes
from ranking import Comparisons, Options, Votes
from ranking.boards.split import PERIODS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arena.store import Detail, DetailedCount, Store

__all__ = ["read_database"]

RECORDED_GROUPS = ("category", "language")


def read_database(url: str, request: Request, recipe: Recipe | None = None) -> Source:
    """The votes that count in an arena's database, or the verdicts of one of its judges.

    Args:
        url: of the database.
        request: which votes.
        recipe: of the arena's settings; `None` for that of its latest leaderboard, or the
            default one where there is none yet.

    Raises:
        Refusal: there is no database, no vote, or it does not record what is asked for.
    """
    from sqlalchemy.engine import make_url

    from arena.store import StoreError, open_store

    name = _check_database(url)
    _check_request(request)
    try:
        store = open_store(url)
    except StoreError as error:
        raise Refusal(str(error)) from None
    try:
        found = recipe or read_recipe(store)
        last = store.votes.last_id()
        source = _read_source(store, request, name, found)
    finally:
        store.close()
    described = {
        "database": make_url(url).render_as_string(hide_password=True),
        **describe_times(request),
        **({"judge": request.judge} if request.judge is not None else {}),
        "last_vote_id": last,
    }
    return replace(source, described=described)


def _check_request(request: Request) -> None:
    unknown = [group for group in request.by if group not in (*RECORDED_GROUPS, *PERIODS)]
    if unknown:
        raise Refusal(
            f'--by "{unknown[0]}" is not on record in a database. '
            f"There are: {', '.join((*RECORDED_GROUPS, *PERIODS))}; a file may have any column."
        )
    unmeasured = [name for name in request.style if name not in FEATURES]
    if unmeasured:
        raise Refusal(
            f'--style "{unmeasured[0]}" is not measured in a database. '
            f"There are: {', '.join(FEATURES)}; a file may have any column."
        )
    if request.judge is None:
        return
    asked = {
        "--style": request.style,
        "--since": request.since,
        "--until": request.until,
        "--weights design": request.changes.get("weights") == "design",
        "--by": set(request.by) - {"category"},
    }
    for option, is_asked in asked.items():
        if is_asked:
            raise Refusal(f"{option} is nothing that a judge's verdicts have. Leave it out.")


def _read_source(store: Store, request: Request, name: str, recipe: Recipe) -> Source:
    if request.judge is not None:
        read = store.judge_verdicts.read([request.judge])
        verdicts = [verdict for verdict in read if verdict.verdict is not None]
        if not verdicts:
            names = [known.name for known in store.judgings.judges()]
            there_are = f"There are: {', '.join(names)}." if names else "None has been asked yet."
            raise Refusal(
                f'{name} has no readable verdict of a judge "{request.judge}". {there_are}'
            )
        votes, options = gather_verdicts(verdicts, recipe)
        return Source(name=name, votes=votes, recipe=replace(recipe, options=options))
    options = request.choose_options(recipe)
    voters = store.votes.count_voters(since=request.since, until=request.until)
    found = _read_votes(store, request, options)
    if found is None:
        raise _explain_no_votes(name, request, voters)
    remarks: tuple[str, ...] = ()
    if request.style and isinstance(found, Votes):
        kept = found.drop_absent_covariates()
        alike = [told for told in found.covariate_names if told not in kept.covariate_names]
        if alike and kept.covariates is not None:
            remarks = (f"not adjusted for {', '.join(alike)}: all answers are alike in it",)
            found = kept
    return Source(name=name, votes=found, recipe=recipe, voters=voters, remarks=remarks)


def _explain_no_votes(name: str, request: Request, voters: int) -> Refusal:
    times = say_times(request)
    if request.style and voters:
        return Refusal(
            f"{name} has votes{times}, but none whose answers are on record, which "
            "--style needs. Leave it out."
        )
    return Refusal(f"{name} has no vote that counts{times}. Vote, then rank.")


def _read_votes(store: Store, request: Request, options: Options) -> Comparisons | Votes | None:
    """Counts where those are enough; `None` where no vote counts."""
    times = {"since": request.since, "until": request.until}
    if request.style:
        voted = store.answers.read(since=request.since, until=request.until)
        votes = measure_votes(voted, request.style)
        if votes is None or options.cluster:
            return votes
        return replace(votes, voter=None)
    asked: dict[Detail, bool] = {
        "voter_id": options.cluster,
        "probability": options.weights == "design",
        "day": bool(set(request.by) & set(PERIODS)),
        "category": "category" in request.by,
        "language": "language" in request.by,
    }
    details = [name for name, is_asked in asked.items() if is_asked]
    if details:
        return _expand(store.votes.by_detail(details, **times), details)
    counts = store.votes.by_outcome(**times)
    return Comparisons.from_counts(*zip(*counts, strict=True)) if counts else None


def _check_database(url: str) -> str:
    """The database's name without its password; a missing SQLite file is not created."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except ArgumentError:
        raise Refusal(
            f'"{url}" is not a database URL. Write for example '
            "sqlite:////srv/arena/arena.db, or the path of an SQLite file."
        ) from None
    if parsed.get_backend_name() == "sqlite" and not Path(parsed.database or "").is_file():
        raise Refusal(
            f"there is no database {parsed.database or url} yet. Name one with --database, "
            "or let arena up make it."
        )
    return parsed.render_as_string(hide_password=True)


def _expand(counts: Sequence[DetailedCount], details: Sequence[Detail]) -> Votes | None:
    """One row a vote, as `ranking` wants where voters, weights or groups matter."""
    if not counts:
        return None
    repeated = np.repeat(np.arange(len(counts)), [count.votes for count in counts])
    columns = {
        name: np.array([getattr(count, name) for count in counts], dtype=object)[repeated]
        for name in ("model_a", "model_b", "outcome", *details)
    }
    chance = columns.get("probability")
    day = columns.get("day")
    return Votes.from_columns(
        columns["model_a"],
        columns["model_b"],
        columns["outcome"],
        voter=columns.get("voter_id"),
        draw_probability=None if chance is None else chance.astype(float),
        time=None if day is None else _seconds(day),
        groups={name: columns[name] for name in RECORDED_GROUPS if name in columns},
    )


def _seconds(days: NDArray[Any]) -> NDArray[np.float64]:
    """Midnight (UTC) of each day, in seconds since 1970."""
    return np.asarray(days.astype("datetime64[s]").astype(np.int64), dtype=float)
