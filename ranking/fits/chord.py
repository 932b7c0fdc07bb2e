"""Many fits that are all near one that is already made, as a bootstrap needs them.

Each is carried to full convergence: chord Newton with the inverse Hessian of the whole
data, and Newton's own Hessian for those where that does not contract.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranking.errors import NoMaximum
from ranking.fits.bradley_terry import Floats, PairCounts, check_prior, maximise, win_probabilities
from ranking.fits.components import Components, find_components

# Elements of a batch of games matrices that stay in a core's cache.
_BATCH_ELEMENTS = 40_000
_CHORD_STEPS = 14
# Steps get this short only where each is at most 0.3 of the one before, so the error left
# is at most 0.43 of the last: below 1e-6 points.
_CHORD_TOLERANCE = 1e-8
_NEWTON_STEPS = 30
# A draw this close whose steps shrink no faster than this is cheaper to finish by Newton.
_CLOSE = 0.03
_SLOW = 0.3


@dataclass(frozen=True, eq=False)
class ChordSolver:
    """Fits many games matrices that are all near one that is already fitted.

    Attributes:
        strengths: Where every fit starts, shape (models,).
        inverse: Inverse information there, shape (models, models).
        prior: Standard deviation of the prior, or None.
    """

    strengths: Floats
    inverse: Floats
    prior: float | None

    def draw_centres(self, draws: int, rng: np.random.Generator) -> Floats:
        """Centres of the prior, drawn from it, centred, shape (draws, models).

        The prior is information like votes are, and is resampled with them. Kept at 0 it
        would count as known without error, and the intervals of what it shrinks would be
        too short.
        """
        shape = (draws, len(self.strengths))
        if self.prior is None:
            return np.zeros(shape)
        centres = rng.normal(0.0, self.prior, shape)
        return np.asarray(centres - centres.mean(axis=1, keepdims=True))

    def solve(self, wins: Floats, centres: Floats | None = None) -> Floats:
        """Strengths for wins of shape (draws, models, models).

        Args:
            wins: Of the row over the column.
            centres: Of each draw's prior, shape (draws, models); 0 by default.
        """
        size = len(self.strengths)
        batch = max(1, _BATCH_ELEMENTS // size**2)
        pull = check_prior(self.prior) * (np.zeros(wins.shape[:2]) if centres is None else centres)
        parts = [
            self._solve(wins[i : i + batch], pull[i : i + batch])
            for i in range(0, len(wins), batch)
        ]
        return np.concatenate(parts)

    def find_errors(self, strengths: Floats, wins: Floats, components: Components) -> Floats:
        """Standard errors of fitted strengths by their own curvature, shape (draws, models).

        Args:
            strengths: As fitted.
            wins: Of the row over the column.
            components: Whose islands the strengths are centred in.
        """
        batch = max(1, _BATCH_ELEMENTS // len(self.strengths) ** 2)
        errors = np.empty_like(strengths)
        for i in range(0, len(wins), batch):
            part = slice(i, i + batch)
            games = wins[part] + wins[part].transpose(0, 2, 1)
            matrix = self._curve(games, win_probabilities(strengths[part]))
            inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
            errors[part] = np.sqrt(components.centred_variances(inverse))
        return errors

    def _curve(self, games: Floats, p: Floats) -> Floats:
        """Negative Hessians, lifted to full rank along (1, …, 1)."""
        size = len(self.strengths)
        precision = check_prior(self.prior)
        curve = games * p * p.transpose(0, 2, 1)
        matrix = -curve
        diagonal = np.arange(size)
        matrix[:, diagonal, diagonal] = curve.sum(axis=2) + precision
        if precision:
            return np.asarray(matrix)
        return np.asarray(matrix + (curve.sum(axis=(1, 2)) / size**2)[:, None, None])

    def _solve(self, wins: Floats, pull: Floats) -> Floats:
        games = wins + wins.transpose(0, 2, 1)
        won = wins.sum(axis=2) + pull
        precision = check_prior(self.prior)
        xi = np.repeat(self.strengths[None, :], len(wins), axis=0)
        shared = np.empty_like(games)
        length = np.full(len(wins), np.inf)
        for _ in range(_CHORD_STEPS):
            # Expected wins: odds_i · Σ_j games_ij / (odds_i + odds_j), one exp a model.
            odds = np.exp(xi)
            np.add(odds[:, :, None], odds[:, None, :], out=shared)
            np.divide(games, shared, out=shared)
            step = (won - odds * shared.sum(axis=2) - precision * xi) @ self.inverse
            length, before = np.abs(step).max(axis=1), length
            if not length.max() < 1.0:
                break
            xi += step
            if length.max() <= _CHORD_TOLERANCE:
                break
            if length.max() < _CLOSE and length.max() > _SLOW * before.max():
                break
        left = np.flatnonzero(~(length <= _CHORD_TOLERANCE))
        if left.size:
            close = (length[left] < _CLOSE)[:, None]
            start = np.where(close, xi[left], self.strengths)
            xi[left] = self._solve_newton(games[left], wins[left], pull[left], start)
        return xi

    def _solve_newton(self, games: Floats, wins: Floats, pull: Floats, start: Floats) -> Floats:
        """Newton's method with each draw's own Hessian, steps of at most 1."""
        self._check_maxima(wins)
        precision = check_prior(self.prior)
        xi = start.copy()
        length = np.full(len(wins), np.inf)
        for _ in range(_NEWTON_STEPS):
            p = win_probabilities(xi)
            surplus = wins * p.transpose(0, 2, 1)
            gradient = surplus.sum(axis=2) - surplus.sum(axis=1) - precision * xi + pull
            matrix = self._curve(games, p)
            step = np.linalg.solve(matrix, gradient[..., None])[..., 0]
            length = np.abs(step).max(axis=1)
            xi += step / np.maximum(length, 1.0)[:, None]
            if length.max() <= _CHORD_TOLERANCE:
                break
        for row in np.flatnonzero(~(length <= _CHORD_TOLERANCE)):
            pairs = PairCounts(games[row], wins[row])
            xi[row] = maximise(pairs, precision=precision, start=self.strengths, pull=pull[row])[0]
        return xi

    def _check_maxima(self, wins: Floats) -> None:
        if self.prior is None and any(find_components(w).strong.max() > 0 for w in wins):
            raise NoMaximum(
                "a bootstrap replicate's votes do not tie the models together; "
                "use a prior or the sandwich interval"
            )
