"""Stopping a server by a signal: what was being written is stored, the process signed off."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from page_client import PageClient
from serving_arena import recorded_model, running_arena
from sqlalchemy import create_engine, text

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_in_good_order(number: signal.Signals, tmp_path: Path) -> None:
    slowly = {"answer": "word " * 400, "tokens": 400, "tokens_per_second": 10}
    models = [recorded_model(name, tmp_path, answers={"*": slowly}) for name in ("Amber", "Birch")]
    data = tmp_path / "data"
    with running_arena(models, data_dir=data) as served, PageClient(served.address) as client:
        client.open()
        client.start_pressing("send", "Speak slowly", "0", "", "")
        next(message for message in client.listen() if "word word" in str(message))
        served.process.send_signal(number)
        assert served.process.wait(120) == 0
        assert "Traceback" not in (data / "server.log").read_text(encoding="utf-8")
    engine = create_engine(f"sqlite:///{data}/arena.db")
    with engine.connect() as record:
        assert record.scalar(text("SELECT status FROM battles")) == "abandoned"
        responses = record.execute(text("SELECT status, text FROM responses")).all()
        assert [status for status, _ in responses] == ["cancelled", "cancelled"]
        assert all(answer.startswith("word word") for _, answer in responses)
        assert record.scalar(text("SELECT count(*) FROM workers WHERE stopped_at IS NULL")) == 0
    engine.dispose()
