from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ranking.tables.cells import as_flags, as_text, read_counts, read_numbers


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1", "2.5", "-3e2"], [1, 2.5, -300]),
        (["0,5", "1,25"], [0.5, 1.25]),
        (["1.234,5", "2"], [1234.5, 2]),
        (["1,234.5", "2"], [1234.5, 2]),
        (["1,234,567", "2"], [1_234_567, 2]),
        (["0,500", "0,250"], [0.5, 0.25]),
        (["1 234,5", "7"], [1234.5, 7]),
        (["1", "", "NA"], [1, np.nan, np.nan]),
    ],
)
def test_numbers_with_marks_are_read_where_they_mean_one_thing(
    texts: list[str], numbers: list[float]
) -> None:
    found, wrong = read_numbers(pd.Series(texts))
    assert wrong == []
    assert found == pytest.approx(np.array(numbers), nan_ok=True)


def test_a_thousand_or_a_fraction_is_not_guessed() -> None:
    _, wrong = read_numbers(pd.Series(["1,500", "1,250"]))
    assert wrong == ["1,500", "1,250"]
    found, wrong = read_numbers(pd.Series(["heavy", "1"]))
    assert wrong == ["heavy"]
    assert np.isnan(found[0])


@pytest.mark.parametrize("text", ["1,234", "1.234", "1 234", "1'234", "1\u00a0234", "1234"])
def test_a_count_has_its_thousands_set_apart_by_anything(text: str) -> None:
    found, wrong = read_counts(pd.Series([text, "7"]))
    assert found.tolist() == [1234, 7]
    assert wrong == []


def test_a_count_of_1_000_is_not_guessed() -> None:
    assert read_counts(pd.Series(["1.000", "3"]))[1] == ["1.000"]
    found, wrong = read_counts(pd.Series(["1.000", "1.250", "3"]))
    assert (found.tolist(), wrong) == ([1000, 1250, 3], [])
    assert read_counts(pd.Series(["3.0", "4.0"]))[0].tolist() == [3, 4]


def test_numbers_become_the_text_that_a_person_would_write() -> None:
    assert as_text(pd.Series([7, 10])).tolist() == ["7", "10"]
    assert as_text(pd.Series([7.0, np.nan])).tolist()[0] == "7"
    assert as_text(pd.Series([7.5, 1.0])).tolist() == ["7.5", "1.0"]
    assert as_text(pd.Series([True, False])).tolist() == ["true", "false"]
    assert as_text(pd.Series([["gpt-4", "pair"], None])).tolist()[0] == "gpt-4, pair"


def test_flags_are_read_in_every_spelling() -> None:
    flags = as_flags(pd.Series(["1", "True", "yes", "0", "false", "", None, "2"]))
    assert flags.tolist() == [1, 1, 1, 0, 0, 0, 0, -1]
