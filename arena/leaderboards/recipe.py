"""The one recipe of an arena's leaderboards: what pages, snapshots and commands compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arena.leaderboards.style import FEATURES
from arena.settings import LeaderboardSettings
from ranking import Options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How all leaderboards of an arena are made.

    Attributes:
        options: of the overall board and those of categories.
        min_votes: a category, or votes at equal style, with fewer has no board.
    """

    options: Options
    min_votes: int

    @classmethod
    def from_settings(cls, settings: LeaderboardSettings) -> Recipe:
        """What the settings ask for; all else is the library's own default."""
        return cls(
            options=Options(replicates=settings.replicates, level=settings.level),
            min_votes=settings.min_category_votes,
        )

    @classmethod
    def from_snapshot(cls, settings: Mapping[str, Any]) -> Recipe:
        """Reads what `to_dict` wrote into a snapshot's settings.

        Raises:
            KeyError: another version of the program wrote it.
            RankingError: the same.
        """
        return cls(
            options=Options.from_dict(settings["options"]),
            min_votes=int(settings["categories"]["min_votes"]),
        )

    @property
    def style(self) -> Options:
        """The same for boards at equal style: a bootstrap with covariates would take minutes."""
        return self.options.change(interval="sandwich", adjust=True)

    @property
    def judges(self) -> Options:
        """The same for judges' boards: verdicts on one battle go together."""
        return self.options.change(cluster=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types: all that the boards are told."""
        return {
            "options": self.options.to_dict(),
            "categories": {"min_votes": self.min_votes},
            "style": {"features": list(FEATURES), "options": self.style.to_dict()},
            "judges": {"options": self.judges.to_dict()},
        }


DEFAULT_RECIPE = Recipe.from_settings(LeaderboardSettings())
"""Where nothing is set."""


def read_recipe(store: Store) -> Recipe:
    """That of the latest leaderboard on record, as far as this version can read it.

    Where there is none yet, the default.
    """
    snapshot = store.snapshots.latest()
    if snapshot is None:
        return DEFAULT_RECIPE
    try:
        return Recipe.from_snapshot(snapshot.settings)
    except (KeyError, TypeError, ValueError):
        return DEFAULT_RECIPE
