"""Asks models a prompt set; what was answered before is not asked again."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from arena.prompt_sets.answers import RecordedTurn
from serving.protocol import Completion, ContextTooLong, Message, ServingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from arena.prompt_sets.answers import AnswerFolder
    from arena.prompt_sets.files import PromptSet, Question
    from serving.protocol import ChatModel, Sampling

__all__ = ["Failure", "RunProgress", "answer_all", "count_open"]

# After so many failures in a row something is wrong with all that a model is asked.
GIVE_UP_AFTER = 10


class Failure(NamedTuple):
    """An answer that could not be had.

    Attributes:
        model: who was asked.
        question: its id.
        turn: from 0.
        kind: name of the serving error; `NotAsked` for what was left after too many failures.
        message: its words.
    """

    model: str
    question: str
    turn: int
    kind: str
    message: str


@dataclass(slots=True)
class RunProgress:
    """What a run has done.

    Attributes:
        answered: turns.
        failures: questions that stay without an answer, each once.
    """

    answered: int = 0
    failures: list[Failure] = field(default_factory=list)


def count_open(prompts: PromptSet, folder: AnswerFolder, models: Sequence[str]) -> dict[str, int]:
    """How many turns each of these models has still to answer."""
    return {
        model: sum(
            (question.id, turn) not in known
            for question in prompts.questions
            for turn in range(len(question.turns))
        )
        for model in models
        for known in [folder.read(model)]
    }


async def answer_all(
    models: Mapping[str, ChatModel],
    prompts: PromptSet,
    folder: AnswerFolder,
    *,
    sampling: Sampling,
    concurrency: int,
    report: Callable[[RunProgress], None],
) -> RunProgress:
    """Lets every model answer every question that it has not answered yet.

    Args:
        models: by the names under which the folder knows them.
        prompts: what to ask.
        folder: where the answers are and go.
        sampling: how they are drawn.
        concurrency: conversations with one model at the same time.
        report: told whenever an answer has come or failed.
    """
    progress = RunProgress()
    async with asyncio.TaskGroup() as group:
        for name, model in models.items():
            respondent = _Respondent(
                name, model, folder=folder, sampling=sampling, progress=progress, report=report
            )
            questions = iter(prompts.questions)
            for _ in range(concurrency):
                group.create_task(respondent.answer_next(questions))
    folder.write_failures(failure._asdict() for failure in progress.failures)
    return progress


class _Respondent:
    """One model at work."""

    def __init__(
        self,
        name: str,
        model: ChatModel,
        *,
        folder: AnswerFolder,
        sampling: Sampling,
        progress: RunProgress,
        report: Callable[[RunProgress], None],
    ) -> None:
        self._name = name
        self._model = model
        self._folder = folder
        self._sampling = sampling
        self._progress = progress
        self._report = report
        self._known = folder.read(name)
        self._in_a_row = 0

    async def answer_next(self, questions: Iterator[Question]) -> None:
        for question in questions:
            await self._answer(question)

    async def _answer(self, question: Question) -> None:
        asked: list[dict[str, str]] = []
        for turn, prompt in enumerate(question.turns):
            asked.append({"role": "user", "content": prompt})
            known = self._known.get((question.id, turn))
            if known is None:
                known = await self._ask(question, turn, asked)
            if known is None:
                return
            asked.append({"role": "assistant", "content": known.answer})

    async def _ask(
        self, question: Question, turn: int, asked: list[dict[str, str]]
    ) -> RecordedTurn | None:
        if self._in_a_row >= GIVE_UP_AFTER:
            words = f"{GIVE_UP_AFTER} failures in a row came before it"
            self._fail(question, turn, "NotAsked", words)
            return None
        try:
            completion = await self._complete(asked)
        except ServingError as error:
            if not isinstance(error, ContextTooLong):
                self._in_a_row += 1
            self._fail(question, turn, type(error).__name__, str(error))
            return None
        self._in_a_row = 0
        recorded = RecordedTurn.of(question, turn, completion)
        await asyncio.to_thread(self._folder.append, self._name, recorded, asked=list(asked))
        self._progress.answered += 1
        self._report(self._progress)
        return recorded

    async def _complete(self, asked: Sequence[dict[str, str]]) -> Completion:
        messages = [_message(turn) for turn in asked]
        async with aclosing(self._model.stream(messages, self._sampling)) as events:
            async for event in events:
                if isinstance(event, Completion):
                    return event
        raise AssertionError("a stream ended without a Completion")

    def _fail(self, question: Question, turn: int, kind: str, message: str) -> None:
        self._progress.failures.append(Failure(self._name, question.id, turn, kind, message))
        self._report(self._progress)


def _message(turn: Mapping[str, Any]) -> Message:
    return Message("user" if turn["role"] == "user" else "assistant", turn["content"])
