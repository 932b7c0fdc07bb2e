"""What commands that read files let a person say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "EncodingOption",
    "HeaderOption",
    "OutcomeOption",
    "SeparatorOption",
    "SkipOption",
    "read_columns",
    "read_outcomes",
]

OutcomeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--outcome",
        metavar="LABEL=OUTCOME",
        help="What a label of a file means: model_a, model_b, tie, both_bad, skip (no verdict) or "
        "name (the name of a model); repeat for more.",
    ),
]
EncodingOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Encoding of a file, such as cp1252 or gb18030."),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Between a file's columns: comma, tab, semicolon, pipe, …"),
]
HeaderOption = Annotated[
    bool,
    typer.Option("--header/--no-header", help="Whether a file's first line names the columns."),
]
SkipOption = Annotated[
    bool,
    typer.Option(
        "--skip-bad-rows",
        help="Leave out bad rows and say how many and why; refused where they are more than 1% "
        "or hang together with the outcome.",
    ),
]


def read_columns(
    texts: list[str] | None, roles: Collection[str], *, example: str
) -> dict[str, str]:
    """Columns of a file by what they hold; a column's name may hold equals signs.

    Raises:
        Refusal: one is not ROLE=NAME, or the role is unknown.
    """
    columns = {}
    for text in texts or ():
        role, _, name = text.partition("=")
        if role not in roles or not name:
            raise Refusal(
                f'--column "{text}" is not ROLE=NAME with a role among {", ".join(roles)}. '
                f"Write for example {example}."
            )
        columns[role] = name
    return columns


def read_outcomes(texts: list[str] | None) -> dict[str, str]:
    """Meanings by label; the label may hold equals signs, or be empty for a missing one.

    Raises:
        Refusal: one is not LABEL=OUTCOME.
    """
    found: dict[str, str] = {}
    for text in texts or ():
        label, sign, meaning = text.rpartition("=")
        if not sign or not meaning:
            raise Refusal(
                f'--outcome "{text}" is not LABEL=OUTCOME. Write for example "A is better=model_a".'
            )
        found[label] = meaning
    return found
