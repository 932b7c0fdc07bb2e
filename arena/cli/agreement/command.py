"""`arena agreement`: who agrees with whom, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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
    from collections.abc import Mapping

__all__ = ["EXAMPLES", "agreement"]

# Empty lines between: the help folds the others into one.
EXAMPLES = """Examples:

arena agreement --config arena.toml --assignment pilot

arena agreement judgements.csv

arena agreement judgements.csv --by category --by pair --format md --output report.md

arena agreement verdicts.jsonl --both-orders judge --family gpt-5-mini=openai

arena agreement study.csv --arms --format json
"""
FileArgument = Annotated[
    Path | None,
    typer.Argument(
        help="A long table, one row a judgement, with the columns item, judge, kind, model_a, "
        "model_b and winner; also turn, category, length_a, length_b, seconds, arm, shown. CSV "
        "and its kin, JSON, JSON Lines or Parquet, also packed; - is standard input. The "
        "arena's database if none.",
        show_default=False,
    ),
]
ConfigOption = arenas.ConfigOption
DataDirOption = arenas.DataDirOption
AssignmentOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Only the battles of this assignment in the database."),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help="What a file's column holds, where its name does not tell: its name, or its place "
        "from 1 on; repeat for more.",
    ),
]
KindOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of what kind all judges of a file are."),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="GROUP",
        help="Also by each label of a column (category, turn, …), or by pair of models: pair; "
        "repeat for more.",
    ),
]
OrdersOption = Annotated[
    list[str] | None,
    typer.Option(
        "--both-orders",
        metavar="KIND",
        help="A kind whose judges saw every battle twice, sides swapped, a row for each: two "
        "different verdicts become a tie; repeat for more.",
    ),
]
BothBadOption = Annotated[
    Literal["tie", "keep"],
    typer.Option(help="Count a both-bad verdict as a tie, or as a category of its own."),
]
ArmsOption = Annotated[
    bool,
    typer.Option("--arms", help="Also the effect of showing people a verdict, by arm."),
]
FamilyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--family",
        metavar="NAME=FAMILY",
        help="Family of a model or a judge, to see whether judges favour their own; repeat for "
        "more. A judge named like a model is of its family.",
    ),
]
ReplicatesOption = Annotated[
    int, typer.Option("--replicates", min=2, help="Replicates of the bootstrap.")
]
LevelOption = Annotated[float, typer.Option(help="Confidence level, between 0 and 1.")]
SeedOption = Annotated[int, typer.Option(min=0, help="The same seed gives the same intervals.")]
MinPairsOption = Annotated[
    int,
    typer.Option(min=1, help="A judge or a part with fewer pairs of judgements gets no line."),
]
FormatOption = Annotated[
    Literal["table", "json", "csv", "md"] | None,
    typer.Option("--format", help="How to write it; by --output's suffix, or a table."),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write it to this file, whole or not at all.")
]


def agreement(
    file: FileArgument = None,
    *,
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    assignment: AssignmentOption = None,
    column: ColumnOption = None,
    outcome: OutcomeOption = None,
    kind: KindOption = None,
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    header: HeaderOption = True,
    skip_bad_rows: SkipOption = False,
    by: ByOption = None,
    both_orders: OrdersOption = None,
    both_bad: BothBadOption = "tie",
    arms: ArmsOption = False,
    family: FamilyOption = None,
    replicates: ReplicatesOption = 1000,
    level: LevelOption = 0.95,
    seed: SeedOption = 0,
    min_pairs: MinPairsOption = 20,
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Compare experts, judges and the crowd on the same battles, with intervals."""
    from arena.cli.agreement.output import SUFFIXES, render
    from arena.cli.agreement.source import FileRequest, read_database, read_file, read_pairs
    from arena.cli.rank.options import check_folder, check_level
    from arena.cli.refusals import Refusal, refusing
    from arena.cli.terminal import find_width, show_progress
    from arena.cli.writing import choose_format, write_text
    from ranking import RankingError, agreement_report
    from ranking.agreement.reading import ROLES
    from ranking.tables.table import FileOptions

    with refusing():
        families = read_pairs("--family", family, "gpt-5-mini=openai")
        request = FileRequest(
            columns=read_columns(column, ROLES, example="item=question"),
            outcomes=read_outcomes(outcome),
            by=tuple(dict.fromkeys(by or ())),
            both_orders=tuple(both_orders or ()),
            kind=kind,
            skip_bad_rows=skip_bad_rows,
            options=FileOptions(encoding=encoding, separator=separator, header=header),
        )
        _refuse_strangers(
            {"--config": config, "--data-dir": data_dir, "--assignment": assignment}
            if file is not None
            else request.list_options(),
            source="a file" if file is not None else "the database",
        )
        check_level(level)
        chosen = choose_format(form, output, SUFFIXES, usual="table")
        check_folder(output)
        with show_progress() as bar:
            bar.say("Reading the judgements")
            if file is None:
                source = read_database(config, data_dir=data_dir, assignment=assignment)
            else:
                source = read_file(file, request)
            try:
                report = agreement_report(
                    source.judgements, by=request.by, both_bad=both_bad, families=families,
                    arms=arms, replicates=replicates, level=level, seed=seed,
                    min_pairs=min_pairs, progress=bar.say,
                )  # fmt: skip
            except RankingError as error:
                raise Refusal(f"{source.name}: {error}.") from None
        if not report.agreements:
            typer.echo(
                "arena: no battle was judged by two individuals: there is nothing to compare",
                err=True,
            )
        if chosen == "csv":  # the other formats have room for it
            for line in source.told:
                typer.echo(f"arena: {line}", err=True)
        write_text(render(report, source, chosen, width=find_width(output)), output)


def _refuse_strangers(options: Mapping[str, object], *, source: str) -> None:
    """Refuses options that mean nothing for what is read."""
    from arena.cli.refusals import Refusal

    for name, value in options.items():
        if value:
            raise Refusal(f"{name} means nothing for {source}. Leave it out.")
