"""The expert panel: the only thing the experts' page calls, as the conductor is for battles.

A page holds an expert's key and the number of the task it shows, nothing else that counts.
What it is given names no model, tells nothing of the crowd, and tells of the arms only once
the expert's part of the assignment is done.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from arena.rules.battles import Side, turn_round
from arena.rules.experts import ExpertKeys, NotInvited

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rules.battles import Battle, Outcome
    from arena.rules.experts import Answer, AssignmentProgress, Expert, Given, Judged, Task
    from arena.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A battle as an expert sees it.

    Attributes:
        task_id: its number, for the answer.
        edition: which showing of it this is, for the answer.
        done: tasks of the assignment that are judged.
        total: tasks of the assignment.
        prompts: one a turn.
        left: the answers on the left, one a turn.
        right: the answers on the right.
        advice: a judge's verdict, or a planted one, with the sides as shown here.
        undoes: the judgement that can be taken back, `None` where there is none.
        is_final: whether this judgement cannot be taken back, because the expert is then told.
        draft: what the expert had said about it before they took it back.
    """

    task_id: int
    edition: int
    done: int
    total: int
    prompts: tuple[str, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]
    advice: Outcome | None
    undoes: Given | None
    is_final: bool
    draft: Answer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndView:
    """The end of an assignment, or of all.

    Attributes:
        total: tasks that are judged, 0 where there were none.
        more: whether another assignment waits.
        undoes: the judgement that can be taken back, `None` where there is none.
        told: where verdicts were shown, each task with its arm, in the order they came.
    """

    total: int
    more: bool
    undoes: Given | None
    told: tuple[Judged, ...]


PanelView = TaskView | EndView


class ExpertPanel:
    """Lets experts judge over a store.

    Args:
        store: the record.
        secret: signs the keys in their links.
    """

    def __init__(self, store: Store, *, secret: str) -> None:
        self._store = store
        self._keys = ExpertKeys(secret)

    async def admit(self, key: str) -> Expert:
        """The expert whose key it is.

        Raises:
            NotInvited: the key is nobody's, or its link does not work any more.
        """
        voter_id, link_id = self._keys.read(key)
        expert = await asyncio.to_thread(self._store.experts.find, voter_id)
        if expert is None or expert.link_id != link_id or not expert.is_welcome(datetime.now(UTC)):
            raise NotInvited
        return expert

    async def look(self, key: str) -> PanelView:
        """What there is to judge next, or the end.

        Raises:
            NotInvited: the key lets nobody in.
        """
        expert = await self.admit(key)
        return await asyncio.to_thread(self._look, expert.voter_id)

    async def judge(
        self, key: str, task_id: int, answer: Answer, *, edition: int | None = None
    ) -> PanelView:
        """Stores a judgement, then shows what comes next; sent twice, it is stored once.

        Args:
            key: the expert's.
            task_id: what is judged.
            answer: with the sides as they were shown.
            edition: of the view that is answered, `None` for whichever there is.

        Raises:
            NotInvited: the key lets nobody in.
            UnknownTask: there is none of that number, it is not theirs, or was never shown.
            AlreadyJudged: another answer was first.
        """
        expert = await self.admit(key)
        return await asyncio.to_thread(
            self._judge, expert.voter_id, task_id, answer, edition=edition
        )

    async def undo(self, key: str, *, given: Given | None = None) -> PanelView:
        """Takes the last judgement back, and shows its task again.

        Args:
            key: the expert's.
            given: the judgement that is meant, which is taken back once however often it is
                asked for; `None` for whichever is the last.

        Raises:
            NotInvited: the key lets nobody in.
            NothingToUndo: there is none, or it cannot be taken back any more.
        """
        expert = await self.admit(key)
        return await asyncio.to_thread(self._undo, expert.voter_id, given)

    def _look(self, voter_id: str, *, draft: Answer | None = None) -> PanelView:
        task = self._store.experts.next_task(voter_id)
        progress = self._store.experts.progress(voter_id)
        if task is None:
            return self._end(voter_id, progress, more=False)
        return self._show(voter_id, task, progress, draft=draft)

    def _judge(
        self, voter_id: str, task_id: int, answer: Answer, *, edition: int | None
    ) -> PanelView:
        assignment_id = self._store.experts.judge(
            task_id, voter_id=voter_id, answer=answer, edition=edition
        )
        progress = self._store.experts.progress(voter_id)
        ended = [one for one in progress if one.assignment_id == assignment_id and one.is_complete]
        more = any(not one.is_complete for one in progress)
        if ended and more:
            return self._end(voter_id, ended, more=True)
        return self._look(voter_id)

    def _undo(self, voter_id: str, given: Given | None) -> PanelView:
        return self._look(voter_id, draft=self._store.experts.undo(voter_id, given=given))

    def _show(
        self,
        voter_id: str,
        task: Task,
        progress: Sequence[AssignmentProgress],
        *,
        draft: Answer | None,
    ) -> TaskView:
        (own,) = (one for one in progress if one.assignment_id == task.assignment_id)
        left, right = (Side.B, Side.A) if task.swapped else (Side.A, Side.B)
        shown = task.shown_outcome
        return TaskView(
            task_id=task.id,
            edition=task.edition,
            done=own.done,
            total=own.total,
            prompts=task.battle.prompts,
            left=_answers(task.battle, left),
            right=_answers(task.battle, right),
            advice=shown and turn_round(shown, swapped=task.swapped),
            undoes=self._store.experts.undoable(voter_id),
            is_final=own.has_arms and own.done == own.total - 1,
            draft=draft,
        )

    def _end(self, voter_id: str, progress: Sequence[AssignmentProgress], *, more: bool) -> EndView:
        told = [one.assignment_id for one in progress if one.is_told]
        return EndView(
            total=sum(one.done for one in progress),
            more=more,
            undoes=self._store.experts.undoable(voter_id),
            told=tuple(
                judged
                for assignment_id in told
                for judged in self._store.experts.judged(assignment_id, voter_id=voter_id)
            ),
        )


def _answers(battle: Battle, side: Side) -> tuple[str, ...]:
    """The answers of a side that count, one a turn."""
    found = (battle.response(turn, side) for turn in range(len(battle.prompts)))
    return tuple("" if response is None else response.text for response in found)
