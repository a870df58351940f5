"""The readers on real corpora. They lie at $ASSAY_DATA and are not part of this repository."""

import json
import os
from pathlib import Path

import pytest

from assay.ingest.chunker import LIMIT, PROFILES, chunk_document
from assay.ingest.discovery import read_file
from assay.text.wordpiece import count_pieces

DATA = Path(os.environ.get("ASSAY_DATA", ""))
CORPORA = ("scifact", "nfcorpus", "cranfield", "gitlab_handbook", "peps", "enron_berkeley", "locomo")


@pytest.mark.parametrize("name", CORPORA)
def test_beir_corpora(name):
    path = DATA / name / "corpus.jsonl"
    if not os.environ.get("ASSAY_DATA") or not path.exists():
        pytest.skip(f"$ASSAY_DATA holds no {name}/corpus.jsonl")
    with path.open(encoding="utf-8") as file:
        ids = [json.loads(line)["_id"] for line in file]
    documents = list(read_file(path, "corpus.jsonl"))
    assert [document.meta["record"] for document in documents] == ids
    assert [document.id for document in documents] == [f"corpus.jsonl#{identity}" for identity in ids]
    for profile in PROFILES.values():
        for document in documents[:: max(1, len(documents) // 20)]:
            chunks = chunk_document(document, profile)
            assert all(count_pieces(chunk.indexed_text) <= LIMIT for chunk in chunks)
            text = "".join("".join(section.text.split()) for section in document.sections)
            assert "".join("".join(chunk.text.split()) for chunk in chunks) == text
