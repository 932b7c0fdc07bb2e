"""Experts: the rules, the sample and who judges what, the record, the panel."""

from __future__ import annotations

import base64
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from expert_steps import (
    NAMES,
    answer_battle,
    assign,
    invite,
    vote_on_battles,
)
from hypothesis import given
from hypothesis import strategies as st
from itsdangerous import URLSafeSerializer

from arena.experts.panel import EndView, ExpertPanel, TaskView
from arena.rules.battles import Outcome, turn_round
from arena.rules.experts import (
    MAX_COMMENT,
    MAX_SECONDS,
    AlreadyJudged,
    Answer,
    Arm,
    CannotJudge,
    Expert,
    ExpertKeys,
    Given,
    InvalidAnswer,
    NothingToUndo,
    NotInvited,
    Reason,
    UnknownTask,
    bound_seconds,
    check_answer,
)
from arena.rules.sampling import (
    SHARED_LUCK,
    STRATA,
    Candidate,
    allot_tasks,
    draw_battles,
    expect_agreement,
)
from arena.store import NameTaken
from arena.store.judged_battles import PROMPT_SET_POLICY

if TYPE_CHECKING:
    from pathlib import Path

    from arena.rules.sampling import Stratum
    from arena.store import Store

SECRET = "a secret of sixteen or more"  # noqa: S105  made up
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
ADA = Expert(
    voter_id="voter-1",
    name="Ada",
    link_id="link-1",
    created_at=NOW,
    expires_at=NOW + timedelta(days=1),
    revoked_at=None,
)
A_IS_BETTER = Answer(outcome=Outcome.MODEL_A)


# The rules


@given(st.sampled_from(Outcome))
def test_exchanging_the_sides_twice_changes_nothing(outcome: Outcome) -> None:
    turned = turn_round(outcome, swapped=True)
    assert turn_round(turned, swapped=True) is outcome
    assert turn_round(outcome, swapped=False) is outcome
    assert (turned is outcome) == (outcome not in (Outcome.MODEL_A, Outcome.MODEL_B))


def test_a_link_works_until_it_expires_or_is_taken_back() -> None:
    assert ADA.is_welcome(NOW)
    assert not ADA.is_welcome(ADA.expires_at)
    assert not replace(ADA, revoked_at=NOW).is_welcome(NOW)


def test_a_key_is_read_as_it_was_signed_and_by_the_same_secret_only() -> None:
    key = ExpertKeys(SECRET).sign(ADA)
    assert ExpertKeys(SECRET).read(key) == ("voter-1", "link-1")
    with pytest.raises(NotInvited):
        ExpertKeys("another secret of sixteen").read(key)


@given(st.text())
def test_any_text_is_no_key(text: str) -> None:
    with pytest.raises(NotInvited):
        ExpertKeys(SECRET).read(text)


@pytest.mark.parametrize("content", ["voter-1", ["voter-1"], ["voter-1", 7], {"a": 1}, None])
def test_a_signed_value_that_is_no_key_lets_nobody_in(content: object) -> None:
    signed = URLSafeSerializer(SECRET, salt="arena.expert").dumps(content)
    with pytest.raises(NotInvited):
        ExpertKeys(SECRET).read(str(signed))


def test_a_crowd_voters_token_and_a_forged_content_are_no_keys() -> None:
    crowd = URLSafeSerializer(SECRET, salt="arena.voter").dumps(["voter-1", "link-1"])
    payload = base64.urlsafe_b64encode(json.dumps(["voter-2", "link-2"]).encode()).decode()
    forged = f"{payload.rstrip('=')}.{ExpertKeys(SECRET).sign(ADA).split('.')[1]}"
    for key in (str(crowd), forged):
        with pytest.raises(NotInvited):
            ExpertKeys(SECRET).read(key)


def check(**changes: object) -> Answer:
    sent: dict[str, Any] = {
        "outcome": Outcome.TIE,
        "cannot_judge": None,
        "reasons": [],
        "comment": "",
        "seconds": 3,
        **changes,
    }
    return check_answer(**sent)


