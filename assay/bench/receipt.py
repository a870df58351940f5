"""A receipt: a canonical half covered by a sha256, identical on every re-run, and a measured half outside it.

    {"schema": 1, "kind": "run", "digest": "<sha256 of the canonical half>", "canonical": {…}, "measured": {…}}

The canonical half holds no clock, no host, no path and no document or query text. Its bytes are JSON with sorted
keys, no blanks and no NaN; a float is written by its shortest repr, so equal values give equal bytes.

Kinds: "run" (one system on one dataset), "comparison" (tests between runs), "gate" (verdicts), "grid" (a sweep).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from assay.errors import AssayError, nearest
from assay.util.atomic import write_text

SCHEMA = 1
Kind = Literal["run", "comparison", "gate", "grid"]


class ReceiptError(AssayError):
    """A receipt cannot be read, was changed by hand, or does not fit another one."""

    exit_code = 2


@dataclass(frozen=True)
class Receipt:
    """What was found (`canonical`) and what it took to find it (`measured`)."""

    kind: Kind
    canonical: Mapping[str, Any]
    measured: Mapping[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA

    @property
    def digest(self) -> str:
        return digest_of(self.canonical)

    def dumps(self) -> str:
        """Indented for people down to the columns, whose values stand on one line each."""
        whole = {
            "schema": self.schema,
            "kind": self.kind,
            "digest": self.digest,
            "canonical": self.canonical,
            "measured": self.measured,
        }
        return _lines(whole, 0) + "\n"


def canonical_bytes(value: Any) -> bytes:
    """The one spelling of plain data that digests cover."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def digest_of(value: Any) -> str:
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def write(receipt: Receipt, path: Path) -> None:
    """All or nothing: a reader never sees half a receipt, and of two writers the later one wins whole."""
    write_text(path, receipt.dumps())


def read(path: Path) -> Receipt:
    """A receipt whose digest still fits it."""
    try:
        found = json.loads(path.read_text("utf-8"), parse_constant=_refused)
    except (OSError, UnicodeDecodeError) as error:
        raise ReceiptError(f"{path} cannot be read: {error}", "name a receipt that `assay bench` wrote") from error
    except ValueError as error:
        raise ReceiptError(f"{path} is no JSON: {error}", "name a receipt that `assay bench` wrote") from error
    if not isinstance(found, dict) or not {"schema", "kind", "digest", "canonical"} <= found.keys():
        raise ReceiptError(f"{path} is no receipt of the lab", "make one: assay bench run")
    if not isinstance(found["schema"], int) or found["schema"] > SCHEMA:
        raise ReceiptError(
            f"{path} has schema {found['schema']}, this version reads up to {SCHEMA}", "install a newer Assay"
        )
    if found["kind"] not in get_args(Kind):
        raise ReceiptError(f"{path} is of kind {found['kind']!r}", nearest(str(found["kind"]), get_args(Kind)))
    receipt = Receipt(found["kind"], found["canonical"], found.get("measured", {}), found["schema"])
    if receipt.digest != found["digest"]:
        raise ReceiptError(
            f"{path} was changed after it was written: its digest is {receipt.digest[:12]}, it says "
            f"{str(found['digest'])[:12]}",
            "run it again: assay bench run",
        )
    return receipt


def _refused(word: str) -> None:
    """NaN and infinity are no JSON, whatever Python's reader thinks."""
    raise ValueError(f"{word} is no number")


def _lines(value: Any, depth: int) -> str:
    """JSON with one line per key for mappings of mappings; lists of plain values stay on one line."""
    pad = " " * (depth + 1)
    if isinstance(value, Mapping) and value and depth < 4:
        rows = [f"{pad}{json.dumps(str(key))}: {_lines(value[key], depth + 1)}" for key in value]
        return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
