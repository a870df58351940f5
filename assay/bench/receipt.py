"""A receipt: a canonical half covered by a sha256, identical on every re-run, and a measured half outside it.

    {"schema": 2, "kind": "run", "digest": "<sha256 of the canonical half>", "canonical": {…}, "measured": {…}}

The canonical half holds no clock, no host, no path, no library version, no sentence and no document or query text: what
is said about a run is a code with values (config/findings.py), rendered when it is shown (messages.py). Its bytes are
JSON with sorted keys, no blanks and no NaN; a float is written by its shortest repr, so equal values give equal bytes.

Receipts of schema 1 (sentences and versions inside the digest) are checked against their digest and upgraded when read.

Kinds: "run" (one system on one dataset), "comparison" (tests between runs), "pooled" (over
several sets), "loso" (one set left out at a time), "gate" (verdicts), "grid" (a sweep), "rb006" (the hierarchy
benchmark).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from assay.bench.receipt_upgrade import upgrade
from assay.errors import AssayError, nearest
from assay.util.atomic_files import write_text

SCHEMA = 2
Kind = Literal["run", "comparison", "pooled", "loso", "gate", "grid", "rb006"]


class ReceiptError(AssayError):
    """A receipt cannot be read, was changed by hand, or does not fit another one."""

    exit_code = 2


@dataclass(frozen=True)
class Receipt:
    """Results and what decides them (`canonical`), and everything that may differ between runs (`measured`)."""

    kind: Kind
    canonical: Mapping[str, Any]
    measured: Mapping[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA

    @cached_property
    def digest(self) -> str:
        """Computed once: the canonical half is never changed in place."""
        return compute_digest(self.canonical)

    def dumps(self) -> str:
        """JSON, indented down to the columns, each of which is one line."""
        content = {
            "schema": self.schema,
            "kind": self.kind,
            "digest": self.digest,
            "canonical": self.canonical,
            "measured": self.measured,
        }
        return _lines(content, 0) + "\n"


def canonical_bytes(value: Any) -> bytes:
    """The canonical JSON of plain data, over which digests are computed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def compute_digest(value: Any) -> str:
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def write(receipt: Receipt, path: Path) -> None:
    """Write atomically: a reader never sees half a receipt, and the later of two writers wins."""
    write_text(path, receipt.dumps())


def read(path: Path) -> Receipt:
    """Read a receipt and check its digest; schema 1 is upgraded in memory."""
    try:
        content = json.loads(path.read_text("utf-8"), parse_constant=_reject_constant)
        _reject_infinite(content)
    except (OSError, UnicodeDecodeError) as error:
        raise ReceiptError(f"{path} cannot be read: {error}", "name a receipt that `assay bench` wrote") from error
    except (ValueError, RecursionError) as error:
        raise ReceiptError(f"{path} is no JSON: {error}", "name a receipt that `assay bench` wrote") from error
    if not isinstance(content, dict) or not {"schema", "kind", "digest", "canonical"} <= content.keys():
        raise ReceiptError(f"{path} is no receipt of the lab", "make one: assay bench run")
    if not isinstance(content["schema"], int) or content["schema"] > SCHEMA:
        raise ReceiptError(
            f"{path} has schema {content['schema']}, this version reads up to {SCHEMA}", "install a newer Assay"
        )
    if content["kind"] not in get_args(Kind):
        raise ReceiptError(f"{path} is of kind {content['kind']!r}", nearest(str(content["kind"]), get_args(Kind)))
    receipt = Receipt(content["kind"], content["canonical"], content.get("measured", {}))
    try:
        unchanged = receipt.digest == content["digest"]
    except (ValueError, RecursionError) as error:  # a number that became infinite, or too deep
        raise ReceiptError(f"{path} is no JSON: {error}", "name a receipt that `assay bench` wrote") from error
    if not unchanged:
        raise ReceiptError(
            f"{path} was changed after it was written: its digest is {receipt.digest[:12]}, it says "
            f"{str(content['digest'])[:12]}",
            "run it again: assay bench run",
        )
    if content["schema"] == SCHEMA:
        return receipt
    try:
        return Receipt(content["kind"], *upgrade(content["kind"], receipt.canonical, receipt.measured))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ReceiptError(
            f"{path} has schema {content['schema']} and cannot be upgraded: {error}",
            "run it again: assay bench run",
        ) from error


def _reject_constant(word: str) -> None:
    """NaN and infinity are not JSON, though Python's reader accepts them."""
    raise ValueError(f"{word} is no number")


def _reject_infinite(content: Any) -> None:
    """A number so large that it becomes infinite, e.g. 1e999, is no number. The canonical half is checked when its
    digest is computed; this looks at the rest, which is short."""
    if isinstance(content, dict):
        json.dumps({key: value for key, value in content.items() if key != "canonical"}, allow_nan=False)


def _lines(value: Any, depth: int) -> str:
    """JSON with one line per key for mappings of mappings; lists of plain values stay on one line."""
    pad = " " * (depth + 1)
    if isinstance(value, Mapping) and value and depth < 4:
        rows = [f"{pad}{json.dumps(str(key))}: {_lines(value[key], depth + 1)}" for key in value]
        return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
