"""`arena rank`: a leaderboard from the arena's database, or from a file of votes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from arena.cli.rank.output import Ranking
    from arena.cli.rank.votes import Request, Source
    from ranking import Board

__all__ = ["EXAMPLES", "rank"]

# Empty lines between: the help folds the others into one.
EXAMPLES = """Examples:

arena rank --config arena.toml

arena rank votes.csv --cluster voter --format json --output board.json

arena rank votes.jsonl.gz --by language --interval sandwich --level 0.9

arena rank --database arena.db --since 2026-11-01 --anchor "Small model=1000"
"""
FileArgument = Annotated[
    Path | None,
    typer.Argument(
        help="Votes or counts: .csv, .tsv, .json, .jsonl or .parquet, also .gz. "
        "The arena's database if none.",
        show_default=False,
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="Whose database to read.", show_default="arena.toml"),
]
DatabaseOption = Annotated[
    str | None, typer.Option("--database", help="Its URL, or the path of an SQLite file.")
]
ModelOption = Annotated[
    Literal["bradley-terry", "davidson", "rao-kupper"],
    typer.Option(help="How ties are read: as halves, or by one of the two tie models."),
]
IntervalOption = Annotated[
    Literal["bootstrap", "pivot", "sandwich"],
    typer.Option(
        help="Percentiles of a bootstrap, its studentised pivot, or the sandwich formula."
    ),
]
BootstrapOption = Annotated[int, typer.Option("--bootstrap", min=2, help="Replicates of it.")]
LevelOption = Annotated[float, typer.Option(help="Confidence level, between 0 and 1.")]
ClusterOption = Annotated[
    Literal["voter"] | None,
    typer.Option(help="Take a voter's votes as one: votes of one person are not independent."),
]
WeightsOption = Annotated[
    Literal["given", "uniform", "design"],
    typer.Option(
        help="The file's own, none, or the inverse draw probability, as if every pair had been "
        "drawn alike."
    ),
]
PriorOption = Annotated[
    str,
    typer.Option(
        metavar="none|SD|fitted",
        help="Standard deviation of each strength, log-odds; fitted is that of the strengths "
        "themselves, as the leaderboard page has it.",
    ),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help="What a file's column holds, where its name does not tell: model_a, model_b, outcome, "
        "voter, weight, draw_probability, time or count; repeat for more.",
    ),
]
StyleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--style",
        metavar="NAME",
        help="Adjust for length, headers, bold or lists of the answers in a database or in a "
        "public file's conv_metadata, or for a file's column of differences (left minus right); "
        "repeat for more.",
    ),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="GROUP",
        help="Also a board for each label of a column (category, language, …), or for each day, "
        "week, month or year; repeat for more.",
    ),
]
MinVotesOption = Annotated[
    int, typer.Option(min=1, help="A part with fewer votes gets no board of its own.")
]
AnchorOption = Annotated[
    str | None,
    typer.Option(metavar="NAME=SCORE", help="Shift the scores so that a model has this one."),
]
SinceOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="No vote before it, such as 2026-11-30.")
]
UntilOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="No vote at this time (UTC) or after it.")
]
BothBadOption = Annotated[
    Literal["tie", "keep", "drop"],
    typer.Option(
        help="Both-bad votes are ties; or an outcome of their own, counted but without a say in "
        "the scores; or taken for not cast."
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="The same seed gives the same intervals.")]
SkipOption = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Leave out bad rows and say how many and why.")
]
FormatOption = Annotated[
    Literal["table", "json", "csv", "md", "html"] | None,
    typer.Option("--format", help="How to write it; by --output's suffix, or a table."),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write it to this file, whole or not at all.")
]


def rank(
    file: FileArgument = None,
    *,
    config: ConfigOption = None,
    database: DatabaseOption = None,
    model: ModelOption = "bradley-terry",
    interval: IntervalOption = "bootstrap",
    bootstrap: BootstrapOption = 1000,
    level: LevelOption = 0.95,
    cluster: ClusterOption = None,
    weights: WeightsOption = "given",
    prior: PriorOption = "3",
    column: ColumnOption = None,
    style: StyleOption = None,
    by: ByOption = None,
    min_votes: MinVotesOption = 100,
    anchor: AnchorOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    both_bad: BothBadOption = "tie",
    seed: SeedOption = 0,
    skip_bad_rows: SkipOption = False,
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Rank models from votes, with intervals, from the arena's database or a file."""
    from arena.cli.rank.options import (
        check_folder,
        check_level,
        read_anchor,
        read_columns,
        read_prior,
        read_time,
    )
    from arena.cli.rank.output import SUFFIXES, find_doubts, render
    from arena.cli.rank.votes import Request
    from arena.cli.refusals import refusing
    from arena.cli.terminal import find_width, show_progress
    from arena.cli.writing import choose_format, write_text

    with refusing():
        request = Request(
            by=tuple(dict.fromkeys(by or ())),
            columns=read_columns(column),
            style=tuple(dict.fromkeys(style or ())),
            cluster=cluster is not None,
            weights=weights,
            since=read_time("--since", since),
            until=read_time("--until", until),
            skip_bad_rows=skip_bad_rows,
        )
        options: dict[str, Any] = {
            "model": model,
            "interval": "sandwich" if interval == "sandwich" else "bootstrap",
            "replicates": bootstrap,
            "bootstrap": "pivot" if interval == "pivot" else "percentile",
            "level": check_level(level),
            "cluster": request.cluster,
            "covariates": bool(request.style),
            "weights": weights,
            "prior": read_prior(prior),
            "both_bad": both_bad,
            "seed": seed,
            "anchor": read_anchor(anchor),
        }
        chosen = choose_format(form, output, SUFFIXES, usual="table")
        check_folder(output)
        with show_progress() as bar:
            bar.say("Reading the votes")
            source = _read(file, config=config, database=database, request=request)
            bar.say(f"Ranking {source.models} models")
            options["progress"] = bar.fill
            ranking = _compute(source, request=request, min_votes=min_votes, options=options)
        _tell_what_is_missing(ranking)
        if chosen == "csv":  # the other formats have room for it
            for doubt in find_doubts(ranking.board):
                typer.echo(f"arena: {doubt}", err=True)
        write_text(render(ranking, chosen, width=find_width(output)), output)


