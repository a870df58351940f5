"""Who verified which query: a ledger of JSON lines. An entry counts only for the query and gold that were shown."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from assay.bench.rb006.frozen_suite import digest_queries
from assay.bench.rb006.world.queries import WorldQuery
from assay.errors import AssayError

Judgement = Literal["right", "wrong"]


class VerificationError(AssayError):
    """A ledger of verifications cannot be read."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Verification:
    """What a person said about a query: its gold answers it, or does not. `shown` is the digest of both."""

    query: str
    shown: str
    by: str
    judgement: Judgement
    on: str
    note: str = ""


def digest_shown(query: WorldQuery) -> str:
    """Identifies the text and gold of a query."""
    return digest_queries([query])[:16]


def read_ledger(path: Path) -> list[Verification]:
    """Every entry; an unreadable line is an error with its number."""
    if not path.exists():
        return []
    entries = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            entry = Verification(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise VerificationError(
                f"{path}, line {number} is no verification: {error}", "mend or remove the line"
            ) from error
        if entry.judgement not in get_args(Judgement):
            raise VerificationError(f"{path}, line {number} says {entry.judgement!r}", "say right or wrong")
        entries.append(entry)
    return entries


def append_entry(path: Path, entry: Verification) -> None:
    """Add an entry; it is on disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(entry), ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def list_open(queries: Sequence[WorldQuery], entries: Sequence[Verification], by: str) -> list[WorldQuery]:
    """The queries that a person has not judged as they are now."""
    known = {(entry.query, entry.shown) for entry in entries if entry.by == by}
    return [query for query in queries if (query.id, digest_shown(query)) not in known]


def summarise_ledger(queries: Sequence[WorldQuery], entries: Sequence[Verification]) -> dict[str, Any]:
    """How many of the queries were verified as they are now, by whom, and which were called wrong."""
    current = {query.id: digest_shown(query) for query in queries}
    valid = [entry for entry in entries if current.get(entry.query) == entry.shown]
    return {
        "queries": len(current),
        "verified": len({entry.query for entry in valid}),
        "wrong": sorted({entry.query for entry in valid if entry.judgement == "wrong"}),
        "by": dict(sorted(Counter(entry.by for entry in valid).items())),
        "outdated": len(entries) - len(valid),
    }
