"""The chunks of a document contain all of its marked evidence."""

import os

import numpy as np
import pytest

from assay.bench.datasets import load
from assay.bench.metrics import score
from assay.bench.types import Dataset, Piece, TopicResult
from assay.ingest.chunker import PROFILES, chunk_document
from assay.ingest.records import parse_record


def of_gold_documents(data: Dataset, profile: str) -> list[TopicResult]:
    """All chunks of every document that has evidence, per topic, last chunk first."""
    wanted = {passage.doc_id for passages in data.evidence.values() for passage in passages}
    pieces: dict[str, list[Piece]] = {}
    for record in data.documents:
        if record["id"] in wanted:
            chunks = chunk_document(parse_record(record), PROFILES[profile])
            pieces[record["id"]] = [Piece(chunk.doc_id, chunk.text, chunk.tokens) for chunk in reversed(chunks)]
    run = []
    for topic in data.scored:
        documents = dict.fromkeys(passage.doc_id for passage in data.evidence.get(topic, ()))
        run.append(TopicResult(topic, pieces=tuple(piece for document in documents for piece in pieces[document])))
    return run


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("name", ["tiny", "chunking_eval", "hotpotqa"])
def test_no_evidence_is_lost_by_chunking(name: str, profile: str) -> None:
    if name != "tiny" and not os.environ.get("ASSAY_DATA"):
        pytest.skip("ASSAY_DATA names no folder of real datasets")
    data = load(name)
    found = score(["ER@999999tok", "EP@999999tok"], data, of_gold_documents(data, profile))
    marked = np.array([topic in data.evidence for topic in data.scored])
    assert marked.any()
    assert (found["ER@999999tok"][marked] == 1.0).all()
    assert (found["EP@999999tok"][marked] > 0.0).all()
    assert np.isnan(found["ER@999999tok"][~marked]).all()
