"""The process in which the embedded llama.cpp server runs; started by `llamacpp_server`.

It has one of its own because xllamacpp holds Python's global lock while it loads a model
(measured: 0.7 s for 98 MB, and it grows with the file), which would stop every page and
stream of the arena, and because a fault in native code then ends one model only.
"""

from __future__ import annotations

import json
import sys
import threading


def serve(options: dict[str, str | int]) -> None:
    """Loads the model and serves it until the process is ended."""
    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path = options["path"]
    params.model_alias = {options["alias"]}
    params.port = options["port"]
    params.n_parallel = options["parallel"]
    params.n_ctx = options["n_ctx"]
    params.cpuparams.n_threads = options["threads"]
    params.cpuparams_batch.n_threads = options["threads"]
    params.endpoint_slots = True
    params.endpoint_metrics = True
    params.ui = False
    params.verbosity = 1
    server = Server(params)
    threading.Event().wait()
    del server


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
