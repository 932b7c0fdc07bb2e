"""The layouts in which the field publishes votes, each as what it makes of a table.

Facts of each layout are those of its own published files and code; see docs/files.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ranking.errors import InvalidVote
from ranking.tables.cells import as_flags, to_text
from ranking.tables.table import fold_column
from ranking.votes.labels import LABELS, UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from ranking.tables.table import Table

__all__ = ["LAYOUTS", "LaidOut", "Layout", "find_layout"]

_UNREAD = LABELS[UNREADABLE]
_VOTE_TYPES = {
    "leftvote": "model_a", "rightvote": "model_b", "tievote": "tie", "bothbad_vote": "both_bad",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class LaidOut:
    """What a layout makes of a table: a row a verdict.

    Attributes:
        columns: Cells by role: model_a, model_b, outcome, and others that the layout knows.
        told: Where each role comes from.
        rows: Row of the table that each verdict comes from, shape (verdicts,).
        labels: Outcomes of labels that only this layout has.
        kind: What kind of judges these are, "" if the layout does not say.
        both_orders: Whether each battle stands twice, with its sides swapped: first all
            verdicts in one order, then all in the other.
        left_out: Rows that are no verdicts, by reason.
        notes: What else a reader should know.
    """

    columns: dict[str, pd.Series]
    told: dict[str, str]
    rows: NDArray[np.intp]
    labels: Mapping[str, int] = field(default_factory=dict)
    kind: str = ""
    both_orders: bool = False
    left_out: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Layout(NamedTuple):
    """A layout.

    Attributes:
        name: As a person calls it.
        needs: Folded names of columns that give it away.
        read: What it makes of a table, from the columns by folded name.
    """

    name: str
    needs: tuple[str, ...]
    read: Callable[[Table, Mapping[str, str]], LaidOut]


def find_layout(table: Table) -> tuple[Layout, dict[str, str]] | None:
    """The layout that a table has, with its columns by folded name; `None` for a plain one."""
    columns: dict[str, str] = {}
    for name in table.columns:
        columns.setdefault(fold_column(name), name)
    for layout in LAYOUTS:
        if set(layout.needs) <= set(columns):
            return layout, columns
    return None


def _column(values: list[Any]) -> pd.Series:
    import pandas as pd

    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return pd.Series(cells)


def _all_rows(table: Table) -> NDArray[np.intp]:
    return np.arange(len(table))


def _read_flags(table: Table, columns: Mapping[str, str]) -> LaidOut:
    """One flag an outcome, and exactly one of them set in a row."""
    known = {
        "winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie",
        "winner_tie_bothbad": "both_bad", "winner_both_bad": "both_bad",
    }  # fmt: skip
    present = {columns[name]: label for name, label in known.items() if name in columns}
    flags = np.stack([as_flags(table.read_text(name)) for name in present])
    labels = np.array(list(present.values()), dtype=object)
    set_flags = (flags == 1).sum(axis=0)
    outcome = labels[flags.argmax(axis=0)]
    outcome[set_flags == 0] = "no flag"
    outcome[set_flags > 1] = "several flags"
    outcome[(flags < 0).any(axis=0)] = "no flag but another value"
    notes = ("both-bad votes are among the ties: this layout does not tell them apart",)
    has_both_bad = "both_bad" in present.values()
    return LaidOut(
        columns={"outcome": _column(outcome.tolist())},
        told={"outcome": ", ".join(present)},
        rows=_all_rows(table),
        notes=() if has_both_bad else notes,
    )


def _read_winner_and_loser(table: Table, columns: Mapping[str, str]) -> LaidOut:
    """Two names, the winner's first; no ties."""
    return LaidOut(
        columns={
            "model_a": table.read_text(columns["winner"]),
            "model_b": table.read_text(columns["loser"]),
            "outcome": _column(["model_a"] * len(table)),
        },
        told={"model_a": columns["winner"], "model_b": columns["loser"], "outcome": "the winner"},
        rows=_all_rows(table),
        notes=("the winner is taken for the left one: sides are not told",),
    )


