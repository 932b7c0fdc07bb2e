"""Pictures of a leaderboard as plotly figures."""

from __future__ import annotations

import math
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ranking.boards.diagnostics import Calibration, Drift
from ranking.boards.leaderboard import Leaderboard
from ranking.checks import check_kind, take_path
from ranking.errors import RankingError
from ranking.pairing.study import PolicyResult

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import plotly.graph_objects as go

    from ranking.boards.entries import Entry

_ROW_HEIGHT = 26
_CELL = 30
# Plotly leaves names out of an axis that it finds crowded.
_EVERY_NAME = {"dtick": 1, "automargin": True}


def plot_intervals(board: Leaderboard) -> go.Figure:
    """Scores with their intervals, best on top; provisional models hollow."""
    import plotly.graph_objects as go

    entries = _take_board(board).entries[::-1]
    level = f"{board.method.get('level', 0.95):.0%}"
    figure = go.Figure(
        go.Scatter(
            x=[e.score for e in entries],
            y=_name_by_island(entries),
            mode="markers",
            marker={"symbol": ["circle-open" if e.provisional else "circle" for e in entries]},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [max(e.upper - e.score, 0.0) for e in entries],
                "arrayminus": [max(e.score - e.lower, 0.0) for e in entries],
            },
            customdata=[
                [e.lower, e.upper, e.rank_lower, e.rank_upper, e.votes, board.describe_rank(e)]
                for e in entries
            ],
            hovertemplate=(
                "%{y}<br>score %{x:.0f}, " + level + " interval %{customdata[0]:.0f} to "
                "%{customdata[1]:.0f}<br>rank %{customdata[5]}, between %{customdata[2]} and "
                "%{customdata[3]}, %{customdata[4]} votes<extra></extra>"
            ),
        )
    )
    figure.update_layout(
        title=f"Score with {level} interval",
        xaxis_title="score",
        yaxis=_EVERY_NAME,
        height=140 + _ROW_HEIGHT * len(entries),
        showlegend=False,
    )
    return figure


def plot_win_rates(board: Leaderboard) -> go.Figure:
    """Share of battles won by the row model against the column model."""
    return _heat_map(
        _take_board(board),
        board.win_rates,
        title="Share of battles won by the row model (ties as halves)",
        hover="%{y} against %{x}: %{z:.0%}<extra></extra>",
        number_format=".0%",
        scale={"colorscale": "RdBu", "zmin": 0.0, "zmax": 1.0, "zmid": 0.5},
    )


def plot_battle_counts(board: Leaderboard) -> go.Figure:
    """Battles of each pair."""
    return _heat_map(
        _take_board(board),
        [[count or None for count in row] for row in board.battles],
        title="Battles of each pair",
        hover="%{y} against %{x}: %{z} battles<extra></extra>",
        number_format="d",
        scale={"colorscale": "Blues", "zmin": 0},
    )


def plot_rank_ranges(board: Leaderboard) -> go.Figure:
    """The ranks each model may have, all at once at the board's level."""
    import plotly.graph_objects as go

    entries = _take_board(board).entries[::-1]
    level = f"{board.method.get('level', 0.95):.0%}"
    figure = go.Figure(
        go.Scatter(
            x=[e.rank for e in entries],
            y=_name_by_island(entries),
            mode="markers",
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [e.rank_upper - e.rank for e in entries],
                "arrayminus": [e.rank - e.rank_lower for e in entries],
            },
            customdata=[[e.rank_lower, e.rank_upper, board.describe_rank(e)] for e in entries],
            hovertemplate="%{y}<br>rank %{customdata[2]}, between %{customdata[0]} and "
            "%{customdata[1]}<extra></extra>",
        )
    )
    figure.update_layout(
        title=f"With {level} confidence every model's rank lies in its range",
        xaxis={"title": "rank", "rangemode": "tozero"},
        yaxis=_EVERY_NAME,
        height=140 + _ROW_HEIGHT * len(entries),
        showlegend=False,
    )
    return figure


def plot_calibration(calibration: Calibration) -> go.Figure:
    """Observed against predicted win rates of held-out votes."""
    import plotly.graph_objects as go

    curve = check_kind(calibration, Calibration, "calibration", "measure_calibration(votes)").curve
    largest = max(b.votes for b in curve)
    figure = go.Figure(
        [
            go.Scatter(x=[0, 1], y=[0, 1], mode="lines", line={"dash": "dot"}, hoverinfo="skip"),
            go.Scatter(
                x=[b.predicted for b in curve],
                y=[b.observed for b in curve],
                mode="markers+lines",
                marker={"size": [6 + 18 * (b.votes / largest) ** 0.5 for b in curve]},
                customdata=[b.votes for b in curve],
                hovertemplate="predicted %{x:.0%}, observed %{y:.0%} of %{customdata} votes"
                "<extra></extra>",
            ),
        ]
    )
    error = calibration.bradley_terry.calibration_error
    figure.update_layout(
        title=f"Calibration on {calibration.votes} held-out votes, error {error:.1%}",
        xaxis={"title": "predicted chance that the left answer wins", "range": [0, 1]},
        yaxis={"title": "share that did", "range": [0, 1]},
        showlegend=False,
    )
    return figure


