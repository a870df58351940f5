"""Writes a suite as a dataset folder. The same documents and seed give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.bench.dataset_writer import Row, check_free, write_folder
from assay.bench.synth.suite import KINDS, Suite
from assay.bench.synth.synthetic_query import SyntheticQuery

MAKER = "assay bench synth"
SPLITS = ("dev", "test")
WARNING = (
    "Synthetic: most queries repeat words of the text, which favours bm25. Use it to see whether a change breaks "
    "something, and beside human labels; never mix it with them in one number."
)


def write_suite(suite: Suite, folder: Path, *, source: str, seed: int) -> dict[str, Any]:
    """Write the folder and return its meta.json. Within a kind, queries alternate between dev and test."""
    check_free(folder, MAKER)
    documents = suite.index.documents
    named_queries = [
        (f"{kind}-{place:04d}", place, query)
        for kind, queries in suite.queries.items()
        for place, query in enumerate(queries)
    ]
    rows: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for name, place, query in named_queries:
        rows[SPLITS[place % len(SPLITS)]] += [(name, documents[r.document].id, r.grade) for r in query.relevant]
    return write_folder(
        folder,
        documents=(document.record() for document in documents),
        queries=[{"_id": name, "text": query.text, "metadata": _metadata(query)} for name, _, query in named_queries],
        splits=rows,
        evidence=[row for name, _, query in named_queries for row in _evidence(suite, name, query)],
        meta={
            "name": folder.name,
            "maker": MAKER,
            "source": source,
            "label": "synthetic",
            "seed": seed,
            "asked": suite.requested,
            "note": WARNING,
            "kinds": {
                kind: {
                    "queries": len(query),
                    "copied": round(suite.copied_share(kind), 4),
                    "about": describe_kind(kind),
                }
                for kind, query in suite.queries.items()
            },
        },
    )


def describe_kind(kind: str) -> str:
    return KINDS[kind].about if kind in KINDS else "written by a language model"


def _metadata(query: SyntheticQuery) -> Mapping[str, Any]:
    return {"kind": query.kind, "label": "synthetic", **query.meta}


def _evidence(suite: Suite, name: str, query: SyntheticQuery) -> Iterator[Mapping[str, Any]]:
    """Every evidence sentence; each states the same fact, so they are one group."""
    for relevant in query.relevant:
        for spot in relevant.spans if relevant.grade else ():
            document = suite.index.documents[relevant.document].id
            yield {"query_id": name, "doc_id": document, "start": spot.start, "end": spot.end, "group": 0}
