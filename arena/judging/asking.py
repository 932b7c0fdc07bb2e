"""Asks a judge all questions of an order, each once, whatever happens in between."""

from __future__ import annotations

import asyncio
import contextlib
import time
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from sqlalchemy.exc import OperationalError
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from arena.judging.orders import is_to_ask, list_questions, read_sampling
from arena.judging.reading import read_verdict
from arena.rules.judgements import CallStatus
from arena.store import Claim, DatabaseBusy
from serving.protocol import (
    Completion,
    ContextTooLong,
    Message,
    ParameterRefused,
    RateLimited,
    ServingError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from arena.judging.orders import Question, RunOrder
    from arena.rules.judgements import CallKey
    from arena.store import Store
    from serving.protocol import ChatModel

# After so many failures in a row something is wrong with all of them: a key, an address, a
# quota. A conversation that is too long is wrong by itself and does not count.
GIVE_UP_AFTER = 10
# How long nothing new is asked after a provider said "too many requests" to the last attempt.
_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 60.0
_POLL_SECONDS = 0.3
# How long the first question is asked alone, to learn whether the others would be refused too.
_HEAD_START_SECONDS = 0.5
_STORE_ATTEMPTS = 5

_T = TypeVar("_T")
StopReason = Literal["told", "max_cost", "failures", "temperature"]


class Ended(NamedTuple):
    """How one question ended.

    Attributes:
        answered: whether there is an answer.
        cost: US dollars, `None` where it is not known.
        message: why there is none.
    """

    answered: bool
    cost: float | None
    message: str = ""


class Asking:
    """One worker's part in a run.

    Args:
        store: the record.
        model: the judge.
        order: what to ask.
        worker_id: who asks.
        report: told of each question that ended.
    """

    def __init__(
        self,
        store: Store,
        model: ChatModel,
        *,
        order: RunOrder,
        worker_id: str,
        report: Callable[[Ended], None],
    ) -> None:
        self._store = store
        self._model = model
        self._order = order
        self._worker_id = worker_id
        self._report = report
        self._voter_id = order.judge.voter_id
        self._sampling = read_sampling(order.judge)
        self._stop: StopReason | None = None
        self._stopping = asyncio.Event()
        self._spent = 0.0  # of this run
        self._reserved = 0.0  # the most that what is under way may cost
        self._failures = 0
        self._is_new = False  # nothing of it has been answered yet
        self._has_heard = asyncio.Event()
        self._resume_at = 0.0
        self._elsewhere: list[Question] = []

    @property
    def stopped_by(self) -> StopReason | None:
        """Why not all was asked."""
        return self._stop

    def stop(self, reason: StopReason = "told") -> None:
        """Asks nothing new; what is under way is finished and stored."""
        self._stop = self._stop or reason
        self._stopping.set()

    async def run(self) -> None:
        """Asks until all questions have ended, wherever they were asked, or it is stopped."""
        statuses = self._store.judgings.statuses(self._voter_id)
        questions = self._find_open(statuses)
        self._is_new = CallStatus.ANSWERED not in statuses.values()
        lanes = [asyncio.create_task(self._ask_next(questions))]
        if self._is_new and self._sampling.temperature is not None:
            # A model that takes only a temperature of its own refuses them all, and at once.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_HEAD_START_SECONDS):
                    await self._has_heard.wait()
        while len(lanes) < self._order.concurrency:
            lanes.append(asyncio.create_task(self._ask_next(questions)))
        # No task group: it would cut off the answers under way when one lane fails.
        ended = await asyncio.gather(*lanes, return_exceptions=True)
        for error in ended:
            if error is not None:
                raise error
        await self._await_others()

    def _find_open(self, statuses: Mapping[CallKey, CallStatus]) -> Iterator[Question]:
        for question in list_questions(self._store, self._order.judge, self._order.battle_ids):
            if question is not None and is_to_ask(
                statuses.get(question.key), retry_failed=self._order.retry_failed
            ):
                yield question

    async def _ask_next(self, questions: Iterator[Question]) -> None:
        try:
            while self._stop is None:
                await self._rest(self._resume_at - time.monotonic())
                question = next(questions, None)
                if question is None:
                    return
                await self._try(question, retry_failed=self._order.retry_failed)
        except BaseException:
            self.stop()
            raise
        finally:
            self._has_heard.set()

    async def _rest(self, seconds: float) -> None:
        """Sleeps, unless it is stopped."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                await self._stopping.wait()

    async def _await_others(self) -> None:
        """Waits for what other workers are asking, and asks what they leave behind."""
        while self._elsewhere and self._stop is None:
            waiting, self._elsewhere = self._elsewhere, []
            for question in waiting:
                await self._try(question, retry_failed=False)
            if self._elsewhere:
                await self._rest(_POLL_SECONDS)

    async def _try(self, question: Question, *, retry_failed: bool) -> None:
        """Claims a question, asks it, and records how it ended."""
        most = self._find_most(question)
        if not await self._can_afford(most):
            return
        self._reserved += most
        claim = await self._insist(
            self._store.judgings.claim,
            request=question.request,
            retry_failed=retry_failed,
            key=question.key,
        )
        if claim is Claim.MINE:
            ended = await self._ask(question)
            # What is not known counts as the most that it may have been.
            self._spent += most if ended.cost is None else ended.cost
            self._has_heard.set()
            self._report(ended)
        elif claim is Claim.ELSEWHERE:
            self._elsewhere.append(question)
        self._reserved -= most

    def _find_most(self, question: Question) -> float:
        """The most that an answer may cost; nothing is reserved where there is no limit."""
        if self._order.max_cost is None:
            return 0.0
        card, tokens = self._order.spec.card, self._sampling.max_tokens
        most = card.cost(question.prompt_tokens, tokens)
        if most is None:
            raise ValueError(f"the cost of an answer of {card.name} is not known")
        return most

    async def _can_afford(self, most: float) -> bool:
        """Whether a question stays within the limit; waits for what is under way if it may."""
        limit = self._order.max_cost
        while self._stop is None and limit is not None:
            if self._spent + most > limit:
                self.stop("max_cost")
            elif self._spent + self._reserved + most <= limit:
                return True
            else:
                await self._rest(_POLL_SECONDS)
        return self._stop is None

    async def _ask(self, question: Question) -> Ended:
        try:
            completion = await self._complete(question)
        except ServingError as error:
            self._note_failure(error)
            await self._insist(self._store.judgings.fail, key=question.key, error=error)
            return Ended(answered=False, cost=None, message=str(error))
        self._failures, self._is_new = 0, False
        cost = self._order.spec.card.cost(completion.prompt_tokens, completion.completion_tokens)
        await self._insist(
            self._store.judgings.answer,
            key=question.key,
            completion=completion,
            verdict=read_verdict(completion.text, swapped=question.key.swapped),
            cost=cost,
        )
        return Ended(answered=True, cost=cost)

    async def _complete(self, question: Question) -> Completion:
        messages = [_message(turn) for turn in question.request]
        async with aclosing(self._model.stream(messages, self._sampling)) as events:
            async for event in events:
                if isinstance(event, Completion):
                    return event
        raise AssertionError("a stream ended without a Completion")

    def _note_failure(self, error: ServingError) -> None:
        if not isinstance(error, ContextTooLong):
            self._failures += 1
        if isinstance(error, ParameterRefused) and error.parameter == "temperature":
            self.stop("temperature" if self._is_new else "failures")
        if self._failures >= GIVE_UP_AFTER:
            self.stop("failures")
        if isinstance(error, RateLimited):
            pause = min(error.retry_after or _PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
            self._resume_at = max(self._resume_at, time.monotonic() + pause)

    async def _insist(self, do: Callable[..., _T], *, key: CallKey, **details: object) -> _T:
        """Tries again where the database is busy or away: what was answered was paid for."""
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type((OperationalError, DatabaseBusy)),
            stop=stop_after_attempt(_STORE_ATTEMPTS),
            wait=wait_exponential(multiplier=0.5, max=10),
            reraise=True,
        ):
            with attempt:
                write = partial(do, self._voter_id, key, worker_id=self._worker_id, **details)
                return await asyncio.to_thread(write)
        raise AssertionError("unreachable: the last attempt raises")


def _message(turn: dict[str, str]) -> Message:
    return Message("system" if turn["role"] == "system" else "user", turn["content"])
