"""The leaderboard page, and the same board as CSV and JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from arena.leaderboards.published import OVERALL, Choice, describe_parts
from arena.matchmaking.matchmaker import TooFewModels
from arena.web.layout import html_part, page_header
from arena.web.leaderboard.choice import read_choice, read_shown, render_choice, render_chosen
from arena.web.leaderboard.judges import render_judges
from arena.web.leaderboard.next import PAIRS_SHOWN, render_next
from arena.web.leaderboard.plots import render_heat_maps, render_intervals
from arena.web.leaderboard.table import (
    render_empty,
    render_explanations,
    render_facts,
    render_progress,
    render_table,
)
from arena.web.templating import render
from arena.writing import format_csv

if TYPE_CHECKING:
    from arena.leaderboards.judges import JudgeBoardKeeper
    from arena.leaderboards.keeper import LeaderboardKeeper
    from arena.leaderboards.published import PublishedBoard
    from arena.leaderboards.views import BoardView
    from arena.matchmaking.matchmaker import Matchmaker, Outlook
    from arena.web.texts import Texts

REFRESH_SECONDS = 10.0
# What the browser shows, as the board's own attributes say: a session of ours would forget the
# visitor's choice with every restart and in every other process.
_SHOWN = "() => [JSON.stringify({...(document.querySelector('#board .board')?.dataset ?? {})})]"
_SCRIPT = Path(__file__).with_name("leaderboard.js")
_NO_BOARD = "there is no leaderboard yet: no vote was counted"


def build_leaderboard_page(
    texts: Texts,
    boards: LeaderboardKeeper,
    matchmaker: Matchmaker,
    judge_boards: JudgeBoardKeeper,
    *,
    title: str,
    language: str,
    refresh_seconds: float = REFRESH_SECONDS,
) -> gr.Blocks:
    """The page in one language.

    It shows the board that this process has at hand, and asks now and then whether there is
    a newer one; the answer is empty unless there is.

    Args:
        texts: of the language.
        boards: where the board comes from.
        matchmaker: says what it would draw next.
        judge_boards: what AI judges make of the models.
        title: the arena's.
        language: its code, as in the page's path.
        refresh_seconds: how often an open page asks.
    """

    def show(choice: Choice, *, known: str | None = None) -> Any:  # noqa: ANN401  text, or a skip
        view = boards.view(choice)
        if known == str(view.snapshot_id):
            return gr.skip()
        coming = render_next(_look_ahead(matchmaker), texts)
        judged = render_judges(judge_boards.latest(), boards.latest(), texts)
        return render_board(
            view,
            texts,
            language=language,
            coming=coming,
            judged=judged,
            is_counting=boards.is_behind(),
        )

    def show_asked(request: gr.Request) -> Any:  # noqa: ANN401
        return show(read_choice(request.query_params))

    def show_newer(sent: str) -> Any:  # noqa: ANN401
        shown = read_shown(sent)
        return show(read_choice(shown), known=shown.get("snapshot"))

    def show_chosen(event: gr.EventData) -> Any:  # noqa: ANN401
        # Missing where the page's script did not write it.
        asked = {name: getattr(event, name, None) for name in ("category", "style")}
        return show(read_choice(asked))

    page_title = f"{texts['leaderboard']['title']} · {title}"
    blocks = gr.Blocks(title=page_title, analytics_enabled=False, fill_width=True)
    with blocks:
        header = page_header(texts, title=title, language=language, active="leaderboard")
        html_part(header, elem_id="site")
        board = gr.HTML(
            elem_id="board",
            apply_default_css=False,
            js_on_load=_SCRIPT.read_text(encoding="utf-8"),
        )
        shown = gr.Textbox(visible=False)
        timer = gr.Timer(refresh_seconds)
        answers: dict[str, Any] = {
            "outputs": board,
            "queue": False,
            "show_progress": "hidden",
            "api_visibility": "private",
        }
        blocks.load(show_asked, **answers)
        timer.tick(show_newer, inputs=shown, js=_SHOWN, **answers)
        board.select(show_chosen, **answers)
    return blocks


def render_board(
    view: BoardView,
    texts: Texts,
    *,
    language: str,
    coming: str = "",
    judged: str = "",
    is_counting: bool = False,
) -> str:
    """The whole page below its header as HTML.

    Args:
        view: what to show.
        texts: of the language.
        language: its code, as in the page's path.
        coming: HTML about the pairs that come next.
        judged: HTML about what AI judges make of the models.
        is_counting: whether there are votes that are not on the board yet.
    """
    if view.board is None:
        parts = [render_empty(view, texts, arena_path=f"/{language}/", is_counting=is_counting)]
    else:
        parts = [
            render_choice(view, texts),
            render_chosen(view, view.board, texts),
            render_facts(view.board, texts),
            render_progress(view, texts) if view.choice == OVERALL else "",
            render_table(view, view.board, texts),
            render_explanations(view, view.board, texts),
            render_intervals(view, view.board, texts),
            render_heat_maps(view.board, texts, beside=coming),
        ]
    board = render(
        "leaderboard/board.html",
        words=texts["leaderboard"],
        locale=texts["language"]["html"],
        view=view,
        is_counting=is_counting,
        parts=[*parts, judged],
    )
    return str(board)


def _look_ahead(matchmaker: Matchmaker) -> Outlook | None:
    try:
        return matchmaker.outlook(PAIRS_SHOWN, for_all=True)
    except TooFewModels:
        return None


def leaderboard_routes(boards: LeaderboardKeeper, judge_boards: JudgeBoardKeeper) -> APIRouter:
    """`/leaderboard.csv` and `/leaderboard.json`; 404 before the first vote was counted.

    Args:
        boards: where the board comes from.
        judge_boards: where those of judges come from.
    """
    router = APIRouter()

    @router.get("/leaderboard.csv", include_in_schema=False)
    async def download_csv() -> Response:
        board = boards.latest()
        if board is None:
            return JSONResponse({"error": _NO_BOARD}, status_code=404)
        return Response(
            write_csv(board), media_type="text/csv", headers=_download_headers(board, "csv")
        )

    @router.get("/leaderboard.json", include_in_schema=False)
    async def download_json() -> Response:
        board = boards.latest()
        if board is None:
            return JSONResponse({"error": _NO_BOARD}, status_code=404)
        return JSONResponse(
            {
                **describe_board(board),
                "judges": [judged.to_dict() for judged in judge_boards.latest()],
            },
            headers=_download_headers(board, "json"),
        )

    return router


def describe_board(board: PublishedBoard) -> dict[str, Any]:
    """A board as JSON types: `leaderboard` is read back by `ranking.Leaderboard.from_dict`.

    So is each `board` in `boards`, which has the categories and the boards at equal style.
    """
    return {
        "snapshot": board.snapshot_id,
        "computed_at": board.computed_at.isoformat(),
        "votes": board.votes,
        "last_vote_id": board.last_vote_id,
        "code_version": board.code_version,
        "options": board.leaderboard.options.to_dict(),
        "settings": dict(board.settings),
        "leaderboard": board.leaderboard.to_dict(),
        "boards": describe_parts(board.categories, board.style),
    }


def write_csv(board: PublishedBoard) -> str:
    """A line a model; the last columns, alike on all lines, say what made them."""
    options = board.leaderboard.options.to_dict()
    origin = {
        "snapshot": board.snapshot_id,
        "computed_at": board.computed_at.isoformat(),
        "code_version": board.code_version,
        **{key: options[key] for key in ("tie_model", "interval", "level", "prior", "seed")},
    }
    lines = [{**asdict(entry), **origin} for entry in board.leaderboard.entries]
    return format_csv(list(lines[0]), lines)


def _download_headers(board: PublishedBoard, kind: str) -> dict[str, str]:
    name = f"leaderboard-{board.snapshot_id}.{kind}"
    return {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "no-cache",
    }
