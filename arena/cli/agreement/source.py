"""Where `arena agreement` takes its judgements from: one long table, whatever holds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from arena.cli.preflight import explain
from arena.cli.refusals import Refusal
from ranking import InvalidVote, Judgements, RankingError, read_judgements

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Source", "read_database", "read_file", "read_pairs"]

_PLAIN_GROUPS = ("pair",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The judgements, and where they come from.

    Attributes:
        name: the file, or the database without its password.
        judgements: the long table.
        described: the same for the record.
    """

    name: str
    judgements: Judgements
    described: dict[str, Any] = field(default_factory=dict)


def read_file(
    path: Path,
    *,
    columns: Mapping[str, str],
    by: tuple[str, ...],
    both_orders: tuple[str, ...],
) -> Source:
    """The judgements of a file.

    Args:
        path: of the file.
        columns: names of columns by role, where they differ from the usual ones.
        by: groups that agreement is split by.
        both_orders: kinds whose judges saw every battle in both orders.

    Raises:
        Refusal: it cannot be read, or a row or column cannot be used.
    """
    groups = [name for name in by if name not in _PLAIN_GROUPS]
    try:
        judgements = read_judgements(path, columns=columns, groups=groups, both_orders=both_orders)
    except OSError as error:
        raise Refusal(f"{path} cannot be read ({explain(error)}). Name another file.") from None
    except RankingError as error:
        raise Refusal(_explain(path, error)) from None
    except (ValueError, TypeError) as error:  # pandas' own: the file is not what its suffix says
        reason = str(error).strip().splitlines()[0]
        raise Refusal(f"{path} cannot be read: {reason}. Correct the file.") from None
    described = {"file": path.name, "both_orders": list(both_orders)}
    return Source(name=str(path), judgements=judgements, described=described)


def read_database(config: Path | None, *, data_dir: Path | None, assignment: str | None) -> Source:
    """The judgements of crowd, experts and judges in an arena's database.

    Args:
        config: the settings file that names the database.
        data_dir: in place of the settings'.
        assignment: only battles of this one.

    Raises:
        Refusal: there is no database, or nobody but the crowd has judged anything in it.
        SettingsError: the settings cannot be read.
    """
    from arena.agreement.desk import NothingToCompare, gather_judgements
    from arena.cli.arenas import opened_arena

    with opened_arena(config, data_dir) as (_, store):
        name = store.engine.url.render_as_string(hide_password=True)
        rows = store.judgements.read(assignment)
    if assignment is not None and not rows:
        raise Refusal(
            f'--assignment "{assignment}": nobody has judged a battle of it, or there is none of '
            "that name. Leave it out for all of them."
        )
    try:
        judgements = gather_judgements(rows)
    except NothingToCompare as error:
        raise Refusal(f"{name}: {error}.") from None
    described = {"database": name, "assignment": assignment}
    return Source(name=name, judgements=judgements, described=described)


def read_pairs(option: str, texts: list[str] | None, example: str) -> dict[str, str]:
    """NAME=VALUE as often as it was given; the name may hold equals signs.

    Raises:
        Refusal: one of them is not NAME=VALUE.
    """
    found: dict[str, str] = {}
    for text in texts or ():
        name, _, value = text.rpartition("=")
        if not name or not value:
            raise Refusal(f'{option} "{text}" is not NAME=VALUE. Write for example {example}.')
        found[name] = value
    return found


def _explain(path: Path, error: RankingError) -> str:
    if isinstance(error, InvalidVote) and error.row is not None:
        return f"{path}: {error} (rows are counted from 0, without a header). Correct the row."
    if str(error).startswith("no column") and " for " in str(error).partition(";")[0]:
        return f"{path}: {error}. Name it with --column ROLE=NAME."
    return f"{path}: {error}"
