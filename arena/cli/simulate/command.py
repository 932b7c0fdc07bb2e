"""`arena simulate`: what a way of drawing pairs would save, on arenas with known strengths."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from arena.cli import files

__all__ = ["EXAMPLES", "simulate"]

# Empty lines between: the help folds the others into one.
EXAMPLES = """Examples:

arena simulate --models 20 --votes 16000 --policy tempered --policy closest

arena simulate board.json --tie 0.6 --careless 0.05 --plot courses.html

arena simulate --models 20 --newcomer 10000 --resolved 0.9 --format json --output saved.json
"""
FileArgument = Annotated[
    Path | None,
    typer.Argument(
        help="True strengths: a leaderboard as arena rank writes it (.json), or a table with model "
        "and strength or score. Normal ones if none.",
        show_default=False,
    ),
]
ColumnOption = Annotated[
    str | None, typer.Option(help="The table's column of strengths, log-odds.", show_default=False)
]
EncodingOption = files.EncodingOption
SeparatorOption = files.SeparatorOption
ModelsOption = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="Models of an arena, drawn anew for each from the file's; all of them, or 20 "
        "without a file.",
        show_default=False,
    ),
]
VotesOption = Annotated[
    int | None,
    typer.Option(min=1, help="Votes of an arena; 800 a model if none.", show_default=False),
]
PolicyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        help="To compare: uniform, closest, variance, information, uncertainty or tempered; repeat "
        "for more. All of them if none.",
    ),
]
ExplorationOption = Annotated[float, typer.Option(help="Share of draws that stay uniform.")]
ArenasOption = Annotated[int, typer.Option(min=1, help="Arenas to play.")]
SpreadOption = Annotated[
    float, typer.Option(min=0.0, help="Standard deviation of normal strengths, log-odds.")
]
RefitOption = Annotated[
    int | None,
    typer.Option(
        "--refit-every",
        min=1,
        help="Votes from one fit to the next; a 160th of all if none.",
        show_default=False,
    ),
]
TieOption = Annotated[float, typer.Option(help="Davidson's ν: equals tie with odds of ν to 2.")]
CarelessOption = Annotated[float, typer.Option(help="Share of votes that are coin flips.")]
FansOption = Annotated[
    float,
    typer.Option(help="Share of votes by people who recognise one model and always vote for it."),
]
FavouriteOption = Annotated[
    Literal["best", "middle", "worst"], typer.Option(help="Which model these vote for.")
]
LargestOption = Annotated[
    float | None, typer.Option(help="Largest share of the draws that any model may have.")
]
LeastOption = Annotated[
    float | None, typer.Option(help="Least share of the draws that every model has.")
]
ResolvedOption = Annotated[
    float | None, typer.Option(help="Count votes up to this share of resolved pairs.")
]
TauOption = Annotated[float | None, typer.Option(help="Count votes up to this Kendall's τ.")]
ErrorOption = Annotated[
    float | None, typer.Option(help="Count votes down to this score error, points.")
]
NewcomerOption = Annotated[
    int | None,
    typer.Option(
        metavar="VOTES",
        min=1,
        help="Also let a new model arrive after so many votes on the others.",
        show_default=False,
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="The same seed gives the same figures.")]
ProcessesOption = Annotated[
    int | None,
    typer.Option(min=1, help="Processes to use; one a core if none.", show_default=False),
]
FormatOption = Annotated[
    Literal["table", "json"] | None,
    typer.Option("--format", help="How to write it; by --output's suffix, or a table."),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write it to this file, whole or not at all.")
]
PlotOption = Annotated[
    Path | None,
    typer.Option(help="Also draw what is known after how many votes: .html, .png, .svg or .pdf."),
]


def simulate(
    file: FileArgument = None,
    *,
    column: ColumnOption = None,
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    models: ModelsOption = None,
    votes: VotesOption = None,
    policy: PolicyOption = None,
    exploration: ExplorationOption = 0.1,
    arenas: ArenasOption = 30,
    spread: SpreadOption = 0.61,
    refit_every: RefitOption = None,
    tie: TieOption = 0.0,
    careless: CarelessOption = 0.0,
    fans: FansOption = 0.0,
    favourite: FavouriteOption = "worst",
    largest_share: LargestOption = None,
    least_share: LeastOption = None,
    resolved: ResolvedOption = None,
    tau: TauOption = None,
    error: ErrorOption = None,
    newcomer: NewcomerOption = None,
    seed: SeedOption = 0,
    processes: ProcessesOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
    plot: PlotOption = None,
) -> None:
    """Play arenas with known strengths, and tell which way of drawing pairs saves votes."""
    from arena.cli.rank.options import check_folder
    from arena.cli.refusals import Refusal, refusing
    from arena.cli.simulate.output import SUFFIXES, check_plot, write
    from arena.cli.simulate.study import StudyRequest, build_study
    from arena.cli.terminal import show_progress
    from arena.cli.writing import choose_format
    from ranking import RankingError
    from ranking.pairing.study import compare_policies
    from ranking.tables.table import FileOptions

    with refusing():
        chosen = choose_format(form, output, SUFFIXES, usual="table")
        check_folder(output)
        check_plot(plot)
        study = build_study(
            StudyRequest(
                file=file,
                column=column,
                options=FileOptions(encoding=encoding, separator=separator),
                models=models,
                votes=votes,
                policies=tuple(dict.fromkeys(policy or ())),
                exploration=exploration,
                arenas=arenas,
                spread=spread,
                refit_every=refit_every,
                tie=tie,
                careless=careless,
                fans=fans,
                favourite=favourite,
                largest_share=largest_share,
                least_share=least_share,
                resolved=resolved,
                tau=tau,
                error=error,
                newcomer=newcomer,
                seed=seed,
            )
        )
        try:
            with show_progress(f"Playing {study.arenas} arenas", total=0) as bar:
                results = compare_policies(study, processes=processes, progress=bar.fill)
        except (RankingError, ValueError) as problem:
            raise Refusal(f"{problem}.") from None
        write(study, results, chosen, output, plot)
