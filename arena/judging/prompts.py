"""What a judge is asked: the texts of `data/judging/` around the answers of a battle."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from arena.judging.reading import VERDICTS
from arena.rules.judgements import JudgeMode
from arena.settings.shipped import find_shipped_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.rules.judgements import AnsweredTurn

_SLOT = re.compile(r"\{\{(\w+)\}\}")
# Raised whenever the same texts make other requests than before.
_EDITION = 1


class JudgePrompts:
    """The texts of one mode.

    Args:
        mode: how the judge is asked.

    Raises:
        FileNotFoundError: the installation lacks them.
    """

    def __init__(self, mode: JudgeMode) -> None:
        folder = find_shipped_data() / "judging"
        self._mode = mode
        self._system = (folder / "system.md").read_text(encoding="utf-8").strip()
        self._template = (folder / f"{mode}.md").read_text(encoding="utf-8").strip()

    @property
    def hash(self) -> str:
        """Of everything that goes into a request besides the battle."""
        parts = [_EDITION, self._system, self._template, self.schema]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the answer; the verdict comes last, after what it rests on."""
        names = ["own_answer"] if self._mode is JudgeMode.ANSWER_FIRST else []
        names += ["reason", "verdict"]
        fields: dict[str, dict[str, Any]] = {name: {"type": "string"} for name in names}
        fields["verdict"]["enum"] = list(VERDICTS)
        return {
            "type": "object",
            "properties": fields,
            "required": names,
            "additionalProperties": False,
        }

    def ask(self, turns: Sequence[AnsweredTurn], *, swapped: bool) -> list[dict[str, str]]:
        """The messages about the last of these turns, as `role` and `content`.

        Args:
            turns: of one battle, from its first on.
            swapped: show side B's answers first.

        Raises:
            ValueError: the mode needs a reference and the last turn has none.
        """
        fence = _Fence(turns)
        blocks = [
            block
            for number, turn in enumerate(turns, start=1)
            for block in _show_turn(
                turn, number if len(turns) > 1 else None, fence, swapped=swapped
            )
        ]
        slots = {
            "conversation": "\n\n".join(blocks),
            "last": f'"Request {len(turns)}"' if len(turns) > 1 else '"Request"',
            "reference": self._show_reference(turns[-1], fence),
        }
        return [
            {"role": "system", "content": self._system},
            {"role": "user", "content": _fill(self._template, slots)},
        ]

    def _show_reference(self, turn: AnsweredTurn, fence: _Fence) -> str:
        if self._mode is not JudgeMode.REFERENCE:
            return ""
        if turn.reference is None:
            raise ValueError(f"there is no reference answer to {turn.prompt[:80]!r}")
        return fence.around("Reference", turn.reference)


class _Fence:
    """Marks where a text begins and ends by a word that no text in it contains.

    The word is a digest of all the texts, so that the same battle is asked about in the
    same words, and no answer can pretend to have ended.
    """

    def __init__(self, turns: Sequence[AnsweredTurn]) -> None:
        texts = [[t.prompt, sorted((t.answer_a, t.answer_b)), t.reference] for t in turns]
        self._word = hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:8]

    def around(self, title: str, text: str) -> str:
        return f"=== {title} ({self._word}) ===\n{text}\n=== end ({self._word}) ==="


def _show_turn(
    turn: AnsweredTurn, number: int | None, fence: _Fence, *, swapped: bool
) -> list[str]:
    suffix = "" if number is None else f" {number}"
    first, second = turn.answer_a, turn.answer_b
    if swapped:
        first, second = second, first
    return [
        fence.around(f"Request{suffix}", turn.prompt),
        fence.around(f"Answer A{suffix}", first),
        fence.around(f"Answer B{suffix}", second),
    ]


def _fill(template: str, slots: Mapping[str, str]) -> str:
    """Fills all slots at once, so that what an answer says is never a slot."""
    return _SLOT.sub(lambda found: slots[found[1]], template)
