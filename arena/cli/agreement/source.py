"""Where `arena agreement` takes its judgements from: one long table, whatever holds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from arena.cli.preflight import explain
from arena.cli.refusals import Refusal
from ranking import Judgements, RankingError, read_judgements
from ranking.tables.table import FileOptions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["FileRequest", "Source", "read_database", "read_file", "read_pairs"]

_PLAIN_GROUPS = ("pair",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The judgements, and where they come from.

    Attributes:
        name: the file, or the database without its password.
        judgements: the long table.
        described: the same for the record.
        told: how a file was read, in sentences.
    """

    name: str
    judgements: Judgements
    described: dict[str, Any] = field(default_factory=dict)
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRequest:
    """What is asked of a file.

    Attributes:
        columns: names (or places) of columns by role, where they differ from the usual ones.
        outcomes: what its labels mean.
        by: groups that agreement is split by.
        both_orders: kinds whose judges saw every battle in both orders.
        kind: of all judges, where no column has it.
        skip_bad_rows: leave out rows that cannot be counted.
        options: what else is known of the file.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    outcomes: Mapping[str, str] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    both_orders: tuple[str, ...] = ()
    kind: str | None = None
    skip_bad_rows: bool = False
    options: FileOptions = field(default_factory=FileOptions)

    def list_options(self) -> dict[str, bool]:
        """Options that mean something for a file only, and whether they were given."""
        return {
            "--column": bool(self.columns),
            "--outcome": bool(self.outcomes),
            "--both-orders": bool(self.both_orders),
            "--kind": self.kind is not None,
            "--encoding": self.options.encoding is not None,
            "--separator": self.options.separator is not None,
            "--no-header": not self.options.header,
            "--skip-bad-rows": self.skip_bad_rows,
        }


def read_file(path: Path, request: FileRequest) -> Source:
    """The judgements of a file.

    Args:
        path: of the file, - for standard input.
        request: what is asked of it.

    Raises:
        Refusal: it cannot be read, or a row or column cannot be used.
    """
    try:
        judgements = read_judgements(
            path,
            columns=request.columns,
            outcomes=request.outcomes,
            groups=[name for name in request.by if name not in _PLAIN_GROUPS],
            both_orders=request.both_orders,
            kind=request.kind,
            skip_bad_rows=request.skip_bad_rows,
            options=request.options,
        )
    except OSError as error:
        raise Refusal(f"{path} cannot be read ({explain(error)}). Name another file.") from None
    except RankingError as error:
        raise Refusal(f"{path}: {str(error).rstrip('.')}.") from None
    reading = judgements.reading
    described = {} if reading is None else reading.to_dict()
    return Source(
        name=str(path),
        judgements=judgements,
        described={**described, "both_orders": list(request.both_orders)},
        told=() if reading is None else tuple(reading.to_lines()),
    )


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
