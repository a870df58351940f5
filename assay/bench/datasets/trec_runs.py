"""Reads and writes TREC runs, six columns: query Q0 document rank score tag.

A run is read in trec_eval's order and its rank column is ignored: by score, highest first, and among
equal scores by document id, *highest* first, the reverse of the engine's own order (see metrics/trec_order.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place, check_id, read_lines
from assay.bench.metrics import sort_like_trec_eval
from assay.bench.types import TopicResult

COLUMNS = "query Q0 document rank score tag"


def read_run(path: Path) -> tuple[TopicResult, ...]:
    """Read the results of a run, queries in id order, documents in trec_eval's order."""
    found: dict[str, dict[str, float]] = {}
    for place, line in read_lines(path):
        cells = line.split()
        if len(cells) != 6:
            raise DatasetError(f"{place} has {len(cells)} columns", f"write {COLUMNS}")
        query, _, document, _, score, _ = cells
        scores = found.setdefault(check_id(query, place), {})
        if document in scores:
            raise DatasetError(f"{place}: document {document!r} again for query {query!r}", "rank every document once")
        scores[check_id(document, place)] = _score(score, place)
    return tuple(sort_like_trec_eval(query, found[query]) for query in sorted(found))


def write_run(path: Path, run: Iterable[TopicResult], tag: str = "assay") -> None:
    """Write a run that `read_run` and trec_eval can read. Ids must not contain white space."""
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
