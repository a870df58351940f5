"""Writes a world as a dataset folder that the lab loads and the engine ingests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.bench.dataset_writer import Row, check_free, write_folder
from assay.bench.rb006.world.queries import WorldQuery
from assay.bench.rb006.world.world import World
from assay.types import Progress

MAKER = "assay bench rb006 build"
SPLITS = {"tuning": "dev", "heldout": "test"}
"""Template split → split of the dataset: dev has the templates for tuning, test the held-out ones."""


def write_world(world: World, folder: Path, *, progress: Progress | None = None) -> dict[str, Any]:
    """Write the folder and return its meta.json. The same world gives the same bytes.

    Every query is written; only those whose evidence is in this scale have judgements and evidence.
    """
    check_free(folder, MAKER)
    scoped = [query for query in world.queries if world.is_in_scope(query)]
    rows: dict[str, list[Row]] = {split: [] for split in SPLITS.values()}
    for query in scoped:
        chunks = dict.fromkeys(sentence.chunk_id for group in query.groups for sentence in group.sentences)
        rows[SPLITS[query.template_split]] += [(query.id, chunk, 1) for chunk in chunks]
    return write_folder(
        folder,
        documents=(chunk.as_record() for chunk in world.chunks(progress)),
        queries=describe_queries(world),
        splits={split: judged for split, judged in rows.items() if judged},
        evidence=[row for query in scoped for row in _evidence(query)],
        meta={
            "name": folder.name,
            "maker": MAKER,
            "label": "synthetic",
            "base": world.base,
            "seed": world.seed,
            "scale": world.scale,
            "stages": {stage.name: stage.chunks for stage in world.stages},
            "template_set": world.templates.name,
            "note": "A simulated organisation: facts come from a state machine, gold is the sentence that states them.",
            "tags": dict(sorted(Counter(tag for query in world.queries for tag in query.tags).items())),
            "impossible": dict(sorted(Counter(query.kind for query in world.queries if query.kind).items())),
            "in_scope": len(scoped),
            **({} if world.body is None else {"real_text": world.body.describe()}),
        },
    )


def describe_queries(world: World) -> list[dict[str, Any]]:
    """The lines of queries.jsonl."""
    return [{"_id": query.id, "text": query.text, "metadata": _metadata(query, world)} for query in world.queries]


def _metadata(query: WorldQuery, world: World) -> Mapping[str, Any]:
    """The metadata of a query, for the lab only. `unanswerable` tells the loader that no document answers it.

    `conflicts` are sentences that state another value than the gold, each with the title that tells them apart.
    """
    meta: dict[str, Any] = {
        "tags": list(query.tags),
        "archetype": query.archetype,
        "template": query.template,
        "template_split": query.template_split,
        "split": SPLITS[query.template_split],
        "stage": query.stage,
        "in_scope": world.is_in_scope(query),
        "answerability": "answerable" if query.is_answerable else "impossible",
        "impossible_kind": query.kind or "none",
        "evidence_tokens": query.evidence_tokens,
        "evidence_units": len(query.groups),
        "source": query.source,
        "injector": query.injector or "none",
        "answers": [group.value for group in query.groups if group.hop == max(g.hop for g in query.groups)],
        "label": "synthetic",
    }
    if query.is_answerable:
        meta["conflicts"] = [
            {"text": twin.text, "header": world.library.title(twin, group.fact)}
            for group in query.groups
            for twin in world.library.conflicts(group.fact)
        ]
    return {**meta, "unanswerable": True} if query.kind == "out_of_scope" else meta


def _evidence(query: WorldQuery) -> Iterator[Mapping[str, Any]]:
    """Every gold sentence. Sentences of one group state the same fact."""
    for number, group in enumerate(query.groups):
        for sentence in group.sentences:
            yield {
                "query_id": query.id,
                "doc_id": sentence.chunk_id,
                "start": sentence.start,
                "end": sentence.end,
                "group": number,
                "hop": group.hop,
                "sentence_id": sentence.id,
                "text": sentence.text,
            }