def _read_chat_log(table: Table, columns: Mapping[str, str]) -> LaidOut:
    """A line an event; the votes among them, names from the conversations where hidden."""
    kinds = table.read_text(columns["type"]).tolist()
    names = table.read(columns["models"]).tolist()
    states = table.read(columns["states"]).tolist() if "states" in columns else [None] * len(kinds)
    rows = np.array([n for n, kind in enumerate(kinds) if kind in _VOTE_TYPES], dtype=np.intp)
    left_out: dict[str, int] = {}
    for kind in kinds:
        if kind not in _VOTE_TYPES:
            reason = f"events of type {kind}, which are no votes"
            left_out[reason] = left_out.get(reason, 0) + 1
    pairs = [_name_pair(names[row], states[row]) for row in rows]
    found = {
        "model_a": _column([pair[0] for pair in pairs]),
        "model_b": _column([pair[1] for pair in pairs]),
        "outcome": _column([_VOTE_TYPES[kinds[row]] for row in rows]),
    }
    told = {"model_a": "models, states", "model_b": "models, states", "outcome": columns["type"]}
    if "tstamp" in columns:
        found["time"] = table.read(columns["tstamp"]).iloc[rows].reset_index(drop=True)
        told["time"] = columns["tstamp"]
    return LaidOut(found, told, rows, left_out=left_out, notes=("addresses (ip) are not read",))


def _name_pair(names: Any, states: Any) -> tuple[str | None, str | None]:  # noqa: ANN401  JSON
    found = [to_text(name) for name in names] if isinstance(names, (list, tuple)) else []
    found = [*found, None, None][:2]
    for side in (0, 1):
        shown = states[side] if isinstance(states, list) and len(states) > side else None
        if not found[side] and isinstance(shown, dict):
            found[side] = to_text(shown.get("model_name"))
    return found[0], found[1]


def _read_chosen_name(table: Table, columns: Mapping[str, str]) -> LaidOut:
    """The chosen model's name, or a flag that both are equal."""
    chosen = table.read_text(columns["chosen_model_name"]).tolist()
    equal = as_flags(table.read_text(columns["both_equal"]))
    outcome = ["tie" if flag == 1 else name for flag, name in zip(equal, chosen, strict=True)]
    return LaidOut(
        columns={"outcome": _column(outcome)},
        told={"outcome": f"{columns['chosen_model_name']}, {columns['both_equal']}"},
        rows=_all_rows(table),
    )


def _refuse_reactions(table: Table, columns: Mapping[str, str]) -> LaidOut:
    del table
    raise InvalidVote(
        f"a row here is a reaction to one message ({columns['refers_to_model']}), not a choice "
        "between two: there are no battles to count. Name the file of votes",
        value="refers_to_model",
    )


def _refuse_single_scores(table: Table, columns: Mapping[str, str]) -> LaidOut:
    del table
    raise InvalidVote(
        f"a row here is the score of one answer ({columns['score']}), not a choice between two: "
        "there are no battles to count. Name the file of pairwise judgments",
        value="score",
    )


def _read_preferences(table: Table, columns: Mapping[str, str]) -> LaidOut:
    """1 for the first generator, 2 for the second; between them a leaning, 1.5 or 0 neither."""
    texts = [text or "" for text in table.read_text(columns["preference"]).tolist()]
    outcome: list[str] = []
    leaning = 0
    for text in texts:
        try:
            value = float(text)
        except ValueError:
            outcome.append(text)
            continue
        inside = value in (0.0, 1.5) or 1 <= value <= 2
        leaning += inside and value not in (0.0, 1.0, 1.5, 2.0)
        side = "tie" if value in (0.0, 1.5) else "model_a" if value < 1.5 else "model_b"
        outcome.append(side if inside else text)
    notes = ["1 is the first generator, 2 the second, 1.5 and 0 are ties"]
    if leaning:
        notes.append(f"preferences between 1 and 2 count for the nearer generator ({leaning:,})")
    found = {
        "model_a": table.read_text(columns["generator_1"]),
        "model_b": table.read_text(columns["generator_2"]),
        "outcome": _column(outcome),
    }
    told = {"model_a": "generator_1", "model_b": "generator_2", "outcome": columns["preference"]}
    if "instruction" in columns:
        found["item"] = table.read_text(columns["instruction"])
        told["item"] = columns["instruction"]
    return LaidOut(found, told, _all_rows(table), kind="judge", notes=tuple(notes))


