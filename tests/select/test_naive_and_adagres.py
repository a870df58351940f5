"""The two packers that coverage is compared with."""

import numpy as np
import pytest
from packing_cases import make_candidates, make_chunk

from assay.select.context.adagres import Adagres
from assay.select.context.candidates import make_pool
from assay.select.context.naive import Naive
from assay.testing.memory_snapshot import MemorySnapshot
from assay.text.token_count import count_tokens
from assay.types import Query


def test_naive_takes_chunks_in_order_and_cuts_the_last_at_a_sentence():
    chunks = [
        make_chunk(1, "One two three. Four five six."),
        make_chunk(2, "Seven. Eight nine ten."),
        make_chunk(3, "End."),
    ]
    whole = Naive(100).pack(Query("x"), make_candidates(chunks), MemorySnapshot(chunks))
    assert whole.text == "[1] One two three. Four five six.\n\n[2] Seven. Eight nine ten.\n\n[3] End.".replace(
        "\n\n", "\n"
    )
    cut = Naive(whole.tokens - 8).pack(Query("x"), make_candidates(chunks), MemorySnapshot(chunks))
    assert cut.text == "[1] One two three. Four five six.\n[2] Seven."
    assert [(one.chunk_id, one.sentences) for one in cut.dropped] == [("c2", 1), ("c3", 1)], "nothing after the cut"


def adagres_case():
    """Two near twins and another; the query lies between the directions."""
    chunks = [make_chunk(1, "The cat sleeps."), make_chunk(2, "A cat sleeps."), make_chunk(3, "The key turns.")]
    vectors = np.array([[1.0, 0.0], [0.96, 0.28], [0.0, 1.0]], np.float32)
    return chunks, MemorySnapshot(chunks, vectors), Query("x", np.array([0.8, 0.6], np.float32))


def test_beta_by_hand():
    chunks, _, _ = adagres_case()
    pool = make_pool(make_candidates(chunks))
    relevance, likeness = np.array([0.8, 0.936, 0.6]), np.array([[1, 0.96, 0], [0.96, 1, 0.28], [0, 0.28, 1]])
    mean_tokens = np.mean([count_tokens(chunk.text) for chunk in chunks])
    # k = 3 chunks fit; mean relevance .7787, mean likeness of pairs (.96 + 0 + .28) / 3 = .41333
    beta = Adagres(tokens=int(3 * mean_tokens)).find_beta(pool, relevance, likeness)
    assert beta == pytest.approx((2.336 / 3) / ((int(3 * mean_tokens) / mean_tokens - 1) * (1.24 / 3)))
    assert Adagres(tokens=1).find_beta(pool, relevance, likeness) == 0.0


def test_adagres_prefers_what_is_new():
    chunks, snapshot, query = adagres_case()
    one = count_tokens("[1] The cat sleeps.")
    context = Adagres(tokens=2 * one + 1).pack(query, make_candidates(chunks), snapshot)
    # cosines .8, .936, .6: the second first; then its twin loses beta · .96, the other beta · .28
    assert [source.citation for source in context.sources] == [2, 3]
    naive = Naive(tokens=2 * one + 1).pack(query, make_candidates(chunks), snapshot)
    assert [source.citation for source in naive.sources] == [1, 2]


def test_adagres_without_vectors_is_naive_and_says_so():
    chunks, _, query = adagres_case()
    plain = Naive(tokens=30).pack(query, make_candidates(chunks), MemorySnapshot(chunks))
    context = Adagres(tokens=30).pack(query, make_candidates(chunks), MemorySnapshot(chunks))
    assert context.text == plain.text
    assert context.notes[0].kind == "degraded"
    assert context.notes[0].cure