def test_an_answer_is_cleaned() -> None:
    answer = check(reasons=["safety", "clarity", "safety"], comment=" Well \0done.\n")
    assert answer == Answer(
        outcome=Outcome.TIE,
        reasons=(Reason.CLARITY, Reason.SAFETY),
        comment="Well done.",
        seconds=3.0,
    )
    assert check(outcome=None, cannot_judge="language").cannot_judge is CannotJudge.LANGUAGE


@pytest.mark.parametrize(
    "changes",
    [
        {"cannot_judge": "other"},
        {"outcome": None},
        {"outcome": None, "cannot_judge": ""},
        {"outcome": None, "cannot_judge": "tired"},
        {"outcome": None, "cannot_judge": ["other"]},
        {"reasons": ["beauty"]},
        {"reasons": [{}]},
        {"comment": "x" * (MAX_COMMENT + 1)},
        {"comment": 7},
    ],
    ids=str,
)
def test_what_the_page_does_not_offer_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidAnswer):
        check(**changes)


@pytest.mark.parametrize("seconds", [None, "9", True, -1, float("nan"), float("inf"), [], {}])
def test_seconds_that_are_none_are_not_measured(seconds: object) -> None:
    assert check(seconds=seconds).seconds is None


@given(st.floats(0, 1e9), st.floats(-10, 1e9))
def test_seconds_are_never_more_than_the_servers_clock_allows(
    seconds: float, elapsed: float
) -> None:
    bounded = bound_seconds(seconds, elapsed=elapsed)
    assert bounded is not None
    assert 0 <= bounded <= min(seconds, max(elapsed, 0), MAX_SECONDS)
    assert bound_seconds(None, elapsed=elapsed) is None


# The sample


def candidates(count: int) -> list[Candidate]:
    """Three pairs on both sides, four categories and four outcomes, unevenly mixed."""
    random = np.random.default_rng(7)
    names = ["Amber", "Birch", "Cedar"]
    made = []
    for number in range(count):
        a, b = random.choice(3, 2, replace=False, p=[0.6, 0.3, 0.1])
        made.append(
            Candidate(
                battle_id=f"battle-{number}",
                model_a=names[a],
                model_b=names[b],
                category=[None, "math", "coding", "writing"][int(random.integers(4))],
                turns=1,
                outcome=[*Outcome][int(random.choice(4, p=[0.4, 0.4, 0.15, 0.05]))],
            )
        )
    return made


@pytest.mark.parametrize("stratify", [(), ("category",), STRATA])
def test_a_sample_has_no_battle_twice_and_the_seed_repeats_it(
    stratify: tuple[Stratum, ...],
) -> None:
    offered = candidates(103)
    for battles in (1, 40, 103):
        drawn = draw_battles(offered, battles=battles, stratify=stratify, seed=3)
        assert len({one.battle_id for one in drawn}) == battles
        assert drawn == draw_battles(offered, battles=battles, stratify=stratify, seed=3)
    assert drawn != draw_battles(offered, battles=103, stratify=stratify, seed=4)


@pytest.mark.parametrize("stratify", [(), ("pair", "outcome")])
def test_every_battle_has_the_same_chance(stratify: tuple[Stratum, ...]) -> None:
    offered, draws, battles = candidates(30), 3_000, 7
    counts = Counter(
        one.battle_id
        for seed in range(draws)
        for one in draw_battles(offered, battles=battles, stratify=stratify, seed=seed)
    )
    expected = draws * battles / len(offered)
    spread = np.sqrt(expected * (1 - battles / len(offered)))
    assert max(abs(counts[one.battle_id] - expected) for one in offered) < 4.5 * spread


@given(st.integers(0, 1_000), st.integers(1, 200))
def test_each_stratum_has_its_share_rounded(seed: int, battles: int) -> None:
    offered = candidates(200)
    drawn = draw_battles(offered, battles=battles, stratify=("pair",), seed=seed)

    def pairs(of: list[Candidate]) -> Counter[frozenset[str]]:
        return Counter(frozenset((one.model_a, one.model_b)) for one in of)

    for pair, there in pairs(offered).items():
        share = battles * there / len(offered)
        assert abs(pairs(drawn)[pair] - share) < 1 + 1e-9


