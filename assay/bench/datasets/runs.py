"""TREC runs, six columns: query Q0 document rank score tag.

A run that is read stands in trec_eval's order, whatever its rank column says: by score, highest first, and among
equal scores by document id, *highest* first, the reverse of the engine's own order (see metrics/trec.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place, checked_id, lines
from assay.bench.metrics import in_trec_order
from assay.bench.types import Retrieved

COLUMNS = "query Q0 document rank score tag"


def read_run(path: Path) -> tuple[Retrieved, ...]:
    """What a run gives for each query, queries in id order, documents in trec_eval's order."""
    found: dict[str, dict[str, float]] = {}
    for place, line in lines(path):
        cells = line.split()
        if len(cells) != 6:
            raise DatasetError(f"{place} has {len(cells)} columns", f"write {COLUMNS}")
        query, _, document, _, score, _ = cells
        scores = found.setdefault(checked_id(query, place), {})
        if document in scores:
            raise DatasetError(f"{place}: document {document!r} again for query {query!r}", "rank every document once")
        scores[checked_id(document, place)] = _score(score, place)
    return tuple(in_trec_order(query, found[query]) for query in sorted(found))


def write_run(path: Path, run: Iterable[Retrieved], tag: str = "assay") -> None:
    """A run that `read_run` and trec_eval can read. Ids with white space cannot stand in one."""
    rows = []
    for found in run:
        for rank, (document, score) in enumerate(zip(found.documents, found.scores, strict=True), 1):
            cells = (found.topic, "Q0", document, str(rank), repr(float(score)), tag)
            if any(cell.split() != [cell] for cell in cells):
                raise DatasetError(f"{' '.join(cells)!r} has no six columns", "use ids and a tag without blanks")
            rows.append(" ".join(cells))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row}\n" for row in rows), "utf-8")


def _score(text: str, place: Place) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise DatasetError(f"{place}: the score {text!r} is no number", "write a decimal number")
    return score
