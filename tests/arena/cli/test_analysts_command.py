"""`arena analysts invite`: a link that the page takes, for as long as it says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from typer.testing import CliRunner

from arena.agreement.keys import AnalystKeys
from arena.cli import app

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result


def invite(data_dir: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["analysts", "invite", "--data-dir", str(data_dir), *options])


def test_a_link_works_for_the_days_it_says(tmp_path: Path) -> None:
    done = invite(tmp_path, "--days", "3", "--url", "https://arena.example.org/")
    assert done.exit_code == 0, done.output
    link = urlsplit(done.stdout.strip())
    assert (link.hostname, link.path) == ("arena.example.org", "/en/agreement/")
    keys = AnalystKeys((tmp_path / "secret").read_text(encoding="ascii").strip())
    left = keys.check(parse_qs(link.query)["key"][0]) - datetime.now(UTC)
    assert timedelta(days=3) - timedelta(minutes=1) < left <= timedelta(days=3)
    assert "It works until" in done.stderr


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    done = invite(tmp_path, "--url", "arena")
    assert done.exit_code == 2
    assert '--url "arena" is no web address' in done.stderr
