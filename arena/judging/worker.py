"""The process that asks a judge; started by `arena.judging.launching`, not by people.

It is a process group of its own, so that nothing that ends the command ends it in the
middle of an answer that is being paid for. It reads its order from the first line of its
input; the end of its input, which comes when the command dies however it dies, tells it to
ask nothing new, to store what is under way, and to end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from typing import TYPE_CHECKING

from arena.judging.asking import Asking, Ended
from arena.judging.orders import RunOrder
from arena.store import Heartbeat, open_store
from serving.protocol import ServingError
from serving.roster import Roster

if TYPE_CHECKING:
    from collections.abc import Callable


def tell(event: str, **details: object) -> None:
    """Writes a line to the command, if that still listens."""
    line = json.dumps({"event": event, **details}, ensure_ascii=False)
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), f"{line}\n".encode())


def _report(ended: Ended) -> None:
    tell("ended", **ended._asdict())


async def work(order: RunOrder) -> None:
    """Carries out an order."""
    store = open_store(order.database_url)
    heartbeat = Heartbeat(store.workers)
    try:
        async with Roster([order.spec]) as roster:
            model = roster.models[order.spec.name]
            asking = Asking(
                store, model, order=order, worker_id=heartbeat.worker_id, report=_report
            )
            _stop_when_told(asking.stop)
            tell("started")
            await asking.run()
            tell("done", stopped_by=asking.stopped_by)
    finally:
        heartbeat.sign_off()
        store.close()


def _stop_when_told(stop: Callable[[], None]) -> None:
    """At the end of its input, or by SIGTERM."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop)
    descriptor = sys.stdin.fileno()

    def read() -> None:
        if not os.read(descriptor, 1):
            loop.remove_reader(descriptor)
            stop()

    loop.add_reader(descriptor, read)


def main() -> None:
    """Reads the order and carries it out."""
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return  # the command died before it had said what to do
    try:
        asyncio.run(work(RunOrder.model_validate_json(line)))
    except ServingError as error:
        tell("refused", message=str(error))


if __name__ == "__main__":
    main()
