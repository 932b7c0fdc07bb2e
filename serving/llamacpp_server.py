"""The embedded llama.cpp server: weights from a GGUF file, served on the loopback."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

from serving.protocol import ModelUnreachable
from serving.server_process import LocalServer, ServerProcess, find_free_port

_SCRIPT = Path(__file__).with_name("llamacpp_process.py")
_GGUF_MAGIC = b"GGUF"


class LlamaCppServer(LocalServer):
    """One llama.cpp server with one set of weights.

    It speaks Anthropic's API too, under `root_url`.
    """

    def __init__(
        self,
        path: Path,
        *,
        context_size: int = 2048,
        parallel: int = 4,
        threads: int | None = None,
    ) -> None:
        """Prepares a server.

        Args:
            path: the GGUF file.
            context_size: tokens that one conversation may hold, answer included.
            parallel: conversations served at the same time; more wait for their turn.
            threads: that compute; by default one fewer than the cores. Its threads wait for
                each other at every layer, so a core shared with the pages stops them all:
                on two busy cores, one thread gave 29 tokens/s and two gave 2.
        """
        super().__init__()
        self._path = path
        self._context_size = context_size
        self._parallel = parallel
        self._threads = threads or max(1, (os.cpu_count() or 1) - 1)

    @property
    def model_id(self) -> str:
        """What the server calls its model: the name of the file."""
        return self._path.stem

    async def start(self, *, patience: float = 600.0) -> None:
        """Loads the weights, waiting up to `patience` seconds, and serves them.

        Raises:
            ModelUnreachable: llama.cpp is not installed, the file is missing or no GGUF
                file, or the server did not come up; the message says what to do.
        """
        self._check()
        self._port = find_free_port()
        options = {
            "path": str(self._path),
            "alias": self.model_id,
            "port": self._port,
            "parallel": self._parallel,
            "threads": self._threads,
            # llama.cpp divides its context among the conversations.
            "n_ctx": self._context_size * self._parallel,
        }
        process = ServerProcess(
            [sys.executable, "-P", str(_SCRIPT), json.dumps(options)],
            title=f"the llama.cpp server for {self._path.name}",
        )
        await self._bring_up(process, patience=patience)

    def _check(self) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise ModelUnreachable(
                "the embedded llama.cpp server is not installed; "
                "run: pip install 'preference-arena[demo]'"
            )
        try:
            with self._path.open("rb") as file:
                magic = file.read(len(_GGUF_MAGIC))
        except OSError as error:
            raise ModelUnreachable(
                f"cannot read the weights {self._path}: {error.strerror}; check `path`"
            ) from error
        if magic != _GGUF_MAGIC:
            raise ModelUnreachable(
                f"{self._path} is no GGUF file (it begins with {magic!r}); check `path`"
            )
