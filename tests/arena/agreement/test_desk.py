"""Agreement from the record: one long table of crowd, experts and judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from expert_steps import JUDGE, answer_battle, assign, invite, let_judge, vote_on_battles

from arena.agreement.desk import NothingToCompare, collect_verdicts, gather_judgements
from arena.rules.battles import Outcome
from arena.rules.experts import Answer
from ranking import agreement_report

if TYPE_CHECKING:
    from arena.rules.experts import Expert
    from arena.store import Store

A, B, TIE, BAD = Outcome.MODEL_A, Outcome.MODEL_B, Outcome.TIE, Outcome.BOTH_BAD


def judge_all(store: Store, expert: Expert, outcomes: dict[str, Outcome]) -> None:
    """The expert says this of each battle, whichever side it is shown on."""
    while (task := store.experts.next_task(expert.voter_id)) is not None:
        outcome = outcomes[task.battle.id]
        if task.swapped:
            outcome = {A: B, B: A}.get(outcome, outcome)
        answer = Answer(outcome=outcome, seconds=12.0, comment="So it is.")
        store.experts.judge(task.id, voter_id=expert.voter_id, answer=answer)


def test_all_kinds_stand_in_one_table(store: Store) -> None:
    battles = vote_on_battles(store, [A, TIE, B], prompts=("Why?", "And then?"))
    ada = invite(store, "Ada")
    assign(store, [ada], battles=3)
    unjudged = answer_battle(store, voter_id="crowd-9")
    store.battles.vote(unjudged, voter_id="crowd-9", outcome=A)
    judge_all(store, ada, dict(zip(battles, [A, A, BAD], strict=True)))
    let_judge(store, {battles[0]: (A, A), battles[1]: (A, B)}, turn=1)

    rows = store.judgements.read()
    assert {row.item for row in rows} == set(battles)
    assert {row.turn for row in rows} == {2}
    said = {(battles.index(row.item), row.kind, row.judge, row.model_a): row for row in rows}
    assert {key: row.winner for key, row in said.items()} == {
        (0, "crowd", "crowd-0", "Amber"): "model_a",
        (0, "expert", "Ada", "Amber"): "model_a",
        (0, "judge", JUDGE, "Amber"): "model_a",
        (0, "judge", JUDGE, "Birch"): "model_b",  # the same, the other way round
        (1, "crowd", "crowd-1", "Amber"): "tie",
        (1, "expert", "Ada", "Amber"): "model_a",
        (1, "judge", JUDGE, "Amber"): "model_a",
        (1, "judge", JUDGE, "Birch"): "model_a",  # whoever stands first
        (2, "crowd", "crowd-2", "Amber"): "model_b",
        (2, "expert", "Ada", "Amber"): "tie (bothbad)",
    }
    left = said[0, "judge", JUDGE, "Amber"]
    turned = said[0, "judge", JUDGE, "Birch"]
    assert (left.length_a, left.length_b) == (len("First answer, 0."), len("Second answer, 0."))
    assert (turned.length_a, turned.length_b) == (left.length_b, left.length_a)
    expert = said[2, "expert", "Ada", "Amber"]
    assert (expert.arm, expert.shown, expert.comment) == ("blind", None, "So it is.")
    assert expert.seconds is not None

    judgements = gather_judgements(rows)
    assert judgements.kinds == ("crowd", "expert", "judge")
    assert len(judgements) == 3 + 3 + 2
    report = agreement_report(judgements, replicates=50, min_pairs=1)
    found = report.agreement("crowd", "expert")
    assert (found.pairs, found.pairs_without_ties) == (3, 1)
    assert found.with_ties.value == pytest.approx(1 / 3)
    (audit,) = report.orders
    assert audit.judge == JUDGE
    assert audit.consistent == pytest.approx(0.5)


def test_an_assignment_is_compared_alone(store: Store) -> None:
    battles = vote_on_battles(store, [A, B, A, B])
    ada = invite(store, "Ada")
    assign(store, [ada], battles=2, name="first")
    given = set(battles) - {one.battle_id for one in store.assignments.candidates()}
    let_judge(store, dict.fromkeys(battles, (A, A)))
    rows = store.judgements.read("first")
    assert {row.item for row in rows} == given
    assert len(given) == 2
    assert {row.kind for row in rows} == {"crowd", "judge"}
    assert len(store.judgements.read()) == 4 + 8
    assert store.judgements.read("no such study") == []


def test_what_was_taken_back_or_shown_is_told_apart(store: Store) -> None:
    (battle,) = vote_on_battles(store, [A])
    ada = invite(store, "Ada")
    assign(store, [ada], battles=1)
    before = store.judgements.version()
    judge_all(store, ada, {battle: B})
    judged = store.judgements.version()
    store.experts.undo(ada.voter_id)
    assert [row.kind for row in store.judgements.read()] == ["crowd"]
    assert len({before, judged, store.judgements.version()}) == 3


def test_the_crowd_alone_is_nothing_to_compare(store: Store) -> None:
    vote_on_battles(store, [A, B])
    assert store.judgements.read() == []
    with pytest.raises(NothingToCompare, match="arena experts sample"):
        gather_judgements(store.judgements.read())


def test_kinds_differ_where_the_report_says_so(store: Store) -> None:
    battles = vote_on_battles(store, [A, B, TIE, BAD])
    assign(store, [invite(store, "Ada")], battles=4)
    # Agrees, is biased, cannot be read, and takes both bad for a tie.
    let_judge(
        store,
        {battles[0]: (A, A), battles[1]: (A, B), battles[2]: (A, None), battles[3]: (TIE, TIE)},
    )
    rows = store.judgements.read()
    verdicts = {one.battle_id: one for one in collect_verdicts(rows)}
    differing = [battle for battle in battles if verdicts[battle].differ("crowd", "judge")]
    assert differing == [battles[1]]
    report = agreement_report(gather_judgements(rows), replicates=20, min_pairs=1)
    found = report.agreement("crowd", "judge")
    assert found.pairs - round((found.with_ties.value or 0) * found.pairs) == len(differing)
