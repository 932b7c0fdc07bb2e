"""The report's tables and pictures as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from arena.agreement.sections import LEFT_ALIGNED, Name, Phrase, describe, list_sections
from arena.web.templating import render
from arena.web.texts import load_table_words

if TYPE_CHECKING:
    from arena.agreement.desk import AgreementView
    from arena.agreement.sections import Section
    from arena.web.texts import Texts
    from ranking import Agreement, AgreementReport, Estimate

_CHANCE_WITHOUT_TIES = 0.5


def render_matrix(view: AgreementView, texts: Texts) -> str:
    """Kind by kind: agreement with and without ties, its interval, and a way to what differs.

    Args:
        view: what to show.
        texts: of the language.
    """
    words = texts["agreement"]
    kinds = [kind.kind for kind in view.report.kinds]
    found = {(a.first, a.second): a for a in view.report.agreements}
    rows = [
        [
            _cell(
                found.get((first, second)) or found.get((second, first)),
                view,
                texts,
                missing="none_within" if first == second else "none",
            )
            for second in kinds
        ]
        for first in kinds
    ]
    return render(
        "agreement/matrix.html",
        words=words,
        kinds=[_name(kind, texts) for kind in kinds],
        rows=rows,
        told=_translate(describe(view.report), texts),
    )


def render_rates(report: AgreementReport, texts: Texts) -> str:
    """A bar from lower to upper with a dot at the agreement, without ties."""
    rows = [_rate_row(a, texts) for a in report.agreements if a.without_ties.value is not None]
    if not rows:
        return ""
    return render(
        "agreement/rates.html", words=texts["agreement"], rows=rows, ticks=(0, 25, 50, 75, 100)
    )


def render_sections(report: AgreementReport, texts: Texts) -> str:
    """All tables of the report, each folded away until it is asked for."""
    return render(
        "agreement/sections.html",
        title=texts["agreement"]["tables_title"],
        sections=[_section(section, texts) for section in list_sections(report)],
    )


def _cell(
    found: Agreement | None, view: AgreementView, texts: Texts, *, missing: str
) -> dict[str, object]:
    if found is None or found.with_ties.value is None:
        return {"missing": missing}
    query = {"first": found.first, "second": found.second}
    if view.assignment is not None:
        query["study"] = view.assignment
    return {
        "missing": "",
        "share": found.with_ties.value,
        "without_ties": _told(found.without_ties),
        "with_ties": _told(found.with_ties),
        "pairs": found.pairs,
        "address": f"?{urlencode(query)}#battles",
        "pair": f"{_name(found.first, texts)} – {_name(found.second, texts)}",
    }


def _told(estimate: Estimate) -> str:
    if estimate.value is None:
        return "–"
    if estimate.lower is None or estimate.upper is None:
        return f"{estimate.value:.0%}"
    return f"{estimate.value:.0%} ({100 * estimate.lower:.0f}–{100 * estimate.upper:.0f})"


def _rate_row(found: Agreement, texts: Texts) -> dict[str, str]:
    estimate = found.without_ties
    value = estimate.value or 0.0
    lower = value if estimate.lower is None else estimate.lower
    upper = value if estimate.upper is None else estimate.upper
    return {
        "pair": f"{_name(found.first, texts)} – {_name(found.second, texts)}",
        "told": _told(estimate),
        "value": f"{100 * value:.1f}",
        "lower": f"{100 * lower:.1f}",
        "beyond": f"{100 - 100 * upper:.1f}",
    }


def _section(section: Section, texts: Texts) -> dict[str, object]:
    are_words = [column in LEFT_ALIGNED for column in section.columns]
    return {
        "title": _translate(section.title, texts),
        "columns": [
            {"title": _translate(column, texts), "is_number": column not in LEFT_ALIGNED}
            for column in section.columns
        ],
        "rows": [
            [
                _translate(cell, texts) if is_word else cell
                for cell, is_word in zip(row, are_words, strict=True)
            ]
            for row in section.rows
        ],
        "notes": [_translate(note, texts) for note in section.notes],
    }


def _translate(text: str, texts: Texts) -> str:
    """The report's English words in the page's language; a name is what it is."""
    words = load_table_words(texts["language"]["html"])

    def _say(part: object) -> object:
        if not isinstance(part, str) or isinstance(part, Name):
            return part
        if isinstance(part, Phrase):
            filled = {name: _say(value) for name, value in part.values.items()}
            return words.get(part.template, part.template).format(**filled)
        kind = texts["agreement"].get(f"kind_{part}")
        return kind or words.get(part, part)

    return str(_say(text))


def _name(kind: str, texts: Texts) -> str:
    return texts["agreement"].get(f"kind_{kind}", kind)
