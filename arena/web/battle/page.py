"""The battle page: a prompt, two anonymous answers, four buttons, two names.

The page trusts nothing the browser sends but a battle's id and the signed voter cookie,
and sends nothing that names a model before the conductor's view carries the names.
"""

from __future__ import annotations

import logging
import math
import re
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import gradio as gr

from arena.battle.crowding import AddressFull, ArenaFull, Asker, VoterFull
from arena.battle.quotas import QuotaSpent
from arena.battle.views import SideState
from arena.matchmaking.matchmaker import TooFewModels
from arena.rules.battles import (
    BattleBusy,
    BattleClosed,
    BattleError,
    BattleStatus,
    InvalidPrompt,
    ModelGone,
    NothingToRetry,
    Outcome,
    Side,
    TurnTaken,
    TurnUnanswered,
    UnknownBattle,
    VoteNotOpen,
    VoteStale,
)
from arena.web.battle.parts import lay_out
from arena.web.battle.render import battle_state, notice_line, reveal_cards
from arena.web.gradio_seams import drop_session
from arena.web.intake.visitors import find_network
from arena.web.layout import html_part, page_header
from arena.web.panel import PanelWriter, Turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from arena.battle.conductor import Conductor
    from arena.battle.views import BattleView
    from arena.web.identity import VoterTokens
    from arena.web.listening import Listeners
    from arena.web.texts import Texts

logger = logging.getLogger(__name__)

# A battle whenever it has something new to show; `None` before the first prompt.
Views = AsyncGenerator["BattleView | None"]
# The conversations of both sides, the battle's state and a notice, as every event writes them.
Updates = tuple[list[Turn], list[Turn], str, str]
# The same where only the notice is written, and everything else stays as it is shown.
NoticeAlone = tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]

# What renders each side while an event lasts.
Panels = dict[Side, PanelWriter]

_NOTICES: dict[type[Exception], str] = {
    AddressFull: "address_full",
    ArenaFull: "full",
    BattleBusy: "busy",
    BattleClosed: "closed",
    ModelGone: "gone",
    NothingToRetry: "complete",
    TooFewModels: "few",
    TurnTaken: "taken",
    TurnUnanswered: "unanswered",
    UnknownBattle: "unknown",
    VoteNotOpen: "not_open",
    VoteStale: "stale",
    VoterFull: "voter_full",
}
# Streaming events wait for models, not for the processor: as many as there are battles.
_STREAMS = 2_000
_OTHERS = 100
_MINUTE = 60
_SUGGEST = "(idea) => { window.arenaBattle.suggest(idea); }"
_FOCUS_PROMPT = "() => { document.querySelector('#prompt textarea')?.focus(); }"
# What the browser knows of the battle, put in for the events' inputs: enough to tell a request
# that was sent twice from two requests. `page.js` has the functions.
_ASKED = "(prompt) => window.arenaBattle.ask(prompt)"
_SHOWN = "() => window.arenaBattle.shown()"
_OF_ADDRESS = "() => window.arenaBattle.ofAddress()"
_NUMBER = re.compile("[0-9]{1,9}")


