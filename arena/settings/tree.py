"""The settings of an arena, a class a section."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path
from typing import Literal, Self

from platformdirs import user_data_path
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from arena.settings.rates import read_rate
from serving.specs import ModelSpec

APPLICATION = "preference-arena"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class ArenaSettings(_Section):
    """What visitors see of this arena as a whole."""

    title: str = Field(default="Preference Arena", min_length=1)
    default_language: Literal["en", "zh"] = "en"
    show_prompt_ideas: bool = True


class DatabaseSettings(_Section):
    """Where battles and votes are kept; any SQLAlchemy URL."""

    # It may hold a password: kept out of every repr.
    url: str = Field(repr=False)

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError

        try:
            make_url(url).get_dialect()
        except (ArgumentError, NoSuchModuleError, ValueError):
            raise ValueError(
                "is not a database URL. Write for example sqlite:////srv/arena/arena.db"
                " or postgresql+psycopg://user@host/arena"
            ) from None
        return url


_ANY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104  recognised, not bound


class ServerSettings(_Section):
    """How the pages are served."""

    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=7860, ge=0, le=65535)
    # Above one, a proxy listens and sends each voter to the same process.
    workers: int = Field(default=1, ge=1, le=64)
    proxy: Literal["nginx", "haproxy"] | None = None
    secret: SecretStr | None = None
    public_url: str | None = None
    secure_cookies: bool = False
    forwarded_allow_ips: str = "127.0.0.1"
    # Sites of others whose pages may speak to the arena in a visitor's name.
    allowed_origins: list[str] = []
    # On the loopback alone: what Prometheus reads names models, and when each answered.
    metrics_port: int | None = Field(default=None, ge=1, le=65535)

    def find_address(self, port: int | None = None) -> str:
        """Where people reach the arena, without a slash at the end.

        Args:
            port: where it listens, unless it is the one set.
        """
        if self.public_url is not None:
            return self.public_url.rstrip("/")
        host = "127.0.0.1" if self.host in _ANY_ADDRESS else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{port or self.port}"

    def invite(self, port: int) -> str:
        """Says where the arena is open."""
        return f"The arena is open at {self.find_address(port)}/"

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, url: str | None) -> str | None:
        if url is not None and not re.fullmatch(r"https?://[^\s/]+(/\S*)?", url):
            raise ValueError("is not a web address. Write for example https://arena.example.org")
        return url

    @field_validator("allowed_origins")
    @classmethod
    def _check_origins(cls, origins: list[str]) -> list[str]:
        for origin in origins:
            if not re.fullmatch(r"https?://[^\s/?#]+", origin):
                raise ValueError(
                    f"has {origin!r}, which is no origin. Write for example"
                    ' allowed_origins = ["https://www.example.org"], without a path'
                )
        return origins

    @field_validator("secret")
    @classmethod
    def _check_secret(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None and len(secret.get_secret_value()) < 16:
            raise ValueError(
                "is too short to sign with. Use 16 characters or more, drawn by chance"
            )
        return secret


class ModelRule(_Section):
    """How often one model may be drawn; shares are of all battles."""

    max_share: float | None = Field(default=None, gt=0, le=1)
    min_share: float | None = Field(default=None, gt=0, le=1)
    # US dollars at the prices of its card; it rests for the remainder of the day (UTC).
    max_cost_per_day: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if (self.min_share or 0) > (self.max_share or 1):
            raise ValueError(
                f"min_share is {self.min_share:g}, above max_share, {self.max_share:g}."
                " Lower one or raise the other"
            )
        return self


class PairRule(_Section):
    """How often two models may meet: a share of all battles, or never."""

    models: tuple[str, str]
    share: float | None = Field(default=None, gt=0, lt=1)
    never: bool = False

    @field_validator("models", mode="before")
    @classmethod
    def _check_two(cls, models: object) -> object:
        if not isinstance(models, list | tuple) or len(set(map(str, models))) != 2:
            raise ValueError('is not two names. Write for example models = ["One", "Another"]')
        return models

    @model_validator(mode="after")
    def _check_one_of_two(self) -> Self:
        if self.never is (self.share is not None):
            raise ValueError(
                "has both share and never, or neither. Write share = 0.1, or never = true"
            )
        return self


class MatchmakingSettings(_Section):
    """How the next pair is drawn."""

    policy: Literal["uniform", "closest", "variance", "information", "uncertainty", "tempered"] = (
        "tempered"
    )
    # The share of draws spread evenly over all pairs: every pair keeps a known chance.
    exploration: float = Field(default=0.1, gt=0, le=1)
    seed: int | None = None
    models: dict[str, ModelRule] = {}
    pairs: list[PairRule] = []


class BattleSettings(_Section):
    """Limits on one battle and on all at once."""

    max_prompt_characters: int = Field(default=20_000, ge=1)
    max_turns: int = Field(default=10, ge=1)
    # How long answers keep streaming after the page was left, so that a reload finds them.
    grace_seconds: float = Field(default=10.0, ge=0)
    max_live: int = Field(default=400, ge=1)
    # Of these, one voter's, and those of one address, which may be that of a school.
    max_live_per_voter: int = Field(default=4, ge=1)
    max_live_per_address: int = Field(default=200, ge=1)
    # What is longer is cut there, and its stream closed.
    max_answer_characters: int = Field(default=100_000, ge=1_000)
    max_reasoning_characters: int = Field(default=400_000, ge=1_000)


class RateSettings(_Section):
    """How much one voter and one address may ask for in a time, as the library `limits` has it."""

    voter_battles: str = "20/minute; 200/hour"
    voter_follow_ups: str = "20/minute; 200/hour"
    voter_regenerations: str = "10/minute; 60/hour"
    voter_votes: str = "30/minute; 300/hour"
    # An address may be that of a school.
    address_battles: str = "200/minute; 3000/hour"
    address_follow_ups: str = "200/minute; 3000/hour"
    address_regenerations: str = "60/minute; 600/hour"
    address_votes: str = "200/minute; 3000/hour"
    address_requests: str = "6000/minute"
    # In each process, or for all together in a Redis.
    storage: str = Field(default="memory://", pattern=r"^(memory|redis|rediss|valkey|memcached)://")

    @field_validator(
        "voter_battles",
        "voter_follow_ups",
        "voter_regenerations",
        "voter_votes",
        "address_battles",
        "address_follow_ups",
        "address_regenerations",
        "address_votes",
        "address_requests",
    )
    @classmethod
    def _check_rate(cls, rate: str) -> str:
        read_rate(rate)
        return rate


class LeaderboardSettings(_Section):
    """How often and how precisely the ranking is computed."""

    refresh_seconds: float = Field(default=1.0, gt=0)
    replicates: int = Field(default=1000, ge=100)
    level: float = Field(default=0.95, gt=0, lt=1)
    # A model with fewer votes is marked provisional.
    min_votes: int = Field(default=30, ge=0)
    # A category, or the board at equal style, is not offered below this.
    min_category_votes: int = Field(default=100, ge=1)


class Settings(BaseSettings):
    """Everything an arena can be told. Built directly, it reads no variable and no file."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        env_prefix="ARENA_",
        env_nested_delimiter="__",
    )

    data_dir: Path = Field(default_factory=lambda: user_data_path(APPLICATION))
    arena: ArenaSettings = ArenaSettings()
    database: DatabaseSettings = Field(
        default_factory=lambda values: DatabaseSettings(url=_place_database(values["data_dir"]))
    )
    server: ServerSettings = ServerSettings()
    matchmaking: MatchmakingSettings = MatchmakingSettings()
    battles: BattleSettings = BattleSettings()
    rates: RateSettings = RateSettings()
    leaderboard: LeaderboardSettings = LeaderboardSettings()
    models: list[ModelSpec] = []

    @field_validator("database", mode="before")
    @classmethod
    def _fill_database(cls, value: object, info: ValidationInfo) -> object:
        if isinstance(value, dict) and "url" not in value:
            return {**value, "url": _place_database(info.data.get("data_dir", Path()))}
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is passed: `load_settings` merges the file and the variables itself."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)


def _place_database(data_dir: Path) -> str:
    """The default: a file in the data directory, wherever that is."""
    return f"sqlite:///{data_dir}/arena.db"


def read_signing_secret(settings: Settings) -> str:
    """The secret that signs voters' tokens, drawn once into the data directory.

    `server.secret` wins; the file is readable by its owner alone.

    Raises:
        OSError: the data directory cannot be written.
    """
    if settings.server.secret is not None:
        return settings.server.secret.get_secret_value()
    return _read_drawn(settings.data_dir / "secret")


def read_bucket_key(settings: Settings) -> str:
    """The key that parts voters into buckets of counts, one for an arena's life.

    A new one would split every voter into two, and intervals of what is added up would shrink
    towards those that take votes for independent.

    Raises:
        OSError: the data directory cannot be written.
    """
    return _read_drawn(settings.data_dir / "bucket-key")


def _read_drawn(path: Path) -> str:
    """Drawn at first use; readable by its owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        _draw(path)
    return path.read_text(encoding="ascii").strip()


def _draw(path: Path) -> None:
    """Written beside and linked into place.

    Two processes that start together agree on the first one's, and neither can read one that is
    half written.
    """
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(32))
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
