"""What `arena agreement` writes: tables, JSON, CSV or Markdown."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Literal

import arena
from arena.agreement.sections import LEFT_ALIGNED, Section, describe, list_sections
from arena.cli.terminal import render_text, text_table
from arena.writing import format_csv, format_markdown
from ranking import AgreementReport, Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from arena.cli.agreement.source import Source

__all__ = ["SUFFIXES", "AgreementFormat", "render"]

AgreementFormat = Literal["table", "json", "csv", "md"]

SUFFIXES: dict[str, AgreementFormat] = {
    ".txt": "table", ".json": "json", ".csv": "csv", ".md": "md",
}  # fmt: skip
_CSV_COLUMNS = (
    "section", "first", "second", "group", "label", "n", "figure", "value", "lower", "upper",
    "clustered_by",
)  # fmt: skip


def render(
    report: AgreementReport, source: Source, form: AgreementFormat, *, width: int | None
) -> str:
    """The whole output, ending in a newline.

    Args:
        report: what to write.
        source: the judgements it was made from.
        form: how.
        width: characters a line of the terminal has, `None` in a file.
    """
    if form == "json":
        whole = report.to_dict()
        origin = {"input": source.described, "code_version": arena.__version__}
        whole["method"] = {**whole["method"], **origin}
        return json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    if form == "csv":
        return _render_csv(report)
    sections = list(list_sections(report))
    if form == "md":
        parts = [f"# Agreement\n\n{describe(report)}\n"]
        told = "".join(f"- {line}\n" for line in source.told)
        return "\n".join([*parts, *(_render_markdown(section) for section in sections), told])
    return _render_table(sections, describe(report), source.told, width=width)


def _render_table(
    sections: Sequence[Section], caption: str, told: Sequence[str], *, width: int | None
) -> str:
    parts: list[Table | str] = [caption]
    for section in sections:
        right = [name for name in section.columns if name not in LEFT_ALIGNED]
        table = text_table(section.columns, section.rows, title=section.title, right=right)
        parts += [table, *section.notes]
    parts += told
    return render_text(parts, width=width)


def _render_markdown(section: Section) -> str:
    lines = format_markdown(section.columns, section.rows, left=LEFT_ALIGNED)
    notes = [f"- {note}" for note in section.notes]
    return "\n".join([f"## {section.title}", "", *lines, "", *notes, *([""] if notes else [])])


def _render_csv(report: AgreementReport) -> str:
    """A line a figure, whatever it is of."""
    lines = (*_list_agreements(report), *_list_comparisons(report), *_list_habits(report))
    return format_csv(_CSV_COLUMNS, lines)


def _line(
    section: str, first: str, second: str | None, n: int, figure: str, estimate: Estimate
) -> dict[str, object]:
    return {
        "section": section, "first": first, "second": second, "n": n, "figure": figure,
        "value": estimate.value, "lower": estimate.lower, "upper": estimate.upper,
        "clustered_by": estimate.clustered_by,
    }  # fmt: skip


def _list_agreements(report: AgreementReport) -> Iterator[dict[str, object]]:
    sections = {"agreement": report.agreements, "repeats": report.repeats,
                "rule": report.baselines, "judge": report.judges, "part": report.parts}  # fmt: skip
    for section, found in sections.items():
        for one in found:
            for column in fields(one):
                estimate = getattr(one, column.name)
                if isinstance(estimate, Estimate):
                    decided = column.name.startswith("without_ties")
                    n = one.pairs_without_ties if decided else one.pairs
                    line = _line(section, one.first, one.second, n, column.name, estimate)
                    yield {**line, "group": one.group, "label": one.label}


def _list_comparisons(report: AgreementReport) -> Iterator[dict[str, object]]:
    for c in report.ceilings:
        for name, estimate in c.differences.items():
            yield _line("ceiling", c.other, c.kind, c.items, f"difference_{name}", estimate)
    for b in report.board_agreements:
        for name in ("kendall", "spearman", "weighted_tau"):
            yield _line("leaderboards", b.first, b.second, b.models, name, getattr(b, name))


def _list_habits(report: AgreementReport) -> Iterator[dict[str, object]]:
    for o in report.orders:
        for name in ("consistent", "first_biased", "second_biased", "unparsable"):
            share = Estimate(getattr(o, name) if o.battles else None)
            yield _line("orders", o.judge, None, o.battles, name, share)
    for v in report.verbosity:
        yield _line("verbosity", v.judge, v.kind, v.judgements, "longer_chosen", v.longer_chosen)
    for s in report.self_preference:
        yield _line("self_preference", s.judge, s.reference, s.battles, "own_minus_others",
                    s.difference)  # fmt: skip
    for a in report.arms:
        for name in ("agreement", "chance", "effect"):
            yield _line("arm", a.arm, None, a.judgements, name, getattr(a, name))
