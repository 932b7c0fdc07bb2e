"""A vLLM server started here for one model, served on the loopback."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from serving.protocol import ModelUnreachable
from serving.server_process import LocalServer, ServerProcess, find_free_port

if TYPE_CHECKING:
    from collections.abc import Sequence

# vLLM asks its makers' server on every start unless told not to.
_NO_TELEMETRY = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
# How an exception looks in its log: bare, or behind the process, level and time of the line.
_EXCEPTION = re.compile(
    r"^(?:\(.+? pid=\d+\) ERROR .*?\] )?((?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception): .*)$",
    re.MULTILINE,
)
_LETTERS_QUOTED = 500


class VllmServer(LocalServer):
    """`vllm serve` for one model, in a process group of its own."""

    def __init__(self, model: str, *, served_name: str, args: Sequence[str] = ()) -> None:
        """Prepares a server.

        Args:
            model: directory of a model, or its name on a hub that vLLM can reach.
            served_name: what the server calls it.
            args: further arguments of `vllm serve`, such as `--max-model-len`.
        """
        super().__init__()
        self._model = model
        self._served_name = served_name
        self._args = tuple(args)

    @property
    def model_id(self) -> str:
        """What the server calls its model."""
        return self._served_name

    async def start(self, *, patience: float = 600.0) -> None:
        """Starts the server and waits up to `patience` seconds until it is healthy.

        Raises:
            ModelUnreachable: vLLM is not installed, or did not come up; the message quotes
                the end of its log, whose file is kept.
        """
        self._port = find_free_port()
        process = ServerProcess(
            [
                *_find_vllm(),
                "serve",
                self._model,
                "--served-model-name",
                self._served_name,
                "--host",
                "127.0.0.1",
                "--port",
                str(self._port),
                *self._args,
            ],
            title=f"vLLM for {self._model}",
            env=_NO_TELEMETRY,
        )
        try:
            await self._bring_up(process, patience=patience)
        except ModelUnreachable as error:
            raise _add_first_error(error, process.log) from None


def _add_first_error(error: ModelUnreachable, log: Path | None) -> ModelUnreachable:
    """The error with the exception that began it, which the end of a log seldom shows.

    When a worker fails, its engine and then the server fail too, each with a traceback.
    """
    text = log.read_text(encoding="utf-8", errors="replace") if log is not None else ""
    found = _EXCEPTION.search(text)
    if found is None or found[1] in str(error):
        return error
    return ModelUnreachable(f"{error}\nthe first error in it: {found[1][:_LETTERS_QUOTED]}")


def _find_vllm() -> list[str]:
    """The command: of this environment, else of the search path."""
    beside = Path(sys.executable).with_name("vllm")
    command = str(beside) if beside.is_file() else shutil.which("vllm")
    if command is None:
        raise ModelUnreachable(
            "vLLM is not installed; run: pip install 'preference-arena[vllm]', or start it "
            "elsewhere and name its address in `base_url`"
        )
    return [command]
