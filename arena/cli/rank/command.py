"""`arena rank`: a leaderboard from the arena's database, or from a file of votes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from arena.cli import arenas
from arena.cli.files import (
    EncodingOption,
    HeaderOption,
    OutcomeOption,
    SeparatorOption,
    SkipOption,
    read_columns,
    read_outcomes,
)

if TYPE_CHECKING:
    from arena.cli.rank.output import Ranking
    from arena.cli.rank.votes import Request, Source
    from ranking import BoardPart
    from ranking.boards.options import OptionKeywords
    from ranking.intervals.bootstrap import Progress

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
        help="Votes or counts: CSV and its kin, JSON, JSON Lines or Parquet, also packed; - is "
        "standard input. The arena's database if none.",
        show_default=False,
    ),
]
ConfigOption = arenas.ConfigOption
DataDirOption = arenas.DataDirOption
DatabaseOption = Annotated[
    str | None, typer.Option("--database", help="Its URL, or the path of an SQLite file.")
]
TieModelOption = Annotated[
    Literal["half", "davidson", "rao-kupper"] | None,
    typer.Option(
        help="How ties are read: as half a win each (Bradley-Terry), or by one of two tie models.",
        show_default="half",
    ),
]
IntervalOption = Annotated[
    Literal["bootstrap", "pivot", "sandwich"] | None,
    typer.Option(
        help="Percentiles of a bootstrap, its studentised pivot, or the sandwich formula.",
        show_default="bootstrap, or sandwich with --style",
    ),
]
ReplicatesOption = Annotated[
    int | None,
    typer.Option(min=2, help="Of the bootstrap.", show_default="the arena's, or 1000"),
]
LevelOption = Annotated[
    float | None,
    typer.Option(help="Confidence level, between 0 and 1.", show_default="the arena's, or 0.95"),
]
ClusterOption = Annotated[
    Literal["voter"] | None,
    typer.Option(help="Take a voter's votes as one: votes of one person are not independent."),
]
WeightsOption = Annotated[
    Literal["given", "uniform", "design"] | None,
    typer.Option(
        help="The file's own, none, or the inverse draw probability, as if every pair had been "
        "drawn alike.",
        show_default="given",
    ),
]
PriorOption = Annotated[
    str | None,
    typer.Option(
        metavar="fitted|SD|none",
        help="Standard deviation of each strength, log-odds; fitted is that of the strengths "
        "themselves.",
        show_default="fitted",
    ),
]
JudgeOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Rank by the verdicts of this judge instead of people's votes; "
        "arena judge list has the names.",
    ),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help="What a file's column holds, where its name does not tell: model_a, model_b, outcome, "
        "voter, weight, draw_probability, time, count or id; its name, or its place from 1 on; "
        "repeat for more.",
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
AdjustSideOption = Annotated[
    bool,
    typer.Option(
        "--adjust-side", help="Adjust for the advantage of the left answer, or of the right one."
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
    int | None,
    typer.Option(
        min=1,
        help="A part with fewer votes gets no board of its own.",
        show_default="the arena's, or 100",
    ),
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
    Literal["tie", "keep", "drop"] | None,
    typer.Option(
        help="Both-bad votes are ties; or an outcome of their own, counted but without a say in "
        "the scores; or taken for not cast.",
        show_default="tie",
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(min=0, help="The same seed gives the same intervals.", show_default="0"),
]
FormatOption = Annotated[
    Literal["table", "json", "csv", "md", "html", "png", "svg", "pdf"] | None,
    typer.Option(
        "--format",
        help="How to write it; by --output's suffix, or a table. png, svg and pdf are a picture of "
        "the scores with their intervals.",
    ),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write it to this file, whole or not at all.")
]


def rank(
    file: FileArgument = None,
    *,
    config: ConfigOption = None,
    database: DatabaseOption = None,
    data_dir: DataDirOption = None,
    judge: JudgeOption = None,
    tie_model: TieModelOption = None,
    interval: IntervalOption = None,
    replicates: ReplicatesOption = None,
    level: LevelOption = None,
    cluster: ClusterOption = None,
    weights: WeightsOption = None,
    prior: PriorOption = None,
    column: ColumnOption = None,
    outcome: OutcomeOption = None,
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    header: HeaderOption = True,
    style: StyleOption = None,
    adjust_side: AdjustSideOption = False,
    by: ByOption = None,
    min_votes: MinVotesOption = None,
    anchor: AnchorOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    both_bad: BothBadOption = None,
    seed: SeedOption = None,
    skip_bad_rows: SkipOption = False,
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Rank models from votes, with intervals, from the arena's database or a file."""
    from arena.cli.rank.options import (
        check_folder,
        check_level,
        read_anchor,
        read_prior,
        read_time,
    )
    from arena.cli.rank.output import PICTURES, SUFFIXES, find_doubts, render
    from arena.cli.rank.pictures import check_picture, write_picture
    from arena.cli.rank.source import Place, read_place
    from arena.cli.rank.votes import Request
    from arena.cli.refusals import refusing
    from arena.cli.terminal import find_width, show_progress
    from arena.cli.writing import choose_format, write_text
    from ranking.tables.table import FileOptions
    from ranking.votes.readers import ROLES

    with refusing():
        given: dict[str, Any] = {
            "tie_model": tie_model,
            "interval": interval,
            "replicates": replicates,
            "level": None if level is None else check_level(level),
            "cluster": True if cluster is not None else None,
            "adjust": True if style else None,
            "adjust_side": adjust_side or None,
            "weights": weights,
            "both_bad": both_bad,
            "seed": seed,
            "anchor": read_anchor(anchor),
        }
        changes: dict[str, Any] = {k: value for k, value in given.items() if value is not None}
        if prior is not None:
            changes["prior"] = read_prior(prior)
        request = Request(
            by=tuple(dict.fromkeys(by or ())),
            columns=read_columns(column, ROLES, example="model_a=system_1"),
            style=tuple(dict.fromkeys(style or ())),
            judge=judge,
            changes=cast("OptionKeywords", changes),
            since=read_time("--since", since),
            until=read_time("--until", until),
            skip_bad_rows=skip_bad_rows,
            outcomes=read_outcomes(outcome),
            file=FileOptions(encoding=encoding, separator=separator, header=header),
        )
        chosen = choose_format(form, output, SUFFIXES, usual="table")
        check_folder(output)
        if chosen in PICTURES:
            output = check_picture(chosen, output, by=request.by)
        with show_progress() as bar:
            bar.say("Reading the votes")
            place = Place(file=file, config=config, database=database, data_dir=data_dir)
            source = read_place(place, request)
            bar.say(f"Ranking {source.models} models")
            ranking = _compute(source, request, min_votes=min_votes, progress=bar.fill)
        _tell_what_is_missing(ranking)
        if chosen in PICTURES and output is not None:
            write_picture(ranking.board, output)
            return
        if chosen == "csv":  # the other formats have room for it
            for doubt in (*find_doubts(ranking.board, source), *source.told):
                typer.echo(f"arena: {doubt}", err=True)
        write_text(render(ranking, chosen, width=find_width(output)), output)


