"""One battle being answered in this process: two models asked at once, each on its own.

The two answers belong to the battle, not to a page: a page watches them, may leave and
come back, and only when nobody has watched for a while are the models told to stop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from arena.battle.views import SideState, SideView
from arena.rules.battles import (
    Battle,
    BattleStatus,
    Response,
    ResponseStatus,
    Side,
    settled_status,
    storable,
)
from serving.emptiness import says_nothing
from serving.protocol import (
    Completion,
    Message,
    ReasoningDelta,
    ServingError,
    TextDelta,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from serving.protocol import ChatModel

logger = logging.getLogger(__name__)

_LONGEST_MODEL_ID = 300  # as wide as its column


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How much of an answer is read before its stream is closed.

    Attributes:
        text: characters that a reader sees.
        reasoning: characters before that.
    """

    text: int = 100_000
    reasoning: int = 400_000


class _Draft:
    """An answer while it is being written."""

    def __init__(self, *, battle: Battle, side: Side, attempt: int, lengths: Lengths) -> None:
        self._lengths = lengths
        self._left = {TextDelta: lengths.text, ReasoningDelta: lengths.reasoning}
        self.turn = len(battle.prompts) - 1
        self.side = side
        self.attempt = attempt
        self.earlier = tuple(_text(battle, turn, side) for turn in range(self.turn))
        self.pieces: list[str] = []
        self.reasoning: list[str] = []
        self.started = time.monotonic()
        self.first_at: float | None = None
        self.is_heard = False  # nothing more will come; it is being stored or has been
        self.ended: Response | None = None

    def view(self) -> SideView:
        """What may be shown of it now."""
        if self.ended is not None:
            return SideView(
                answers=(*self.earlier, self.ended.text),
                state=SideState(self.ended.status),
                problem=self.ended.error_kind,
            )
        state = SideState.WRITING if self.pieces else SideState.WAITING
        return SideView(answers=(*self.earlier, "".join(self.pieces)), state=state)

    def add(self, event: TextDelta | ReasoningDelta) -> None:
        """Takes the next piece, as far as there is room for it."""
        if self.first_at is None:
            self.first_at = time.monotonic()
        pieces = self.pieces if isinstance(event, TextDelta) else self.reasoning
        text = storable(event.text)
        pieces.append(text[: max(0, self._left[type(event)])])
        self._left[type(event)] -= len(text)

    @property
    def is_full(self) -> bool:
        """Whether it has grown past what is read of an answer."""
        return min(self._left.values()) < 0

    def cut(self) -> Response:
        """The answer up to its limit, as if its provider had ended it there."""
        took = time.monotonic() - self.started
        ended = Completion(
            text="".join(self.pieces),
            reasoning="".join(self.reasoning),
            finish_reason="length",
            time_to_first_token=took if self.first_at is None else self.first_at - self.started,
            duration=took,
            model_id="",
        )
        return self.complete(ended)

    def complete(self, completion: Completion) -> Response:
        """The answer as the provider ended it; an empty one is a failure."""
        text = storable(completion.text)
        empty = says_nothing(text)
        return Response(
            turn=self.turn,
            side=self.side,
            attempt=self.attempt,
            status=ResponseStatus.FAILED if empty else ResponseStatus.COMPLETE,
            text=text,
            reasoning=storable(completion.reasoning),
            finish_reason=completion.finish_reason,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            time_to_first_token=completion.time_to_first_token,
            duration=completion.duration,
            model_id=storable(completion.model_id)[:_LONGEST_MODEL_ID],
            error_kind="EmptyAnswer" if empty else None,
            error_message="the model ended without any text to be seen" if empty else None,
            created_at=datetime.now(UTC),
        )

    def broken(self, status: ResponseStatus, *, kind: str | None, words: str | None) -> Response:
        """The answer as far as it came."""
        now = time.monotonic()
        return Response(
            turn=self.turn,
            side=self.side,
            attempt=self.attempt,
            status=status,
            text="".join(self.pieces),
            reasoning="".join(self.reasoning),
            time_to_first_token=None if self.first_at is None else self.first_at - self.started,
            duration=now - self.started,
            error_kind=kind,
            error_message=None if words is None else storable(words),
            created_at=datetime.now(UTC),
        )