def _read_both_orders(table: Table, columns: Mapping[str, str]) -> LaidOut:
    """A judge's verdicts in both orders, g1_winner and g2_winner, each naming model_1 or 2."""
    first, second = (table.read_text(columns[name]).tolist() for name in ("model_1", "model_2"))
    one, other = (table.read_text(columns[name]).tolist() for name in ("g1_winner", "g2_winner"))
    straight = {"model_1": "model_a", "model_2": "model_b", "error": _UNREAD}
    swapped = {"model_2": "model_a", "model_1": "model_b", "error": _UNREAD}
    labels = [straight.get(v, v) for v in one] + [swapped.get(v, v) for v in other]
    return LaidOut(
        columns={
            "model_a": _column(first + second),
            "model_b": _column(second + first),
            "outcome": _column(labels),
        },
        told={"model_a": "model_1", "model_b": "model_2", "outcome": "g1_winner, g2_winner"},
        rows=np.tile(_all_rows(table), 2),
        labels={_UNREAD: UNREADABLE},
        kind="judge",
        both_orders=True,
    )


def _read_games(table: Table, columns: Mapping[str, str]) -> LaidOut:
    """Two games against one baseline: first it stands left, then right; five grades."""
    models = table.read_text(columns["model"]).tolist()
    games = table.read(columns["games"]).tolist()
    baseline = ["baseline"] * len(table)
    notes = ["grades such as A>>B and A>B count alike, once"]
    if "baseline" in columns:
        named = table.read_text(columns["baseline"]).tolist()
        baseline = [name or "baseline" for name in named]
    else:
        notes.append('the other model is not named in the file and is called "baseline"')
    labels = [_read_score(game, 0) for game in games] + [_read_score(game, 1) for game in games]
    item = columns.get("uid") or columns.get("question_id")
    found = {
        "model_a": _column(baseline + models),
        "model_b": _column(models + baseline),
        "outcome": _column(labels),
    }
    told = {"model_a": columns.get("baseline", "baseline"), "model_b": columns["model"],
            "outcome": columns["games"]}  # fmt: skip
    if item:
        found["item"] = _column(table.read_text(item).tolist() * 2)
        told["item"] = item
    return LaidOut(
        found, told, np.tile(_all_rows(table), 2), labels={_UNREAD: UNREADABLE}, kind="judge",
        both_orders=True, notes=tuple(notes),
    )  # fmt: skip


def _read_score(games: Any, number: int) -> str:  # noqa: ANN401  any JSON
    held = list(games) if isinstance(games, (list, tuple, np.ndarray)) else []
    game = held[number] if len(held) > number else None
    score = game.get("score") if isinstance(game, dict) else None
    return to_text(score) or _UNREAD


LAYOUTS: tuple[Layout, ...] = (
    Layout("one flag a vote", ("winner_model_a", "winner_model_b"), _read_flags),
    Layout("a log of events (conv.json)", ("type", "models", "tstamp"), _read_chat_log),
    Layout("the chosen model's name", ("chosen_model_name", "both_equal"), _read_chosen_name),
    Layout("reactions to messages", ("refers_to_model", "liked"), _refuse_reactions),
    Layout("annotations with preferences", ("generator_1", "generator_2", "preference"),
           _read_preferences),
    Layout("a judge in both orders", ("model_1", "model_2", "g1_winner", "g2_winner"),
           _read_both_orders),
    Layout("games against a baseline", ("model", "games"), _read_games),
    Layout("scores of single answers", ("model", "judge", "score", "judgment"),
           _refuse_single_scores),
    Layout("winner and loser", ("winner", "loser"), _read_winner_and_loser),
)  # fmt: skip
"""The layouts that are recognised, the most particular first."""
