"""A page of another edition of the program presses no button of this one."""

from __future__ import annotations

import gradio as gr
from fastapi import FastAPI
from fastapi.testclient import TestClient

from arena.web.connection.layout import HEADER, LayoutGuard, fingerprint


def page(*, buttons: int = 2, first: str = "vote-1") -> gr.Blocks:
    blocks = gr.Blocks(analytics_enabled=False)
    with blocks:
        box = gr.Textbox()
        for number in range(buttons):
            name = first if number == 0 else f"other-{number}"
            gr.Button(elem_id=name).click(lambda text: text, box, box)
    return blocks


async def test_the_edition_is_that_of_the_events_numbers() -> None:
    known = fingerprint([page()])
    assert known != fingerprint([page(buttons=3)])
    assert known != fingerprint([page(first="vote-2")])
    assert known != fingerprint([page(), page()])


def test_an_event_of_another_edition_is_refused_before_it_reaches_the_page() -> None:
    pressed: list[str] = []
    app = FastAPI()

    @app.post("/press")
    def press() -> str:
        pressed.append("once")
        return "done"

    with TestClient(LayoutGuard(app, layout="new")) as client:
        assert client.post("/press").status_code == 200
        assert client.post("/press", headers={HEADER: "new"}).status_code == 200
        refused = client.post("/press", headers={HEADER: "old"})
    assert (refused.status_code, refused.headers[HEADER]) == (409, "new")
    assert "load it again" in refused.text
    assert len(pressed) == 2
