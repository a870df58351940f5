"""The engine: what it runs, what it skips on the record, and the laws it enforces."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from assay.config.load import from_dict, loads, preset_names, to_dict
from assay.config.load import load as load_preset
from assay.engine.laws import check_ranking, check_united
from assay.engine.order import arrange
from assay.engine.pipeline import LegPlan, Pipeline, StepPlan
from assay.errors import ConfigError, LawBroken, ModelError, QueryError, StoreError
from assay.protocols import Snapshot
from assay.testing.sample import NOW, QUERIES, sample_snapshot
from assay.types import Part, Query, Range, Ranking

HYBRID = """
[legs.bm25]
[legs.dense]
[fuse]
use = "rrf"
"""


@dataclass(frozen=True)
class Fixed:
    """A leg that finds what it is told; for tests of what the engine does with it."""

    needs: ClassVar[frozenset[str]] = frozenset()
    ids: tuple[str, ...] = ()
    broken: str = ""

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        if self.broken == "store":
            raise StoreError("the index is gone", "rebuild")
        score = np.linspace(1.0, 0.5, len(self.ids))
        found = Ranking.of(list(self.ids), [Part("given", "add", score)], "unit")
        if self.broken == "nan":
            return replace(found, score=np.full(len(self.ids), np.nan))
        if self.broken == "fold":
            return replace(found, score=score * 2)
        if self.broken == "order":
            return found.take(np.arange(len(self.ids))[::-1])
        return arrange(found)


@dataclass(frozen=True)
class Meddler:
    """A stage that breaks the law it is told to."""

    needs: ClassVar[frozenset[str]] = frozenset()
    how: str = ""

    def gives(self, given: Range) -> Range:
        return given

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if self.how == "adds":
            return replace(ranking, ids=np.array(["stranger", *ranking.ids[1:].tolist()]))
        if self.how == "drops":
            return ranking.take(slice(1, None))
        if self.how == "scribbles":
            ranking.score[:] = ranking.score[::-1].copy()
        if self.how == "tiers":
            return replace(ranking, tier=np.arange(len(ranking), dtype=np.int32))
        return ranking


def one_leg(leg: Fixed, *steps: Meddler) -> Pipeline:
    return Pipeline("t", (LegPlan("fixed", leg),), None, tuple(StepPlan("meddler", s) for s in steps))


def test_answers_and_explains() -> None:
    answer = loads(HYBRID).run(QUERIES[0], sample_snapshot())
    assert answer.status.word == "answered"
    first = answer[0]
    assert first.id == "keys-1"
    # rank 1 in dense, some rank in bm25: 1/(60+r) + 1/61, over 2/61
    ranks = {line.name: line.rank for line in first.waterfall}
    expected = (1 / (60 + ranks["bm25"]) + 1 / (60 + ranks["dense"])) * (1 / (2 / 61))
    assert first.score == pytest.approx(expected, rel=1e-12)
    assert first.why().startswith(f"{first.score:.4f} = bm25 #")
    assert [s.name for s in answer.trace] == ["bm25", "dense", "fuse"]
    assert [h.rank for h in answer] == list(range(1, len(answer) + 1))


def test_every_score_is_the_last_line_of_its_waterfall() -> None:
    text = HYBRID + '[[step]]\nuse = "importance"\n[[step]]\nuse = "recency"\ntau_days = 14.0\n'
    for hit in loads(text).run(QUERIES[0], sample_snapshot()):
        assert hit.waterfall[-1].score == hit.score


def test_who_names_no_k_gets_the_pipelines() -> None:
    for k in (1, 2):
        assert len(loads(f"k = {k}\n{HYBRID}").run(QUERIES[0], sample_snapshot())) == k


def test_fewer_is_a_prefix() -> None:
    pipeline, snapshot = loads(HYBRID), sample_snapshot()
    most = pipeline.run(QUERIES[0], snapshot, k=8).chosen.ids.tolist()
    for k in range(1, 8):
        assert pipeline.run(QUERIES[0], snapshot, k=k).chosen.ids.tolist() == most[:k]


def test_without_a_model_dense_is_skipped_on_the_record() -> None:
    answer = loads(HYBRID).run(Query("signing key"), sample_snapshot())
    assert len(answer)
    assert answer.status.word == "degraded"
    assert "dense skipped" in answer.status.degraded[0]
    assert "assay model install" in answer.status.degraded[0]
    # law 6: what bm25 alone says, in the same order
    alone = loads("[legs.bm25]").run(Query("signing key"), sample_snapshot())
    assert answer.chosen.ids.tolist() == alone.chosen.ids.tolist()


def test_a_store_without_vectors_says_so() -> None:
    answer = loads(HYBRID).run(QUERIES[0], sample_snapshot(vectors=False))
    assert "no vectors" in answer.status.degraded[0]


def test_a_failing_model_degrades_and_never_raises() -> None:
    def broken(text: str) -> np.ndarray:
        raise ModelError("the model file is damaged", "install it again")

    answer = loads(HYBRID).run(Query("signing key"), sample_snapshot(), broken)
    assert len(answer)
    assert "damaged" in answer.status.degraded[0]


def test_the_query_is_embedded_once() -> None:
    calls = []

    def embed(text: str) -> np.ndarray:
        calls.append(text)
        return np.array([1, 0, 0], np.float32)

    text = HYBRID + '[[step]]\nuse = "cosine"\n'
    answer = loads(text).run(Query("signing key"), sample_snapshot(), embed)
    assert calls == ["signing key"]
    assert answer.status.word == "answered"


@pytest.mark.parametrize("vector", [[np.nan, 0, 0], [0, 0, 0], [[1, 0, 0]], [np.inf, 1, 1]])
def test_a_bad_vector_is_the_callers_error(vector: list[float]) -> None:
    with pytest.raises(QueryError):
        loads(HYBRID).run(Query("x", vector=np.array(vector, np.float32)), sample_snapshot())


def test_a_broken_leg_is_skipped_not_empty() -> None:
    two = Pipeline(
        "t", (LegPlan("good", Fixed(("keys-1",))), LegPlan("bad", Fixed(broken="store"))), loads(HYBRID).fuser
    )
    answer = two.run(Query("x"), sample_snapshot())
    assert answer.chosen.ids.tolist() == ["keys-1"]
    assert answer.status.degraded == ("bad skipped: the index is gone; cure: rebuild",)


@pytest.mark.parametrize(("broken", "law"), [("nan", "law 3"), ("fold", "law 4"), ("order", "law 2")])
def test_a_leg_that_breaks_a_law_raises(broken: str, law: str) -> None:
    with pytest.raises(LawBroken, match=law):
        one_leg(Fixed(("keys-1", "keys-2"), broken)).run(Query("x"), sample_snapshot())


@pytest.mark.parametrize(
    ("how", "said"), [("adds", "law 1"), ("drops", "keep every id"), ("tiers", "law 2"), ("scribbles", "law")]
)
def test_a_stage_that_breaks_a_law_raises(how: str, said: str) -> None:
    with pytest.raises(LawBroken, match=said):
        one_leg(Fixed(("keys-1", "keys-2")), Meddler(how)).run(Query("x"), sample_snapshot())


@dataclass(frozen=True)
class Liar:
    """A plug-in whose rows are of other chunks than its ids."""

    needs: ClassVar[frozenset[str]] = frozenset()
    symmetric: ClassVar[bool] = True
    shift: int = 0

    def gives(self, legs: Mapping[str, Range] | None = None) -> Range:
        return Range("unit", 0.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        rows = np.arange(3)
        part = Part("given", "add", np.linspace(1.0, 0.5, 3))
        return arrange(Ranking.of(snapshot.ids(rows), [part], "unit", rows=rows + self.shift))

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        found = next(iter(rankings.values()))
        rows = found.rows if found.rows is not None else snapshot.rows(found.ids)
        if self.shift == 1:  # ids that no leg found, under the rows of some that were
            return replace(found, ids=snapshot.ids(rows + 3), rows=rows)
        return replace(found, ids=snapshot.ids(rows + self.shift), rows=rows + self.shift)


@pytest.mark.parametrize("shift", [1, -5, 10_000], ids=["another", "of elsewhere", "beyond"])
def test_the_rows_of_a_plug_in_are_those_of_its_ids(shift: int) -> None:
    """Laws are checked on rows, which are quicker; so a plug-in's rows are checked against its ids first."""
    honest = Pipeline("t", (LegPlan("liar", Liar()),), None).run(Query("x"), sample_snapshot())
    assert len(honest) == 3
    with pytest.raises(LawBroken, match="an id and its row are of two different chunks"):
        Pipeline("t", (LegPlan("liar", Liar(shift)),), None).run(Query("x"), sample_snapshot())


