"""Compares sentence scores on the dev splits: what should tell a good sentence from its neighbours?

The coverage packer chooses with each signal in the place of its scorer, at the same weight:

    embedding            cosine of query and sentence, encoded alone
    max_sim              MaxSim of the query's tokens with the sentence's, from signs of the chunk's token vectors
    pooled               cosine of the query with the mean of the sentence's token signs
    before               the embedding score of the sentence before it in its chunk
    first                1 for the first sentence of a chunk
    embedding + max_sim  both, standardised
    none                 words and the chunk's score alone

A sentence's tokens are found by counting WordPiece tokens: a cut at a sentence cuts no token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.bench.evidence_sets import SETS, load_splits
from assay.bench.metrics.context import BudgetContext, split_context
from assay.bench.types import Dataset
from assay.bench.workspace import IndexSettings, Workspace, prepare
from assay.config.load import load
from assay.embed.token_codes import unpack_codes
from assay.engine.pipeline import read_candidates
from assay.rerank.late_interaction import open_token_cache
from assay.select.context.candidates import SentencePool, make_pool
from assay.select.context.coverage import Coverage, SentenceScores, standardise
from assay.select.context.slots import QuerySlots
from assay.text.wordpiece import count_pieces
from assay.types import Floats, Progress, Query

TOPICS = 100
BUDGETS = (200, 400)
MODEL = "minilm"


def measure_signals(progress: Progress) -> dict[str, Any]:
    """A at each budget with each signal, per set and on average, on the first topics of every dev split."""
    found = {}
    for chosen in SETS:
        dataset = load_splits(chosen)["dev"]
        with prepare(dataset, IndexSettings(profile="fine"), progress) as workspace:
            found[chosen.name] = measure_dataset(dataset, workspace, progress)
    signals = list(next(iter(found.values())))
    mean = {
        signal: {
            f"A@{budget}tok": round(float(np.mean([one[signal][f"A@{budget}tok"] for one in found.values()])), 4)
            for budget in BUDGETS
        }
        for signal in signals
    }
    return {"topics": TOPICS, "sets": found, "mean": mean}


def measure_dataset(dataset: Dataset, workspace: Workspace, progress: Progress) -> dict[str, dict[str, float]]:
    totals: dict[str, dict[str, float]] = {}
    topics = dataset.scored[:TOPICS]
    for done, topic in enumerate(topics, 1):
        query = workspace.query(dataset.topics[topic])
        answer = load("default").run(query, workspace.snapshot, k=4 * Coverage().pool)
        candidates = list(read_candidates(Coverage(tokens=BUDGETS[0]), answer.chosen, answer.snapshot))
        chunks = {one.citation: one.chunk for one in candidates}
        pool = make_pool(candidates)
        slots = QuerySlots(query, pool, answer.snapshot)
        groups = len({passage.group for passage in dataset.evidence[topic]})
        for signal, scores in compute_signals(query, pool, slots).items():
            for budget in BUDGETS:
                context = Coverage(tokens=budget).choose(candidates, pool, slots, SentenceScores(scores))
                inside = BudgetContext(split_context(context, chunks)).groups(dataset.evidence[topic])
                row = totals.setdefault(signal, {f"A@{size}tok": 0.0 for size in BUDGETS})
                row[f"A@{budget}tok"] += (len(inside) == groups) / len(topics)
        progress(f"signals on {dataset.name}", done, len(topics))
    return {signal: {name: round(value, 4) for name, value in row.items()} for signal, row in totals.items()}


def compute_signals(query: Query, pool: SentencePool, slots: QuerySlots) -> Mapping[str, Floats]:
    embedding = Coverage().score_sentences(query, pool, slots)[0].values
    max_sim, pooled = compare_tokens(query, pool)
    starts = np.array([places.start for places in pool.ranges if len(places)])
    before = np.concatenate([[0.0], embedding[:-1]])
    before[starts] = embedding.mean()
    first = np.zeros(len(pool))
    first[starts] = 1.0
    return {
        "embedding": embedding,
        "max_sim": max_sim,
        "pooled": pooled,
        "before": before,
        "first": first,
        "embedding + max_sim": standardise(embedding) + standardise(max_sim),
        "none": np.zeros(len(pool)),
    }


def compare_tokens(query: Query, pool: SentencePool) -> tuple[Floats, Floats]:
    """MaxSim and pooled cosines of the sentences' tokens, read in their chunks."""
    (query_codes,) = open_token_cache(MODEL, 8).codes([query.text])
    query_rows = unit_rows(unpack_codes(query_codes, query_codes.shape[1]))
    all_codes = open_token_cache(MODEL, 1).codes([one.chunk.indexed_text for one in pool.candidates])
    vector = np.zeros(query_rows.shape[1]) if query.vector is None else query.vector.astype(np.float64)
    max_sim, pooled = np.zeros(len(pool)), np.zeros(len(pool))
    for candidate, places, codes in zip(pool.candidates, pool.ranges, all_codes, strict=True):
        chunk, rows = candidate.chunk, unit_rows(unpack_codes(codes, query_rows.shape[1]))
        start = count_pieces(chunk.indexed_text[: len(chunk.indexed_text) - len(chunk.text)])
        for place in places:
            end = start + count_pieces(pool.sentences[place].text)
            own = rows[start:end]
            if len(own):
                max_sim[place] = (query_rows @ own.T).max(axis=1).mean()
                mean = own.mean(axis=0)
                pooled[place] = mean @ vector / np.linalg.norm(mean)
            start = end
    return max_sim, pooled


def unit_rows(rows: Any) -> Floats:
    wide = np.asarray(rows, np.float64)
    return wide / np.linalg.norm(wide, axis=1, keepdims=True)
