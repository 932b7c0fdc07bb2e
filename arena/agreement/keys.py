"""Who may see what experts, judges and the crowd said of single battles.

Experts must not see what others said before they have judged, so these pages are for those
to whom the maintainer gives a link.
"""

from __future__ import annotations

from datetime import UTC, datetime

from itsdangerous import BadSignature, URLSafeSerializer


class NoAnalyst(Exception):
    """A key that lets nobody in: none, a forged one, or one whose time is over."""


class AnalystKeys:
    """Signs and reads the keys in analysts' links.

    Args:
        secret: the signing secret, the same in every process of an arena.
    """

    def __init__(self, secret: str) -> None:
        self._serializer = URLSafeSerializer(secret, salt="arena.analyst")

    def sign(self, expires_at: datetime) -> str:
        """A key that works until then."""
        return str(self._serializer.dumps(int(expires_at.timestamp())))

    def check(self, key: str) -> datetime:
        """When a key ends to work.

        Raises:
            NoAnalyst: it does not work now.
        """
        try:
            expires_at = self._serializer.loads(key)
        except BadSignature:
            raise NoAnalyst from None
        if not isinstance(expires_at, int) or expires_at <= datetime.now(UTC).timestamp():
            raise NoAnalyst
        return datetime.fromtimestamp(expires_at, UTC)