@pytest.mark.parametrize(("shift", "said"), [(1, "two different chunks"), (3, "law 1")], ids=["lies", "adds"])
def test_a_fuser_adds_no_id_by_row_or_name(shift: int, said: str) -> None:
    legs = (LegPlan("a", Liar()), LegPlan("b", Liar()))
    assert len(Pipeline("t", legs, Liar()).run(Query("x"), sample_snapshot())) == 3
    with pytest.raises(LawBroken, match=said):
        Pipeline("t", legs, Liar(shift)).run(Query("x"), sample_snapshot())


def test_rows_of_elsewhere_stand_for_nobody() -> None:
    """-1 is a chunk of another view: several may stand in one ranking, told apart by their ids."""
    found = arrange(Ranking.of(["x", "y"], [Part("p", "add", np.array([1.0, 0.5]))], "unit", rows=np.array([-1, -1])))
    check_ranking(found, "t")
    check_united([found], found, "t")
    with pytest.raises(LawBroken, match="law 1"):
        check_united([found.take(slice(0, 1))], found, "t")


def test_duplicate_ids_of_a_leg_keep_their_first_rank() -> None:
    answer = one_leg(Fixed(("keys-2", "keys-1", "keys-2"))).run(Query("x"), sample_snapshot())
    assert answer.chosen.ids.tolist() == ["keys-2", "keys-1"]


