"""The static site works from a disk, asks nobody for anything, and keeps every snapshot."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from published_record import BEGIN, record_arena

from arena.leaderboards.recipe import DEFAULT_RECIPE, Recipe
from arena.publishing.exports import Request, export_record
from arena.publishing.files import ExportError
from arena.publishing.site import publish_site
from arena.publishing.verification import verify_export
from arena.store import Extent, open_store

if TYPE_CHECKING:
    from pathlib import Path

RECIPE = Recipe(options=DEFAULT_RECIPE.options.change(replicates=50), min_votes=50)
CUTS = (BEGIN + timedelta(minutes=150), datetime(2026, 6, 1, tzinfo=UTC))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two snapshots."""
    folder = tmp_path_factory.mktemp("published")
    store = open_store(f"sqlite:///{folder}/arena.db")
    record_arena(store, 300)
    for number, cut in enumerate(CUTS):
        request = Request(extent=Extent(cut=cut), recipe=RECIPE, bucket_key=b"k")
        export_record(store, request, folder / f"export-{number}")
        publish_site(folder / f"export-{number}", folder / "site")
        publish_site(folder / f"export-{number}", folder / "site")  # again changes nothing
    store.close()
    return folder / "site"


def test_every_link_of_every_page_leads_to_a_file(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) == 1 + 3 * 8
    for page in pages:
        text = page.read_text()
        for target in re.findall(r'(?:href|src)="([^"]+)"', text):
            assert (page.parent / target).is_file(), (page, target)
        assert "<script" not in text
        assert not re.findall(r'(?:href|src)="(?:https?:)?//', text)


def test_a_snapshot_stays_and_says_what_changed(site: Path) -> None:
    history = json.loads((site / "snapshots.json").read_text())
    assert [one["counted"]["battles"] for one in history] == [150, 300]
    assert "+150 battles" in history[1]["changes"]
    first = (site / "s" / history[0]["name"] / "index.html").read_text()
    assert first != (site / "index.html").read_text()
    assert verify_export(site / "s" / history[1]["name"] / "data") == []
    feed = ET.fromstring((site / "feed.xml").read_text())  # noqa: S314  our own file
    assert len(feed.findall("./channel/item")) == 2
    ET.fromstring((site / "board.svg").read_text())  # noqa: S314  our own file


def test_a_folder_with_other_files_is_refused(site: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    export = next((site / "s").iterdir()) / "data"
    with pytest.raises(ExportError, match="holds other files"):
        publish_site(export, tmp_path)


def test_an_export_of_a_stranger_leads_to_no_file_of_ours(site: Path, tmp_path: Path) -> None:
    export = tmp_path / "export"
    shutil.copytree(next((site / "s").iterdir()) / "data", export)
    (tmp_path / "mine.txt").write_text("mine")
    (export / "stray.txt").write_text("not listed")
    card = export / "README.md"
    card.unlink()
    card.symlink_to(tmp_path / "mine.txt")
    with pytest.raises(ExportError, match=r"README\.md is missing or a link"):
        publish_site(export, tmp_path / "new")
    card.unlink()
    card.write_text("a card")
    index = publish_site(export, tmp_path / "new")
    data = next((tmp_path / "new" / "s").iterdir()) / "data"
    assert index.is_file()
    assert not (data / "stray.txt").exists()
    manifest = json.loads((export / "manifest.json").read_text())
    for name in ("../mine.txt", "/etc/hostname", "a<b>.parquet", "sub/votes.parquet", ""):
        told = {**manifest, "files": {name: manifest["files"]["README.md"]}}
        (export / "manifest.json").write_text(json.dumps(told))
        for use in (verify_export, lambda folder: publish_site(folder, tmp_path / "other")):
            with pytest.raises(ExportError, match="which is no plain file"):
                use(export)


@pytest.mark.browser
def test_pages_fit_and_ask_nobody(site: Path, chromium: str) -> None:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width in (1280, 390):
            page = browser.new_page(viewport={"width": width, "height": 800})
            page.on("request", lambda request: asked.append(request.url))
            for path in sorted(site.glob("*.html")):
                page.goto(path.as_uri())
                assert page.evaluate("document.documentElement.scrollWidth") <= width, path
                found = Axe().run(page).response["violations"]
                bad = [one["id"] for one in found if one["impact"] in ("serious", "critical")]
                assert bad == [], path
        browser.close()
    assert {url.partition(":")[0] for url in asked} == {"file"}
