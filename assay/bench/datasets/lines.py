"""Reads lines of text files with their places, so that every error names a file and a line.

UTF-8, with or without a byte order mark; lines may end in CRLF; a name that ends in .gz is unpacked. Blank lines
are skipped but counted.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.bench.datasets.defects import REPAIR, report_defect
from assay.bench.datasets.errors import DatasetError
from assay.ingest.dates import abbreviate
from assay.ingest.files import clean_text
from assay.ingest.records import LONGEST_ID

BOM = b"\xef\xbb\xbf"

Place = str
"""The position of an input line: "path:line"."""


def read_lines(path: Path) -> Iterator[tuple[Place, str]]:
    """Yield (place, line without its end) of every line that is not blank."""
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.removeprefix(BOM) if number == 1 else raw
                if b"\0" in line:
                    raise DatasetError(f"{path}:{number} holds a NUL byte", "save the file as UTF-8 text")
                if line.strip():
                    yield f"{path}:{number}", line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path}:{number} is not UTF-8: {error.reason}", "save the file as UTF-8 text") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DatasetError(f"{path} cannot be read: {reason}", "check that the file is there and whole") from error


def read_json_lines(path: Path) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """Yield (place, mapping) of every line of a JSON Lines file."""
    for place, line in read_lines(path):
        value = parse_json(line, place)
        if not isinstance(value, Mapping):
            raise DatasetError(f"{place} is {abbreviate(value)}, not a mapping", 'write one {"_id": …} per line')
        yield place, value


def parse_json(text: str, place: Place) -> Any:
    """Parse JSON. NaN and infinities, which a digest cannot cover, are read as null, and are a defect."""
    return decode(text, 0, place, whole=True)[0]


def decode(text: str, at: int, place: Place, whole: bool = False) -> tuple[Any, int]:
    """The JSON value at a position and the position after it; with `whole`, nothing may follow it."""
    _not_numbers.clear()
    try:
        value, end = (DECODER.decode(text), len(text)) if whole else DECODER.raw_decode(text, at)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{place} is no JSON: {error}", "mend that line") from error
    if _not_numbers:
        defect = DatasetError(f"{place} holds {_not_numbers[0]}, which is no JSON number", REPAIR)
        report_defect("lines hold NaN or an infinity, which is read as missing", defect)
    return value, end


def read_json(path: Path) -> Any:
    """Read a whole JSON file."""
    try:
        text = path.read_bytes().removeprefix(BOM).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read: {error}", "check that it is there, in UTF-8") from error
    return parse_json(text, str(path))


_not_numbers: list[str] = []
"""NaN and infinities of the value that is being decoded; the lab reads datasets in one thread."""


def _drop_constant(constant: str) -> None:
    _not_numbers.append(constant)


def _parse_finite(text: str) -> float | None:
    number = float(text)
    if math.isfinite(number):
        return number
    _drop_constant(text)  # 1e999
    return None


DECODER = json.JSONDecoder(parse_constant=_drop_constant, parse_float=_parse_finite)


def parse_id(row: Mapping[str, Any], names: tuple[str, ...], place: Place) -> str:
    """Get the id under the first of these names that is present; whole numbers become texts."""
    value = next((row[name] for name in names if row.get(name) is not None), None)
    if value is None:
        raise DatasetError(f"{place} has no {names[0]!r}", f"give every line its {names[0]!r}")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise DatasetError(f"{place}: {names[0]!r} is {abbreviate(value)}", "give a text or a whole number")
    return check_id(str(value), place)


def check_id(name: str, place: Place) -> str:
    """Return an id that a store keeps unchanged; any other would not match between judgements and answers."""
    if not name or len(name) > LONGEST_ID or clean_text(name).strip() != name:
        raise DatasetError(
            f"{place}: {abbreviate(name)} cannot be an id",
            f"use 1 to {LONGEST_ID} characters, none of them a control character, no blanks at the ends",
        )
    return name


def get_text(row: Mapping[str, Any], name: str, place: Place, default: str | None = None) -> str:
    """Get a text field; missing or null gives the default, and without a default an error."""
    value = row.get(name)
    if value is None:
        value = default
    if value is None:
        raise DatasetError(f"{place} has no {name!r}", f"give every line its {name!r}")
    if not isinstance(value, str):
        raise DatasetError(f"{place}: {name!r} is {abbreviate(value)}, not a text", "give a string")
    return value


def get_mapping(row: Mapping[str, Any], name: str, place: Place) -> Mapping[str, Any]:
    """Get a mapping field; missing or null gives an empty one."""
    value = row.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DatasetError(f"{place}: {name!r} is {abbreviate(value)}", 'give a mapping, such as {"kind": "lexical"}')
    return value