def test_triggers_read_what_was_found() -> None:
    text = """
    [legs.bm25]
    [legs.dense]
    priority = 1
    when = {use = "fewer_than", count = %d}
    [fuse]
    use = "append_fill"
    """
    fired = loads(text % 100).run(QUERIES[0], sample_snapshot())
    assert {s.name: s.skipped for s in fired.trace}["dense"] == ""
    quiet = loads(text % 1).run(QUERIES[0], sample_snapshot())
    reason = {s.name: s.skipped for s in quiet.trace}["dense"]
    assert reason.startswith("not triggered:")
    assert quiet.status.word == "answered", "a leg that was not wanted is no degradation"


def test_account_of_an_absent_chunk() -> None:
    text = HYBRID + '[[step]]\nuse = "top_k"\nk = 2\n'
    answer = loads(text).run(QUERIES[0], sample_snapshot())
    gone = next(i for i in answer.trace[2].ranking.ids.tolist() if i not in answer.chosen.ids)
    account = answer.chunk_steps(gone)
    assert account[-1].step == "top_k"
    assert account[-1].why.startswith("dropped: ")
    assert answer.chunk_steps("nobody")[0].why.startswith("not among its")


def test_same_digests_same_bytes() -> None:
    one, two = (loads(HYBRID).run(QUERIES[0], sample_snapshot()) for _ in range(2))
    assert one.digest == two.digest
    assert loads(HYBRID).run(replace(QUERIES[0], at=NOW - 1), sample_snapshot()).digest != one.digest
    other = loads(HYBRID.replace('"rrf"', '"rrf"\nc = 10.0')).run(QUERIES[0], sample_snapshot())
    assert other.digest != one.digest


