"""What of an address is the visitor's, and what they can change at will."""

from __future__ import annotations

import pytest

from arena.web.intake.visitors import find_network


@pytest.mark.parametrize(
    ("client", "network"),
    [
        (("192.0.2.7", 5000), "192.0.2.7"),
        (("::ffff:192.0.2.7", 5000), "192.0.2.7"),
        (("2001:db8:1:2:aaaa::1", 5000), "2001:db8:1:2::/64"),
        (("2001:db8:1:2:bbbb::9", 0), "2001:db8:1:2::/64"),
        (("2001:db8:1:3::1", 0), "2001:db8:1:3::/64"),
        (("127.0.0.1", 5000), ""),
        (("::1", 5000), ""),
        (("::ffff:127.0.0.1", 5000), ""),
        (("testclient", 5000), ""),
        (("192.0.2.7, 192.0.2.8", 0), ""),
        (None, ""),
    ],
)
def test_an_address_is_a_household(client: tuple[str, int] | None, network: str) -> None:
    assert find_network(client) == network
