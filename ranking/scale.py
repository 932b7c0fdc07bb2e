"""The display scale of strengths: score = 1000 + 400·ξ/ln 10."""

from __future__ import annotations

import math

SCORE_CENTRE = 1000.0
"""Mean score of a board."""

POINTS_PER_LOG_ODDS = 400.0 / math.log(10.0)
"""Points a natural log-odds: 400 points are odds of ten to one."""