def _read(
    file: Path | None, *, config: Path | None, database: str | None, request: Request
) -> Source:
    from arena.cli.models import DEFAULT_CONFIG
    from arena.cli.rank.votes import read_database, read_file
    from arena.cli.refusals import Refusal
    from arena.settings import load_settings

    named = {"a file": file, "--config": config, "--database": database}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise Refusal(f"{' and '.join(given)} name different votes. Give one of them.")
    if file is not None:
        return read_file(file, request)
    if request.columns:
        raise Refusal("--column names a file's columns, and there is no file. Leave it out.")
    if database is None:
        settings = load_settings(config or DEFAULT_CONFIG, runnable=False)
        return read_database(settings.database.url, request)
    is_url = "://" in database
    return read_database(database if is_url else f"sqlite:///{Path(database).absolute()}", request)


def _compute(
    source: Source, *, request: Request, min_votes: int, options: dict[str, Any]
) -> Ranking:
    from arena.cli.rank.options import check_anchor
    from arena.cli.rank.output import Ranking
    from arena.cli.refusals import Refusal
    from ranking import NoMaximum, RankingError, Votes, compute_boards, compute_leaderboard

    check_anchor(options["anchor"], source.votes.models)
    parts: tuple[Board, ...] = ()
    try:
        if request.by and isinstance(source.votes, Votes):
            # The overall board comes first and has no minimum: it is what was asked for.
            whole, *found = compute_boards(
                source.votes, by=request.by, min_votes=min_votes, **options
            )
            parts = tuple(found)
            board = whole.board or compute_leaderboard(source.votes, **options)
        else:
            board = compute_leaderboard(source.votes, **options)
    except NoMaximum as error:
        raise Refusal(f"{error}. Leave out --prior none.") from None
    except RankingError as error:
        raise Refusal(f"{source.name}: {error}") from None
    return Ranking(source.describe_voters(board), parts, source, min_votes, request.by)


def _tell_what_is_missing(ranking: Ranking) -> None:
    for reason, rows in ranking.source.rejected.items():
        typer.echo(f"arena: left out {rows:,} row{'s' * (rows != 1)}: {reason}", err=True)
    labelled = {part.group for part in ranking.parts}
    for group in ranking.by:
        if group not in labelled:
            typer.echo(f"arena: no board by {group}: no vote has one on record", err=True)
    for part in ranking.parts:
        if part.board is None:
            few = f"{part.votes:,} votes, fewer than --min-votes {ranking.min_votes}"
            one = (
                "one person cast (nearly) all its votes, "
                "which leaves --cluster voter nothing to compare"
            )
            why = few if part.votes < ranking.min_votes else one
            typer.echo(f"arena: no board for {part.group} {part.label}: {why}", err=True)
