"""A suite as a dataset folder. Same documents, same seed: same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.bench.dataset_writer import Row, check_free, write_folder
from assay.bench.synth.generated import Made
from assay.bench.synth.suite import KINDS, Suite

MAKER = "assay bench synth"
SPLITS = ("dev", "test")
WARNING = (
    "Synthetic: most queries repeat words of the text, which favours bm25. Use it to see whether a change breaks "
    "something, and beside human labels; never mix it with them in one number."
)


def write_suite(suite: Suite, folder: Path, *, source: str, seed: int) -> dict[str, Any]:
    """Write the folder; what its meta.json says. Within a kind, queries go to dev and test by turns."""
    check_free(folder, MAKER)
    documents = suite.library.documents
    named = [
        (f"{kind}-{place:04d}", place, made)
        for kind, all_made in suite.queries.items()
        for place, made in enumerate(all_made)
    ]
    rows: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for name, place, made in named:
        rows[SPLITS[place % len(SPLITS)]] += [(name, documents[r.document].id, r.grade) for r in made.relevant]
    return write_folder(
        folder,
        documents=(document.record() for document in documents),
        queries=[{"_id": name, "text": made.text, "metadata": _metadata(made)} for name, _, made in named],
        splits=rows,
        evidence=[row for name, _, made in named for row in _evidence(suite, name, made)],
        meta={
            "name": folder.name,
            "maker": MAKER,
            "source": source,
            "label": "synthetic",
            "seed": seed,
            "asked": suite.asked,
            "note": WARNING,
            "kinds": {
                kind: {"queries": len(made), "copied": round(suite.copied(kind), 4), "about": about(kind)}
                for kind, made in suite.queries.items()
            },
        },
    )


def about(kind: str) -> str:
    return KINDS[kind].about if kind in KINDS else "written by a language model"


def _metadata(made: Made) -> Mapping[str, Any]:
    return {"kind": made.kind, "label": "synthetic", **made.meta}


def _evidence(suite: Suite, name: str, made: Made) -> Iterator[Mapping[str, Any]]:
    """Every sentence that says it; having one of them is having the fact, so they are one group."""
    for relevant in made.relevant:
        for spot in relevant.spots if relevant.grade else ():
            document = suite.library.documents[relevant.document].id
            yield {"query_id": name, "doc_id": document, "start": spot.start, "end": spot.end, "group": 0}
