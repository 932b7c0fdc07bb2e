"""The bytes of a file, a pipe or standard input, unpacked; what is no table is said at once."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ranking.errors import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["STANDARD_INPUT", "Source", "read_source"]

STANDARD_INPUT = "-"

_UNPACKERS: tuple[tuple[bytes, str, Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", "gzip", gzip.decompress),
    (b"BZh", "bzip2", bz2.decompress),
    (b"\xfd7zXZ\x00", "xz", lzma.decompress),
)

_AS_CSV = "Save it as CSV (UTF-8) where it was made, and name that file."
# First bytes of what is often mistaken for a table, what it is, and what to do.
_STRANGERS: tuple[tuple[bytes, str, str], ...] = (
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls), which is not read", _AS_CSV),
    (b"SQLite format 3\x00", "an SQLite database", "Name it as arena rank --database."),
    (b"ARROW1", "an Arrow (Feather) file, which is not read", "Save it as Parquet or CSV."),
    (b"FEA1", "an old Feather file, which is not read", "Save it as Parquet or CSV."),
    (b"\x28\xb5\x2f\xfd", "packed with zstd, which is not read", "Unpack it with unzstd."),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive, which is not read",
     "Unpack it, and name a file in it."),
    (b"Rar!", "a RAR archive, which is not read", "Unpack it, and name a file in it."),
    (b"%PDF", "a PDF", "Name the table that it was made from."),
    (b"\x80\x04\x95", "a Python pickle, which is never read", "Save it as Parquet or CSV."),
    (b"\x80\x05\x95", "a Python pickle, which is never read", "Save it as Parquet or CSV."),
    (b"version https://git-lfs", "a pointer of Git LFS in place of the file",
     "Fetch the file with git lfs pull."),
    (b"<!doctype html", "a web page", "Download the file itself (often called raw)."),
    (b"<html", "a web page", "Download the file itself (often called raw)."),
)  # fmt: skip
_TAR_MARK = slice(257, 262)


class Source(NamedTuple):
    """What a file holds.

    Attributes:
        name: Of the file, without its folders.
        data: Its bytes, unpacked.
        packed: How it was packed, "" if it was not.
    """

    name: str
    data: bytes
    packed: str = ""

    @property
    def suffix(self) -> str:
        """What kind of file its name says it is, such as ".csv"."""
        path = Path(self.name.lower())
        packing = (".gz", ".bz2", ".xz", ".zip")
        return Path(path.stem).suffix if path.suffix in packing else path.suffix


def read_source(path: str | Path) -> Source:
    """Read a file whole; "-" is standard input.

    Raises:
        OSError: It cannot be opened.
        UnreadableFile: It is a folder, empty, packed in an unknown way, or no table.
    """
    if str(path) == STANDARD_INPUT:
        source = Source("standard input", sys.stdin.buffer.read())
    else:
        path = Path(path)
        if path.is_dir():
            raise UnreadableFile(_list_folder(path))
        source = Source(path.name, path.read_bytes())
    return _unpack(source)


def _list_folder(path: Path) -> str:
    names = sorted(p.name for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    if not names:
        return "this is a folder, and it holds no files. Name a file."
    more = f" (and {len(names) - 5} more)" if len(names) > 5 else ""
    return f"this is a folder. Name a file in it: {', '.join(names[:5])}{more}."


def _unpack(source: Source) -> Source:
    for mark, kind, unpack in _UNPACKERS:
        if source.data.startswith(mark):
            try:
                source = source._replace(data=unpack(source.data), packed=kind)
            except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
                reason = f"damaged {kind} data ({error})"
                raise UnreadableFile(f"{reason}. Fetch or pack the file again.") from None
            break
    if source.data.startswith(b"PK\x03\x04"):
        source = _unzip(source)
    _refuse_strangers(source.data)
    return source


def _unzip(source: Source) -> Source:
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            names = [n for n in archive.namelist() if not n.endswith("/") and "__MACOSX" not in n]
            if any(n.startswith("xl/") for n in names):
                raise UnreadableFile(f"an Excel workbook, which is not read. {_AS_CSV}")
            if "mimetype" in names:
                raise UnreadableFile(f"an OpenDocument file, which is not read. {_AS_CSV}")
            if len(names) != 1:
                held = ", ".join(names[:5])
                raise UnreadableFile(
                    f"a zip archive of {len(names)} files. Unpack it, and name one: {held}."
                )
            return Source(Path(names[0]).name, archive.read(names[0]), f"zip of {source.name}")
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise UnreadableFile(f"damaged zip data ({error}). Fetch it again.") from None
    except RuntimeError as error:  # zipfile's word for a password
        raise UnreadableFile(f"a locked zip archive ({error}). Unpack it first.") from None


def _refuse_strangers(data: bytes) -> None:
    start = data[:512].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start:
        if data.strip():
            return
        raise UnreadableFile("the file is empty. Name a file that holds a table.")
    for mark, what, remedy in _STRANGERS:
        if start.startswith(mark) or start[: len(mark)].lower() == mark:
            raise UnreadableFile(f"this is {what}. {remedy}")
    if data[_TAR_MARK] == b"ustar":
        raise UnreadableFile("this is a tar archive. Unpack it (tar -xf), and name a file in it.")
