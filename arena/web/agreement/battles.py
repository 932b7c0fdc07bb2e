"""The battles on which two kinds of judges differ, with all that was said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from arena.rules.battles import Outcome
from arena.web.templating import render
from ranking import Consistency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from arena.agreement.desk import AgreementDesk, AgreementView, Said, Verdicts
    from arena.rules.judgements import AnsweredTurn
    from arena.web.texts import Texts

BATTLES_A_PAGE = 10
_LONGEST_SUMMARY = 120


def render_battles(
    desk: AgreementDesk,
    view: AgreementView,
    texts: Texts,
    *,
    first: str,
    second: str,
    page: int,
) -> Markup:
    """One page of the battles on which two kinds differ, or two individuals of one kind.

    Args:
        desk: has the texts.
        view: has the verdicts.
        texts: of the language.
        first: one kind.
        second: the other.
        page: which page, from 1.
    """
    words = texts["agreement"]
    differing = [one for one in view.verdicts if one.differ(first, second)]
    shown = differing[(page - 1) * BATTLES_A_PAGE : page * BATTLES_A_PAGE]
    turns = desk.texts([one.battle_id for one in shown])
    told = {
        "first": words.get(f"kind_{first}", first),
        "second": words.get(f"kind_{second}", second),
    }
    query = {"first": first, "second": second}
    if view.assignment is not None:
        query["study"] = view.assignment
    last = max(1, -(-len(differing) // BATTLES_A_PAGE))
    return render(
        "agreement/battles.html",
        words=words,
        title=words["battles_title"].format(**told),
        battles=[_battle(one, turns.get(one.battle_id, ()), texts) for one in shown],
        last=last,
        links=[
            (f"?{urlencode({**query, 'page': number})}#battles", words[word])
            for number, word in ((page - 1, "earlier"), (page + 1, "later"))
            if 1 <= number <= last
        ],
        place=words["page"].format(page=page, last=last, total=f"{len(differing):,}"),
    )


def _battle(verdicts: Verdicts, turns: Sequence[AnsweredTurn], texts: Texts) -> dict[str, object]:
    asked = turns[verdicts.turn - 1].prompt if verdicts.turn <= len(turns) else ""
    return {
        "summary": asked if len(asked) <= _LONGEST_SUMMARY else asked[:_LONGEST_SUMMARY] + " …",
        "models": f"{verdicts.model_a} · {verdicts.model_b}",
        "said": [_said(one, verdicts, texts) for one in verdicts.said],
        "turns": [_turn(turn, verdicts) for turn in turns[: verdicts.turn]],
    }


def _said(one: Said, verdicts: Verdicts, texts: Texts) -> dict[str, str]:
    words = texts["agreement"]
    kind = words.get(f"kind_{one.kind}", one.kind)
    who = kind if one.kind == "crowd" else f"{kind} {one.judge}"
    verdict = {
        Outcome.MODEL_A: words["prefers"].format(model=verdicts.model_a),
        Outcome.MODEL_B: words["prefers"].format(model=verdicts.model_b),
        Outcome.TIE: words["tie"],
        Outcome.BOTH_BAD: words["both_bad"],
        None: words["unread"],
    }[one.verdict]
    notes = [texts["expert"][f"reason_{reason}"] for reason in one.reasons]
    if one.consistency is not None and one.consistency is not Consistency.CONSISTENT:
        how = one.consistency.replace("-", "_")
        notes.append(words[f"order_{how}"])
    if one.arm not in (None, "blind"):
        notes.append(words["arm"].format(arm=one.arm))
    return {
        "who": who,
        "verdict": verdict,
        "notes": "; ".join(notes),
        "comment": one.comment,
    }


def _turn(turn: AnsweredTurn, verdicts: Verdicts) -> dict[str, object]:
    answers = [(verdicts.model_a, turn.answer_a), (verdicts.model_b, turn.answer_b)]
    return {"prompt": turn.prompt, "answers": answers}
