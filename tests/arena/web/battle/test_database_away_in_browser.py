"""A record that cannot be read for a moment, as the voter sees it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from serving_arena import recorded_model, running_arena

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Visit

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("phone", [False, True], ids=["1280", "390"])
def test_a_vote_that_cannot_be_stored_leaves_the_answers_and_the_address(
    tmp_path: Path, visit: Visit, phone: bool
) -> None:
    models = [recorded_model(name, tmp_path, answers={"*": "So."}) for name in ("Amber", "Birch")]
    with running_arena(models, data_dir=tmp_path / "data") as arena:

        def rename(old: str, new: str) -> None:
            with closing(sqlite3.connect(arena.data_dir / "arena.db", timeout=30)) as connection:
                connection.execute("PRAGMA legacy_alter_table = ON")
                connection.execute(f"ALTER TABLE {old} RENAME TO {new}")

        tab = visit(arena, phone=phone).open()
        battle = tab.battle()
        rename("battles", "battles_elsewhere")
        tab.vote(1).click()
        expect(tab.notice).to_contain_text("Something went wrong")
        expect(tab.notice).to_be_in_viewport()
        tab.expect_status("ready")
        assert tab.battle_id == battle
        assert f"battle={battle}" in tab.page.url
        for side in "ab":
            expect(tab.answers(side)).to_contain_text("So.")
        rename("battles_elsewhere", "battles")
        tab.vote(1).click()
        tab.expect_reveal()
        expect(tab.notice).to_have_count(0)
