"""Where `arena rank` takes its votes from: a file, or counts from the arena's database."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.cli.preflight import explain
from arena.cli.refusals import Refusal
from arena.leaderboards.style import FEATURES, measure_votes
from ranking import Comparisons, InvalidVote, RankingError, Votes, read_votes
from ranking.boards.split import PERIODS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from arena.store import Detail, DetailedCount, Store
    from ranking import Leaderboard
    from ranking.votes.weights import Weighting

__all__ = ["Request", "Source", "read_database", "read_file"]

RECORDED_GROUPS = ("category", "language")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Which votes, and what must be known of each.

    Attributes:
        by: groups that boards are split by.
        columns: a file's columns by what they hold, where their names do not tell.
        style: what strengths are adjusted for: columns of a file, or `FEATURES`.
        cluster: whether voters are told apart.
        weights: what a vote weighs.
        since: no vote before this time.
        until: no vote at this time or after it.
        skip_bad_rows: leave out rows of a file that cannot be counted.
    """

    by: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    style: tuple[str, ...] = ()
    cluster: bool = False
    weights: Weighting = "given"
    since: datetime | None = None
    until: datetime | None = None
    skip_bad_rows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The votes, and where they come from.

    Attributes:
        name: the file, or the database without its password.
        votes: single votes, or counts where those are enough.
        described: the same for the record: names, times, the last vote's number.
        rejected: rows left out, by reason.
        voters: how many voted, where the votes do not say who.
    """

    name: str
    votes: Comparisons | Votes
    described: dict[str, Any]
    rejected: dict[str, int] = field(default_factory=dict)
    voters: int | None = None

    @property
    def models(self) -> int:
        """How many models have votes."""
        return len(self.votes.models)

    def describe_voters(self, board: Leaderboard) -> Leaderboard:
        """The board, saying whether its intervals take votes of one person for independent."""
        if self.voters is None or "voters" in board.diagnostics:
            return board
        ignored = self.voters < board.diagnostics["votes"]
        voters = {"voters": self.voters, "voters_ignored": ignored}
        return replace(board, diagnostics={**board.diagnostics, **voters})


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
        )
    except OSError as error:
        raise Refusal(f"{path} cannot be read ({explain(error)}). Name another file.") from None
    except RankingError as error:
        raise Refusal(_explain_bad_votes(path, error)) from None
    except (ValueError, TypeError) as error:  # pandas' own: the file is not what its suffix says
        reason = str(error).strip().splitlines()[0]
        raise Refusal(f"{path} cannot be read: {reason}. Correct the file.") from None
    votes = reading.votes
    if isinstance(votes, Comparisons):
        _refuse_details(path, request)
    else:
        votes = _check_details(path, _select_time(path, votes, request), request)
    described = {"file": path.name, **_describe_times(request), "rejected": reading.rejected}
    return Source(name=str(path), votes=votes, described=described, rejected=reading.rejected)


def read_database(url: str, request: Request) -> Source:
    """The votes that count in an arena's database, aggregated there.

    Raises:
        Refusal: there is no database, no vote, or it does not record what is asked for.
    """
    from sqlalchemy.engine import make_url

    from arena.store import StoreError, open_store

    name = _check_database(url)
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
    try:
        store = open_store(url)
    except StoreError as error:
        raise Refusal(str(error)) from None
    try:
        last = store.votes.last_id()
        votes = _read_votes(store, request)
        voters = store.votes.count_voters(since=request.since, until=request.until)
    finally:
        store.close()
    if votes is None and request.style and voters:
        raise Refusal(
            f"{name} has votes{_say_times(request)}, but none whose answers are on record, which "
            "--style needs. Leave it out."
        )
    if votes is None:
        raise Refusal(f"{name} has no vote that counts{_say_times(request)}. Vote, then rank.")
    described = {
        "database": make_url(url).render_as_string(hide_password=True),
        **_describe_times(request),
        "last_vote_id": last,
    }
    return Source(name=name, votes=votes, described=described, voters=voters)


def _read_votes(store: Store, request: Request) -> Comparisons | Votes | None:
    """Counts where those are enough; `None` where no vote counts."""
    times = {"since": request.since, "until": request.until}
    if request.style:
        voted = store.answers.read(since=request.since, until=request.until)
        return measure_votes(voted, request.style)
    asked: dict[Detail, bool] = {
        "voter_id": request.cluster,
        "probability": request.weights == "design",
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


def _explain_bad_votes(path: Path, error: RankingError) -> str:
    if isinstance(error, InvalidVote) and error.row is not None:
        return (
            f"{path}: {error} (rows are counted from 0, without a header). "
            "Correct the row, or leave such rows out with --skip-bad-rows."
        )
    hint = " Name it with --column." if str(error).startswith("no column for ") else ""
    return f"{path}: {error}{'.' if hint else ''}{hint}"


def _select_time(path: Path, votes: Votes, request: Request) -> Votes:
    if request.since is None and request.until is None:
        return votes
    if votes.time is None:
        option = "--since" if request.since else "--until"
        raise Refusal(f"{path} has no column of times, which {option} needs. Leave it out.")
    kept = np.ones(len(votes), dtype=bool)
    if request.since is not None:
        kept &= votes.time >= request.since.timestamp()
    if request.until is not None:
        kept &= votes.time < request.until.timestamp()
    if not kept.any():
        raise Refusal(f"{path} has no vote{_say_times(request)}. Choose another time.")
    return votes.select(kept).drop_absent_models()


def _check_details(path: Path, votes: Votes, request: Request) -> Votes:
    if request.cluster and votes.voter is None:
        raise Refusal(f"{path} has no column of voters, which --cluster needs. Leave it out.")
    if request.weights == "design" and votes.draw_probability is None:
        raise Refusal(
            f"{path} has no column draw_probability, which --weights design needs. Leave it out."
        )
    if votes.time is None and set(request.by) & set(PERIODS):
        raise Refusal(f"{path} has no column of times, which --by {request.by[0]} needs.")
    return votes


def _refuse_details(path: Path, request: Request) -> None:
    """Counts know pairs and outcomes, nothing else."""
    asked = {
        "--cluster": request.cluster,
        "--weights design": request.weights == "design",
        "--style": request.style,
        "--by": request.by,
        "--since": request.since,
        "--until": request.until,
    }
    for option, is_asked in asked.items():
        if is_asked:
            raise Refusal(f"{path} holds counts, and {option} needs single votes. Leave it out.")


def _describe_times(request: Request) -> dict[str, str]:
    times = {"since": request.since, "until": request.until}
    return {name: time.isoformat() for name, time in times.items() if time is not None}


def _say_times(request: Request) -> str:
    return "".join(f" {name} {time}" for name, time in _describe_times(request).items())
