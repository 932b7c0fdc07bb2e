import re
from pathlib import Path

import pytest

from ranking.pairing.policies import (
    FADE,
    ILL_KNOWN,
    MOST_DUE,
    NEWCOMER_SHARE,
    OPEN,
    POLICIES,
    TEMPER,
)

PAGE = (Path(__file__).parents[3] / "docs/pairing.md").read_text(encoding="utf-8")


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(block, "docs/pairing.md", "exec"), {})  # noqa: S102 # our own page
    first, second, probability = capsys.readouterr().out.split()
    assert first != second
    assert {first, second} != {"beta", "gamma"}
    assert 0 < float(probability) < 1


def test_the_policies_and_constants_of_the_page_are_the_codes() -> None:
    told = re.findall(
        r"^\| `(\w+)` \| .* \| .* \|$", PAGE.split("## What it saves")[0], re.MULTILINE
    )
    assert told == list(POLICIES)
    assert (OPEN, FADE, ILL_KNOWN) == (1.3, 0.4, 2.0)
    assert (NEWCOMER_SHARE, MOST_DUE) == (2 / 3, 2_000)
    assert TEMPER == 0.15
    assert "15 % of `information`" in PAGE
    assert "two thirds of what the policy draws are theirs" in PAGE
    assert "or than 2,000 if that is less" in PAGE
    assert "exp(−(|Δ|/√v − 1.3)²/2·0.4²)" in PAGE
