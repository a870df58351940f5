"""The components of the cascade keep the house's laws over a bank."""

import numpy as np

from assay.cascade.bank.index_build import Recipe, build_index
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.service import CascadeQuery
from assay.legs.ivf import Ivf
from assay.protocols import PredictsNext, Snapshot
from assay.rerank.lvm import Lvm
from assay.score.tmd import Tmd
from assay.testing.contracts import check_leg, check_stage
from assay.types import Query, Range
from tests.cascade.bank.sample_bank import bank_of, unit
from tests.cascade.planted_bank import open_planted


def test_a_bank_is_a_snapshot_that_predicts_the_next_vector():
    snapshot = open_planted().snapshot
    assert isinstance(snapshot, Snapshot)
    assert isinstance(snapshot, PredictsNext)
    assert snapshot.capabilities == {"dense"}
    assert snapshot.lacks("dense") is None
    assert "no text" in str(snapshot.lacks("lexical"))


def test_the_leg_keeps_the_contract(tmp_path):
    bank = bank_of(tmp_path, 300, 8)
    snapshot = BankSnapshot(bank, build_index(bank, tmp_path / "index", Recipe(nlist=8)))
    queries = [Query(vector=vector, extra={"exclude": (12, 40)}) for vector in unit(6, 8, seed=4)]
    check_leg(Ivf(nprobe=8), snapshot, queries)


def test_stages_keep_the_contract_over_a_store_of_texts():
    check_stage(Tmd(weight=0.7))
    check_stage(Tmd(weight=0.3, ladder="spec", families={"life": (5, 6)}))
    check_stage(Lvm(), Range("raw", -1.0, 1.0))


def test_a_candidates_lvm_score_does_not_depend_on_the_candidates_beside_it():
    made = open_planted()
    query = CascadeQuery(np.asarray(made.snapshot.bank.vectors[7]), 0, exclude_ids=(1007,)).to_query()
    found = Ivf().find(query, made.snapshot, 500)
    together = dict(zip(*(column.tolist() for column in _scored(found, query, made.snapshot)), strict=True))
    for place in range(0, 500, 23):
        ids, scores = _scored(found.take(np.array([place])), query, made.snapshot)
        assert scores.tolist() == [together[ids.tolist()[0]]]


def _scored(ranking, query, snapshot):
    scored = Lvm().apply(query, ranking, snapshot)
    return scored.ids, scored.score


def test_rows_ids_and_chunks_of_a_bank():
    snapshot = open_planted().snapshot
    rows = np.array([0, 5, 4_095])
    names = snapshot.ids(rows)
    assert names.tolist() == ["1000", "1005", "5095"]
    assert snapshot.rows(names).tolist() == [0, 5, 4095]
    none = ["999", "-1", "x", "²", "", "01000", str(2**63), "9" * 30, "1" * 5_000]
    assert snapshot.rows(np.array(none)).tolist() == [-1] * len(none)
    assert [chunk.id for chunk in snapshot.chunks(rows)] == names.tolist()
    assert snapshot.numbers("lane", rows).tolist() == snapshot.bank.lanes[rows].tolist()
    assert np.isnan(snapshot.numbers("created", rows)).all()
    assert snapshot.numbers("importance", rows).tolist() == [1.0, 1.0, 1.0]
    assert snapshot.matches("lane >= 0", rows).all()
    assert snapshot.terms("anything") == []


def test_the_digest_covers_bank_index_model_and_layout():
    snapshot = open_planted().snapshot
    others = {
        BankSnapshot(snapshot.bank, snapshot.index).digest,
        BankSnapshot(snapshot.bank, snapshot.index, snapshot.model, "wide").digest,
        snapshot.digest,
    }
    assert len(others) == 3
