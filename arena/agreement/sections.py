"""The tables of an agreement report, as a person reads them: on a terminal, a page, in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ranking import Agreement, AgreementReport, Estimate

__all__ = ["LEFT_ALIGNED", "Name", "Phrase", "Section", "describe", "list_sections"]

# Columns of names; all others are numbers.
LEFT_ALIGNED = {"Kind", "Judge", "With", "Beside", "Part", "Family", "Arm", "Verdict of", "Models"}


# A person reads no more lines than this.
_MOST_JUDGES = 40
_RULES = (
    "majority: the usual verdict on the two models, from other items; longer answer: where the "
    "columns length_a and length_b are known."
)


class Phrase(str):
    """English words with something filled in, which a page may say in another language.

    Attributes:
        template: the words as a format string.
        values: what is filled in, phrases among them.
    """

    __slots__ = ("template", "values")

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, **values: object) -> Self:
        """The English sentence itself."""
        phrase = super().__new__(cls, template.format(**values))
        phrase.template = template
        phrase.values = values
        return phrase


class Name(str):
    """What somebody is called: the same in every language, whatever it means in one."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the report.

    Attributes:
        title: above it.
        columns: their titles.
        rows: their cells, as a person reads them.
        notes: below it.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: tuple[str, ...] = ()


def list_sections(report: AgreementReport) -> Iterator[Section]:
    """The tables that have any row, the most asked for first."""
    everything = (
        _kinds(report),
        _agreements("Agreement", report.agreements, notes=_explain_rates(report)),
        _items_first(report),
        _chance(report),
        *(_confusion(report, found) for found in report.agreements),
        _ceilings(report),
        _agreements("Beside rules", report.baselines, notes=(_RULES,)),
        _agreements("Individuals with themselves", report.repeats),
        _judges(report),
        *_parts(report),
        _boards(report),
        _orders(report),
        _verbosity(report),
        _self_preference(report),
        _arms(report),
    )  # fmt: skip
    return (section for section in everything if section.rows)


def describe(report: AgreementReport) -> Phrase:
    """How the report was made, in one line."""
    method = report.method
    exposed = method["judgements"] - method["blind_judgements"]
    left_out = Phrase(
        " ({exposed} made after seeing a verdict are left out)", exposed=f"{exposed:,}"
    )
    bad = {"tie": "both bad counts as a tie", "keep": "both bad is a category of its own"}
    return Phrase(
        "{judgements} judgements of {items} items{left_out}; {bad}; {level}% intervals from "
        "{replicates} resamples.",
        judgements=f"{method['blind_judgements']:,}",
        items=f"{method['items']:,}",
        left_out=left_out if exposed else "",
        bad=Phrase(bad[method["both_bad"]]),
        level=f"{100 * method['level']:g}",
        replicates=f"{method['replicates']:,}",
    )


def _explain_rates(report: AgreementReport) -> tuple[str, ...]:
    few = report.method["few_judges"]
    thirds = len(report.method["categories"])
    clusters = Phrase(
        "Intervals: the wider of resampling items (i) and judges (j); kinds of fewer than "
        "{few} judges are taken as they are.",
        few=few,
    )
    return (
        Phrase(
            "With ties: chance is 1/{categories}. Without: both verdicts decisive, chance is 1/2.",
            categories=thirds,
        ),
        "Every pair of judgements weighs alike.",
        clusters,
    )


def _kinds(report: AgreementReport) -> Section:
    columns = ("Kind", "Judges", "Judgements", "Items", "Ties", "Both bad", "Inconsistent",
               "Median time")  # fmt: skip
    rows = [
        (k.kind, f"{k.judges:,}", f"{k.judgements:,}", f"{k.items:,}", _percent(k.ties),
         _percent(k.both_bad), _percent(k.inconsistent),
         "–" if k.seconds is None else f"{k.seconds:.0f} s")
        for k in report.kinds
    ]  # fmt: skip
    return Section("Judges", columns, rows)


def _agreements(
    title: str,
    found: Iterable[Agreement],
    *,
    notes: tuple[str, ...] = (),
    of_individuals: bool = False,
) -> Section:
    """Pairs of kinds, or of an individual and others."""
    call = Name if of_individuals else str
    columns = ("Judge", "With", "Pairs", "With ties", "Without ties")
    rows = [
        (call(a.first), a.second, f"{a.pairs:,}", _rate(a.with_ties), _rate(a.without_ties))
        for a in found
    ]
    return Section(title, columns, rows, notes)


def _judges(report: AgreementReport) -> Section:
    """Individuals; of a whole crowd only those who agree least."""
    found = sorted(report.judges, key=lambda a: a.with_ties.value or 0.0)[:_MOST_JUDGES]
    hidden = len(report.judges) - len(found)
    shown = found if hidden else report.judges
    more = Phrase(
        "Those who agree least; {hidden} more lines in JSON and CSV.", hidden=f"{hidden:,}"
    )
    notes = (more,) if hidden else ()
    return _agreements("Judges, each left out of the rest", shown, notes=notes, of_individuals=True)


def _items_first(report: AgreementReport) -> Section:
    columns = ("Judge", "With", "Items", "With ties", "Left", "Without ties")
    rows = [
        (a.first, a.second, f"{a.items:,}", _rate(a.with_ties_per_question),
         _percent(a.share_without_ties), _rate(a.without_ties_per_question))
        for a in report.agreements
    ]  # fmt: skip
    note = "Left: share of the items with any pair of decisive verdicts."
    return Section("The same, each item alike", columns, rows, (note,))


