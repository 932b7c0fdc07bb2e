import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs/agreement.md"


def test_the_examples_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 # our own page
    said = capsys.readouterr().out.splitlines()
    assert "# " + said[0] in blocks[0]
    assert re.fullmatch(r"\d of 60 flagged", said[1])


def test_the_links_of_the_page_lead_to_its_headings() -> None:
    text = PAGE.read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in re.findall(r"^## (.+)$", text, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([\w-]+)\)", text)) == headings
