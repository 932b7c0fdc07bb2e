"""Runs a server's command and ends it, with all that it started, when its own input closes.

The input is a pipe from the program that needs the server, so the server does not outlive
that program even when it is killed. Run as a script, in a session of its own; it knows the
standard library only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

_SECONDS_TO_END_WELL = 8.0


def keep(command: list[str]) -> None:
    """Runs the command until it ends or this process's input does, then ends the session."""
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_at_end_of_input, args=(server,), daemon=True).start()
    status = server.wait()
    os.write(2, f"(ended with status {status})\n".encode())
    # What the server left behind, and this process with it.
    os.killpg(0, signal.SIGKILL)


def _end_at_end_of_input(server: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1024):
        pass
    server.terminate()
    try:
        server.wait(_SECONDS_TO_END_WELL)
    except subprocess.TimeoutExpired:
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    keep(sys.argv[1:])
