"""One of several processes that serve an arena; started by `arena.fleet.crew`, not by people.

It reads its settings from the first line of its input and serves them. The end of its input,
which comes when the crew stops it or dies however it dies, tells it to stop as a signal would.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

from arena.settings import Settings
from arena.store import StoreError
from arena.web.server import run
from serving.protocol import ServingError
from serving.roster import Roster


def main() -> None:
    """Serves until the input ends."""
    settings = Settings(**json.loads(sys.stdin.buffer.readline()))
    threading.Thread(target=_stop_at_end_of_input, daemon=True).start()
    try:
        run(settings, roster=Roster(settings.models), announce=lambda _: None)
    except (ServingError, StoreError) as error:
        sys.exit(f"arena: {error}")


def _stop_at_end_of_input() -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
