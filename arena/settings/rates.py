"""How a rate is written, such as `10/minute; 60/hour`: as the library `limits` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limits import RateLimitItem


def read_rate(rate: str) -> tuple[RateLimitItem, ...]:
    """The limits that a rate names, none where it is empty.

    Raises:
        ValueError: it is no rate; the message shows one.
    """
    from limits import parse_many

    if not rate.strip():
        return ()
    try:
        return tuple(parse_many(rate))
    except ValueError:
        raise ValueError(
            f'is "{rate}", which is no rate. Write for example "10/minute; 60/hour", '
            'or "" for no limit'
        ) from None
