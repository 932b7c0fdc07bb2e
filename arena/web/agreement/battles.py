"""The battles on which two kinds of judges differ, with all that was said of them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from arena.rules.battles import Outcome
from arena.web.leaderboard.table import say
from ranking import Consistency

if TYPE_CHECKING:
    from collections.abc import Sequence

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
) -> str:
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
    parts = [f'<section id="battles"><h2>{say(words["battles_title"], **told)}</h2>']
    if not differing:
        parts.append(f"<p>{say(words['battles_none'])}</p>")
    parts += [_battle(one, turns.get(one.battle_id, ()), texts) for one in shown]
    query = {"first": first, "second": second}
    if view.assignment is not None:
        query["study"] = view.assignment
    parts.append(_pages(len(differing), page, query, texts))
    return "".join(parts) + "</section>"


def _battle(verdicts: Verdicts, turns: Sequence[AnsweredTurn], texts: Texts) -> str:
    asked = turns[verdicts.turn - 1].prompt if verdicts.turn <= len(turns) else ""
    summary = asked if len(asked) <= _LONGEST_SUMMARY else asked[:_LONGEST_SUMMARY] + " …"
    models = f"{verdicts.model_a} · {verdicts.model_b}"
    said = "".join(_said(one, verdicts, texts) for one in verdicts.said)
    read = "".join(_turn(turn, verdicts) for turn in turns[: verdicts.turn])
    return (
        f'<details class="agreement-battle"><summary><span dir="auto">{escape(summary)}</span>'
        f"<small>{escape(models)}</small></summary>"
        f'<ul class="agreement-said">{said}</ul>{read}</details>'
    )


def _said(one: Said, verdicts: Verdicts, texts: Texts) -> str:
    words = texts["agreement"]
    kind = words.get(f"kind_{one.kind}", one.kind)
    who = kind if one.kind == "crowd" else f"{kind} {one.judge}"
    verdict = {
        Outcome.MODEL_A: say(words["prefers"], model=verdicts.model_a),
        Outcome.MODEL_B: say(words["prefers"], model=verdicts.model_b),
        Outcome.TIE: say(words["tie"]),
        Outcome.BOTH_BAD: say(words["both_bad"]),
        None: say(words["unread"]),
    }[one.verdict]
    notes = [texts["expert"][f"reason_{reason}"] for reason in one.reasons]
    if one.consistency is not None and one.consistency is not Consistency.CONSISTENT:
        how = one.consistency.replace("-", "_")
        notes.append(words[f"order_{how}"])
    if one.arm not in (None, "blind"):
        notes.append(words["arm"].format(arm=one.arm))
    note = f" ({escape('; '.join(notes))})" if notes else ""
    comment = f" <q>{escape(one.comment)}</q>" if one.comment else ""
    return f"<li><b>{escape(who)}</b>: {verdict}{note}{comment}</li>"


def _turn(turn: AnsweredTurn, verdicts: Verdicts) -> str:
    answers = "".join(
        f'<div><h4 dir="auto">{escape(model)}</h4><div class="agreement-text" dir="auto">'
        f"{escape(text)}</div></div>"
        for model, text in (
            (verdicts.model_a, turn.answer_a),
            (verdicts.model_b, turn.answer_b),
        )
    )
    return (
        f'<blockquote class="agreement-text" dir="auto">{escape(turn.prompt)}</blockquote>'
        f'<div class="agreement-answers">{answers}</div>'
    )


def _pages(total: int, page: int, query: dict[str, str], texts: Texts) -> str:
    last = max(1, -(-total // BATTLES_A_PAGE))
    if last == 1:
        return ""
    words = texts["agreement"]
    links = [
        f'<a href="?{escape(urlencode({**query, "page": number}))}#battles">{say(words[word])}</a>'
        for number, word in ((page - 1, "earlier"), (page + 1, "later"))
        if 1 <= number <= last
    ]
    place = say(words["page"], page=page, last=last, total=f"{total:,}")
    return f'<nav class="agreement-pages">{" ".join(links)} <span>{place}</span></nav>'
