"""What `arena simulate` writes: a table, JSON and a picture."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Literal

import typer

import arena
from arena.cli.preflight import explain
from arena.cli.rank.options import check_folder
from arena.cli.refusals import Refusal
from arena.cli.terminal import find_width, render_text, text_table
from arena.writing import draft_of, write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ranking.pairing.study import PolicyResult, Spread, Study

__all__ = ["SUFFIXES", "check_plot", "write"]

Format = Literal["table", "json"]
SUFFIXES: dict[str, Format] = {".txt": "table", ".json": "json"}

_PICTURES = (".html", ".png", ".svg", ".pdf")
_GOALS = {"resolved": "resolved", "tau": "τ", "error": "error"}


def check_plot(plot: Path | None) -> None:
    """Refuses a picture that cannot be written, before the work instead of after it."""
    if plot is None:
        return
    from importlib.util import find_spec

    check_folder(plot)
    if plot.suffix.lower() not in _PICTURES:
        raise Refusal(f"--plot {plot}: end the name in {', '.join(_PICTURES)}.")
    if plot.suffix.lower() != ".html" and find_spec("kaleido") is None:
        raise Refusal(
            f"--plot {plot}: {plot.suffix} files need kaleido. Install it "
            "(pip install kaleido), or end the name in .html."
        )


def write(
    study: Study,
    results: Sequence[PolicyResult],
    form: Format,
    output: Path | None,
    plot: Path | None,
) -> None:
    """Writes the figures, and the picture beside them.

    Raises:
        Refusal: a file cannot be written.
    """
    text = _render_json(study, results) if form == "json" else _render_table(study, results, output)
    try:
        if output is None:
            typer.echo(text, nl=False)
        else:
            write_whole(output, text)
            typer.echo(f"Wrote {output}.")
        if plot is not None:
            _draw(results, plot)
            typer.echo(f"Wrote {plot}.", err=output is None)
    except OSError as error:
        raise Refusal(
            f"{error.filename or output} cannot be written ({explain(error)}). Name another."
        ) from None


def _draw(results: Sequence[PolicyResult], plot: Path) -> None:
    from ranking.plots import plot_pairing, save_picture

    with draft_of(plot) as draft:
        save_picture(plot_pairing(results), draft)


def _render_json(study: Study, results: Sequence[PolicyResult]) -> str:
    drawing = study.drawings[0]
    bounds = drawing.constraints
    content = {
        "code_version": arena.__version__,
        "study": {
            "models": study.models,
            "votes": study.votes,
            "arenas": study.arenas,
            "strengths": list(study.pool) or f"normal, standard deviation {study.spread:g}",
            "refit_every": drawing.refit_every,
            "tie": study.crowd.tie,
            "careless": study.crowd.careless,
            "fans": study.crowd.fans,
            "favourite": study.favourite,
            "largest_share": bounds.largest.get(0) if bounds else None,
            "least_share": bounds.least.get(0) if bounds else None,
            "newcomer_after": study.head_start,
            "seed": study.seed,
        },
        "policies": [result.to_dict() for result in results],
    }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _render_table(study: Study, results: Sequence[PolicyResult], output: Path | None) -> str:
    rows = [_cells(result, study) for result in results]
    titles = list(rows[0])
    table = text_table(titles, [list(cells.values()) for cells in rows], right=titles[1:])
    return render_text([table, _caption(study)], width=find_width(output))


def _cells(result: PolicyResult, study: Study) -> dict[str, str]:
    """A result as a person reads it, by column title."""
    cells = {
        "Policy": result.policy,
        "Pairs resolved": f"{result.resolved.median:.1%}",
        "uniform needs": _times(result.average_needs["resolved"]),
        "Kendall's τ": f"{result.tau.median:.3f}",
        "uniform needs ": _times(result.average_needs["tau"]),
        "Score error": f"{result.error.median:.1f}",
        "uniform needs  ": _times(result.average_needs["error"]),
        "95 % intervals hold": f"{result.covered:.1%}",
    }
    for goal, votes in result.goals.items():
        measure, _, value = goal.partition(" ")
        cells[f"Votes to {_GOALS[measure]} {value}"] = _votes(votes.median)
    if result.newcomer is not None:
        cells["Votes to know a newcomer"] = _votes(result.newcomer.median)
    if study.crowd.fans:
        cells["Favourite's share"] = f"{result.least_share:.1%} – {result.largest_share:.1%}"
    return cells


def _times(spread: Spread) -> str:
    return f"{spread.median:.2f}× ({spread.lower:.2f}–{spread.upper:.2f})"


def _votes(votes: float) -> str:
    return f"{votes:,.0f}" if isfinite(votes) else "not reached"


def _caption(study: Study) -> str:
    """How it was simulated, in one line."""
    from ranking.pairing.study import HORIZON

    crowd, drawing = study.crowd, study.drawings[0]
    shares = {"tie ν": crowd.tie, "careless": crowd.careless, "fans": crowd.fans}
    parts = (
        f"Medians (quartiles) of {study.arenas} arenas",
        f"{study.models} models and {study.votes:,} votes each",
        f"strengths drawn from {len(study.pool)}" if study.pool else f"normal, SD {study.spread:g}",
        f"refitted every {drawing.refit_every:,} votes",
        f"exploration {drawing.exploration:g}",
        *(f"{name} {value:g}" for name, value in shares.items() if value),
        f"“uniform needs”: votes for the same under uniform drawing, {HORIZON} for more",
    )
    return "; ".join(parts)
