"""The analysts' page: who agrees with whom, how sure that is, and where they do not.

Plain pages from forms that are links, behind a key: what others said of a battle must not
reach an expert who has not judged it yet.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup

from arena.agreement.desk import NothingToCompare
from arena.agreement.keys import NoAnalyst
from arena.web.agreement.battles import render_battles
from arena.web.agreement.tables import render_matrix, render_rates, render_sections
from arena.web.layout import plain_document
from arena.web.templating import render
from arena.web.texts import LANGUAGES, load_texts

if TYPE_CHECKING:
    from datetime import datetime

    from arena.agreement.desk import AgreementDesk, AgreementView
    from arena.agreement.keys import AnalystKeys
    from arena.web.texts import Texts

COOKIE = "arena_analyst"
# Further than any record goes, and a number that every database can count from.
_LAST_PAGE = 1_000_000


def agreement_routes(
    desk: AgreementDesk, keys: AnalystKeys, *, title: str, secure_cookies: bool
) -> APIRouter:
    """`/LANGUAGE/agreement/` for whoever has a key.

    Args:
        desk: computes the report.
        keys: knows which keys work.
        title: the arena's.
        secure_cookies: send the cookie over HTTPS only, even where the proxy does not say so.
    """
    router = APIRouter()

    async def show(
        request: Request,
        key: str | None = None,
        study: str = "",
        first: str = "",
        second: str = "",
        page: Annotated[int, Query(ge=1, le=_LAST_PAGE)] = 1,
    ) -> HTMLResponse | RedirectResponse:
        language = request.url.path.split("/")[1]
        texts = load_texts(language)
        try:
            expires_at = keys.check(request.cookies.get(COOKIE, "") if key is None else key)
        except NoAnalyst:
            told = render("agreement/refused.html", words=texts["agreement"])
            return _answer(told, texts, title, language, status=403)
        if key is not None:
            return _hand_over(key, expires_at, request, secure=secure_cookies)
        try:
            view = await asyncio.to_thread(desk.view, study or None)
        except NothingToCompare:
            return _answer(render_nothing(texts), texts, title, language)
        found = Markup()
        if first and second:
            found = await asyncio.to_thread(
                render_battles, desk, view, texts, first=first, second=second, page=page
            )
        return _answer(render_agreement(view, texts) + found, texts, title, language)

    for language in LANGUAGES:
        router.add_api_route(
            f"/{language}/agreement/",
            show,
            methods=["GET"],
            include_in_schema=False,
            response_model=None,
        )
    return router


def render_agreement(view: AgreementView, texts: Texts) -> Markup:
    """The report as HTML.

    Args:
        view: what to show.
        texts: of the language.
    """
    chosen = [
        (None, texts["agreement"]["all_battles"]),
        *((name, name) for name in view.assignments),
    ]
    return render(
        "agreement/report.html",
        words=texts["agreement"],
        studies=[_study(name, label, view.assignment) for name, label in chosen]
        if view.assignments
        else [],
        parts=[
            render_matrix(view, texts),
            render_rates(view.report, texts),
            render_sections(view.report, texts),
        ],
    )


def render_nothing(texts: Texts) -> Markup:
    """What is shown while nobody but the crowd has judged anything."""
    return render("agreement/nothing.html", words=texts["agreement"])


def _study(name: str | None, label: str, chosen: str | None) -> dict[str, object]:
    """A link to a study, or to all battles."""
    address = "?" + urlencode({"study": name}) if name else "?"
    return {"address": address, "label": label, "is_chosen": name == chosen}


def _hand_over(
    key: str, expires_at: datetime, request: Request, *, secure: bool
) -> RedirectResponse:
    """The same page without the key in its address, and the key in a cookie."""
    answer = RedirectResponse(
        request.url.path, status_code=303, headers={"cache-control": "no-store"}
    )
    answer.set_cookie(
        COOKIE,
        key,
        expires=expires_at,
        path="/",
        secure=secure or request.url.scheme == "https",
        httponly=True,
        samesite="lax",  # a link in a letter comes from another site
    )
    return answer


def _answer(
    content: str, texts: Texts, title: str, language: str, *, status: int = 200
) -> HTMLResponse:
    inside = render("agreement/page.html", content=content)
    document = plain_document(inside, texts, title=title, language=language, active="agreement")
    return HTMLResponse(document, status_code=status)