# -- config


def test_presets_load_and_are_their_own_digest() -> None:
    assert {"default", "bm25", "dense", "weighted"} <= set(preset_names())
    for name in preset_names():
        pipeline = load_preset(name)
        assert len(pipeline.digest) == 64
        assert pipeline.name == name


def test_the_digest_covers_defaults_and_not_names() -> None:
    plain = loads('[legs.bm25]\n[legs.dense]\n[fuse]\nuse = "rrf"')
    spelled = loads('name = "other"\nk = 10\n[legs.bm25]\nk = 100\n[legs.dense]\n[fuse]\nuse = "rrf"\nc = 60')
    assert plain.digest == spelled.digest
    assert loads('k = 11\n[legs.bm25]\n[legs.dense]\n[fuse]\nuse = "rrf"').digest != plain.digest
    assert to_dict(plain) == to_dict(spelled)


@pytest.mark.parametrize(
    ("text", "said", "cure"),
    [
        ("", "no legs", "[legs.bm25]"),
        ("[legs.bm25", "not valid TOML", ""),
        ("kk = 3\n[legs.bm25]", "no setting 'kk'", "'k'"),
        ("[legs.bm26]", "no leg called 'bm26'", "'bm25'"),
        ("[legs.bm25]\nnrom = 'ideal'", "no setting 'nrom'", "'norm'"),
        ("[legs.bm25]\nprioritty = 1", "no setting 'prioritty'", "did you mean 'priority'"),
        ("[legs.bm25]\n[fuse]\nuse = 'rrf'\nbye = 'doc_id'", "no setting 'bye'", "did you mean 'by'"),
        ("[legs.bm25]\n[[step]]\nuse = 'top_k'\ncap_m = 3", "no setting 'cap_m'", "did you mean 'cap_ms'"),
        ("[legs.bm25]\n[[step]]\nuse = 'top_k'\nname = 3", "step 1.name = 3 should be of type str", "int"),
        ("[legs.bm25]\n[[step]]\nuse = 'top_k'\nname = ' '", "step 1.name is empty", "leave it out"),
        ("[legs.bm25]\nnorm = 'idael'", "not one of", "did you mean 'ideal'"),
        ("[legs.bm25]\nk = 0", "below 1", "from 1"),
        ("[legs.bm25]\nk = '5'", "legs.bm25.k = '5' should be of type int", "str"),
        ("[legs.bm25]\n[legs.dense]", "no [fuse]", "rrf"),
        ("[legs.bm25]\n[fuse]\nuse = 'rff'", "no fuser called 'rff'", "'rrf'"),
        ("[legs.bm25]\n[fuse]\nc = 60", "does not say what it uses", "use ="),
        ("[legs.bm25]\n[fuse]\nuse = 'rrf'\nc = -1", "c", ""),
        ("[legs.bm25]\n[fuse]\nuse = 'rrf'\nweights = {dense = 1.0}", "dense", ""),
        ("[legs.bm25]\n[fuse]\nuse = 'rrf'\nweights = {bm25 = true}", "type float", "bool"),
        ("[legs.bm25]\n[step]\nuse = 'top_k'", "list of tables", "[[step]]"),
        ("[legs.bm25]\n[[step]]\nuse = 'min_score'\nthreshold = 0.35", "unit", ""),
        ("[legs.bm25]\nafter = ['dense']", "after names 'dense'", "before it"),
        ("[legs.bm25]\nwhen = {use = 'sometimes'}", "no trigger called", "fewer_than"),
    ],
)
def test_a_typing_slip_is_an_error_with_the_cure(text: str, said: str, cure: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loads(text)
    assert said in caught.value.message
    assert cure in caught.value.cure


def test_from_plain_data() -> None:
    config: Mapping[str, object] = {"legs": {"bm25": {}}}
    assert from_dict(config).legs[0].name == "bm25"
