"""Whether a text names a model, however it spells the name."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# A name that stands beside one of these is part of a longer word. Scripts that are written
# without spaces (Chinese, Japanese, Thai) are none of them: there a name stands right beside them.
_LETTERS = "0-9A-Za-z\u00aa-\u02af\u0370-\u058f\u1e00-\u1fff"
# What joins the parts of a name, or marks them up; other marks (`+`, `(`) belong to the name.
_JOINTS = r"\s_*`~\-\u2010-\u2015\u2212·.:/"
_PART = re.compile(rf"[^\W_]+|[^\w{_JOINTS}]")


def names_model(text: str, model: str) -> bool:
    """Whether a text contains a model's name.

    Capitals, the width of letters, invisible characters, marks of emphasis and what joins the
    parts of the name (`GPT-4o mini`, `gpt 4o‑mini`, `**GPT**-4o-mini`) make no difference, nor
    does the maker before a slash. A name inside a longer word is none.

    Args:
        text: as it was written.
        model: the name in the settings.
    """
    return _pattern(model).search(_plain(text)) is not None


@lru_cache(maxsize=1024)
def _pattern(model: str) -> re.Pattern[str]:
    plain = _plain(model)
    spelt = [_spell(plain)]
    maker, _, rest = plain.rpartition("/")
    if maker and rest:  # as `maker/model`, where people and models say the second alone
        spelt.append(_spell(rest))
    return re.compile("|".join(spelt))


def _spell(name: str) -> str:
    parts = _PART.findall(name) or [name]
    joined = f"[{_JOINTS}]{{0,4}}".join(map(re.escape, parts))
    before = f"(?<![{_LETTERS}])" if re.match(f"[{_LETTERS}]", parts[0]) else ""
    after = f"(?![{_LETTERS}])" if re.search(f"[{_LETTERS}]$", parts[-1]) else ""
    return before + joined + after


def _plain(text: str) -> str:
    """Folded, of usual width, without what is not seen."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(each for each in folded if unicodedata.category(each) != "Cf")