def _compute(
    source: Source, request: Request, *, min_votes: int | None, progress: Progress
) -> Ranking:
    from arena.cli.rank.options import check_anchor
    from arena.cli.rank.output import Ranking
    from arena.cli.refusals import Refusal
    from ranking import NoMaximum, RankingError, Votes, compute_boards, compute_leaderboard

    options = request.choose_options(source.recipe)
    least = source.recipe.min_votes if min_votes is None else min_votes
    check_anchor(options.anchor, source.votes.models)
    parts: tuple[BoardPart, ...] = ()
    try:
        if request.by and isinstance(source.votes, Votes):
            # The overall board comes first and has no minimum: it is what was asked for.
            whole, *found = compute_boards(
                source.votes,
                options,
                by=request.by,
                min_votes=least,
                fragility=True,
                progress=progress,
            )
            parts = tuple(found)
            board = whole.board or compute_leaderboard(
                source.votes, options, fragility=True, progress=progress
            )
        else:
            board = compute_leaderboard(source.votes, options, fragility=True, progress=progress)
    except NoMaximum as error:
        # Of its other reasons the message itself says what to do.
        remedy = ". Leave out --prior none." if "use a prior" in str(error) else "."
        raise Refusal(f"{source.name}: {error}{remedy}") from None
    except RankingError as error:
        raise Refusal(f"{source.name}: {error}") from None
    return Ranking(board, parts, source, least, request.by)


def _tell_what_is_missing(ranking: Ranking) -> None:
    for remark in ranking.source.remarks:
        typer.echo(f"arena: {remark}", err=True)
    for reason, rows in ranking.source.rejected.items():
        typer.echo(f"arena: left out {rows:,} row{'s' * (rows != 1)}: {reason}", err=True)
    labelled = {part.group for part in ranking.parts}
    for group in ranking.by:
        if group not in labelled:
            typer.echo(f"arena: no board by {group}: no vote has one on record", err=True)
    for part in ranking.parts:
        if part.board is None:
            typer.echo(
                f"arena: no board for {part.group} {part.label}: {_explain(part, ranking)}",
                err=True,
            )


def _explain(part: BoardPart, ranking: Ranking) -> str:
    if part.votes < ranking.min_votes:
        return f"{part.votes:,} votes, fewer than --min-votes {ranking.min_votes}"
    one = "one person cast (nearly) all its votes"
    if ranking.board.options.adjust:
        return f"its answers are alike in style, or {one}"
    return f"{one}, which leaves --cluster voter nothing to compare"
