"""Who votes: a random voter id in a signed cookie.

The signature keeps a browser from claiming another voter's id; it says nothing about who
the person is.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from itsdangerous import BadSignature, URLSafeSerializer

if TYPE_CHECKING:
    from collections.abc import Mapping

COOKIE = "arena_voter"
COOKIE_SECONDS = 2 * 365 * 24 * 3600


class VoterTokens:
    """Issues and reads voter tokens.

    Args:
        secret: the signing secret, the same in every process of an arena.
    """

    def __init__(self, secret: str) -> None:
        self._serializer = URLSafeSerializer(secret, salt="arena.voter")

    def issue(self) -> str:
        """A token for a new voter."""
        return str(self._serializer.dumps(secrets.token_urlsafe(16)))

    def read(self, cookies: Mapping[str, str]) -> str | None:
        """The voter id in a request's cookies, `None` without a valid token."""
        try:
            voter_id = self._serializer.loads(cookies.get(COOKIE, ""))
        except BadSignature:
            return None
        return voter_id if isinstance(voter_id, str) else None
