"""What is to be asked: the order that a worker is given, its questions, and their price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, model_validator

from arena.judging.prompts import JudgePrompts
from arena.rules.judgements import CallKey, CallStatus, Judge, JudgeMode
from serving.protocol import Sampling
from serving.specs import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena.store import Store

# Bytes of UTF-8 in a token of today's vocabularies: four for English, and about as many for
# other scripts, whose letters have two or three bytes.
_BYTES_A_TOKEN = 4
# Before a judge has answered anything: tokens of an answer, and how fast it writes.
_TOKENS_ASSUMED = {JudgeMode.PLAIN: 80, JudgeMode.ANSWER_FIRST: 400, JudgeMode.REFERENCE: 100}
_TOKENS_PER_SECOND_ASSUMED = 50.0
_MAX_TOKENS = {JudgeMode.PLAIN: 512, JudgeMode.ANSWER_FIRST: 2048, JudgeMode.REFERENCE: 512}


class RunOrder(BaseModel):
    """All that a worker needs to know, as it is handed over.

    Attributes:
        database_url: where the battles are and the answers go.
        spec: the judging model.
        judge: as whom it judges.
        battle_ids: about which battles, in this order.
        concurrency: questions under way at the same time.
        max_cost: US dollars that this run may spend, `None` without a limit.
        retry_failed: ask again where it failed.
    """

    model_config = ConfigDict(frozen=True)

    database_url: str
    spec: ModelSpec
    judge: Judge
    battle_ids: tuple[str, ...]
    concurrency: int = 4
    max_cost: float | None = None
    retry_failed: bool = False

    @model_validator(mode="after")
    def _check_prices(self) -> Self:
        if self.max_cost is not None and not self.spec.card.is_priced:
            raise ValueError(f"a limit needs the prices of {self.spec.name}")
        return self


class Question(NamedTuple):
    """One question to a judge.

    Attributes:
        key: which.
        request: its messages.
    """

    key: CallKey
    request: list[dict[str, str]]

    @property
    def prompt_tokens(self) -> int:
        """Estimated from its length."""
        return sum(len(turn["content"].encode()) for turn in self.request) // _BYTES_A_TOKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What is left to ask, and what that may take.

    Attributes:
        battles: with at least one question, asked or not.
        questions: all of them.
        answered: on record already.
        failed: on record as failed, and left at that.
        to_ask: still to be asked.
        without_reference: turns left out because they have no reference answer.
        prompt_tokens: of what is to be asked, estimated from lengths.
        completion_tokens: likewise, from earlier answers or assumed.
        cost: US dollars, `None` where a price is not known.
        seconds: for all of them, as many at once as may be.
        measured: earlier answers on which the last three rest; 0 means assumed.
        speed: tokens per second on which the time rests, where the judge has answered
            nothing yet but was measured as a contender.
    """

    battles: int
    questions: int
    answered: int
    failed: int
    to_ask: int
    without_reference: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    seconds: float
    measured: int
    speed: float | None = None


def describe_judge(
    spec: ModelSpec,
    mode: JudgeMode,
    *,
    temperature: float | None = 0.0,
    max_tokens: int | None = None,
    structured: bool = True,
) -> Judge:
    """A model as a judge of this mode.

    Args:
        spec: the model; its own sampling holds where nothing else is said.
        mode: how it is asked.
        temperature: of its answers, `None` for the model's own.
        max_tokens: longest answer, by default one that fits the mode.
        structured: ask for a JSON object by its schema, not only in words.
    """
    wish = Sampling(temperature=temperature, max_tokens=max_tokens or _MAX_TOKENS[mode])
    drawn = wish.over(spec.sampling.to_sampling())
    return Judge(
        model=spec.name,
        mode=mode,
        prompts_hash=JudgePrompts(mode).hash,
        sampling={
            "temperature": drawn.temperature,
            "top_p": drawn.top_p,
            "max_tokens": drawn.max_tokens,
            "seed": drawn.seed,
            "stop": list(drawn.stop),
            "extra_body": dict(spec.extra_body),
            "structured": structured,
        },
    )


def read_sampling(judge: Judge) -> Sampling:
    """How a judge's answers are drawn, as a model is told."""
    told: dict[str, Any] = {**judge.sampling, "stop": tuple(judge.sampling["stop"])}
    del told["extra_body"]  # a part of the model's own settings
    structured = told.pop("structured")
    schema = JudgePrompts(judge.mode).schema if structured else None
    return Sampling(**told, response_schema=schema)


def list_questions(
    store: Store, judge: Judge, battle_ids: Sequence[str]
) -> Iterator[Question | None]:
    """All questions about these battles; `None` for a turn that lacks the reference it needs."""
    prompts = JudgePrompts(judge.mode)
    for battle in store.judged_battles.read(battle_ids):
        for turn, answered in enumerate(battle.turns):
            if judge.mode is JudgeMode.REFERENCE and answered.reference is None:
                yield None
                continue
            for swapped in (False, True):
                request = prompts.ask(battle.turns[: turn + 1], swapped=swapped)
                yield Question(CallKey(battle.id, turn, swapped), request)


def is_to_ask(status: CallStatus | None, *, retry_failed: bool) -> bool:
    """Whether a question in this state, `None` for never asked, is one for a run."""
    return status in (None, CallStatus.ASKED) or (status is CallStatus.FAILED and retry_failed)


def estimate(store: Store, order: RunOrder) -> Estimate:
    """What an order comes to; asks nobody."""
    statuses = store.judgings.statuses(order.judge.voter_id)
    battles: set[str] = set()
    counts = {"answered": 0, "failed": 0, "to_ask": 0}
    questions = without_reference = prompt_tokens = 0
    for question in list_questions(store, order.judge, order.battle_ids):
        if question is None:
            without_reference += 1
            continue
        questions += 1
        battles.add(question.key.battle_id)
        status = statuses.get(question.key)
        if is_to_ask(status, retry_failed=order.retry_failed):
            counts["to_ask"] += 1
            prompt_tokens += question.prompt_tokens
        else:
            counts["answered" if status is CallStatus.ANSWERED else "failed"] += 1
    pace = _measure_pace(store, order.judge)
    completion_tokens = round(pace.tokens * counts["to_ask"])
    return Estimate(
        battles=len(battles),
        questions=questions,
        without_reference=without_reference,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cost=order.spec.card.cost(prompt_tokens, completion_tokens),
        seconds=pace.seconds * counts["to_ask"] / order.concurrency,
        measured=pace.answers,
        speed=pace.speed,
        **counts,
    )


class _Pace(NamedTuple):
    """Tokens and seconds of an answer, how many were measured, and the contender's speed."""

    tokens: float
    seconds: float
    answers: int
    speed: float | None


def _measure_pace(store: Store, judge: Judge) -> _Pace:
    """Tokens and seconds of an answer: the mean of the judge's own, or what is assumed.

    A judge that has answered nothing may be known as a contender: then how fast it wrote.
    """
    known = [
        (call.completion_tokens, call.duration)
        for call in store.judge_verdicts.calls(judge.voter_id)
        if call.completion_tokens is not None and call.duration is not None
    ]
    if not known:
        tokens = min(_TOKENS_ASSUMED[judge.mode], judge.sampling["max_tokens"])
        speed = store.judged_battles.tokens_a_second_asked(judge.model)
        return _Pace(tokens, tokens / (speed or _TOKENS_PER_SECOND_ASSUMED), 0, speed)
    tokens_known, seconds_known = zip(*known, strict=True)
    answers = len(known)
    return _Pace(sum(tokens_known) / answers, sum(seconds_known) / answers, answers, None)