def plot_drift(drift: Drift) -> go.Figure:
    """Each model's strength by window of time, with standard errors."""
    import plotly.graph_objects as go

    check_kind(drift, Drift, "drift", "measure_drift(votes)")
    windows = [f"{i + 1}" for i in range(len(drift.strengths))]
    traces = [
        go.Scatter(
            name=_escape(name),
            x=windows,
            y=_blank_missing(drift.strengths[:, column].tolist()),
            error_y={"array": _blank_missing(drift.standard_errors[:, column].tolist())},
            mode="lines+markers",
        )
        for column, name in enumerate(drift.models)
    ]
    figure = go.Figure(traces)
    figure.update_layout(
        title="Strength by window of time, with standard errors",
        xaxis_title="window",
        yaxis_title="strength, log-odds",
    )
    return figure


def plot_pairing(results: Sequence[PolicyResult]) -> go.Figure:
    """How much each way of drawing pairs knows after how many votes, means over arenas."""
    import plotly.graph_objects as go
    from plotly.colors import qualitative
    from plotly.subplots import make_subplots

    results = [
        check_kind(result, PolicyResult, "each result", "compare_policies(study)")
        for result in results
    ]
    titles = {
        "resolved": "share of pairs resolved",
        "tau": "Kendall's τ with the true order",
        "error": "score error, points",
    }
    figure = make_subplots(rows=1, cols=3, subplot_titles=tuple(titles.values()))
    for i, result in enumerate(results):
        for column, measure in enumerate(titles, start=1):
            trace = go.Scatter(
                x=result.course["votes"],
                y=result.course[measure],
                name=result.policy,
                legendgroup=result.policy,
                showlegend=column == 1,
                mode="lines",
                line={"color": qualitative.Safe[i % len(qualitative.Safe)]},
            )
            figure.add_trace(trace, row=1, col=column)
    figure.update_xaxes(title="votes", rangemode="tozero")
    figure.update_yaxes(type="log", row=1, col=3)
    figure.update_layout(height=420, legend={"orientation": "h", "y": -0.25})
    return figure


def save_picture(figure: go.Figure, path: str | Path) -> None:
    """Write a figure as .html, .png, .svg or .pdf; the last three need kaleido."""
    if not hasattr(figure, "write_image"):
        raise RankingError(
            f"figure must be a plotly figure, not {type(figure).__name__}: make one by "
            "plot_intervals(board)"
        )
    target = take_path(path)
    if target.suffix == ".html":
        figure.write_html(target, include_plotlyjs=True)
        return
    if target.suffix not in (".png", ".svg", ".pdf"):
        raise RankingError(
            f"a picture is .html, .png, .svg or .pdf, and not {target.suffix or target.name!r}"
        )
    if find_spec("kaleido") is None:
        raise RankingError(f"{target.suffix} files need kaleido: pip install kaleido")
    try:
        figure.write_image(target)
    except RuntimeError as error:  # plotly's own, where kaleido finds no browser
        raise RankingError(
            f"{target.suffix} files need Chrome or Chromium, and there is none: install it, or "
            "write .html"
        ) from error


def draw_page_figures(board: Leaderboard) -> list[go.Figure]:
    """What a page of its own shows of a board: scores, rank ranges, win rates and battles."""
    drawn = (plot_intervals, plot_rank_ranges, plot_win_rates, plot_battle_counts)
    return [draw(board) for draw in drawn]


def _escape(name: str) -> str:
    """A name as it is: plotly reads tags and entities in texts."""
    return escape(name, quote=False)


def _take_board(board: Leaderboard) -> Leaderboard:
    return check_kind(board, Leaderboard, "board", "compute_leaderboard(votes)")


def _name_by_island(entries: Sequence[Entry]) -> list[str] | list[list[str]]:
    """Names along an axis, under those of their groups where there are several."""
    names = [_escape(entry.model) for entry in entries]
    if all(entry.island == 0 for entry in entries):
        return names
    return [[f"group {entry.island_label}" for entry in entries], names]


def _blank_missing(values: list[float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]


def _heat_map(
    board: Leaderboard,
    values: object,
    *,
    title: str,
    hover: str,
    number_format: str,
    scale: dict[str, object],
) -> go.Figure:
    import plotly.graph_objects as go

    names = [_escape(name) for name in board.models]
    legible = len(names) <= 25
    figure = go.Figure(
        go.Heatmap(
            z=values,
            x=names,
            y=names,
            hoverongaps=False,
            hovertemplate=hover,
            texttemplate="%{z:" + number_format + "}" if legible else None,
            **scale,
        )
    )
    figure.update_layout(
        title=title,
        xaxis=_EVERY_NAME,
        yaxis={"autorange": "reversed", **_EVERY_NAME},
        height=220 + _CELL * len(names),
    )
    return figure
