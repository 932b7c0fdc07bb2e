"""Pictures of a leaderboard as plotly figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from ranking.leaderboard import Leaderboard

_ROW_HEIGHT = 26
_CELL = 30


def plot_intervals(board: Leaderboard) -> go.Figure:
    """Scores with their intervals, best on top; provisional models hollow."""
    import plotly.graph_objects as go

    entries = board.entries[::-1]
    level = f"{board.method.get('level', 0.95):.0%}"
    figure = go.Figure(
        go.Scatter(
            x=[e.score for e in entries],
            y=[e.model for e in entries],
            mode="markers",
            marker={"symbol": ["circle-open" if e.provisional else "circle" for e in entries]},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [max(e.upper - e.score, 0.0) for e in entries],
                "arrayminus": [max(e.score - e.lower, 0.0) for e in entries],
            },
            customdata=[[e.lower, e.upper, e.rank_lower, e.rank_upper, e.votes] for e in entries],
            hovertemplate=(
                "%{y}<br>score %{x:.0f}, " + level + " interval %{customdata[0]:.0f} to "
                "%{customdata[1]:.0f}<br>rank %{customdata[2]} to %{customdata[3]}, "
                "%{customdata[4]} votes<extra></extra>"
            ),
        )
    )
    figure.update_layout(
        title=f"Score with {level} interval",
        xaxis_title="score",
        height=140 + _ROW_HEIGHT * len(entries),
        showlegend=False,
    )
    return figure


def plot_win_rates(board: Leaderboard) -> go.Figure:
    """Share of battles won by the row model against the column model."""
    return _heat_map(
        board,
        board.win_rates,
        title="Share of battles won by the row model (ties as halves)",
        hover="%{y} against %{x}: %{z:.0%}<extra></extra>",
        number_format=".0%",
        scale={"colorscale": "RdBu", "zmin": 0.0, "zmax": 1.0, "zmid": 0.5},
    )


def plot_battle_counts(board: Leaderboard) -> go.Figure:
    """Battles of each pair."""
    return _heat_map(
        board,
        [[count or None for count in row] for row in board.battles],
        title="Battles of each pair",
        hover="%{y} against %{x}: %{z} battles<extra></extra>",
        number_format="d",
        scale={"colorscale": "Blues", "zmin": 0},
    )


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

    names = list(board.models)
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
        yaxis={"autorange": "reversed"},
        height=220 + _CELL * len(names),
    )
    return figure
