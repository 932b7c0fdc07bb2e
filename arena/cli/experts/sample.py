"""What `arena experts sample` draws, says and freezes."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import typer

from arena import __version__
from arena.cli.refusals import Refusal
from arena.cli.terminal import ask_consent, print_table, text_table
from arena.rules.experts import Arm
from arena.rules.sampling import (
    EXPECTED_AGREEMENT,
    LEVEL,
    STRATA,
    allot_tasks,
    draw_battles,
    expect_agreement,
)
from arena.store import NameTaken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rules.battles import Outcome
    from arena.rules.experts import Expert
    from arena.rules.sampling import Candidate, Expectation, PlannedTask, Stratum
    from arena.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest:
    """What is asked for.

    Attributes:
        battles: how many.
        per_battle: experts on each.
        pair: only battles of these two models.
        stratify: by what.
        seed: of all draws.
        name: of the assignment, `None` for the next number.
        to: names of experts, none for all whose links work.
        arms: shares of a rubber-stamp study, `None` for blind judgements alone.
        shown_by: the judge whose verdicts are shown.
    """

    battles: int
    per_battle: int
    pair: tuple[str, str] | None
    stratify: tuple[Stratum, ...]
    seed: int
    name: str | None
    to: tuple[str, ...]
    arms: dict[Arm, float] | None
    shown_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """An assignment that is not frozen yet.

    Attributes:
        name: of the assignment.
        request: what was asked for.
        experts: who judges.
        candidates: how many battles could have been drawn.
        items: the battles that were.
        tasks: who judges which.
        expected: how sure its agreement will be.
    """

    name: str
    request: SampleRequest
    experts: tuple[Expert, ...]
    candidates: int
    items: list[Candidate]
    tasks: list[PlannedTask]
    expected: tuple[Expectation, ...]


def read_strata(text: str | None) -> tuple[Stratum, ...]:
    """Names with commas between.

    Raises:
        Refusal: one of them is none of `STRATA`.
    """
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if name not in STRATA:
            raise Refusal(f'--stratify "{name}" is not known. There are: {", ".join(STRATA)}.')
    return cast("tuple[Stratum, ...]", tuple(dict.fromkeys(names)))


def read_arms(text: str | None, *, shown_by: str | None) -> dict[Arm, float] | None:
    """Shares by arm.

    Raises:
        Refusal: an arm or a share is none, they do not sum to 1, or no judge is named.
    """
    if text is None:
        if shown_by is not None:
            raise Refusal("--shown-by needs --arms. Add for example --arms blind=0.5,shown=0.5.")
        return None
    shares: dict[Arm, float] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        try:
            shares[Arm(name)] = float(number)
        except ValueError:
            raise Refusal(
                f'--arms "{part}" is no share of an arm. Write for example '
                "blind=0.5,shown=0.25,planted=0.25."
            ) from None
    if min(shares.values()) < 0 or abs(sum(shares.values()) - 1) > 1e-6:
        raise Refusal(f'--arms "{text}": shares are not negative and sum to 1.')
    if shown_by is None:
        raise Refusal("--arms needs a judge whose verdicts are shown. Name it with --shown-by.")
    return shares


def plan(store: Store, request: SampleRequest) -> Planned:
    """Draws the battles and who judges which; nothing is recorded.

    Raises:
        Refusal: there are too few battles or experts, or the judge has no verdicts.
    """
    experts = _choose_experts(store, request)
    candidates = store.assignments.candidates(pair=request.pair)
    verdicts: dict[str, Outcome] = {}
    if request.shown_by is not None:
        verdicts = _read_verdicts(store, request.shown_by, candidates)
        candidates = [one for one in candidates if one.battle_id in verdicts]
    _check_enough(candidates, request)
    items = draw_battles(
        candidates, battles=request.battles, stratify=request.stratify, seed=request.seed
    )
    return Planned(
        name=request.name or _next_name(store),
        request=request,
        experts=experts,
        candidates=len(candidates),
        items=items,
        tasks=allot_tasks(
            items,
            experts=[expert.voter_id for expert in experts],
            per_battle=request.per_battle,
            seed=request.seed,
            shares=request.arms,
            verdicts=verdicts,
        ),
        expected=expect_agreement(
            battles=request.battles,
            per_battle=request.per_battle,
            blind=1.0 if request.arms is None else request.arms.get(Arm.BLIND, 0.0),
        ),
    )


def confirm(planned: Planned, *, yes: bool) -> None:
    """Shows what is about to be frozen, and asks on a terminal.

    Raises:
        Refusal: nobody can be asked, and `--yes` is not given.
        typer.Abort: the answer is no.
    """
    request = planned.request
    loads = Counter(task.voter_id for task in planned.tasks)
    typer.echo(
        f"{planned.name}: {request.battles} of {planned.candidates} battles that qualify, "
        f"{request.per_battle} of {len(planned.experts)} experts on each."
    )
    for expert in planned.experts:
        typer.echo(f"  {expert.name}: {loads[expert.voter_id]} battles")
    if request.arms is not None:
        dealt = Counter(task.arm for task in planned.tasks)
        arms = ", ".join(f"{arm} {dealt[arm]}" for arm in request.arms)
        typer.echo(f"Judgements by arm: {arms}. Only blind ones count in the agreement below.")
    rows = [
        (
            one.kind,
            f"{one.comparisons:,}",
            "–" if one.half_width is None else f"± {100 * one.half_width:.1f} points",
        )
        for one in planned.expected
    ]
    head = ("Agreement of", "Comparisons", f"{LEVEL:.0%} interval to expect")
    print_table(text_table(head, rows))
    typer.echo(
        f"Expected at an agreement of {EXPECTED_AGREEMENT:.0%}, ties included; without ties fewer "
        "comparisons are left, and the interval is wider."
    )
    remedy = "Add --yes to freeze these battles."
    ask_consent("Freeze these battles into an assignment?", yes=yes, remedy=remedy)


def freeze(store: Store, planned: Planned) -> None:
    """Records the assignment with all that makes it again.

    Raises:
        Refusal: its name is taken.
    """
    try:
        store.assignments.create(
            planned.name, plan=_describe(planned), items=planned.items, tasks=planned.tasks
        )
    except NameTaken:
        raise Refusal(
            f'there is an assignment named "{planned.name}" already. Choose another --name.'
        ) from None
    typer.echo(f"Frozen as {planned.name}. The experts' links lead to it.")


def _describe(planned: Planned) -> dict[str, Any]:
    request = planned.request
    return {
        **asdict(request),
        "experts": [expert.name for expert in planned.experts],
        "candidates": planned.candidates,
        "expected": [asdict(one) for one in planned.expected],
        "expected_agreement": EXPECTED_AGREEMENT,
        "level": LEVEL,
        "code_version": __version__,
    }


def _choose_experts(store: Store, request: SampleRequest) -> tuple[Expert, ...]:
    now = datetime.now(UTC)
    everybody = store.experts.all()
    welcome = {expert.name: expert for expert in everybody if expert.is_welcome(now)}
    for name in request.to:
        if name not in welcome:
            known = name in {expert.name for expert in everybody}
            close = difflib.get_close_matches(name, welcome, n=1)
            hint = f'Did you mean "{close[0]}"?' if close else f'Try: arena experts invite "{name}"'
            what = "has no link that works" if known else "is not an expert"
            raise Refusal(f'--to "{name}" {what}. {hint}')
    chosen = tuple(welcome[name] for name in request.to or welcome)
    if len(chosen) < request.per_battle:
        raise Refusal(
            f"--experts {request.per_battle}: only {len(chosen)} can be asked. Invite more with: "
            "arena experts invite NAME"
        )
    return chosen


def _read_verdicts(store: Store, judge: str, candidates: Sequence[Candidate]) -> dict[str, Outcome]:
    """What a judge says of whole conversations, by battle; a tie where its orders differ."""
    last = {one.battle_id: one.turns - 1 for one in candidates}
    names = [one.name for one in store.judgings.judges()]
    if judge not in names:
        there = f"There are: {', '.join(names)}" if names else "There is none yet"
        raise Refusal(
            f'--shown-by "{judge}" is no judge on record. {there}. Let a model judge first with: '
            "arena judge run --judge MODEL"
        )
    return {
        one.battle_id: one.verdict
        for one in store.judge_verdicts.read([judge])
        if one.turn == last.get(one.battle_id) and one.verdict is not None
    }


def _check_enough(candidates: list[Candidate], request: SampleRequest) -> None:
    if len(candidates) >= request.battles:
        return
    of = "" if request.pair is None else f" of {request.pair[0]} and {request.pair[1]}"
    judged = "" if request.shown_by is None else f", with a verdict of {request.shown_by}"
    raise Refusal(
        f"--battles {request.battles}: only {len(candidates)}{of} qualify (voted on by the crowd "
        f"and counted, or of a prompt set; no answer names its model; not in an assignment "
        f"yet{judged}). Ask for fewer, or come back when there are more votes."
    )


def _next_name(store: Store) -> str:
    names = {one.name for one in store.assignments.all()}
    number = len(names) + 1
    while f"assignment-{number}" in names:
        number += 1
    return f"assignment-{number}"
