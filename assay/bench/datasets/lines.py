"""Lines of text files with their places, so that every complaint names a file and a line.

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
from typing import Any, NoReturn

from assay.bench.datasets.errors import DatasetError
from assay.ingest.dates import brief
from assay.ingest.files import tidy
from assay.ingest.records import LONGEST_ID

BOM = b"\xef\xbb\xbf"

Place = str
"""Where something was written: "path:line"."""


def lines(path: Path) -> Iterator[tuple[Place, str]]:
    """(place, line without its end) of every line that is not blank."""
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


def json_lines(path: Path) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """(place, mapping) of every line of a JSON Lines file."""
    for place, line in lines(path):
        value = parse_json(line, place)
        if not isinstance(value, Mapping):
            raise DatasetError(f"{place} is {brief(value)}, not a mapping", 'write one {"_id": …} per line')
        yield place, value


def parse_json(text: str, place: Place) -> Any:
    """JSON without NaN and infinities: neither has a place in a digest."""
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{place} is no JSON: {error}", "mend that line") from error


def read_json(path: Path) -> Any:
    """A whole JSON file."""
    try:
        text = path.read_bytes().removeprefix(BOM).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read: {error}", "check that it is there, in UTF-8") from error
    return parse_json(text, str(path))


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)  # 1e999


DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)


def identity(row: Mapping[str, Any], names: tuple[str, ...], place: Place) -> str:
    """The id under the first of these names; ids are texts as the store keeps them, whole numbers become texts."""
    value = next((row[name] for name in names if row.get(name) is not None), None)
    if value is None:
        raise DatasetError(f"{place} has no {names[0]!r}", f"give every line its {names[0]!r}")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise DatasetError(f"{place}: {names[0]!r} is {brief(value)}", "give a text or a whole number")
    return checked_id(str(value), place)


def checked_id(name: str, place: Place) -> str:
    """An id that the store would keep as it is: else judgements and answers would speak of different documents."""
    if not name or len(name) > LONGEST_ID or tidy(name).strip() != name:
        raise DatasetError(
            f"{place}: {brief(name)} cannot be an id",
            f"use 1 to {LONGEST_ID} characters, none of them a control character, no blanks at the ends",
        )
    return name


def text_of(row: Mapping[str, Any], name: str, place: Place, default: str | None = None) -> str:
    """A text field; missing or null it is the default, and without a default an error."""
    value = row.get(name)
    if value is None:
        value = default
    if value is None:
        raise DatasetError(f"{place} has no {name!r}", f"give every line its {name!r}")
    if not isinstance(value, str):
        raise DatasetError(f"{place}: {name!r} is {brief(value)}, not a text", "give a string")
    return value


def mapping_of(row: Mapping[str, Any], name: str, place: Place) -> Mapping[str, Any]:
    """A field that holds a mapping; missing or null it is empty."""
    value = row.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DatasetError(f"{place}: {name!r} is {brief(value)}", 'give a mapping, such as {"kind": "lexical"}')
    return value
