"""The servers of local models, started once for all workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serving.roster import Roster

if TYPE_CHECKING:
    from arena.settings import Settings
    from serving.specs import ModelSpec

__all__ = ["ModelServers"]


class ModelServers:
    """Runs what `llamacpp` and `vllm` models need, so that workers only ask it.

    Servers whose models are set as before go on when workers are replaced.
    """

    def __init__(self) -> None:
        self._running: list[tuple[list[ModelSpec], Roster]] = []

    async def share(self, settings: Settings) -> Settings:
        """The settings for workers: local models at the servers that run for them here.

        Raises:
            RosterError: a server cannot be started; the message has one line a model.
        """
        wanted = [spec for spec in settings.models if spec.enabled and spec.starts_server]
        if not wanted:
            return settings
        roster = next((found for known, found in self._running if known == wanted), None)
        if roster is None:
            roster = Roster(wanted)
            await roster.start()
            self._running.append((wanted, roster))
        models = [roster.spec_elsewhere(spec) for spec in settings.models]
        return settings.model_copy(update={"models": models})

    async def release(self, settings: Settings) -> None:
        """Stops the servers that the models of these settings do not need."""
        wanted = [spec for spec in settings.models if spec.enabled and spec.starts_server]
        for known, roster in list(self._running):
            if known != wanted:
                self._running.remove((known, roster))
                await roster.aclose()

    async def aclose(self) -> None:
        """Stops all of them."""
        running, self._running = self._running, []
        for _, roster in running:
            await roster.aclose()
