"""Which battles experts judge, who judges which, in what order and in which arm. No I/O."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from math import comb, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

from arena.rules.battles import Outcome
from arena.rules.experts import Arm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Stratum = Literal["pair", "category", "outcome"]
Kind = Literal["expert and crowd", "expert and expert"]

STRATA: tuple[Stratum, ...] = ("pair", "category", "outcome")
KINDS: tuple[Kind, ...] = ("expert and crowd", "expert and expert")
# Experts and crowd agreed on 72.8 to 83.1 % of battles in Chiang et al. 2024 (2403.04132).
EXPECTED_AGREEMENT = 0.75
# Of two people's agreement with a third on one battle, over all triples of the 1,751 votes in
# MT-Bench's human_votes_partial: 0.36 with ties, 0.41 without.
SHARED_LUCK = 0.4
LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A battle that may be given to experts.

    Attributes:
        battle_id: its id.
        model_a: its model on the left.
        model_b: its model on the right.
        category: of its first prompt, `None` where it is not known.
        turns: of its conversation.
        outcome: the crowd's vote, `None` for a battle of a prompt set.
    """

    battle_id: str
    model_a: str
    model_b: str
    category: str | None
    turns: int
    outcome: Outcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """One battle for one expert.

    Attributes:
        battle_id: what is judged.
        voter_id: by whom.
        position: in the expert's own order, from 0.
        swapped: whether the battle's side A is shown on the right.
        arm: what is shown of a judge's verdict.
        shown_outcome: the verdict shown, in the battle's orientation.
    """

    battle_id: str
    voter_id: str
    position: int
    swapped: bool
    arm: Arm
    shown_outcome: Outcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """How sure an assignment's agreement will be.

    Attributes:
        kind: whose agreement.
        comparisons: pairs of judgements.
        half_width: of the interval, `None` where there is nothing to compare.
    """

    kind: Kind
    comparisons: int
    half_width: float | None


def draw_battles(
    candidates: Sequence[Candidate], *, battles: int, stratify: Sequence[Stratum], seed: int
) -> list[Candidate]:
    """A random sample in random order; every candidate has the same chance.

    Stratified, it is drawn systematically: the candidates are put in order of their strata,
    at random within each, and every N/n-th is taken from a random start. Each stratum then has
    its share of the sample, rounded up or down, and estimates need no weights.

    Args:
        candidates: what may be drawn, in a fixed order.
        battles: how many, at most as many as there are candidates.
        stratify: by what; the first varies slowest.
        seed: the same seed draws the same.
    """
    random = np.random.default_rng([seed, 0])
    ordered = [candidates[place] for place in random.permutation(len(candidates))]
    ordered.sort(key=lambda candidate: [_stratum(candidate, name) for name in stratify])
    step = len(ordered) / battles
    start = random.random() * step
    last = len(ordered) - 1
    drawn = [ordered[min(int(start + number * step), last)] for number in range(battles)]
    return [drawn[place] for place in random.permutation(battles)]


def allot_tasks(
    battles: Sequence[Candidate],
    *,
    experts: Sequence[str],
    per_battle: int,
    seed: int,
    shares: Mapping[Arm, float] | None = None,
    verdicts: Mapping[str, Outcome] | None = None,
) -> list[PlannedTask]:
    """Who judges what: loads as equal as can be, every two experts together as often.

    Each expert has an order of their own; sides and, where there are arms, arms are drawn for
    each task. Of an expert's tasks each arm has its share, rounded.

    Args:
        battles: what is judged.
        experts: voter ids.
        per_battle: how many experts judge each battle.
        seed: the same seed plans the same.
        shares: of each arm, summing to 1; all blind by default.
        verdicts: a judge's, by battle, in the battle's orientation; for arms that show one.
    """
    random = np.random.default_rng([seed, 1])
    chosen = _choose_experts(len(battles), experts, per_battle=per_battle, random=random)
    tasks = []
    for voter_id in experts:
        own = [battle for battle, who in zip(battles, chosen, strict=True) if voter_id in who]
        order = random.permutation(len(own))
        arms = _deal_arms(len(own), shares or {Arm.BLIND: 1.0}, random)
        for position, (place, arm) in enumerate(zip(order, arms, strict=True)):
            battle_id = own[place].battle_id
            tasks.append(
                PlannedTask(
                    battle_id=battle_id,
                    voter_id=voter_id,
                    position=position,
                    swapped=bool(random.random() < 0.5),
                    arm=arm,
                    shown_outcome=_choose_shown(arm, (verdicts or {}).get(battle_id), random),
                )
            )
    return tasks