class Answering:
    """Asks the models of one battle and keeps what has come so far.

    Args:
        battle: as on record, with the prompt to answer as its last.
        models: the model of each side that is to be asked.
        sides: the sides to ask; the others keep what is on record.
        heard: told the name of a model and how its answer ended.
        commit: stores an ended answer, with the last one what the battle comes to, and says
            whether that settled it.
        settled: called once all sides have ended and are stored.
        lengths: how much of each answer is read.

    Attributes:
        version: grows whenever there is something new to show.
        watchers: how many pages are watching.
        visits: how many have begun to.
        done: whether all sides have ended and the battle is settled on record.
        outcome: the battle as this process has put it on record, `None` before that and
            where it could not.
    """

    def __init__(
        self,
        battle: Battle,
        *,
        models: Mapping[Side, ChatModel],
        sides: Iterable[Side],
        heard: Callable[[str, Response], None],
        commit: Callable[[str, Response, BattleStatus | None], Awaitable[bool]],
        settled: Callable[[Answering], Awaitable[None]],
        lengths: Lengths | None = None,
    ) -> None:
        self.battle = battle
        self._heard = heard
        self._commit = commit
        self._settled = settled
        self._models = models
        self._drafts = {
            side: _Draft(
                battle=battle,
                side=side,
                attempt=battle.next_attempt(side),
                lengths=lengths or Lengths(),
            )
            for side in sides
        }
        self.version = 0
        self.watchers = 0
        self.visits = 0
        self.done = False
        self.outcome: Battle | None = None
        # One answer after the other, so that the last one knows how all have ended.
        self._recording = asyncio.Lock()
        self._stored: tuple[Response, ...] = ()
        self._tasks = {
            side: asyncio.create_task(self._answer(draft)) for side, draft in self._drafts.items()
        }
        self._all = asyncio.create_task(self._finish())

    def drafts(self) -> dict[Side, SideView]:
        """The sides that are being asked, as they stand."""
        return {side: draft.view() for side, draft in self._drafts.items()}

    @property
    def has_text(self) -> bool:
        """Whether anything has come that a voter would see."""
        return any(draft.pieces for draft in self._drafts.values())

    async def rest(self, seconds: float) -> None:
        """Returns after a while, or as soon as the battle has settled."""
        await asyncio.wait([self._all], timeout=seconds)

    async def stop(self) -> None:
        """Tells the models to stop, stores what has come, and returns when it is stored."""
        for side, task in self._tasks.items():
            # An answer on its way to the record stays there: it was complete.
            if not self._drafts[side].is_heard:
                task.cancel()
        # Unlike awaiting the task, waiting for it does not cancel it along with the caller.
        await asyncio.wait([self._all])

    async def _answer(self, draft: _Draft) -> None:
        response = await self._hear(draft)
        draft.is_heard = True
        self._heard(self.battle.pairing.model(draft.side), response)
        async with self._recording:
            draft.ended = await self._store(draft, response)
        self.version += 1

    async def _hear(self, draft: _Draft) -> Response:
        """The answer, however it ended."""
        try:
            return await self._listen(draft, self._models[draft.side])
        except ServingError as error:
            logger.warning("battle %s side %s: %s", self.battle.id, draft.side, error)
            kind = type(error).__name__
            return draft.broken(ResponseStatus.FAILED, kind=kind, words=str(error))
        except asyncio.CancelledError:
            return draft.broken(ResponseStatus.CANCELLED, kind=None, words=None)
        except Exception as error:
            # Whatever a back end raises must end this side visibly, not hang the battle.
            logger.exception("battle %s side %s", self.battle.id, draft.side)
            words = f"{type(error).__name__}: {error}"
            return draft.broken(ResponseStatus.FAILED, kind="ServingError", words=words)

    async def _listen(self, draft: _Draft, model: ChatModel) -> Response:
        async with aclosing(model.stream(self._messages(draft.side))) as events:
            async for event in events:
                if isinstance(event, Completion):
                    return draft.complete(event)
                draft.add(event)
                self.version += 1
                if draft.is_full:
                    return draft.cut()
        raise ServingError("the stream ended without saying so")

    async def _store(self, draft: _Draft, response: Response) -> Response:
        """Commits an answer; one that cannot be stored is shown as failed, never as complete.

        With the last one the battle is settled in the same transaction.
        """
        is_last = all(d.ended is not None for d in self._drafts.values() if d is not draft)
        status = settled_status(self._statuses({draft.side: response})) if is_last else None
        try:
            is_settled = await self._commit(self.battle.id, response, status)
        except Exception:
            logger.exception("battle %s: a response could not be stored", self.battle.id)
            return draft.broken(ResponseStatus.FAILED, kind="NotStored", words=None)
        self._stored += (response,)
        if status is not None and is_settled:
            responses = (*self.battle.responses, *self._stored)
            self.outcome = replace(self.battle, responses=responses, status=status)
        return response

    async def _finish(self) -> None:
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        try:
            await self._settled(self)
        except Exception:
            # The sweep finds a battle that nobody is answering; stopping must not fail for it.
            logger.exception("battle %s: its end could not be stored", self.battle.id)
        finally:
            self.done = True
            self.version += 1

    @property
    def status(self) -> BattleStatus:
        """What the sides make of the battle, once all have ended."""
        return settled_status(self._statuses({}))

    def _statuses(self, ending: Mapping[Side, Response]) -> tuple[ResponseStatus, ...]:
        """How both sides' last answers ended, or are about to."""
        found = []
        for side in Side:
            draft = self._drafts.get(side)
            ended = self.battle.response(len(self.battle.prompts) - 1, side)
            if draft is not None:
                ended = ending.get(side, draft.ended)
            found.append(ResponseStatus.CANCELLED if ended is None else ended.status)
        return tuple(found)

    def _messages(self, side: Side) -> list[Message]:
        """The conversation as this side's model knows it: its own answers only."""
        last = len(self.battle.prompts) - 1
        messages = []
        for turn, prompt in enumerate(self.battle.prompts):
            messages.append(Message("user", prompt))
            if turn < last:
                messages.append(Message("assistant", _text(self.battle, turn, side)))
        return messages


def _text(battle: Battle, turn: int, side: Side) -> str:
    response = battle.response(turn, side)
    return "" if response is None else response.text