# Who judges what


def test_experts_have_equal_loads_and_meet_each_other_as_often() -> None:
    battles, experts = candidates(100), [f"expert-{number}" for number in range(5)]
    tasks = allot_tasks(battles, experts=experts, per_battle=2, seed=1)
    assert set(Counter(task.voter_id for task in tasks).values()) == {40}
    on_battle = {
        one.battle_id: {task.voter_id for task in tasks if task.battle_id == one.battle_id}
        for one in battles
    }
    assert {len(who) for who in on_battle.values()} == {2}
    meetings = Counter(frozenset(who) for who in on_battle.values())
    assert len(meetings) == 10
    assert max(meetings.values()) - min(meetings.values()) <= 3
    for expert in experts:
        own = [task for task in tasks if task.voter_id == expert]
        assert sorted(task.position for task in own) == list(range(40))
    swapped = sum(task.swapped for task in tasks)
    assert 70 < swapped < 130
    assert {task.arm for task in tasks} == {Arm.BLIND}
    assert {task.shown_outcome for task in tasks} == {None}
    assert tasks == allot_tasks(battles, experts=experts, per_battle=2, seed=1)
    assert tasks != allot_tasks(battles, experts=experts, per_battle=2, seed=2)


def test_two_experts_come_to_the_battles_in_orders_of_their_own() -> None:
    battles = candidates(20)
    tasks = allot_tasks(battles, experts=["one", "two"], per_battle=2, seed=0)
    orders = [
        [task.battle_id for task in tasks if task.voter_id == expert] for expert in ("one", "two")
    ]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])


def test_arms_have_their_shares_and_a_planted_verdict_is_always_wrong() -> None:
    battles = candidates(42)
    verdicts = {one.battle_id: [*Outcome][number % 4] for number, one in enumerate(battles)}
    shares = {Arm.BLIND: 0.5, Arm.SHOWN: 0.25, Arm.PLANTED: 0.25}
    tasks = allot_tasks(
        battles, experts=["one", "two"], per_battle=2, seed=5, shares=shares, verdicts=verdicts
    )
    for expert in ("one", "two"):
        arms = Counter(task.arm for task in tasks if task.voter_id == expert)
        assert arms[Arm.BLIND] == 21
        assert {arms[Arm.SHOWN], arms[Arm.PLANTED]} == {10, 11}
    for task in tasks:
        said = verdicts[task.battle_id]
        if task.arm is Arm.BLIND:
            assert task.shown_outcome is None
        elif task.arm is Arm.SHOWN:
            assert task.shown_outcome is said
        else:
            assert task.shown_outcome in (Outcome.MODEL_A, Outcome.MODEL_B)
            assert task.shown_outcome is not said
    planted_on_ties = {
        task.shown_outcome
        for task in tasks
        if task.arm is Arm.PLANTED and verdicts[task.battle_id] is Outcome.TIE
    }
    assert planted_on_ties == {Outcome.MODEL_A, Outcome.MODEL_B}
    with pytest.raises(ValueError, match="needs a verdict"):
        allot_tasks(battles, experts=["one"], per_battle=1, seed=5, shares=shares, verdicts={})


# How sure it will be


def test_without_clusters_the_half_width_is_the_binomials() -> None:
    crowd, expert = expect_agreement(battles=160, per_battle=1, agreement=0.75)
    assert (crowd.comparisons, expert.comparisons) == (160, 0)
    assert crowd.half_width == pytest.approx(1.959964 * np.sqrt(0.75 * 0.25 / 160), rel=1e-6)
    assert expert.half_width is None


