"""What a judge has done so far: a few numbers that explain every question to it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.rules.battles import Outcome
from arena.rules.judgements import CallStatus, Reading
from ranking import Consistency, combine_verdicts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.store import CallRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The questions to one judge, counted.

    Attributes:
        questions: on record.
        answered: with an answer, readable or not.
        failed: without one.
        unfinished: asked, and the end is not on record.
        judged: turns answered in both orders.
        consistency: these, by how the two orders go together.
        verdicts: those that could be read, by the verdict that both orders make together.
        readings: answers, by how their verdict was read.
        cut: answers that ended at the limit on their length.
        failures: those without an answer, by kind.
        examples: what one failure of each kind said.
        prompt_tokens: as far as providers counted them.
        completion_tokens: likewise.
        cost: US dollars, as far as it is known.
        cost_unknown: answers whose cost is not known.
        seconds: of all answers together.
        repeated: times that a question was asked again after a failure.
        lost: times that nobody recorded how a question ended: perhaps paid for in vain.
    """

    questions: int
    answered: int
    failed: int
    unfinished: int
    judged: int
    consistency: Mapping[Consistency, int]
    verdicts: Mapping[Outcome, int]
    readings: Mapping[Reading, int]
    cut: int
    failures: Mapping[str, int]
    examples: Mapping[str, str]
    prompt_tokens: int
    completion_tokens: int
    cost: float
    cost_unknown: int
    seconds: float
    repeated: int
    lost: int

    def share(self, consistency: Consistency) -> float | None:
        """Share of the judged turns, `None` where there are none."""
        return self.consistency[consistency] / self.judged if self.judged else None


def summarise(calls: Sequence[CallRecord]) -> Summary:
    """Counts the questions to a judge."""
    answered = [call for call in calls if call.status is CallStatus.ANSWERED]
    failed = [call for call in calls if call.status is CallStatus.FAILED]
    pairs = _pair_orders(answered)
    combined = [combine_verdicts(one.verdict, two.verdict) for one, two in pairs]
    consistency = Counter(how for _, how in combined)
    verdicts = Counter(Outcome(verdict) for verdict, _ in combined if verdict is not None)
    readings = Counter(call.reading for call in answered)
    lost = sum(call.lost for call in calls)
    return Summary(
        questions=len(calls),
        answered=len(answered),
        failed=len(failed),
        unfinished=len(calls) - len(answered) - len(failed),
        judged=len(pairs),
        consistency={how: consistency[how] for how in Consistency},
        verdicts={verdict: verdicts[verdict] for verdict in Outcome},
        readings={reading: readings[reading] for reading in Reading},
        cut=sum(call.finish_reason == "length" for call in answered),
        failures=dict(Counter(str(call.failure_kind) for call in failed)),
        examples={str(call.failure_kind): call.failure_message or "" for call in failed},
        prompt_tokens=sum(call.prompt_tokens or 0 for call in answered),
        completion_tokens=sum(call.completion_tokens or 0 for call in answered),
        cost=sum(call.cost or 0.0 for call in answered),
        cost_unknown=sum(call.cost is None for call in answered),
        seconds=sum(call.duration or 0.0 for call in answered),
        repeated=sum(call.attempts - 1 for call in calls) - lost,
        lost=lost,
    )


def _pair_orders(answered: Sequence[CallRecord]) -> list[tuple[CallRecord, CallRecord]]:
    """The two answers about each turn that was judged in both orders, the unswapped first."""
    swapped = {call.key: call for call in answered if call.key.swapped}
    return [
        (call, swapped[other])
        for call in answered
        if not call.key.swapped and (other := call.key._replace(swapped=True)) in swapped
    ]
