import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/ranking.md"


def test_the_examples_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert len(blocks) >= 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 # our own page
    said = capsys.readouterr().out
    assert "2 {'winner was said to be no verdict': 1}" in said
    assert "1 alpha" in said
    assert "overall  4000" in said


def test_the_links_of_the_page_lead_to_its_headings() -> None:
    text = PAGE.read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in re.findall(r"^## (.+)$", text, re.MULTILINE)
    }
    links = set(re.findall(r"\]\(#([\w-]+)\)", text))
    assert links == headings