@pytest.mark.parametrize(("per_battle", "blind"), [(2, 1.0), (3, 1.0), (3, 0.5)])
def test_the_half_width_is_what_simulated_panels_have(per_battle: int, blind: float) -> None:
    battles, agreement, correlation, studies = 160, 0.75, 0.4, 4_000
    expected = expect_agreement(
        battles=battles,
        per_battle=per_battle,
        blind=blind,
        agreement=agreement,
        correlation=correlation,
    )[0]
    random = np.random.default_rng(2)
    # Agreement on a battle is beta distributed, so that two experts' is correlated by ρ.
    scale = 1 / correlation - 1
    luck = random.beta(agreement * scale, (1 - agreement) * scale, (studies, battles, 1))
    agrees = random.random((studies, battles, per_battle)) < luck
    seen = random.random(agrees.shape) < blind
    figures = (agrees & seen).sum((1, 2)) / seen.sum((1, 2))
    assert expected.half_width == pytest.approx(1.959964 * figures.std(), rel=0.05)


def test_the_correlation_assumed_is_that_of_real_votes(shared_data: Path) -> None:
    # Zheng et al. 2023: 1,751 human votes on MT-Bench with the judges' ids.
    table = pd.read_csv(shared_data / "mtbench" / "human_votes_partial.csv")
    found = {"with ties": table, "without": table[table["winner"].isin(["model_a", "model_b"])]}
    measured = {name: shared_luck(votes) for name, votes in found.items()}
    assert measured == pytest.approx({"with ties": 0.356, "without": 0.408}, abs=5e-4)
    assert min(measured.values()) < SHARED_LUCK < max(measured.values())


def shared_luck(table: pd.DataFrame) -> float:
    """Correlation of two people's agreement with a third, over ordered triples."""
    triples = both = single = 0
    for _, group in table.groupby(["question_id", "turn", "model_a", "model_b"]):
        for third, one, other in permutations(group["winner"], 3):
            triples += 1
            single += one == third
            both += third == one == other
    p = single / triples
    return float((both / triples - p * p) / (p * (1 - p)))


# The record


def test_a_new_invitation_replaces_the_link_and_undoes_a_revocation(store: Store) -> None:
    first = invite(store, "Ada", days=1)
    assert store.experts.revoke("Ada")
    revoked = store.experts.find(first.voter_id)
    assert revoked is not None
    assert not revoked.is_welcome(datetime.now(UTC))
    again = invite(store, "Ada", days=2)
    assert again.voter_id == first.voter_id
    assert again.link_id != first.link_id
    assert again.is_welcome(datetime.now(UTC))
    assert store.experts.all() == [again]
    assert not store.experts.revoke("Bob")
    assert store.experts.find("nobody") is None


def test_only_battles_that_count_are_candidates(store: Store) -> None:
    voted = vote_on_battles(store, [Outcome.MODEL_A, Outcome.TIE])
    answer_battle(store, voter_id="still-reading")
    named = answer_battle(store, texts=("I am Amber.", "And I not."), voter_id="told")
    store.battles.vote(named, voter_id="told", outcome=Outcome.MODEL_A)
    generated = answer_battle(store, voter_id="generator", policy=PROMPT_SET_POLICY)
    answer_battle(
        store,
        texts=("I am Amber.", "And I not."),
        voter_id="generator",
        policy=PROMPT_SET_POLICY,
    )
    other = answer_battle(store, models=("Amber", "Cedar"), voter_id="other")
    store.battles.vote(other, voter_id="other", outcome=Outcome.MODEL_B)
    found = {one.battle_id: one for one in store.assignments.candidates()}
    assert set(found) == {*voted, generated, other}
    assert found[voted[1]].outcome is Outcome.TIE
    assert found[generated].outcome is None
    pair = store.assignments.candidates(pair=("Cedar", "Amber"))
    assert [one.battle_id for one in pair] == [other]


def test_a_battle_is_given_away_once_and_a_name_is_taken_once(store: Store) -> None:
    vote_on_battles(store, [Outcome.MODEL_A] * 3)
    ada = invite(store, "Ada")
    assign(store, [ada], battles=2)
    assert len(store.assignments.candidates()) == 1
    with pytest.raises(NameTaken):
        assign(store, [ada], battles=1)
    assert len(store.assignments.candidates()) == 1
    assert [(one.name, one.battles) for one in store.assignments.all()] == [("study", 2)]


