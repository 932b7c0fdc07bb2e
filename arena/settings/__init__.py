"""One typed settings tree from `arena.toml` and `ARENA_*` variables.

A variable wins over the file: `ARENA_SERVER__PORT=8000` sets `server.port`. Every section
forbids unknown keys, and everything that is wrong is reported at once, each with its
remedy.
"""

from arena.settings.loading import load_settings, parse_settings
from arena.settings.problems import Problem, SettingsError
from arena.settings.tree import (
    ArenaSettings,
    BattleSettings,
    DatabaseSettings,
    LeaderboardSettings,
    MatchmakingSettings,
    ModelRule,
    PairRule,
    ServerSettings,
    Settings,
    read_bucket_key,
    read_signing_secret,
)

__all__ = [
    "ArenaSettings",
    "BattleSettings",
    "DatabaseSettings",
    "LeaderboardSettings",
    "MatchmakingSettings",
    "ModelRule",
    "PairRule",
    "Problem",
    "ServerSettings",
    "Settings",
    "SettingsError",
    "load_settings",
    "parse_settings",
    "read_bucket_key",
    "read_signing_secret",
]
