"""Which votes `arena rank` is asked for, and those of a file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.cli.preflight import explain
from arena.cli.refusals import Refusal
from arena.leaderboards.recipe import DEFAULT_RECIPE, Recipe
from ranking import Comparisons, RankingError, Votes, read_votes
from ranking.boards.options import OptionKeywords
from ranking.boards.split import PERIODS
from ranking.tables.table import FileOptions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from ranking import Options

__all__ = ["Request", "Source", "describe_times", "read_file", "say_times"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Which votes, and what must be known of each.

    Attributes:
        by: groups that boards are split by.
        columns: a file's columns by what they hold, where their names do not tell.
        style: what strengths are adjusted for: columns of a file, or features of answers.
        judge: whose verdicts are ranked instead of people's votes, `None` for the latter.
        changes: options of the leaderboard that were asked for.
        since: no vote before this time.
        until: no vote at this time or after it.
        skip_bad_rows: leave out rows of a file that cannot be counted.
        outcomes: what labels of a file mean.
        file: what else is known of a file.
    """

    by: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    style: tuple[str, ...] = ()
    judge: str | None = None
    changes: OptionKeywords = field(default_factory=OptionKeywords)
    since: datetime | None = None
    until: datetime | None = None
    skip_bad_rows: bool = False
    outcomes: Mapping[str, str] = field(default_factory=dict)
    file: FileOptions = field(default_factory=FileOptions)

    def list_file_options(self) -> dict[str, bool]:
        """Options that mean something for a file only, and whether they were given."""
        return {
            "--column": bool(self.columns),
            "--outcome": bool(self.outcomes),
            "--encoding": self.file.encoding is not None,
            "--separator": self.file.separator is not None,
            "--no-header": not self.file.header,
            "--skip-bad-rows": self.skip_bad_rows,
        }

    def list_needs(self) -> set[str]:
        """What must be known of every vote of a file."""
        needs = {"voter"} if self.changes.get("cluster") else set()
        if self.since or self.until or set(self.by) & set(PERIODS):
            needs.add("time")
        is_designed = self.changes.get("weights") == "design"
        return needs | ({"draw_probability"} if is_designed else set())

    def choose_options(self, recipe: Recipe) -> Options:
        """The recipe's options, changed by those that were asked for."""
        return (recipe.style if self.style else recipe.options).change(**self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The votes, and where they come from.

    Attributes:
        name: the file, or the database without its password.
        votes: single votes, or counts where those are enough.
        described: the same for the record: names, times, the last vote's number.
        recipe: how the leaderboards of those votes are made where nothing is asked for.
        rejected: rows left out, by reason.
        told: how a file was read, in sentences.
        voters: how many voted, where the votes do not say who.
        remarks: what else was left out, and why.
    """

    name: str
    votes: Comparisons | Votes
    described: dict[str, Any] = field(default_factory=dict)
    recipe: Recipe = DEFAULT_RECIPE
    rejected: dict[str, int] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    voters: int | None = None
    remarks: tuple[str, ...] = ()

    @property
    def models(self) -> int:
        """How many models have votes."""
        return len(self.votes.models)

    @property
    def votes_in_all(self) -> int:
        """How many votes there are."""
        return self.votes.votes if isinstance(self.votes, Comparisons) else len(self.votes)


def read_file(path: Path, request: Request) -> Source:
    """The votes of a file.

    Raises:
        Refusal: it cannot be read, a row cannot be counted, or it lacks what is asked for.
    """
    groups = [name for name in request.by if name not in PERIODS]
    try:
        reading = read_votes(
            path,
            columns=request.columns,
            groups=groups,
            covariates=request.style,
            skip_bad_rows=request.skip_bad_rows,
            outcomes=request.outcomes,
            needs=request.list_needs(),
            weighted=request.changes.get("weights") != "uniform",
            options=request.file,
        )
    except OSError as error:
        raise Refusal(f"{path} cannot be read ({explain(error)}). Name another file.") from None
    except RankingError as error:
        raise Refusal(f"{path}: {str(error).rstrip('.')}.") from None
    votes, rejected = reading.votes, dict(reading.rejected)
    if isinstance(votes, Comparisons):
        _refuse_details(path, request)
    else:
        votes = _check_details(path, _select_time(path, votes, request, rejected), request)
    report = replace(reading.report, left_out={**reading.report.left_out, **rejected})
    return Source(
        name=str(path),
        votes=votes,
        described={**report.to_dict(), **describe_times(request)},
        rejected=rejected,
        told=tuple(report.to_lines()),
    )


def _select_time(path: Path, votes: Votes, request: Request, rejected: dict[str, int]) -> Votes:
    if request.since is None and request.until is None:
        return votes
    if votes.time is None:
        option = "--since" if request.since else "--until"
        raise Refusal(f"{path} has no column of times, which {option} needs. Leave it out.")
    kept = np.isfinite(votes.time)
    if not kept.all():
        rejected["no time, which --since and --until need"] = int((~kept).sum())
    if request.since is not None:
        kept &= votes.time >= request.since.timestamp()
    if request.until is not None:
        kept &= votes.time < request.until.timestamp()
    if not kept.any():
        raise Refusal(f"{path} has no vote{say_times(request)}. Choose another time.")
    return votes.select(kept).drop_absent_models()


def _check_details(path: Path, votes: Votes, request: Request) -> Votes:
    if request.changes.get("cluster") and votes.voter is None:
        raise Refusal(f"{path} has no column of voters, which --cluster needs. Leave it out.")
    if request.changes.get("weights") == "design" and votes.draw_probability is None:
        raise Refusal(
            f"{path} has no column draw_probability, which --weights design needs. Leave it out."
        )
    if votes.time is None and set(request.by) & set(PERIODS):
        raise Refusal(f"{path} has no column of times, which --by {request.by[0]} needs.")
    return votes


def _refuse_details(path: Path, request: Request) -> None:
    """Counts know pairs and outcomes, nothing else."""
    asked = {
        "--cluster": request.changes.get("cluster"),
        "--weights design": request.changes.get("weights") == "design",
        "--style": request.style,
        "--by": request.by,
        "--since": request.since,
        "--until": request.until,
    }
    for option, is_asked in asked.items():
        if is_asked:
            raise Refusal(f"{path} holds counts, and {option} needs single votes. Leave it out.")


def describe_times(request: Request) -> dict[str, str]:
    """The ends of the time asked for, by name."""
    times = {"since": request.since, "until": request.until}
    return {name: time.isoformat() for name, time in times.items() if time is not None}


def say_times(request: Request) -> str:
    """The same as the end of a sentence."""
    return "".join(f" {name} {time}" for name, time in describe_times(request).items())