def test_judgements_are_stored_in_the_battles_own_orientation(store: Store) -> None:
    vote_on_battles(store, [Outcome.MODEL_B] * 6)
    ada = invite(store, "Ada")
    assign(store, [ada], battles=6)
    swapped = {}
    while task := store.experts.next_task(ada.voter_id):
        swapped[task.battle.id] = task.swapped
        answer = Answer(outcome=Outcome.MODEL_A, reasons=(Reason.CLARITY,), comment="Neat.")
        store.experts.judge(task.id, voter_id=ada.voter_id, answer=answer)
    assert set(swapped.values()) == {True, False}
    rows = store.judgements.read("study")
    experts = [row for row in rows if row.kind == "expert"]
    assert {row.item: row.winner for row in experts} == {
        battle_id: Outcome.MODEL_B if turned else Outcome.MODEL_A
        for battle_id, turned in swapped.items()
    }
    assert {(row.judge, row.arm, row.shown, row.reasons, row.comment) for row in experts} == {
        ("Ada", "blind", None, "clarity", "Neat.")
    }
    crowd = [row for row in rows if row.kind == "crowd"]
    assert {row.item for row in crowd} == set(swapped)
    assert {(row.winner, row.arm, row.seconds) for row in crowd} == {("model_b", None, None)}
    assert {(row.model_a, row.model_b, row.turn) for row in rows} == {(*NAMES, 1)}
    # Seen again as the expert saw it.
    (judged, *_) = store.experts.judged(1, voter_id=ada.voter_id)
    assert judged.answer.outcome is Outcome.MODEL_A


def test_a_judgement_is_no_vote_and_changes_no_leaderboard(store: Store) -> None:
    vote_on_battles(store, [Outcome.MODEL_A, Outcome.MODEL_B])
    before = (store.votes.by_outcome(), store.votes.last_id(), store.votes.tally().votes)
    ada = invite(store, "Ada")
    assign(store, [ada], battles=2)
    while task := store.experts.next_task(ada.voter_id):
        store.experts.judge(task.id, voter_id=ada.voter_id, answer=A_IS_BETTER)
    assert (store.votes.by_outcome(), store.votes.last_id(), store.votes.tally().votes) == before


def test_a_second_answer_and_what_is_not_ones_own_are_refused(store: Store) -> None:
    vote_on_battles(store, [Outcome.MODEL_A] * 2)
    ada, bob = invite(store, "Ada"), invite(store, "Bob")
    assign(store, [ada, bob], battles=2)
    task = store.experts.next_task(ada.voter_id)
    assert task is not None
    store.experts.judge(task.id, voter_id=ada.voter_id, answer=A_IS_BETTER)
    with pytest.raises(AlreadyJudged):
        store.experts.judge(
            task.id, voter_id=ada.voter_id, answer=Answer(cannot_judge=CannotJudge.OTHER)
        )
    with pytest.raises(UnknownTask):
        store.experts.judge(task.id, voter_id=bob.voter_id, answer=A_IS_BETTER)
    with pytest.raises(UnknownTask):  # never shown
        store.experts.judge(task.id + 1, voter_id=ada.voter_id, answer=A_IS_BETTER)
    with pytest.raises(UnknownTask):
        store.experts.judge(999_999_999, voter_id=ada.voter_id, answer=A_IS_BETTER)
    (share, _) = store.assignments.shares()
    assert (share.expert, share.tasks, share.judged, share.cannot_judge) == ("Ada", 2, 1, 0)


def test_of_many_answers_at_once_one_is_stored(store: Store) -> None:
    vote_on_battles(store, [Outcome.MODEL_A])
    ada = invite(store, "Ada")
    assign(store, [ada], battles=1)
    task = store.experts.next_task(ada.voter_id)
    assert task is not None
    task_id = task.id

    def press(outcome: Outcome) -> Outcome | None:
        try:
            store.experts.judge(task_id, voter_id=ada.voter_id, answer=Answer(outcome=outcome))
        except AlreadyJudged:
            return None
        return outcome

    with ThreadPoolExecutor(8) as threads:
        stored = [one for one in threads.map(press, [*Outcome] * 4) if one is not None]
    (judged,) = store.experts.judged(1, voter_id=ada.voter_id)
    assert stored == [judged.answer.outcome]


