from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ranking.tables.times import read_times

AUGUST = 1723593600.0  # 2024-08-14T00:00Z


@pytest.mark.parametrize(
    ("cells", "seconds", "kind"),
    [
        ([AUGUST, AUGUST + 0.5], [AUGUST, AUGUST + 0.5], "seconds"),
        ([AUGUST * 1e3], [AUGUST], "milliseconds"),
        ([AUGUST * 1e6], [AUGUST], "microseconds"),
        ([int(AUGUST * 1e9)], [AUGUST], "nanoseconds"),
        ([str(int(AUGUST)), str(int(AUGUST * 1e3))], [AUGUST, AUGUST], "seconds and milliseconds"),
        ([-5e8, AUGUST, 0.0], [-5e8, AUGUST, 0.0], "seconds"),
        (["2024-08-14"], [AUGUST], "taken for UTC"),
        (["2024-08-14T02:00:00+02:00"], [AUGUST], "ISO 8601"),
        (["2024-08-14 00:00:00.250"], [AUGUST + 0.25], "ISO 8601"),
        (["2024-08-14T00:00:00Z", "2024-08-14"], [AUGUST, AUGUST], "UTC where no zone is named"),
        (["2024-08-14", str(int(AUGUST))], [AUGUST, AUGUST], "and seconds since 1970"),
        (["14/08/2024", "01/08/2024"], [AUGUST, AUGUST - 13 * 86_400], "day/month"),
        (["08/14/2024", "08/01/2024"], [AUGUST, AUGUST - 13 * 86_400], "month/day"),
        (["14.08.2024 12:00"], [AUGUST + 43_200], "day/month"),
        (["20240814", "20240815"], [AUGUST, AUGUST + 86_400], "YYYYMMDD"),
        (["Aug 14, 2024", ""], [AUGUST, np.nan], "several forms"),
        (["1960-01-01"], [-315619200.0], "ISO 8601"),
        (["2024-08-14", None, "NA"], [AUGUST, np.nan, np.nan], "ISO 8601"),
    ],
)
def test_times_are_read_in_every_unit_and_form(
    cells: list[Any], seconds: list[float], kind: str
) -> None:
    found = read_times(pd.Series(cells))
    assert found.trouble == ""
    assert found.seconds == pytest.approx(np.array(seconds), nan_ok=True)
    assert kind in found.kind


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["03/04/2024", "05/06/2024"], "may be day/month or month/day"),
        (["03/04/24"], "a year of two digits"),
        (["yesterday"], '"yesterday" is no time'),
        ([None, ""], "no row has a time"),
    ],
)
def test_what_could_be_two_times_is_not_read(cells: list[Any], words: str) -> None:
    found = read_times(pd.Series(cells))
    assert found.seconds is None
    assert words in found.trouble


def test_small_numbers_tell_the_order_and_are_doubted() -> None:
    found = read_times(pd.Series([1.0, 2.0, 45_000.0]))
    assert found.seconds is not None
    assert "45000 is no time" in found.doubt
