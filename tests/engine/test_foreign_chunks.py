"""Chunks from elsewhere stand beside a snapshot, and are read like its own."""

import math

import numpy as np
import pytest

from assay.engine.foreign_chunks import FIRST_FOREIGN_ROW, ExtendedSnapshot, attach, base_snapshot, source_result
from assay.errors import LawBroken
from assay.testing.build import found
from assay.testing.sample import CHUNKS, sample_snapshot
from assay.types import Chunk

GUEST = Chunk("guest", "elsewhere", "A guest.", 3, 5.0, 0.25, {"lang": "en", "size": 9})
TWIN = Chunk("keys-1", "elsewhere", "Another text under an id we have.", 3)


def view() -> ExtendedSnapshot:
    return ExtendedSnapshot(sample_snapshot(), [GUEST, TWIN])


def test_rows_ids_and_chunks():
    names = np.array(["keys-2", "guest", "nobody", "keys-1"])
    rows = view().rows(names)
    assert rows.tolist() == [1, FIRST_FOREIGN_ROW, -1, 0]
    assert view().ids(rows[[1, 0]]).tolist() == ["guest", "keys-2"]
    assert view().chunks(rows[[1, 3, 0]]) == [GUEST, CHUNKS[0], CHUNKS[1]], "an id we have is our chunk"
    assert view().ids(np.empty(0, np.int64)).tolist() == []


def test_facts():
    rows = np.array([FIRST_FOREIGN_ROW, 0])
    assert view().numbers("importance", rows).tolist() == [0.25, 1.0]
    assert view().numbers("size", rows).tolist()[0] == 9.0
    assert math.isnan(view().numbers("nothing", rows)[0])
    assert view().matches('lang = "en"', rows).tolist() == [True, True]
    assert view().matches('title = "Keys"', rows).tolist() == [False, True], "a field it lacks does not hold"
    vectors = view().vectors(rows)
    assert vectors.shape == (2, 3)
    assert not vectors[0].any()
    assert vectors[1].tolist() == [1.0, 0.0, 0.0]


def test_a_second_source_is_laid_beside_the_first():
    more = ExtendedSnapshot(view(), [Chunk("other", "x", "", 0), Chunk("guest", "late", "too late", 1)])
    assert more.inner is not None
    assert base_snapshot(more) is more.inner
    assert more.chunks(more.rows(np.array(["guest", "other"])))[0] == GUEST, "who came first stays"
    assert base_snapshot(more.inner) is more.inner


def test_an_id_without_its_chunk_breaks_a_law():
    with pytest.raises(LawBroken, match="without its chunk"):
        attach(sample_snapshot(), source_result(found({"stranger": 0.9}), []))


def test_laid_gives_rows_and_drops_repeats():
    ranking = found({"guest": 0.9, "keys-1": 0.5})
    wider, kept = attach(sample_snapshot(), source_result(ranking, [GUEST, TWIN]))
    assert kept.rows.tolist() == [FIRST_FOREIGN_ROW, 0]
    assert wider.size == sample_snapshot().size
