"""The battle page: a prompt, two anonymous answers, four buttons, two names.

The page trusts nothing the browser sends but a battle's id and the signed voter cookie,
and sends nothing that names a model before the conductor's view carries the names.
"""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncGenerator  # noqa: TC003  Gradio reads the handlers' hints
from typing import TYPE_CHECKING, Any

import gradio as gr

from arena.battles import (
    BattleBusy,
    BattleClosed,
    BattleError,
    BattleStatus,
    InvalidPrompt,
    ModelGone,
    Outcome,
    Side,
    UnknownBattle,
    VoteNotOpen,
)
from arena.conductor import ArenaFull
from arena.web.battle_parts import lay_out
from arena.web.battle_render import (
    chat_messages,
    notice,
    prompt_placeholder,
    reveal_cards,
    side_note,
    status_line,
)
from arena.web.layout import html_part, page_header

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from arena.conductor import Conductor
    from arena.views import BattleView
    from arena.web.identity import VoterTokens
    from arena.web.texts import Texts

logger = logging.getLogger(__name__)

# Component → new value or changed component, as Gradio takes a part of an event's outputs.
Updates = dict[Any, Any]

_NOTICES: dict[type[Exception], str] = {
    ArenaFull: "full",
    BattleBusy: "busy",
    BattleClosed: "closed",
    ModelGone: "gone",
    UnknownBattle: "unknown",
    VoteNotOpen: "not_open",
}
# Streaming events wait for models, not for the processor: as many as there are battles.
_STREAMS = 2_000
_OTHERS = 100
_FOCUS_PROMPT = "() => { document.querySelector('#prompt textarea')?.focus(); }"
_BATTLE_OF_ADDRESS = "() => [new URLSearchParams(window.location.search).get('battle') || '']"