def test_undoing_goes_back_one_by_one_and_keeps_the_rows(store: Store) -> None:
    vote_on_battles(store, [Outcome.MODEL_A] * 3)
    ada = invite(store, "Ada")
    assign(store, [ada], battles=3)
    with pytest.raises(NothingToUndo):
        store.experts.undo(ada.voter_id)
    assert store.experts.undoable(ada.voter_id) is None
    seen = []
    for number in range(3):
        task = store.experts.next_task(ada.voter_id)
        assert task is not None
        seen.append(task.id)
        answer = Answer(outcome=Outcome.MODEL_A, comment=f"comment {number}")
        store.experts.judge(task.id, voter_id=ada.voter_id, answer=answer)
    for number in (2, 1):
        assert store.experts.undoable(ada.voter_id) == Given(task_id=seen[number], edition=0)
        draft = store.experts.undo(ada.voter_id)
        assert (draft.comment, draft.outcome) == (f"comment {number}", Outcome.MODEL_A)
        task = store.experts.next_task(ada.voter_id)
        assert task is not None
        assert task.id == seen[number]
    store.experts.judge(seen[1], voter_id=ada.voter_id, answer=Answer(outcome=Outcome.TIE))
    outcomes = [one.answer.outcome for one in store.experts.judged(1, voter_id=ada.voter_id)]
    assert outcomes == [Outcome.MODEL_A, Outcome.TIE]
    with store.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT count(*), count(retracted_at) FROM judgements")
        assert tuple(rows.one()) == (4, 2)


def test_time_is_bounded_by_the_clock_of_the_first_showing(store: Store) -> None:
    vote_on_battles(store, [Outcome.MODEL_A])
    ada = invite(store, "Ada")
    assign(store, [ada], battles=1)
    first = store.experts.next_task(ada.voter_id)
    again = store.experts.next_task(ada.voter_id)
    assert first is not None
    assert again is not None
    assert again.first_shown_at == first.first_shown_at
    answer = Answer(outcome=Outcome.TIE, seconds=500.0)
    store.experts.judge(first.id, voter_id=ada.voter_id, answer=answer)
    (judged,) = store.experts.judged(1, voter_id=ada.voter_id)
    assert judged.answer.seconds is not None
    assert 0 <= judged.answer.seconds < 60


# The panel


def panel_of(store: Store) -> ExpertPanel:
    return ExpertPanel(store, secret=SECRET)


def key_of(expert: Expert) -> str:
    return ExpertKeys(SECRET).sign(expert)


async def test_an_expired_a_replaced_and_a_revoked_link_let_nobody_in(store: Store) -> None:
    panel = panel_of(store)
    old = invite(store, "Ada")
    assert (await panel.admit(key_of(old))).name == "Ada"
    ada = invite(store, "Ada")
    expired = invite(store, "Bob", days=-1)
    revoked = invite(store, "Cid")
    store.experts.revoke("Cid")
    stranger = replace(ada, voter_id="nobody")
    for expert in (old, expired, revoked, stranger):
        for refused in (
            panel.admit(key_of(expert)),
            panel.look(key_of(expert)),
            panel.judge(key_of(expert), 1, A_IS_BETTER),
            panel.undo(key_of(expert)),
        ):
            with pytest.raises(NotInvited):
                await refused
    with pytest.raises(NotInvited):
        await panel.look("")


