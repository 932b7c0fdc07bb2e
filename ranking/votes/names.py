"""Names as people write them: cleaned, numbered, and told apart where they only look alike."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ranking.votes.encoding import factorize
from ranking.votes.votes import Group

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

__all__ = [
    "Names",
    "clean_name",
    "find_look_alikes",
    "number_labels",
    "quote_option",
    "read_names",
    "say_names",
    "say_rows",
]

# What is seen as nothing at the ends of a name.
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f" + "".join(map(chr, range(32)))
_LOOK_NOTHING = frozenset({"na", "n/a", "nan", "null", "none", "nil", "unknown", "?", "-"})
# Letters of other scripts, and digits, that look like a Latin letter.
_TWINS = str.maketrans(
    dict(
        zip("аеорсухіјѕһԁԛԝьвкмнт", "aeopcyxijshdqwbbkmht", strict=True)  # Cyrillic
    )
    | dict(zip("αορνικτυ", "aopviktu", strict=True))  # Greek
    | dict(zip("01|ıⅼ∣", "ollill", strict=True))
)


@dataclass(frozen=True, eq=False)
class Names:
    """A column of names, numbered.

    Attributes:
        codes: Index into `names`, −1 where there is none, shape (rows,).
        names: Cleaned, each once.
        respelled: Names that were written in more than one way, with the ways.
    """

    codes: NDArray[np.signedinteger[Any]]
    names: tuple[str, ...]
    respelled: dict[str, tuple[str, ...]]

    def select(self, keep: NDArray[np.bool_]) -> Names:
        """The names of some rows."""
        return self if keep.all() else replace(self, codes=self.codes[keep])

    def to_column(self) -> pd.Categorical:
        """The names of the rows, for `Votes.from_columns`."""
        import pandas as pd

        return pd.Categorical.from_codes(self.codes, categories=list(self.names))

    def to_group(self) -> Group:
        """The names as labels of votes, sorted."""
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        place = np.append(np.argsort(order), -1)
        return Group(place[self.codes].astype(np.intp), tuple(self.names[i] for i in order))

    def find_nothings(self) -> dict[str, int]:
        """Names such as NA and None, which may stand for nothing, with their rows."""
        return {
            name: int((self.codes == code).sum())
            for code, name in enumerate(self.names)
            if name.casefold() in _LOOK_NOTHING
        }


def clean_name(text: str) -> str:
    """A name without what cannot be seen at its ends, in one form of its letters (NFC)."""
    if text.isascii() and text.isprintable() and text[:1] != " " != text[-1:]:
        return text
    plain = text.encode("utf-8", "replace").decode() if not text.isascii() else text
    before = ""
    while plain != before:
        before, plain = plain, plain.strip().strip(_INVISIBLE)
    return unicodedata.normalize("NFC", plain)


def number_labels(column: pd.Series) -> tuple[NDArray[np.signedinteger[Any]], list[Any]]:
    """The code of each row and the label of each code, −1 where there is none."""
    import pandas as pd

    if not isinstance(column.dtype, pd.CategoricalDtype):
        return factorize(column.array)
    codes = np.asarray(column.array.codes)
    used = (
        np.bincount(codes.astype(np.intp) + 1, minlength=len(column.dtype.categories) + 1)[1:] > 0
    )
    if used.all():
        return codes, column.dtype.categories.tolist()
    fresh = np.append(np.cumsum(used) - 1, -1)
    return fresh[codes], column.dtype.categories[used].tolist()


def read_names(column: pd.Series) -> Names:
    """Number the names of a column of text."""
    codes, labels = number_labels(column)
    table = np.full(len(labels) + 1, -1, dtype=np.int32)
    position: dict[str, int] = {}
    cleaned = [clean_name(str(label)) for label in labels]
    for code, name in enumerate(cleaned):
        if name:
            table[code] = position.setdefault(name, len(position))
    respelled: dict[str, tuple[str, ...]] = {}
    if len(position) < len(cleaned):
        respelled = _find_respelled([str(label) for label in labels], cleaned)
    return Names(table[codes], tuple(position), respelled)


def _find_respelled(labels: Sequence[str], cleaned: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Names that several labels come to, with these labels."""
    written: dict[str, list[str]] = defaultdict(list)
    for label, name in zip(labels, cleaned, strict=True):
        written[name].append(label)
    return {name: tuple(ways) for name, ways in written.items() if name and len(ways) > 1}


def find_look_alikes(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups of names that differ only by case, spaces, dashes or letters that look alike."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sorted(set(names)):
        alike[_skeleton(name)].append(name)
    return [tuple(group) for group in alike.values() if len(group) > 1]


def _skeleton(name: str) -> str:
    if name.isascii():
        return re.sub(r"[\s_-]+", "", name).lower().translate(_TWINS)
    folded = unicodedata.normalize("NFKC", name).casefold().translate(_TWINS)
    parts = (
        c
        for c in unicodedata.normalize("NFKD", folded)
        if not c.isspace() and unicodedata.category(c) not in ("Pd", "Pc", "Cf", "Cc")
    )
    return "".join(parts)


def quote_option(text: str) -> str:
    """A text as a person types it after an option in a shell."""
    # zsh takes a word that begins with = for the name of a program.
    return f"'{text}'" if text.startswith("=") and "'" not in text else shlex.quote(text)


def say_rows(number: int) -> str:
    """1 row, 2 rows."""
    return f"{number:,} row{'s' * (number != 1)}"


def say_names(names: Sequence[str], most: int = 3) -> str:
    """Some names in quotes, such that invisible differences show."""
    shown = ", ".join(ascii(n) if not n.isprintable() else f'"{n}"' for n in names[:most])
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")