def expect_agreement(
    *,
    battles: int,
    per_battle: int,
    blind: float = 1.0,
    agreement: float = EXPECTED_AGREEMENT,
    correlation: float = SHARED_LUCK,
    level: float = LEVEL,
) -> tuple[Expectation, ...]:
    """The half-widths to expect, of the expert–crowd and of the expert–expert agreement.

    Normal approximation for a share of n comparisons of which those on one battle are alike:
    z·√(p(1 − p)/n · (1 + (k − 1)·ρ)), k being the comparisons a battle has (Kish's design
    effect). Only judgements in the blind arm count.

    Args:
        battles: in the sample.
        per_battle: experts a battle.
        blind: share of the blind arm.
        agreement: p, the agreement itself.
        correlation: ρ, of two comparisons on one battle.
        level: of the interval.
    """
    kept: dict[Kind, float] = {"expert and crowd": blind, "expert and expert": blind**2}
    counts: dict[Kind, int] = {
        "expert and crowd": per_battle,
        "expert and expert": comb(per_battle, 2),
    }
    return tuple(
        _expect(
            kind,
            comparisons=round(battles * counts[kind] * kept[kind]),
            effect=1 + (counts[kind] - 1) * kept[kind] * correlation,
            agreement=agreement,
            level=level,
        )
        for kind in KINDS
    )


def _expect(
    kind: Kind, *, comparisons: int, effect: float, agreement: float, level: float
) -> Expectation:
    if comparisons <= 0:
        return Expectation(kind=kind, comparisons=0, half_width=None)
    error = sqrt(agreement * (1 - agreement) / comparisons * effect)
    half_width = NormalDist().inv_cdf((1 + level) / 2) * error
    return Expectation(kind=kind, comparisons=comparisons, half_width=half_width)


def _stratum(candidate: Candidate, name: Stratum) -> str:
    """A label under which a candidate is like others, whichever side its models are on."""
    first, second = sorted((candidate.model_a, candidate.model_b))
    if name == "pair":
        return f"{first}\n{second}"
    if name == "category":
        return candidate.category or ""
    winners = {Outcome.MODEL_A: candidate.model_a, Outcome.MODEL_B: candidate.model_b}
    winner = candidate.outcome and winners.get(candidate.outcome)
    if winner is None:
        return candidate.outcome or ""
    return "first" if winner == first else "second"


def _choose_experts(
    battles: int, experts: Sequence[str], *, per_battle: int, random: np.random.Generator
) -> list[frozenset[str]]:
    """For each battle, one after another: those with the least to do, then the least together."""
    loads: Counter[str] = Counter()
    together: Counter[frozenset[str]] = Counter()
    chosen = []
    for _ in range(battles):
        who: list[str] = []
        for _ in range(per_battle):
            rest = [voter_id for voter_id in experts if voter_id not in who]
            luck = random.random(len(rest))
            _, _, voter_id = min(
                (
                    (loads[voter_id], sum(together[frozenset((voter_id, other))] for other in who)),
                    luck[place],
                    voter_id,
                )
                for place, voter_id in enumerate(rest)
            )
            who.append(voter_id)
        loads.update(who)
        together.update(frozenset(pair) for pair in combinations(who, 2))
        chosen.append(frozenset(who))
    return chosen


def _deal_arms(tasks: int, shares: Mapping[Arm, float], random: np.random.Generator) -> list[Arm]:
    """As many of each arm as its share says, in random order; remainders go to the largest."""
    counts = {arm: int(tasks * share + 1e-9) for arm, share in shares.items()}
    remainders = sorted(shares, key=lambda arm: counts[arm] - tasks * shares[arm])
    for arm in remainders[: tasks - sum(counts.values())]:
        counts[arm] += 1
    dealt = [arm for arm, count in counts.items() for _ in range(count)]
    return [dealt[place] for place in random.permutation(tasks)]


def _choose_shown(arm: Arm, verdict: Outcome | None, random: np.random.Generator) -> Outcome | None:
    """What is shown: the verdict, or the opposite of it; of a tie either side is wrong."""
    sides = (Outcome.MODEL_A, Outcome.MODEL_B)
    wrong = sides[int(random.integers(2))]
    if arm is Arm.BLIND:
        return None
    if verdict is None:
        raise ValueError(f"the arm {arm} needs a verdict on every battle")
    if arm is Arm.SHOWN:
        return verdict
    return sides[1 - sides.index(verdict)] if verdict in sides else wrong
