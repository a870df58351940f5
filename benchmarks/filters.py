"""Measures vector search with a filter: recall against brute force, short lists, and times beside the plan before it.

Filters keep from a thousandth to half of the rows: by chance; the region around a vector of the store; for each
question the region that is nearest to it, and one that is far from it; and, against the question, the rows that score
lowest, of which the best are asked for. The plan before scored all rows of filters up to a tenth and gave larger ones
to FAISS as a selector, with the probes of a search without a filter. All contenders take turns question by question.
Only the vector index is measured.

    python -m benchmarks.filters --sizes 1000000 --folder /tmp/filters     # a folder keeps what was built
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.filtered_search import FILTERS
from assay.index.vectors import DEPTH, VectorIndex, exact_scores
from assay.index.vectors_builder import build_vectors
from benchmarks.data import questions, vectors
from benchmarks.measure import RECEIPTS, time_call, time_in_turns, write_receipt

DIM = 384
SHARES = {"0.1 %": 0.001, "0.5 %": 0.005, "1 %": 0.01, "2 %": 0.02, "5 %": 0.05, "10 %": 0.1, "20 %": 0.2, "50 %": 0.5}
QUESTIONS, REGIONS = 30, 24
RECEIPT = RECEIPTS / "filters.json"
_PART, _BLOCK = 50_000, 65_536

Masks = list[NDArray[np.bool_]]


def build(folder: Path, size: int) -> None:
    matrix = np.memmap(folder / "vectors", np.float32, "w+", shape=(size, DIM))
    for start in range(0, size, _PART):
        matrix[start : start + _PART] = vectors(start, min(_PART, size - start))
    matrix.flush()
    seconds, _ = time_call(lambda: build_vectors(folder, size, DIM, np.ones(size, np.bool_)))
    (folder / "seconds").write_text(f"{seconds:.1f}")


class PlanBefore:
    """The plan that this one replaced."""

    def __init__(self, index: VectorIndex) -> None:
        self.index = index

    def nearest(self, query: Any, k: int, mask: NDArray[np.bool_]) -> tuple[Any, Any]:
        index, count = self.index, int(np.count_nonzero(mask))
        if count <= 4_096:
            rows = np.flatnonzero(mask)
        elif count <= index.size // 10:
            rough = []
            for start in range(0, index.size, 4_096):
                part = slice(start, start + 4_096)
                rough.append(index.matrix[part][mask[part]] @ query)
            scores = np.concatenate(rough)
            cut = np.partition(scores, count - k)[count - k]
            rows = np.flatnonzero(mask)[scores >= cut - 1e-5]
        else:
            rows = self._propose(query, int(index.overfetch * max(k, DEPTH)), mask)
        return rows, exact_scores(index.matrix, query, rows)

    def _propose(self, query: Any, fetch: int, mask: NDArray[np.bool_]) -> Any:
        import faiss

        bits = np.packbits(mask, bitorder="little")
        selector = faiss.IDSelectorBitmap(self.index.size, faiss.swig_ptr(bits))
        probes = self.index.probes
        while True:
            params = self.index.search_params(min(probes, self.index.inverted.nlist), selector)
            rows = self.index.inverted.search(query[None, :], fetch, params=params)[1][0]
            if rows[-1] >= 0 or probes >= self.index.inverted.nlist:
                return rows[rows >= 0]
            probes *= 4


def score_all(matrix: Any, queries: Any) -> Any:
    return np.concatenate(
        [queries @ matrix[start : start + _BLOCK].T for start in range(0, len(matrix), _BLOCK)], axis=1
    )


def keep(towards: Any, share: float) -> NDArray[np.bool_]:
    kept = int(share * len(towards))
    mask: NDArray[np.bool_] = towards >= np.partition(towards, len(towards) - kept)[len(towards) - kept]
    return mask


def make_filters(scores: Any, towards: Any, similar: Any, share: float) -> dict[str, Callable[[int], Any]]:
    """For each kind the filter of a question. `similar` are questions × regions."""
    by_chance = np.random.default_rng(5).random(scores.shape[1]) < share
    regions: dict[int, NDArray[np.bool_]] = {}

    def region(place: int) -> NDArray[np.bool_]:
        if place not in regions:
            regions[place] = keep(towards[place], share)
        return regions[place]

    order = np.argsort(similar, axis=1)
    return {
        "chance": lambda _: by_chance,
        "region": lambda i: region(i % 4),
        "near region": lambda i: region(int(order[i, -1])),
        "far region": lambda i: region(int(order[i, 1])),
        "against the question": lambda i: keep(-scores[i], share),
    }


def measure_recall(find: Any, queries: Any, scores: Any, masks: Masks) -> dict[str, Any]:
    """The share of the true nearest that is found: the mean, that of the worst question, and lists that were short."""
    shares, short = [], 0
    for query, line, mask in zip(queries, scores, masks, strict=True):
        eligible = np.flatnonzero(mask)
        truth = eligible[np.argpartition(-line[eligible], DEPTH - 1)[:DEPTH]]
        rows, exact = find(query, DEPTH, mask)
        shares.append(float(np.isin(truth, rows[np.argsort(-exact)][:DEPTH]).mean()))
        short += len(rows) < DEPTH
    return {"recall_at_100": round(float(np.mean(shares)), 4), "worst": round(min(shares), 2), "short_lists": short}


def run(size: int, folder: Path) -> dict[str, Any]:
    if not (folder / FILTERS).is_file():
        build(folder, size)
    index = VectorIndex(folder, size, DIM)
    before = PlanBefore(index)
    texts, every = questions()
    queries = np.ascontiguousarray(every[:: len(texts) // QUESTIONS][:QUESTIONS], np.float32)
    centres = index.matrix[np.random.default_rng(5).choice(min(size, 8_000), REGIONS)]
    scores, towards = score_all(index.matrix, queries), score_all(index.matrix, centres)
    result: dict[str, Any] = {}
    unfiltered = {"no filter": lambda i: index.nearest(queries[i], DEPTH, None)}
    times = time_in_turns(unfiltered, QUESTIONS)
    for name, share in SHARES.items():
        if share * size < 2 * DEPTH:
            continue
        for kind, choose in make_filters(scores, towards, queries @ centres.T, share).items():
            masks = [choose(i) for i in range(QUESTIONS)]
            facts = measure_recall(index.nearest, queries, scores, masks)
            facts["before"] = measure_recall(before.nearest, queries, scores, masks)
            contenders = {
                "by cost": lambda i, m=masks: index.nearest(queries[i], DEPTH, m[i]),
                "before": lambda i, m=masks: before.nearest(queries[i], DEPTH, m[i]),
            }
            timed = time_in_turns(contenders, QUESTIONS, rounds=2)
            facts |= timed["by cost"]
            facts["before"] |= timed["before"]
            facts["p50_over_before"] = round(timed["by cost"]["p50_ms"] / timed["before"]["p50_ms"], 3)
            result.setdefault(name, {})[kind] = facts
            print(name, kind, facts, flush=True)
    return {
        "vectors": size,
        "index_s": float((folder / "seconds").read_text()) if (folder / "seconds").is_file() else None,
        "index": json.loads((folder / "vectors.json").read_text()),
        "calibration": json.loads((folder / FILTERS).read_text()),
        "questions": QUESTIONS,
        "no filter": times["no filter"],
        "filters": result,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000])
    parser.add_argument("--folder", type=Path, help="keep the indexes here, and use those that are there")
    options = parser.parse_args()
    # Sizes are measured one by one, each within some minutes; those of other runs stay in the receipt.
    known = json.loads(RECEIPT.read_text())["measured"]["sizes"] if RECEIPT.is_file() else []
    results = {entry["vectors"]: entry for entry in known}
    with tempfile.TemporaryDirectory() as temporary:
        for size in options.sizes:
            folder = (options.folder or Path(temporary)) / str(size)
            folder.mkdir(parents=True, exist_ok=True)
            results[size] = run(size, folder)
            print(write_receipt("filters", {"sizes": [results[each] for each in sorted(results)]}))


if __name__ == "__main__":
    main()