class BattlePage:
    """The battle page in one language.

    Args:
        conductor: runs the battles.
        tokens: reads the voter cookie.
        texts: of the language.
        language: its code, as in the page's path.
        title: the arena's.
        ideas: prompts for "surprise me", in this language.
    """

    def __init__(
        self,
        *,
        conductor: Conductor,
        tokens: VoterTokens,
        texts: Texts,
        language: str,
        title: str,
        ideas: Sequence[str],
    ) -> None:
        self._conductor = conductor
        self._tokens = tokens
        self._texts = texts
        self._language = language
        self._ideas = tuple(ideas)
        self.blocks = gr.Blocks(title=title, analytics_enabled=False, fill_width=True)
        with self.blocks:
            header = page_header(texts, title=title, language=language, active="arena")
            html_part(header, elem_id="site")
            self._parts = lay_out(texts, known_prompts=conductor.known_prompts)
            self._connect()

    def _connect(self) -> None:
        parts = self._parts
        common: dict[str, Any] = {
            "outputs": parts.outputs(),
            "show_progress": "hidden",
            "api_visibility": "private",
        }
        stream: dict[str, Any] = {**common, "concurrency_limit": _STREAMS}
        single: dict[str, Any] = {**common, "concurrency_limit": _OTHERS}
        battle_id = [parts.battle_id]
        streams = [
            gr.on(
                [parts.send.click, parts.prompt.submit],
                self._guarded(self._ask),
                inputs=[parts.prompt, parts.battle_id],
                **stream,
            ),
            parts.regenerate.click(self._guarded(self._regenerate), inputs=battle_id, **stream),
            parts.retry.click(self._guarded(self._retry), inputs=battle_id, **stream),
            self.blocks.load(
                self._guarded(self._restore), inputs=battle_id, js=_BATTLE_OF_ADDRESS, **stream
            ),
        ]
        for outcome, button in parts.votes.items():
            button.click(self._guarded(self._vote_as(outcome)), inputs=battle_id, **single)
        parts.new.click(self._guarded(self._new), inputs=battle_id, cancels=streams, **single).then(
            None, js=_FOCUS_PROMPT
        )
        parts.surprise.click(
            self._surprise,
            outputs=parts.prompt,
            show_progress="hidden",
            api_visibility="private",
            queue=False,
        ).then(None, js=_FOCUS_PROMPT)

    def _guarded(
        self, handler: Callable[..., AsyncIterator[Updates]]
    ) -> Callable[..., AsyncGenerator[Updates]]:
        """The handler with its errors as notices; what is not foreseen is logged, not shown.

        An unforeseen error's words could name a model, so the visitor gets a sentence of ours.
        """
        box = self._parts.notice

        async def _run(request: gr.Request, *values: str) -> AsyncGenerator[Updates]:
            voter_id = self._tokens.read(request.cookies)
            if voter_id is None:
                yield {box: notice(self._texts["notice"]["cookies"])}
                return
            try:
                yield {box: ""}
                async for updates in handler(voter_id, *values):
                    yield updates
            except (BattleError, ArenaFull) as error:
                yield {box: notice(self._words(error))}
            except Exception:
                logger.exception("an event of the battle page failed")
                yield {box: notice(self._texts["site"]["failed"])}

        return _run

    async def _ask(self, voter_id: str, prompt: str, battle_id: str) -> AsyncIterator[Updates]:
        """Starts a battle, or goes on with the one that is open."""
        open_battle = False
        if battle_id:
            view = await self._conductor.view(battle_id, voter_id)
            open_battle = view.status is not BattleStatus.VOTED
        if open_battle:
            view = await self._conductor.follow_up(battle_id, prompt, voter_id)
        else:
            view = await self._conductor.start(prompt, voter_id)
        yield {**self._render(view), self._parts.prompt: self._prompt_box(view, clear=True)}
        async for updates in self._follow(view.battle_id, voter_id):
            yield updates

    async def _regenerate(self, voter_id: str, battle_id: str) -> AsyncIterator[Updates]:
        yield self._render(await self._conductor.regenerate(battle_id, voter_id))
        async for updates in self._follow(battle_id, voter_id):
            yield updates

    async def _retry(self, voter_id: str, battle_id: str) -> AsyncIterator[Updates]:
        yield self._render(await self._conductor.retry(battle_id, voter_id))
        async for updates in self._follow(battle_id, voter_id):
            yield updates

    async def _restore(self, voter_id: str, battle_id: str) -> AsyncIterator[Updates]:
        """After a reload: the battle of the address, in progress or revealed."""
        if not battle_id:
            return
        try:
            view = await self._conductor.view(battle_id, voter_id)
        except UnknownBattle:  # a link from somebody else: begin afresh, without reproach
            return
        yield await self._settled(view, voter_id)
        if view.status is BattleStatus.ANSWERING:
            async for updates in self._follow(battle_id, voter_id):
                yield updates

    def _vote_as(self, outcome: Outcome) -> Callable[..., AsyncIterator[Updates]]:
        async def _vote(voter_id: str, battle_id: str) -> AsyncIterator[Updates]:
            view = await self._conductor.vote(battle_id, voter_id, outcome)
            yield await self._settled(view, voter_id)

        return _vote

    async def _new(self, voter_id: str, battle_id: str) -> AsyncIterator[Updates]:
        if battle_id:
            await self._conductor.leave(battle_id, voter_id)
        yield self._render(None)

    def _surprise(self) -> str:
        return random.choice(self._conductor.known_prompts or self._ideas)  # noqa: S311

    async def _follow(self, battle_id: str, voter_id: str) -> AsyncIterator[Updates]:
        """The answers as they come: what changed in the panels, then everything at the end."""
        seen: Updates = {}
        async for view in self._conductor.watch(battle_id, voter_id):
            if view.status is BattleStatus.ANSWERING:
                updates = self._panels(view)
                yield {part: value for part, value in updates.items() if seen.get(part) != value}
                seen = updates
            else:
                yield await self._settled(view, voter_id)

    async def _settled(self, view: BattleView, voter_id: str) -> Updates:
        """Everything for a battle, the names included if the view has them."""
        updates = self._render(view)
        if view.status is BattleStatus.VOTED:
            votes = await self._conductor.votes_of(voter_id)
            cards = reveal_cards(self._texts, view, votes=votes, language=self._language)
            parts = self._parts
            updates |= {parts.reveal: cards, parts.a.note: "", parts.b.note: ""}
        return updates

    def _panels(self, view: BattleView) -> Updates:
        parts = self._parts
        return {
            parts.status: status_line(self._texts, view),
            parts.a.chat: chat_messages(view, Side.A),
            parts.b.chat: chat_messages(view, Side.B),
            parts.a.note: side_note(self._texts, view.a),
            parts.b.note: side_note(self._texts, view.b),
        }

    def _empty_panels(self) -> Updates:
        parts = self._parts
        return {
            parts.status: status_line(self._texts, None),
            parts.a.chat: [],
            parts.b.chat: [],
            parts.a.note: "",
            parts.b.note: "",
        }

    def _render(self, view: BattleView | None) -> Updates:
        """Every part for a battle, or for none."""
        parts = self._parts
        status = None if view is None else view.status
        can_vote = view is not None and view.can_vote
        voted = status is BattleStatus.VOTED
        return {
            **(self._empty_panels() if view is None else self._panels(view)),
            **{button: gr.Button(interactive=can_vote) for button in parts.votes.values()},
            parts.battle_id: "" if view is None else view.battle_id,
            parts.votes_row: gr.Row(visible=not voted),
            parts.reveal: "",
            parts.how: gr.HTML(visible=view is None),
            parts.prompt: self._prompt_box(view, clear=view is None),
            parts.send: gr.Button(interactive=status is not BattleStatus.ANSWERING),
            parts.regenerate: gr.Button(interactive=can_vote),
            parts.retry: gr.Button(visible=view is not None and view.can_retry),
            parts.new: gr.Button(
                interactive=view is not None, variant="primary" if voted else "secondary"
            ),
        }

    def _prompt_box(self, view: BattleView | None, *, clear: bool) -> gr.Textbox:
        placeholder = prompt_placeholder(self._texts, view)
        if clear:
            return gr.Textbox(value="", placeholder=placeholder)
        return gr.Textbox(placeholder=placeholder)

    def _words(self, error: Exception) -> str:
        words = self._texts["notice"]
        if isinstance(error, InvalidPrompt):
            return words[error.reason].format(value=error.value, limit=error.limit)
        return words[_NOTICES[type(error)]]
