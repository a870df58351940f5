"""Files of Lance tables that a failing disk cut short.

Lance writes files through a buffer. When one of these writes fails, on a full disk for example, Lance may commit a
version all the same: its manifest names a file that lacks some bytes, and the table cannot be read. Each kind of file
says itself how long it is, so bytes that are missing show without a checksum.
"""

from __future__ import annotations

import os
import struct
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

FOLDERS = ("data", "_indices", "_deletions")
"""Folders of a table with files that Lance writes through a buffer."""
NEWEST = (1 << 64) - 1
"""Lance names the manifest of version n by this number less n."""
_FOOTER = struct.Struct("<QQQIIHH4s")
"""Of a data file: where the columns' descriptions begin, the table of their places, and the table of buffers; how many
buffers and columns; the format."""
_PLACE = 16
"""Bytes of one entry of the table of buffers."""
_OLDEST = (0, 3)
"""The oldest format with this footer."""
_ARRAY = 4_096
"""Numbers from which a container of a bitmap has a bit for each of 65,536 instead."""


def is_whole(path: Path) -> bool:
    """Whether a file has all the bytes that it says it has."""
    check = _CHECKS.get(path.suffix)
    if check is None:
        return True
    with path.open("rb") as file:
        try:
            return check(file, os.fstat(file.fileno()).st_size)
        except struct.error:  # it ends within a number
            return False


def _is_whole_data(file: BinaryIO, size: int) -> bool:
    file.seek(max(size - _FOOTER.size, 0))
    _, _, buffers_at, buffers, _, major, minor, magic = _FOOTER.unpack(file.read())
    if magic != b"LANC":
        return False
    return (major, minor) < _OLDEST or buffers_at + _PLACE * buffers + _FOOTER.size <= size


def _is_whole_arrow(file: BinaryIO, _: int) -> bool:
    """Deleted rows as a list of numbers: an Arrow file."""
    import pyarrow

    try:
        pyarrow.ipc.open_file(pyarrow.py_buffer(file.read())).read_all()
    except (pyarrow.ArrowException, OSError):
        return False
    return True


def _is_whole_bitmap(file: BinaryIO, size: int) -> bool:
    """Deleted rows as a bitmap, in the portable format of Roaring."""
    (cookie,) = struct.unpack("<I", file.read(4))
    with_runs = cookie & 0xFFFF == 12_347
    containers = (cookie >> 16) + 1 if with_runs else struct.unpack("<I", file.read(4))[0]
    runs = file.read((containers + 7) // 8) if with_runs else bytes((containers + 7) // 8)
    counts = struct.unpack(f"<{2 * containers}H", file.read(4 * containers))[1::2]
    if not with_runs or containers >= 4:  # where each container begins
        file.seek(4 * containers, os.SEEK_CUR)
    for number, count in enumerate(counts):
        if runs[number // 8] >> number % 8 & 1:
            length = 4 * struct.unpack("<H", file.read(2))[0]
        else:
            length = 2 * (count + 1) if count < _ARRAY else 8_192
        file.seek(length, os.SEEK_CUR)
    return file.tell() <= size


_CHECKS: dict[str, Callable[[BinaryIO, int], bool]] = {
    ".lance": _is_whole_data,
    ".arrow": _is_whole_arrow,
    ".bin": _is_whole_bitmap,
}


def list_versions(table: Path) -> list[tuple[int, Path]]:
    """The versions of a table and their manifests, newest first."""
    found = [path for path in (table / "_versions").glob("*.manifest") if path.stem.isdigit()]
    return sorted(((NEWEST - int(path.stem), path) for path in found), reverse=True)


def names_any(manifest: Path, files: list[Path]) -> bool:
    """Whether a manifest names one of these files."""
    content = manifest.read_bytes()
    return any(_name_in_manifest(file) in content for file in files)


def _name_in_manifest(file: Path) -> bytes:
    """Data is named by its name, an index by its identifier, deleted rows by a number, the last part of the name."""
    if file.parent.parent.name == "_indices":
        return uuid.UUID(file.parent.name).bytes
    if file.parent.name == "_deletions":
        return _encode_varint(int(file.stem.rpartition("-")[2]))
    return file.name.encode()


def _encode_varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
