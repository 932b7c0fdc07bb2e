"""What the pages take from inside Gradio, in one place, and what each limit of it is set to.

Everything here rests on Gradio as it is from 6.31 to before 6.32, which pyproject.toml holds it
to; `test_gradio_seams` notices what an upgrade moves. What breaks where a seam goes:

* `arena.web.GRADIO_ENVIRONMENT`, which must be set before Gradio is imported: each event costs
  2 to 8 ms more, for a table of monitoring that nobody can open.
* `_forget`: each session keeps its last conversation for deep links, which after 1,600 battles
  is 160 MB, and a tenth of the main thread goes into it.
* `_spare_sessions`: a visitor's first click takes 4 ms more.
* `_pace`: an idle page uses 8 % of a core.
* `_size`: 2,000 visitors at the same moment cut the oldest stream in the middle of an answer.
* `drop_session`: what was posted for nobody is kept until it is pushed out.
* `undress`: link previews show Gradio's name and site.
* `USED_ROUTES`: a page lacks what it asks for, or routes are open that no page needs.
* `find_formulas`: formulas are shown as they were written.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import gradio as gr
from gradio.state_holder import SessionState
from gradio.utils import LRUCache

from arena.web.theme import build_theme

if TYPE_CHECKING:
    from fastapi import FastAPI
    from gradio.server_messages import EventMessage

# What waits for a slot; past it a visitor is told so.
QUEUE_LENGTH = 5_000
# Events that run at once: a streaming battle holds one for as long as its models write.
WORKER_SLOTS = 4_000
# Streams that are open or were lately. Gradio drops the one used longest ago, and with it the
# answer that is being written there: 2,000 strangers were enough. An entry is an empty queue
# of half a kilobyte.
PENDING_STREAMS = 50_000
# Sessions that are kept until others push them out, 2 to 3 kB each.
SESSIONS = 10_000
# A page sends prompts and comments, never a file; that route is shut as well.
FILE_SIZE = 1_024
# The body of a request: a prompt at its longest in the widest encoding, with room to spare.
BODY_BYTES = 1_000_000
# Gradio looks for events to begin a thousand times a second, and for progress bars, of which
# these pages have none, a hundred times.
_QUEUE_TICK = 0.02
_PROGRESS_TICK = 60.0

# What the pages use of Gradio's sixty routes. The rest stays shut: uploads onto our disk,
# calls past the queue, its login, monitoring and development pages.
USED_ROUTES = re.compile(
    r"$|config$|theme\.css$|(?:assets|static|svelte)/"
    r"|gradio_api/(?:info$|startup-events$|queue/(?:join|data|status)$|run/predict$"
    r"|cancel$|reset$)"
)
# Gradio's template advertises Gradio (and names its site) to link previews, and asks for a
# manifest that only its own server has.
_FOREIGN = re.compile(
    rb'<meta\s+(?:property|name)="(?:og|twitter):[^>]*?/>\s*|<link rel="manifest"[^>]*>\s*',
    re.DOTALL,
)
_BODY = re.compile(rb"<body[^>]*>")
_KEEPER = "_update_value_in_config"
_ASSETS = Path(gr.__file__).parent / "templates" / "frontend" / "assets"


@dataclass(frozen=True, slots=True)
class Formulas:
    """Where the browser finds KaTeX, which Gradio brings along; empty where it does not.

    Attributes:
        script: the name of its module below a page's `assets/`.
        style: that of its style sheet.
    """

    script: str
    style: str


def mount(app: FastAPI, blocks: gr.Blocks, *, path: str) -> None:
    """Mounts a page with every limit set on purpose.

    Args:
        app: takes it.
        blocks: the page.
        path: where, without a slash at the end.
    """
    # `launch` has parameters for these, mounting has not.
    blocks.max_threads = WORKER_SLOTS
    blocks.state_session_capacity = SESSIONS
    blocks.queue(max_size=QUEUE_LENGTH, default_concurrency_limit=100, api_open=False)
    _pace(blocks)
    _size(blocks)
    gr.mount_gradio_app(
        app,
        blocks,
        path=path,
        footer_links=[],
        run_history=False,
        show_error=False,
        ssr_mode=False,
        mcp_server=False,
        max_file_size=FILE_SIZE,
        theme=build_theme(),
    )
    _spare_sessions(blocks)


async def drop_session(blocks: gr.Blocks, session: str) -> None:
    """Forgets the events of a session, and what waits to be read there.

    Args:
        blocks: the page.
        session: as the page names it.
    """
    queue = vars(blocks)["_queue"]
    await queue.clean_events(session_hash=session)
    queue.pending_messages_per_session.pop(session, None)
    queue.pending_event_ids_session.pop(session, None)


def undress(document: bytes) -> tuple[bytes, bytes, bytes] | None:
    """A page of Gradio's in three parts, without what advertises Gradio.

    Returns:
        Its head without the end tag, what stands between that and the first element of the
        body, and the rest; `None` where the document has no head.
    """
    head, end, body = document.partition(b"</head>")
    if not end:
        return None
    opened = _BODY.search(body)
    split = 0 if opened is None else opened.end()
    return _FOREIGN.sub(b"", head), end + body[:split], body[split:]


def find_formulas() -> Formulas:
    """The KaTeX that Gradio serves with its pages."""
    found = [
        next((path.name for path in _ASSETS.glob(f"katex-*.{end}")), "") for end in ("js", "css")
    ]
    return Formulas(*found) if all(found) else Formulas("", "")


def _pace(blocks: gr.Blocks) -> None:
    """Lets an idle page rest."""
    queue = vars(blocks)["_queue"]
    queue.sleep_when_free = _QUEUE_TICK
    queue.progress_update_sleep_when_free = _PROGRESS_TICK


class _Mailboxes(LRUCache[str, "asyncio.Queue[EventMessage]"]):
    """What waits to be read by session; what is for a session that is gone goes nowhere.

    In Gradio's own such a message is a `KeyError` in the task that begins all events: one session
    pushed out while its event waited ended the page for everybody until the next start.
    """

    def __missing__(self, session: str) -> asyncio.Queue[EventMessage]:
        return asyncio.Queue()

    def __delitem__(self, session: str) -> None:
        # Gradio stops a reader's events after this, also of one that was pushed out meanwhile.
        if session in self:
            super().__delitem__(session)


def _size(blocks: gr.Blocks) -> None:
    """Lets nobody's stream be pushed out by those of others."""
    vars(blocks)["_queue"].pending_messages_per_session = _Mailboxes(PENDING_STREAMS)


def _spare_sessions(blocks: gr.Blocks) -> None:
    """Spares visitors' sessions a copy of every component's settings.

    Gradio keeps one in each for its deep links, which these pages do not have. What it needs
    of a component that is written to it makes then.
    """
    bare = SimpleNamespace(default_config=blocks.default_config, blocks={})
    blocks.state_holder.blocks = cast("gr.Blocks", bare)  # what it makes sessions from


def _forget(_session: SessionState, _key: int, _value: object) -> None:
    """Keeps nothing of what a session was shown last."""


# A copy of it is kept for deep links, which these pages do not have.
setattr(SessionState, _KEEPER, _forget)
