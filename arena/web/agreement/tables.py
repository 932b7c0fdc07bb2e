"""The report's tables and pictures as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from arena.agreement.sections import LEFT_ALIGNED, Phrase, describe, list_sections
from arena.web.leaderboard.table import say
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
    head = "".join(f'<th scope="col">{_name(kind, texts)}</th>' for kind in kinds)
    rows = ""
    for first in kinds:
        cells = "".join(
            _cell(
                found.get((first, second)) or found.get((second, first)),
                view,
                texts,
                missing="none_within" if first == second else "none",
            )
            for second in kinds
        )
        rows += f'<tr><th scope="row">{_name(first, texts)}</th>{cells}</tr>'
    title = say(words["matrix_title"])
    told = _translate(describe(view.report), texts)
    return (
        f'<section><h2>{title}</h2><div class="board-scroll" role="region" tabindex="0"'
        f' aria-label="{title}"><table class="agreement-matrix" aria-label="{title}">'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        f'<p class="board-note">{say(words["matrix_note"])} {told}</p>'
        "</section>"
    )


def render_rates(report: AgreementReport, texts: Texts) -> str:
    """A bar from lower to upper with a dot at the agreement, without ties."""
    words = texts["agreement"]
    rows = "".join(
        _rate_row(a, texts) for a in report.agreements if a.without_ties.value is not None
    )
    if not rows:
        return ""
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    marks = "".join(f'<span style="left:{100 * t:g}%">{t:.0%}</span>' for t in ticks)
    grid = "".join(f'<i style="left:{100 * t:g}%"></i>' for t in ticks)
    label = say(words["rates_title"])
    return (
        f'<section><h2>{label}</h2><p class="board-note">{say(words["rates_note"])}</p>'
        f'<div class="board-plot" role="img" aria-label="{label}">'
        f'<div class="board-plot-row board-grid"><span></span><span>{grid}</span></div>{rows}'
        f'<div class="board-plot-row board-axis"><span></span><span>{marks}</span></div>'
        "</div></section>"
    )


def render_sections(report: AgreementReport, texts: Texts) -> str:
    """All tables of the report, each folded away until it is asked for."""
    title = say(texts["agreement"]["tables_title"])
    tables = "".join(_section(section, texts) for section in list_sections(report))
    return f"<section><h2>{title}</h2>{tables}</section>"


def _cell(found: Agreement | None, view: AgreementView, texts: Texts, *, missing: str) -> str:
    words = texts["agreement"]
    if found is None or found.with_ties.value is None:
        return f'<td class="agreement-none">{say(words[missing])}</td>'
    query = {"first": found.first, "second": found.second}
    if view.assignment is not None:
        query["study"] = view.assignment
    share = found.with_ties.value
    return (
        f'<td style="--share:{share:.3f}"><b>{_told(found.without_ties)}</b>'
        f"<span>{say(words['with_ties'], rate=_told(found.with_ties))}</span>"
        f"<span>{say(words['pairs'], pairs=f'{found.pairs:,}')}</span>"
        f'<a href="?{escape(urlencode(query))}#battles">{say(words["see"])}</a></td>'
    )


def _told(estimate: Estimate) -> str:
    if estimate.value is None:
        return "–"
    if estimate.lower is None or estimate.upper is None:
        return f"{estimate.value:.0%}"
    return f"{estimate.value:.0%} ({100 * estimate.lower:.0f}–{100 * estimate.upper:.0f})"


def _rate_row(found: Agreement, texts: Texts) -> str:
    estimate = found.without_ties
    value = estimate.value or 0.0
    lower = value if estimate.lower is None else estimate.lower
    upper = value if estimate.upper is None else estimate.upper
    pair = f"{_name(found.first, texts)} – {_name(found.second, texts)}"
    bar = f"left:{100 * lower:.1f}%;right:{100 - 100 * upper:.1f}%"
    return (
        f'<div class="board-plot-row" title="{pair}: {escape(_told(estimate))}">'
        f'<span class="board-plot-name">{pair}</span><span class="board-track">'
        f'<b style="{bar}"></b><i style="left:{100 * value:.1f}%"></i></span></div>'
    )


def _section(section: Section, texts: Texts) -> str:
    head = "".join(
        f'<th scope="col"{_align(column)}>{_translate(column, texts)}</th>'
        for column in section.columns
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_align(column)}>{_cell_text(column, cell, texts)}</td>"
            for column, cell in zip(section.columns, row, strict=True)
        )
        + "</tr>"
        for row in section.rows
    )
    notes = "".join(
        f'<p class="board-note">{_translate(note, texts)}</p>' for note in section.notes
    )
    return (
        f"<details><summary>{_translate(section.title, texts)}</summary>"
        f'<div class="board-scroll"><table class="agreement-table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{notes}</details>"
    )


def _cell_text(column: str, cell: str, texts: Texts) -> str:
    return _translate(cell, texts) if column in LEFT_ALIGNED else escape(cell)


def _translate(text: str, texts: Texts) -> str:
    """The report's English words in the page's language, as HTML."""
    words = load_table_words(texts["language"]["html"])

    def _say(part: object) -> object:
        if not isinstance(part, str):
            return part
        if isinstance(part, Phrase):
            filled = {name: _say(value) for name, value in part.values.items()}
            return words.get(part.template, part.template).format(**filled)
        kind = texts["agreement"].get(f"kind_{part}")
        return kind or words.get(part, part)

    return escape(str(_say(text)))


def _align(column: str) -> str:
    return "" if column in LEFT_ALIGNED else ' class="agreement-number"'


def _name(kind: str, texts: Texts) -> str:
    return say(texts["agreement"].get(f"kind_{kind}", "{kind}"), kind=kind)
