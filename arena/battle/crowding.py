"""How many battles are being answered at once: in all, for one voter, for one address."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


class ArenaFull(Exception):
    """As many battles are being answered as this process takes on."""


class VoterFull(ArenaFull):
    """As many battles of one voter are being answered as one may have."""


class AddressFull(ArenaFull):
    """As many battles from one address are being answered as one may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdLimits:
    """Most battles being answered at once in this process.

    Attributes:
        live: in all.
        of_voter: of one voter.
        of_address: from one address, which may be that of a school.
    """

    live: int = 400
    of_voter: int = 4
    of_address: int = 200


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks.

    Attributes:
        voter_id: as on record.
        address: where from, never on record; empty where it is not known, which nobody shares.
    """

    voter_id: str
    address: str = ""


class Crowd:
    """The battles that are being answered or about to be, and whose they are."""

    def __init__(self, limits: CrowdLimits) -> None:
        self._limits = limits
        self._live: dict[str, Asker] = {}
        self._arriving: Counter[Asker] = Counter()

    def arrive(self, asker: Asker, *, battle_id: str | None) -> None:
        """Somebody begins a battle, or goes on with one, which is being put on record.

        Args:
            asker: who.
            battle_id: which, where it is known; one that is being answered counts already.

        Raises:
            ArenaFull: there are as many as there may be.
        """
        if battle_id not in self._live:
            self._check(asker)
        self._arriving[asker] += 1

    def has_arrived(self, asker: Asker) -> None:
        """What somebody began is on record, or could not be."""
        self._arriving[asker] -= 1
        self._arriving += Counter()  # drops what has come to nothing

    def enter(self, battle_id: str, asker: Asker) -> None:
        """A battle is being answered from now on."""
        self._live[battle_id] = asker

    def leave(self, battle_id: str) -> None:
        """A battle is not being answered any more."""
        self._live.pop(battle_id, None)

    def _check(self, asker: Asker) -> None:
        present = [*self._live.values(), *self._arriving.elements()]
        if len(present) >= self._limits.live:
            raise ArenaFull(f"{len(present)} battles are being answered")
        own = sum(other.voter_id == asker.voter_id for other in present)
        if own >= self._limits.of_voter:
            raise VoterFull(f"{own} battles of this voter are being answered")
        near = sum(other.address == asker.address for other in present) if asker.address else 0
        if near >= self._limits.of_address:
            raise AddressFull(f"{near} battles from this address are being answered")
