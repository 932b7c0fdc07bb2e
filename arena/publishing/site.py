"""`arena publish`: an export as a static site, with no server and no request to anybody else."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from email.utils import format_datetime
from html import escape
from typing import TYPE_CHECKING, Any

from arena.publishing.files import MANIFEST, ExportError, read_columns, read_manifest
from arena.publishing.site_pages import (
    draw_board_svg,
    write_board,
    write_coverage,
    write_data,
    write_draws,
    write_embedded,
    write_method,
    write_page,
    write_snapshots,
)
from arena.writing import write_whole
from ranking import Leaderboard

if TYPE_CHECKING:
    from pathlib import Path

    from arena.publishing.files import Manifest

__all__ = ["publish_site"]

_HISTORY = "snapshots.json"


def publish_site(export: Path, site: Path) -> Path:
    """Writes the site of an export, and keeps the pages of those published there before.

    Args:
        export: that `arena export` wrote.
        site: a new folder, or one that this has written.

    Returns:
        The first page.

    Raises:
        ExportError: the export cannot be read, or the folder holds something else.
        OSError: the folder cannot be written.
    """
    manifest = read_manifest(export)
    _check_data(export, manifest)
    if site.exists() and any(site.iterdir()) and not (site / _HISTORY).is_file():
        raise ExportError(f"{site} holds other files; name a new folder or one of a site")
    boards = json.loads((export / "leaderboards.json").read_text(encoding="utf-8"))
    if boards["overall"] is None:
        raise ExportError(f"{export} has no leaderboard: no vote counts; publish when some do")
    site.mkdir(parents=True, exist_ok=True)
    history = _read_history(site)
    snapshot = _describe(export, manifest, boards)
    changes = list_changes(history[-1], snapshot) if history else []
    if not history or history[-1]["name"] != snapshot["name"]:
        history.append({**snapshot, "changes": changes})
    for folder, up in ((site / "s" / snapshot["name"], "../../"), (site, "")):
        folder.mkdir(parents=True, exist_ok=True)
        _write_pages(folder, export, manifest, boards, up=up, changes=history[-1]["changes"])
    data = site / "s" / snapshot["name"] / "data"
    if not data.exists():
        _copy_data(export, manifest, data)
    write_whole(site / "snapshots.html", write_page("Snapshots", write_snapshots(history)))
    write_whole(site / "feed.xml", _write_feed(history))
    write_whole(site / _HISTORY, json.dumps(history, ensure_ascii=False, indent=1))
    return site / "index.html"


def _check_data(export: Path, manifest: Manifest) -> None:
    """A link may lead out of the folder, to what is nobody's to read.

    Raises:
        ExportError: a file is missing, or a link.
    """
    for name in manifest.files:
        path = export / name
        if path.is_symlink() or not path.is_file():
            raise ExportError(f"{path} is missing or a link; export again")


def _copy_data(export: Path, manifest: Manifest, data: Path) -> None:
    """What the manifest lists, and nothing else."""
    draft = data.with_name(f".{data.name}.unfinished")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    for name in (*manifest.files, MANIFEST):
        shutil.copyfile(export / name, draft / name)
    draft.replace(data)


def _write_pages(
    folder: Path,
    export: Path,
    manifest: Manifest,
    boards: dict[str, Any],
    *,
    up: str,
    changes: list[str],
) -> None:
    overall = Leaderboard.from_dict(boards["overall"])
    name = _name(manifest)
    battles = read_columns(export, "battles", ["model_a", "model_b", "category", "language"])
    pages = {
        "index": ("Leaderboard", write_board("Leaderboard", overall, changes=changes)),
        "categories": ("Categories", _write_boards(boards["categories"])),
        "judges": ("Judges", _write_boards(boards["judges"])),
        "coverage": ("Coverage", write_coverage(battles)),
        "draws": ("Draws", write_draws(battles)),
        "method": ("Method", write_method(manifest)),
        "data": ("Data", write_data(manifest, f"{up}s/{name}/data")),
    }
    for page, (title, body) in pages.items():
        write_whole(folder / f"{page}.html", write_page(title, body, up=up))
    write_whole(folder / "board.svg", draw_board_svg(overall))
    write_whole(folder / "embed.html", write_embedded(overall))


def _write_boards(boards: dict[str, Any]) -> str:
    known = {name: board for name, board in boards.items() if board is not None}
    if not known:
        return "<p>There is none with enough votes.</p>"
    return "".join(write_board(name, Leaderboard.from_dict(b)) for name, b in known.items())


def _name(manifest: Manifest) -> str:
    return datetime.fromisoformat(manifest.extent["cut"]).strftime("%Y-%m-%dT%H%M%SZ")


def _read_history(site: Path) -> list[dict[str, Any]]:
    path = site / _HISTORY
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def _describe(export: Path, manifest: Manifest, boards: dict[str, Any]) -> dict[str, Any]:
    lifted = read_columns(export, "exclusions", ["lifted_at"])["lifted_at"]
    return {
        "name": _name(manifest), "at": manifest.extent["cut"],
        "counted": dict(manifest.counted), "recipe": dict(manifest.recipe),
        "version": manifest.versions["preference-arena"], "excluded": lifted.null_count,
        "models": [entry["model"] for entry in boards["overall"]["models"]],
    }  # fmt: skip


def list_changes(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What is other than in the snapshot before, and what may have made it so."""
    told = [
        f"{more:+,} {what}"
        for what in ("votes", "battles", "voters")
        if (more := now["counted"][what] - before["counted"][what])
    ]
    if more := now["excluded"] - before["excluded"]:
        told.append(f"{more:+,} exclusions in force")
    told += [f"{name} is new" for name in now["models"] if name not in before["models"]]
    told += [f"{name} is gone" for name in before["models"] if name not in now["models"]]
    if now["recipe"] != before["recipe"]:
        told.append("other settings of the leaderboards (see Method)")
    if now["version"] != before["version"]:
        told.append(f"version {now['version']} of the program, before it {before['version']}")
    stayed = [name for name in now["models"] if name in before["models"]]
    was = [name for name in before["models"] if name in now["models"]]
    told += [
        f"{name} was at {was.index(name) + 1}, is at {place} of those that stayed"
        for place, name in enumerate(stayed, 1)
        if was.index(name) + 1 != place
    ]
    return told


def _write_feed(history: list[dict[str, Any]]) -> str:
    items = "".join(
        f"<item><title>{escape(one['name'])}</title><link>s/{one['name']}/index.html</link>"
        f'<guid isPermaLink="false">{one["name"]}</guid>'
        f"<pubDate>{format_datetime(datetime.fromisoformat(one['at']))}</pubDate>"
        f"<description>{escape('; '.join(one['changes']) or 'The first.')}</description></item>\n"
        for one in reversed(history[-50:])
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel>'
        "<title>Leaderboard</title><link>index.html</link>"
        f"<description>Snapshots of the leaderboard</description>\n{items}</channel></rss>\n"
    )
