"""Memory-maps the columns of an NPZ file in place, without pickles.

`numpy.load` reads a whole column of an NPZ into memory, mapped or not; a bank of 637k × 768 would take 2 GB for each
process that opens it. The members of an archive that is not compressed are plain files at an offset, so they map.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from assay.cascade.bank.errors import CompressedColumn, DamagedColumn, MissingColumn, NotNpz, WrongDtype, WrongShape
from assay.util.atomic_files import atomic_writer

_ALIGN = 64
_PADDING = 0xD935
"""The id of the zip field that only fills space, as Android's zipalign writes it."""
_LOCAL = struct.Struct("<4s5H3I2H")
_ZIP64 = 20
_READ = 1 << 22


@dataclass(frozen=True, slots=True)
class Column:
    """Where a column lies in its file."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    member: int
    """Where its archive member begins, and how many bytes of checksum `crc` it has."""
    length: int
    crc: int


@dataclass(frozen=True, slots=True)
class Archive:
    """What an NPZ file holds: the known columns by name, and the names of the others."""

    path: Path
    columns: Mapping[str, Column]
    others: tuple[str, ...]


def read_archive(path: Path, known: Collection[str]) -> Archive:
    """Locate the known columns; one that cannot be mapped safely raises the error that names it.

    Other members may be anything: compressed, Python objects, no array at all.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file, zipfile.ZipFile(file) as held:
            members: dict[str, zipfile.ZipInfo] = {}
            for member in held.infolist():
                name = member.filename.removesuffix(".npy")
                if name in members:
                    raise NotNpz(f"{path} holds {name!r} twice", "write it anew with numpy.savez", name)
                members[name] = member
            found = {name: _read_column(file, one, name, size) for name, one in members.items() if name in known}
            return Archive(path, found, tuple(sorted(members.keys() - found.keys())))
    except FileNotFoundError as error:
        raise NotNpz(f"there is no file {path}", "name an NPZ file; make one: assay bank build") from error
    except (zipfile.BadZipFile, OSError, struct.error, NotImplementedError, RuntimeError, UnicodeDecodeError) as error:
        raise NotNpz(f"{path} is no whole NPZ archive: {error}", "write it anew with numpy.savez") from error


def _read_column(file: IO[bytes], member: zipfile.ZipInfo, name: str, size: int) -> Column:
    if member.flag_bits & 0x1:
        raise NotNpz(f"column {name!r} is encrypted", "write it anew with numpy.savez", name)
    if member.compress_type != zipfile.ZIP_STORED:
        raise CompressedColumn(
            f"column {name!r} is compressed, so it cannot be memory-mapped", "write it with numpy.savez", name
        )
    file.seek(member.header_offset)
    head = _LOCAL.unpack(file.read(_LOCAL.size))
    if head[0] != b"PK\x03\x04":
        raise NotNpz(f"column {name!r} does not begin where the archive says", "write it anew with numpy.savez", name)
    start = member.header_offset + _LOCAL.size + head[-2] + head[-1]
    if start + member.file_size > size:
        raise DamagedColumn(f"column {name!r} is cut short", "copy the file again", name)
    file.seek(start)
    dtype, shape, fortran = _read_npy_header(file, name)
    if len(shape) > 1 and fortran:
        raise WrongShape(f"column {name!r} is stored by columns", "save numpy.ascontiguousarray of it", name)
    offset = file.tell()
    size_in_bytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if min(shape, default=0) < 0 or offset + size_in_bytes != start + member.file_size:
        raise DamagedColumn(
            f"column {name!r} says it has {size_in_bytes} bytes, and has not", "copy the file again", name
        )
    return Column(name, dtype, shape, offset, start, member.file_size, member.CRC)


_NO_HEADER = (ValueError, LookupError, SyntaxError, TypeError, TokenError, MemoryError, RecursionError)
"""What numpy raises for a header: it is parsed as Python, and once more without the suffixes of Python 2."""


def _read_npy_header(file: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        reader = readers[np.lib.format.read_magic(file)]
        shape, fortran, dtype = reader(file)
    except _NO_HEADER as error:
        reason = str(error)[:200] or type(error).__name__
        raise DamagedColumn(f"column {name!r} is no array: {reason}", "write it anew with numpy.savez", name) from error
    if dtype.hasobject:
        raise WrongDtype(f"column {name!r} holds Python objects", "save plain numbers; nothing is unpickled", name)
    return dtype, shape, bool(fortran)


def map_column(path: Path, column: Column) -> NDArray[Any]:
    """The column as an array over the file's pages, read-only; an empty one has none to map."""
    if 0 in column.shape:
        return np.empty(column.shape, column.dtype)
    return np.memmap(path, column.dtype, "r", offset=column.offset, shape=column.shape).view(np.ndarray)


def find_column(archive: Archive, name: str, dtype: Any, dims: int) -> Column:
    """A column by name, checked for type and number of dimensions."""
    if name not in archive.columns:
        names = ", ".join(sorted((*archive.columns, *archive.others))) or "nothing"
        raise MissingColumn(f"{archive.path} has no column {name!r}", f"add it; the file holds {names}", name)
    column = archive.columns[name]
    if column.dtype != np.dtype(dtype):
        wanted = np.dtype(dtype).name
        raise WrongDtype(f"column {name!r} is {column.dtype}, not {wanted}", f"save it with .astype({wanted!r})", name)
    if len(column.shape) != dims:
        raise WrongShape(f"column {name!r} has shape {column.shape}, not {dims} dimension(s)", "reshape it", name)
    return column


def verify_checksums(path: Path, columns: Iterable[Column]) -> None:
    """Reads every byte of the columns and compares their checksums."""
    for column in columns:
        crc = 0
        for block in _read_blocks(path, column):
            crc = zlib.crc32(block, crc)
        if crc != column.crc:
            raise DamagedColumn(
                f"column {column.name!r} of {path} is not what was written: its checksum differs",
                "copy the file again, or build it anew",
                column.name,
            )


def _read_blocks(path: Path, column: Column) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(column.member)
        left = column.length
        while left:
            block = file.read(min(left, _READ))
            if not block:
                return
            left -= len(block)
            yield block


def write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """An NPZ file that `numpy.load` reads too: not compressed, columns aligned, the same bytes every time.

    Its folder is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_writer(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as zip_file:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy")  # dated 1980: an archive of the same columns is the same file
            start = file.tell() + _LOCAL.size + len(info.filename) + _ZIP64 + 4
            info.extra = struct.pack("<HH", _PADDING, -start % _ALIGN) + bytes(-start % _ALIGN)
            with zip_file.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
