"""What the commands on votes and voters are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from arena.rules.battles import ExclusionReason

if TYPE_CHECKING:
    from arena.store import VoteSelection

VotesArgument = Annotated[
    list[int] | None, typer.Argument(metavar="VOTE…", help="Numbers of votes.", show_default=False)
]
BattleOption = Annotated[
    list[str] | None, typer.Option("--battle", help="Votes on this battle; repeat for more.")
]
VoterOption = Annotated[
    list[str] | None, typer.Option("--voter", help="Votes of this voter; repeat for more.")
]
ModelOption = Annotated[
    list[str] | None,
    typer.Option("--model", help="Votes on battles of this model; twice for a pair."),
]
SinceOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only votes from this time on (UTC).")
]
UntilOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only votes before this time (UTC).")
]
ReasonFilter = Annotated[
    ExclusionReason | None, typer.Option("--reason", help="Only votes with this reason in force.")
]
ReasonOption = Annotated[ExclusionReason, typer.Option("--reason", help="Why they do not count.")]
NoteOption = Annotated[
    str, typer.Option("--note", metavar="WORDS", help="Why, in your words; kept on record.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show the ranking before and after, change nothing.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def read_note(note: str) -> str:
    """The words themselves.

    Raises:
        Refusal: there are none.
    """
    from arena.cli.refusals import Refusal

    if not note.strip():
        raise Refusal('--note "" says nothing. Say why, for whoever reads the record later.')
    return note.strip()


def select_votes(
    vote_ids: list[int] | None,
    *,
    battle: list[str] | None,
    voter: list[str] | None,
    model: list[str] | None,
    since: str | None,
    until: str | None,
    reason: ExclusionReason | None = None,
) -> VoteSelection:
    """The votes that the options mean.

    Raises:
        Refusal: a time is none, or no vote can meet them.
    """
    from arena.cli.rank.options import read_time
    from arena.cli.refusals import Refusal
    from arena.store import VoteSelection

    models = tuple(dict.fromkeys(model or ()))
    if len(models) > 2:
        raise Refusal(
            f"--model is given {len(models)} times, and a battle has two models. Name at most two."
        )
    begin, end = read_time("--since", since), read_time("--until", until)
    if begin is not None and end is not None and begin >= end:
        raise Refusal(f"--since {since} is not before --until {until}, so no vote can be meant.")
    return VoteSelection(
        vote_ids=tuple(dict.fromkeys(vote_ids or ())),
        battle_ids=tuple(dict.fromkeys(battle or ())),
        voter_ids=tuple(dict.fromkeys(voter or ())),
        models=models,
        since=begin,
        until=end,
        reason=reason,
    )
