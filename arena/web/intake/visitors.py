"""Where a visitor comes from, as far as it matters: a household, a school, nobody we know."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_OF_A_HOUSEHOLD = 64  # bits that providers give out; the rest a visitor chooses


def find_network(client: Sequence[object] | None) -> str:
    """The part of an address that a visitor cannot change at will.

    Args:
        client: as the server has it, the address first. The server has read the headers of
            proxies that it trusts.

    Returns:
        An IPv4 address or an IPv6 network of 64 bits; empty for this machine, which is a proxy
        that does not say whom it speaks for.
    """
    try:
        address = ip_address(str(client[0]) if client else "")
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    if address.is_loopback:
        return ""
    if isinstance(address, IPv6Address):
        return str(ip_network((int(address), _OF_A_HOUSEHOLD), strict=False))
    return str(address)
