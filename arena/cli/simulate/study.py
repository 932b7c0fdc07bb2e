"""What `arena simulate` is asked for, as a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from arena.cli.preflight import explain
from arena.cli.refusals import Refusal
from ranking import RankingError
from ranking.pairing.constraints import PairConstraints
from ranking.pairing.play import Crowd, Drawing
from ranking.pairing.policies import POLICIES
from ranking.pairing.strength_files import read_strengths
from ranking.pairing.study import Study

if TYPE_CHECKING:
    from pathlib import Path

    from ranking.pairing.study import Measure, Place
    from ranking.tables.table import FileOptions

__all__ = ["StudyRequest", "build_study"]

_VOTES_PER_MODEL = 800
_FITS = 160
_MODELS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRequest:
    """The options, named as on the command line; `None` where one was left out."""

    file: Path | None
    column: str | None
    options: FileOptions
    models: int | None
    votes: int | None
    policies: tuple[str, ...]
    exploration: float
    arenas: int
    spread: float
    refit_every: int | None
    tie: float
    careless: float
    fans: float
    favourite: Place
    largest_share: float | None
    least_share: float | None
    resolved: float | None
    tau: float | None
    error: float | None
    newcomer: int | None
    seed: int

    @property
    def goals(self) -> tuple[tuple[Measure, float], ...]:
        """The values for which votes are counted."""
        wanted: dict[Measure, float | None] = {
            "resolved": self.resolved, "tau": self.tau, "error": self.error,
        }  # fmt: skip
        return tuple((name, value) for name, value in wanted.items() if value is not None)


def build_study(request: StudyRequest) -> Study:
    """The study that was asked for.

    Raises:
        Refusal: the file cannot be read, or a value is out of its range.
    """
    if not 0 < request.exploration <= 1:
        raise Refusal(
            f"--exploration {request.exploration:g} is not above 0 and up to 1. "
            "Write for example 0.1."
        )
    for policy in request.policies:
        if policy not in POLICIES:
            raise Refusal(f'--policy "{policy}" is unknown. There are: {", ".join(POLICIES)}.')
    pool = _read_pool(request)
    models = request.models or len(pool) or _MODELS
    votes = request.votes or _VOTES_PER_MODEL * models
    try:
        constraints = _bound(models, request)
        return Study(
            drawings=tuple(
                Drawing(
                    policy=policy,
                    exploration=request.exploration,
                    refit_every=request.refit_every or max(1, votes // _FITS),
                    constraints=constraints,
                )
                for policy in request.policies or POLICIES
            ),
            votes=votes,
            arenas=request.arenas,
            models=models,
            pool=pool,
            spread=request.spread,
            crowd=Crowd(tie=request.tie, careless=request.careless, fans=request.fans),
            favourite=request.favourite,
            goals=request.goals,
            head_start=request.newcomer,
            seed=request.seed,
        )
    except (RankingError, ValueError) as error:
        raise Refusal(f"{error}.") from None


def _read_pool(request: StudyRequest) -> tuple[float, ...]:
    if request.file is None:
        if request.column is not None:
            raise Refusal(f"--column {request.column} names a column of a file. Name the file.")
        return ()
    try:
        found = read_strengths(request.file, column=request.column, options=request.options)
    except OSError as error:
        raise Refusal(
            f"{request.file} cannot be read ({explain(error)}). Name another file."
        ) from None
    except RankingError as error:
        raise Refusal(f"{request.file}: {str(error).rstrip('.')}. Correct the file.") from None
    for line in found.told:
        typer.echo(f"arena: {line}", err=True)
    return tuple(found.strengths.values())


def _bound(models: int, request: StudyRequest) -> PairConstraints | None:
    """The same bounds for every model, if any."""
    if request.largest_share is None and request.least_share is None:
        return None
    largest, least = (
        {} if share is None else dict.fromkeys(range(models), share)
        for share in (request.largest_share, request.least_share)
    )
    names = [f"model {i + 1}" for i in range(models)]
    return PairConstraints(names=names, largest=largest, least=least)