class BattlePage:
    """The battle page in one language.

    Args:
        conductor: runs the battles.
        tokens: reads the voter cookie.
        listeners: know which pages hear what comes of their events.
        texts: of the language.
        language: its code, as in the page's path.
        title: the arena's.
        ideas: prompts for "surprise me", in this language; none hides the button.
    """

    def __init__(
        self,
        *,
        conductor: Conductor,
        tokens: VoterTokens,
        listeners: Listeners,
        texts: Texts,
        language: str,
        title: str,
        ideas: Sequence[str],
    ) -> None:
        self._conductor = conductor
        self._tokens = tokens
        self._listeners = listeners
        self._texts = texts
        self._language = language
        self._ideas = tuple(ideas)
        self.blocks = gr.Blocks(title=title, analytics_enabled=False, fill_width=True)
        with self.blocks:
            header = page_header(texts, title=title, language=language, active="arena")
            html_part(header, elem_id="site")
            self._parts = lay_out(
                texts,
                language=language,
                known_prompts=conductor.known_prompts,
                offer_ideas=bool(self._ideas),
            )
            self._connect()

    def _connect(self) -> None:
        parts = self._parts
        common: dict[str, Any] = {
            "outputs": [parts.chat_a, parts.chat_b, parts.state, parts.notice],
            "show_progress": "hidden",
            "api_visibility": "private",
            # The values are made in the form the browser takes, and what it sends is checked
            # here: each would otherwise cost every update a trip to another thread.
            "preprocess": False,
            "postprocess": False,
        }
        on_battle: dict[str, Any] = {
            **common,
            "inputs": [parts.edition, parts.battle_id],
            "js": _SHOWN,
        }
        streams = [
            gr.on(
                [parts.send.click, parts.prompt.submit],
                self._guarded(self._ask),
                inputs=[parts.prompt, parts.turn, parts.new_id, parts.battle_id],
                js=_ASKED,
                concurrency_limit=_STREAMS,
                **common,
            ),
            parts.regenerate.click(
                self._guarded(self._regenerate), concurrency_limit=_STREAMS, **on_battle
            ),
            parts.retry.click(self._guarded(self._retry), concurrency_limit=_STREAMS, **on_battle),
            # Pressed by the page's script where the address names a battle: an event of every
            # page load would cost the server as much as a vote, and be in the first one's way.
            parts.restore.click(
                self._guarded(self._restore),
                inputs=[parts.battle_id],
                js=_OF_ADDRESS,
                concurrency_limit=_STREAMS,
                **common,
            ),
        ]
        for outcome, button in parts.votes.items():
            button.click(
                self._guarded(self._vote_as(outcome)), concurrency_limit=_OTHERS, **on_battle
            )
        parts.new.click(
            self._guarded(self._new), cancels=streams, concurrency_limit=_OTHERS, **on_battle
        ).then(None, js=_FOCUS_PROMPT)
        parts.stop.click(
            self._guarded(self._stop), cancels=streams, concurrency_limit=_OTHERS, **on_battle
        )
        # By the page's script into the prompt: only it knows whether something was typed there.
        parts.surprise.click(
            self._surprise,
            inputs=parts.idea,
            outputs=parts.idea,
            show_progress="hidden",
            api_visibility="private",
            queue=False,
        ).then(None, inputs=parts.idea, js=_SUGGEST)

    def _guarded(
        self, handler: Callable[..., Awaitable[Views]]
    ) -> Callable[..., AsyncGenerator[Updates | NoticeAlone]]:
        """The handler's views as updates, and its errors as notices.

        What is not foreseen is logged, not shown: its words could name a model.
        """

        async def _run(request: gr.Request, *sent: object) -> AsyncGenerator[Updates | NoticeAlone]:
            values = [value if isinstance(value, str) else "" for value in sent]
            voter_id = self._tokens.read(request.cookies)
            panels = _new_panels()
            if not await self._listeners.is_heard(request.session_hash):
                await drop_session(self.blocks, request.session_hash or "")
                return
            if voter_id is None:
                yield await self._render(None, "", notice=self._texts["notice"]["cookies"])
                return
            asker = Asker(voter_id, find_network(request.client))
            try:
                async with aclosing(await handler(asker, *values)) as views:
                    async for view in views:
                        yield await self._render(view, voter_id, panels=panels)
            except (BattleError, ArenaFull, TooFewModels) as error:
                yield await self._render_again(values[-1], voter_id, notice=self._words(error))
            except Exception:
                logger.exception("an event of the battle page failed")
                failed = self._texts["site"]["failed"]
                yield await self._render_again(values[-1], voter_id, notice=failed)

        return _run

    async def _ask(
        self, asker: Asker, prompt: str, turn: str, new_id: str, battle_id: str
    ) -> Views:
        """Goes on with the battle that the page shows, or starts the one that it has named."""
        view = await self._conductor.send(
            prompt,
            asker.voter_id,
            battle_id=battle_id,
            turn=_read_number(turn),
            new_id=new_id or None,
            address=asker.address,
        )
        return self._conductor.watch(view.battle_id, asker.voter_id)

    async def _regenerate(self, asker: Asker, edition: str, battle_id: str) -> Views:
        shown = _read_number(edition)
        await self._conductor.regenerate(
            battle_id, asker.voter_id, edition=shown, address=asker.address
        )
        return self._conductor.watch(battle_id, asker.voter_id)

    async def _retry(self, asker: Asker, edition: str, battle_id: str) -> Views:
        await self._conductor.retry(
            battle_id, asker.voter_id, edition=_read_number(edition), address=asker.address
        )
        return self._conductor.watch(battle_id, asker.voter_id)

    async def _restore(self, asker: Asker, battle_id: str) -> Views:
        """After a reload: the battle of the address, in progress or revealed."""
        try:
            await self._conductor.view(battle_id, asker.voter_id)
        except UnknownBattle:  # none, or a link from somebody else: begin without reproach
            return _once(None)
        return self._conductor.watch(battle_id, asker.voter_id)

    def _vote_as(self, outcome: Outcome) -> Callable[[Asker, str, str], Awaitable[Views]]:
        async def _vote(asker: Asker, edition: str, battle_id: str) -> Views:
            shown = _read_number(edition)
            return _once(
                await self._conductor.vote(
                    battle_id, asker.voter_id, outcome, edition=shown, address=asker.address
                )
            )

        return _vote

    async def _stop(self, asker: Asker, _edition: str, battle_id: str) -> Views:
        """Ends the answers where they are; they can be asked for again."""
        await self._conductor.leave(battle_id, asker.voter_id)
        return _once(await self._conductor.view(battle_id, asker.voter_id))

    async def _new(self, asker: Asker, _edition: str, battle_id: str) -> Views:
        if battle_id:
            await self._conductor.leave(battle_id, asker.voter_id)
        return _once(None)

    def _surprise(self, last: str) -> str:
        """A prompt in the page's language, or any that a recorded arena knows; not the last one."""
        known = self._conductor.known_prompts
        ideas: Sequence[str] = self._ideas
        if known is not None:
            ideas = [idea for idea in ideas if idea in known] or known
        return secrets.choice([idea for idea in ideas if idea != last] or ideas)

    async def _render(
        self,
        view: BattleView | None,
        voter_id: str,
        *,
        notice: str = "",
        panels: Panels | None = None,
    ) -> Updates:
        """A battle as the page shows it; the names only if the view has them."""
        reveal = ""
        if view is not None and view.status is BattleStatus.VOTED:
            votes = await self._conductor.votes_of(voter_id)
            reveal = reveal_cards(self._texts, view, votes=votes, language=self._language)
        panels = panels or _new_panels()
        return (
            await _turns(view, Side.A, panels),
            await _turns(view, Side.B, panels),
            battle_state(self._texts, view, reveal=reveal),
            notice_line(notice),
        )

    async def _render_again(
        self, battle_id: str, voter_id: str, *, notice: str
    ) -> Updates | NoticeAlone:
        """The battle as it is, with a notice; nothing of one that is not the voter's.

        Where the record cannot be read either, what is shown stays.
        """
        try:
            view = await self._conductor.view(battle_id, voter_id) if battle_id else None
            return await self._render(view, voter_id, notice=notice)
        except UnknownBattle:
            return await self._render(None, voter_id, notice=notice)
        except Exception:
            logger.exception("the battle cannot be shown again, and stays as it is")
            return gr.skip(), gr.skip(), gr.skip(), notice_line(notice)

    def _words(self, error: Exception) -> str:
        words = self._texts["notice"]
        if isinstance(error, InvalidPrompt):
            return words[error.reason].format(value=error.value, limit=error.limit)
        if isinstance(error, QuotaSpent):
            return words["quota"].format(wait=_tell_wait(error.seconds, words))
        return words[_NOTICES[type(error)]]


def _tell_wait(seconds: float, words: Any) -> str:  # noqa: ANN401  texts of one section
    unit, size = ("minutes", _MINUTE) if seconds >= _MINUTE else ("seconds", 1)
    return str(words[f"wait_{unit}"].format(count=math.ceil(seconds / size)))


def _read_number(sent: str) -> int:
    """A number that the page's script wrote; what it did not write fits no battle."""
    return int(sent) if _NUMBER.fullmatch(sent) else -1


async def _once(view: BattleView | None) -> Views:
    yield view


def _new_panels() -> Panels:
    return {side: PanelWriter() for side in Side}


async def _turns(view: BattleView | None, side: Side, panels: Panels) -> list[Turn]:
    """The conversation on one side."""
    if view is None:
        return []
    shown = view.side(side)
    is_writing = shown.state is SideState.WRITING
    return await panels[side].write(view.prompts, shown.answers, is_writing=is_writing)