def _chance(report: AgreementReport) -> Section:
    columns = ("Judge", "With", "Cohen κ", "Fleiss κ", "Krippendorff α", "Gwet AC1", "Sideless κ")
    rows = [
        (a.first, a.second, *(_number(e) for e in (a.cohen, a.fleiss, a.alpha, a.ac1, a.sideless)))
        for a in report.agreements
    ]
    note = "Ties included. Sideless κ: its chance agreement ignores which model is named first."
    return Section("Beyond chance", columns, rows, (note,))


def _confusion(report: AgreementReport, found: Agreement) -> Section:
    names = report.method["categories"]
    rows = [
        (name, *(f"{number:,}" for number in line))
        for name, line in zip(names, found.confusion, strict=True)
    ]
    inner = found.first == found.second
    notes = ("Each pair stands both ways.",) if inner and len(names) else ()
    title = Phrase("{first} (rows) and {second} (columns)", first=found.first, second=found.second)
    return Section(title, ("Verdict of", *names), rows, notes)


def _ceilings(report: AgreementReport) -> Section:
    columns = ("Kind", "Beside", "Items", "Agreement", "Ceiling", "Difference",
               "Without ties", "Ceiling", "Difference")  # fmt: skip
    rows = [
        (c.other, c.kind, f"{c.items:,}", _rate(c.agreement.with_ties),
         _rate(c.ceiling.with_ties), _signed(c.differences["with_ties"]),
         _rate(c.agreement.without_ties), _rate(c.ceiling.without_ties),
         _signed(c.differences["without_ties"]))
        for c in report.ceilings
    ]  # fmt: skip
    note = "Ceiling: how well individuals of the second kind agree with each other, same items."
    return Section("Ceilings", columns, rows, (note,))


def _parts(report: AgreementReport) -> Iterator[Section]:
    for group in dict.fromkeys(part.group for part in report.parts):
        found = [part for part in report.parts if part.group == group]
        section = _agreements(Phrase("By {group}", group=group), found)
        rows = [(Name(part.label), *row) for part, row in zip(found, section.rows, strict=True)]
        yield Section(section.title, ("Part", *section.columns), rows)


def _boards(report: AgreementReport) -> Section:
    columns = ("Kind", "With", "Models", "Kendall τ", "Spearman ρ", "Weighted τ")
    rows = [
        (b.first, b.second, str(b.models), _number(b.kendall), _number(b.spearman),
         _number(b.weighted_tau))
        for b in report.board_agreements
    ]  # fmt: skip
    note = "Resampled boards are noisier, so intervals tend to lie low: trust their lower ends."
    return Section("Leaderboards", columns, rows, (note,))


def _orders(report: AgreementReport) -> Section:
    columns = ("Judge", "Battles", "Consistent", "First biased", "Second biased", "Unparsable",
               "One order only")  # fmt: skip
    rows = [
        (Name(o.judge), f"{o.battles:,}", *(
            _percent(x) if o.battles else "–"
            for x in (o.consistent, o.first_biased, o.second_biased, o.unparsable)
        ), f"{o.single:,}")
        for o in report.orders
    ]  # fmt: skip
    return Section("Place of the answers", columns, rows)


def _verbosity(report: AgreementReport) -> Section:
    rows = [
        (Name(v.judge), v.kind, f"{v.judgements:,}", _rate(v.longer_chosen))
        for v in report.verbosity
    ]
    return Section("Longer answers", ("Judge", "Kind", "Decided", "Longer chosen"), rows)


def _self_preference(report: AgreementReport) -> Section:
    columns = ("Judge", "Family", "Beside", "Battles", "Own win rate", "By the others",
               "Difference")  # fmt: skip
    rows = [
        (Name(s.judge), Name(s.family), s.reference, f"{s.battles:,}", _percent(s.own),
         _percent(s.others), _signed(s.difference))
        for s in report.self_preference
    ]  # fmt: skip
    return Section("Own family", columns, rows)


def _arms(report: AgreementReport) -> Section:
    columns = ("Arm", "Judgements", "Blind ones", "Agree with what was shown", "Blind agree",
               "Effect")  # fmt: skip
    rows = [
        (a.arm, f"{a.judgements:,}", f"{a.blind_judgements:,}", _rate(a.agreement),
         _rate(a.chance), _signed(a.effect))
        for a in report.arms
    ]  # fmt: skip
    return Section("Rubber stamps", columns, rows)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _rate(estimate: Estimate) -> str:
    """66.8% (63.9–70.5 i): the interval, and what was resampled for it."""
    if estimate.value is None:
        return "–"
    if estimate.lower is None or estimate.upper is None:
        return f"{estimate.value:.1%}"
    return (
        f"{estimate.value:.1%} ({100 * estimate.lower:.1f}–{100 * estimate.upper:.1f}"
        f"{_mark(estimate)})"
    )


def _signed(estimate: Estimate) -> str:
    if estimate.value is None:
        return "–"
    text = f"{100 * estimate.value:+.1f}"
    if estimate.lower is None or estimate.upper is None:
        return text
    interval = f"{100 * estimate.lower:+.1f} to {100 * estimate.upper:+.1f}"
    return f"{text} ({interval}{_mark(estimate)})"


def _number(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return "–"
    if estimate.lower is None or estimate.upper is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} ({estimate.lower:.3f}–{estimate.upper:.3f}{_mark(estimate)})"


def _mark(estimate: Estimate) -> str:
    return f" {estimate.clustered_by[0]}" if estimate.clustered_by else ""
