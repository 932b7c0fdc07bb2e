"""Bad input ends a command with one clear message on stderr and exit status 2."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Refusal", "refusing"]


class Refusal(Exception):
    """A command cannot do what it was asked; the message names the value and the remedy."""


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Turns what a person can put right into a message, without a traceback."""
    from arena.settings import SettingsError
    from serving.roster import RosterError

    try:
        yield
    except (Refusal, SettingsError, RosterError) as error:
        _refuse(error)
    except Exception as error:
        from arena.store.errors import StoreError  # only then: it takes a while to import

        if not isinstance(error, StoreError):
            raise
        _refuse(error)


def _refuse(error: Exception) -> NoReturn:
    for line in str(error).splitlines():
        typer.echo(f"arena: {line}", err=True)
    raise typer.Exit(2) from None