async def test_a_view_shows_the_sides_as_they_were_drawn(store: Store) -> None:
    vote_on_battles(store, [Outcome.MODEL_A] * 6, prompts=("Why?", "And then?"))
    panel, ada = panel_of(store), invite(store, "Ada")
    assign(store, [ada], battles=6)
    lefts = set()
    view = await panel.look(key_of(ada))
    for number in range(6):
        assert isinstance(view, TaskView)
        assert (view.done, view.total, view.advice, view.is_final) == (number, 6, None, False)
        assert [prompt.split(" (")[0] for prompt in view.prompts] == ["Why?", "And then?"]
        sides = {text.split(",")[0] for text in (*view.left, *view.right)}
        assert sides == {"First answer", "Second answer"}
        assert len(view.left) == len(view.right) == 2
        lefts.add(view.left[0].split(",")[0])
        assert (view.undoes is not None) == bool(number)
        view = await panel.judge(key_of(ada), view.task_id, A_IS_BETTER)
    assert lefts == {"First answer", "Second answer"}
    assert isinstance(view, EndView)
    assert (view.total, view.more, view.told) == (6, False, ())
    assert view.undoes is not None
    back = await panel.undo(key_of(ada))
    assert isinstance(back, TaskView)
    assert back.draft is not None
    assert back.done == 5


async def test_an_expert_without_battles_is_at_an_empty_end(store: Store) -> None:
    ada = invite(store, "Ada")
    view = await panel_of(store).look(key_of(ada))
    assert view == EndView(total=0, more=False, undoes=None, told=())


async def test_experts_are_told_of_the_arms_at_the_end_and_undo_nothing_then(
    store: Store,
) -> None:
    battle_ids = vote_on_battles(store, [Outcome.MODEL_A] * 8)
    panel, ada = panel_of(store), invite(store, "Ada")
    verdicts = dict(zip(battle_ids, [*Outcome] * 2, strict=True))
    assign(
        store,
        [ada],
        battles=8,
        shares={Arm.BLIND: 0.5, Arm.SHOWN: 0.25, Arm.PLANTED: 0.25},
        verdicts=verdicts,
    )
    view = await panel.look(key_of(ada))
    shown = []
    while isinstance(view, TaskView):
        shown.append(view.advice)
        assert view.is_final == (view.done == 7)
        view = await panel.judge(key_of(ada), view.task_id, A_IS_BETTER)
    assert [one.shown_outcome for one in view.told] == shown
    assert Counter(one.arm for one in view.told) == {Arm.BLIND: 4, Arm.SHOWN: 2, Arm.PLANTED: 2}
    assert view.undoes is None
    with pytest.raises(NothingToUndo):
        await panel.undo(key_of(ada))
    rows = [row for row in store.judgements.read() if row.kind == "expert"]
    for row in rows:
        told = {"blind": None, "shown": verdicts[row.item]}
        if row.arm == "planted":
            assert row.shown not in (None, verdicts[row.item])
        else:
            assert row.shown == told[str(row.arm)]


async def test_between_two_assignments_the_first_one_ends(store: Store) -> None:
    vote_on_battles(store, [Outcome.MODEL_A] * 3)
    panel, ada = panel_of(store), invite(store, "Ada")
    assign(store, [ada], battles=1, name="first")
    assign(store, [ada], battles=2, name="second")
    view = await panel.look(key_of(ada))
    assert isinstance(view, TaskView)
    assert view.total == 1
    end = await panel.judge(key_of(ada), view.task_id, A_IS_BETTER)
    given = Given(task_id=view.task_id, edition=0)
    assert end == EndView(total=1, more=True, undoes=given, told=())
    following = await panel.look(key_of(ada))
    assert isinstance(following, TaskView)
    assert (following.done, following.total) == (0, 2)


async def test_overlap_is_as_planned(store: Store) -> None:
    vote_on_battles(store, [Outcome.MODEL_A] * 6)
    experts = [invite(store, name) for name in ("Ada", "Bob", "Cid")]
    assign(store, experts, battles=6, per_battle=2)
    panel = panel_of(store)
    for expert in experts:
        view = await panel.look(key_of(expert))
        while isinstance(view, TaskView):
            view = await panel.judge(key_of(expert), view.task_id, A_IS_BETTER)
    rows = [row for row in store.judgements.read() if row.kind == "expert"]
    judges = {
        item: {row.judge for row in rows if row.item == item} for item in {row.item for row in rows}
    }
    assert len(rows) == 12
    assert {len(who) for who in judges.values()} == {2}
    assert {frozenset(pair) for pair in combinations(("Ada", "Bob", "Cid"), 2)} == {
        frozenset(who) for who in judges.values()
    }
