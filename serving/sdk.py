"""What the back ends that speak HTTP through a provider's SDK have in common.

Both SDKs are made by one generator, so their clients take the same options: no retries, no
telemetry, no redirect that would carry a key to another host.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from serving.credentials import scrub

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import SecretStr

    from serving.protocol import FinishReason

# What the SDKs tell about the machine they run on in every request.
TELEMETRY_HEADERS = (
    "X-Stainless-Lang",
    "X-Stainless-Package-Version",
    "X-Stainless-OS",
    "X-Stainless-Arch",
    "X-Stainless-Runtime",
    "X-Stainless-Runtime-Version",
    "X-Stainless-Async",
    "X-Stainless-Retry-Count",
    "X-Stainless-Read-Timeout",
    "X-Stainless-Timeout",
)
# Packed, a stream would come in lumps.
PLAIN_BODY = {"Accept-Encoding": "identity"}
_WORDS_QUOTED = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where and how one model is asked.

    Attributes:
        name: the model as configured, for messages.
        model: the provider's name for it.
        base_url: the API's address, `None` for the provider's own.
        key: sent with each request; `None` where the server asks for none.
        key_variable: where the key came from, for messages.
        connect_timeout: seconds to open a connection.
        extra_body: further fields of the request.
        token_limit: what the API calls the longest answer, `None` to find out.
        stream_options: whether to ask for the counts of tokens, which some servers refuse.
        finish_reasons: what this provider's own words for an end stand for, in lower case.
    """

    name: str
    model: str
    base_url: str | None = None
    key: SecretStr | None = None
    key_variable: str | None = None
    connect_timeout: float = 10.0
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    token_limit: str | None = None
    stream_options: bool = True
    finish_reasons: Mapping[str, FinishReason] = field(default_factory=dict)

    @property
    def key_text(self) -> str:
        """The key as the SDK wants it: some text even where the server asks for none."""
        return self.key.get_secret_value() if self.key is not None else "none"

    @property
    def address(self) -> str:
        """Where it is asked, for messages."""
        return self.base_url or "the provider"

    @property
    def key_remedy(self) -> str:
        """What to do about a key that is not accepted."""
        if self.key_variable is None:
            return "name the variable that holds one in `api_key_env`"
        return f"check the environment variable {self.key_variable}"

    def quote(self, words: str) -> str:
        """A provider's words for a message: in one line, shortened, without the key."""
        # Cut before as well, so that scrubbing a long page costs little; a key that is cut in
        # two there lies behind the second cut.
        longest = _WORDS_QUOTED + 2 * len(self.key_text)
        words = scrub(" ".join(words[: 4 * longest].split())[: 2 * longest], self.key)
        return words if len(words) <= _WORDS_QUOTED else f"{words[:_WORDS_QUOTED]}…"

    @property
    def is_on_this_machine(self) -> bool:
        """Whether its address is the loopback, where no proxy must come between."""
        host = urlsplit(self.base_url or "").hostname
        return host in {"localhost", "127.0.0.1", "::1"}
