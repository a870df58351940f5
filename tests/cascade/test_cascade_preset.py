"""The whole cascade where answers are known: formulas by hand, the planted structure, the same everywhere."""

import dataclasses
import json
import os
import subprocess
import sys
import tomllib

import numpy as np
import pytest

from assay.bench.systems import make_system
from assay.cascade import service as cascade
from assay.cascade.bank.index import BankIndex
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.evaluation.baselines import rank_baselines
from assay.cascade.evaluation.questions import make_questions
from assay.cascade.evaluation.runs import run_systems, score_ranks
from assay.cascade.lvm.model import NORMALISATION, NextVectorModel
from assay.cascade.service import CascadeQuery, CascadeSettings
from assay.config.load import load
from assay.errors import ConfigError, LawBroken, ModelError, QueryError
from assay.score.tmd_layout import LAYOUTS
from tests.cascade.bank.sample_bank import bank_of, unit
from tests.cascade.planted_bank import open_planted, planted_folder, planted_sequences

SPEC = LAYOUTS["spec"]


class Towards:
    """A model that always steps to one vector: Δ̂ = y − x."""

    def __init__(self, target):
        self.target = np.asarray(target, np.float32)

    def steps(self, current, context):
        return self.target - current


def model_to(target, context: int = 2) -> NextVectorModel:
    manifest = {"name": "towards", "dim": len(target), "context": context, "normalisation": dict(NORMALISATION)}
    return NextVectorModel(Towards(target), manifest)


def tiny(tmp_path, ladder: str = "spec"):
    """Five vectors in the plane, the model expects (0, 1); codes differ in known ways from the query's (9, 3, 5)."""
    vectors = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8], [0, 1], [-1, 0]], np.float32)
    bits = SPEC.pack([9, 9, 8, 8, 9], [3, 3, 3, 4, 3], [5, 6, 5, 5, 5])
    other = {"vectors": vectors, "bank_ids": np.arange(10, 15), "tmd_bits": bits, "lane_indices": SPEC.lanes(bits)}
    bank = bank_of(tmp_path, 5, 2, **other)
    index = BankIndex(tmp_path, bank, {"kind": "exact", "nprobe": 1})
    preset = {"spec": "cascade-spec", "monotone": "cascade"}[ladder]
    return cascade.make_cascade(BankSnapshot(bank, index, model_to([0.0, 1.0])), preset)


def test_the_served_preset_is_monotone_and_the_other_differs_in_the_ladder_alone():
    served, spec = (tomllib.loads(cascade.read_toml(name)) for name in ("cascade", "cascade-spec"))
    assert (served["step"][2].pop("ladder"), spec["step"][2].pop("ladder")) == ("monotone", "spec")
    assert served.pop("about") != spec.pop("about")
    assert served == spec


X = np.array([1.0, 0.0], np.float32)
BITS = int(SPEC.pack(9, 3, 5))


def test_the_blend_by_hand(tmp_path):
    found = tiny(tmp_path).search(CascadeQuery(X, BITS, exclude_ids=(10,), k0=4, k1=4, k=4))
    # id: lvm, align (spec) → 0.7 · lvm + 0.3 · align
    wanted = {
        13: 0.7 * 1.0 + 0.3 * 0.4,  # nothing in common: 0.4 under the spec's ladder
        11: 0.7 * 0.6 + 0.3 * 0.8,  # the domain
        12: 0.7 * 0.8 + 0.3 * 0.2,  # only the task: 0.2 under the spec's ladder
        14: 0.7 * 0.0 + 0.3 * 1.0,  # the lane
    }
    assert found.chosen.ids.tolist() == ["13", "11", "12", "14"]
    assert found.chosen.score.tolist() == pytest.approx([wanted[one] for one in (13, 11, 12, 14)], abs=1e-7)
    assert [line.name for line in found.waterfall("11")] == ["cosine", "lvm", "tmd.keep", "tmd"]
    parts = {part.name: part.column.tolist() for part in found.chosen.parts}
    assert parts["cosine"] == pytest.approx([0.0, 0.8, 0.6, -1.0], abs=1e-7)
    assert parts["lvm"] == pytest.approx([1.0, 0.6, 0.8, 0.0], abs=1e-7)


def test_the_monotone_ladder_by_hand(tmp_path):
    found = tiny(tmp_path, "monotone").search(CascadeQuery(X, BITS, exclude_ids=(10,), k0=4, k1=4, k=4))
    scores = dict(zip(found.chosen.ids.tolist(), found.chosen.score.tolist(), strict=True))
    assert scores["13"] == pytest.approx(0.7 + 0.3 * 0.2, abs=1e-7)
    assert scores["12"] == pytest.approx(0.7 * 0.8 + 0.3 * 0.4, abs=1e-7)


def test_k1_is_cut_by_the_model_before_codes_are_read(tmp_path):
    found = tiny(tmp_path).search(CascadeQuery(X, BITS, k0=5, k1=2, k=2))
    assert found.chosen.ids.tolist() == ["13", "12"]  # 10 is of the same lane, and the model does not want it


def test_k0_is_cut_by_the_query_itself(tmp_path):
    found = tiny(tmp_path).search(CascadeQuery(X, BITS, k0=2, k1=2, k=2))
    assert sorted(found.chosen.ids.tolist()) == ["10", "11"]


def test_lambda_1_is_the_model_alone_and_0_the_codes_alone(tmp_path):
    made = tiny(tmp_path)
    assert made.search(CascadeQuery(X, BITS, k0=5, k1=5, k=5, weight=1.0)).chosen.ids.tolist()[:3] == ["13", "12", "11"]
    assert made.search(CascadeQuery(X, BITS, k0=5, k1=5, k=5, weight=0.0)).chosen.ids.tolist() == [
        "10",
        "14",
        "11",
        "13",
        "12",
    ]


def test_without_a_code_or_a_model_the_answer_says_so(tmp_path):
    made = tiny(tmp_path)
    found = made.search(CascadeQuery(X, k0=5, k1=5, k=5))
    assert found.status.degraded == ("tmd: the query has no code and no lane; cure: give tmd_bits or lane",)
    bare = cascade.make_cascade(BankSnapshot(made.snapshot.bank, made.snapshot.index))
    found = bare.search(CascadeQuery(X, BITS, k0=5, k1=5, k=5))
    assert "no next-vector model" in found.status.degraded[0]
    assert found.chosen.ids.tolist()[0] == "10"


class Partly(BankSnapshot):
    """13 has no code, and 14 a code without a lane, as chunks of a store of texts may."""

    def numbers(self, name, rows):
        known = super().numbers(name, rows)
        lost = {"tmd_bits": 13, "lane": 14}.get(name)
        return np.where(self.bank.ids[rows] == lost, np.nan, known)


@pytest.mark.parametrize(("ladder", "task"), [("spec", 0.2), ("monotone", 0.4)])
def test_no_code_stands_on_the_lowest_rung_and_a_code_brings_its_lane(tmp_path, ladder, task):
    made = tiny(tmp_path, ladder)
    other = Partly(made.snapshot.bank, made.snapshot.index, made.snapshot.model)
    found = made.pipeline(CascadeSettings(5, 5, 5, 0.0)).run(CascadeQuery(X, BITS).to_query(), other).chosen
    scores = dict(zip(found.ids.tolist(), found.score.tolist(), strict=True))
    assert scores == pytest.approx({"10": 1.0, "14": 1.0, "11": 0.8, "12": task, "13": 0.2})


def test_the_lane_decides_as_it_is_given(tmp_path):
    """The specification's own example, code 1234 with lane 9, must be answered."""
    assert len(tiny(tmp_path).search(CascadeQuery(X, 1234, 9, k0=5, k1=5, k=5))) == 5


@pytest.mark.parametrize("ladder", ["spec", "monotone"])
def test_a_lane_without_a_code_still_matches_lanes(tmp_path, ladder):
    """10 and 14 are of the query's lane; nothing else is known of the others."""
    made, lane = tiny(tmp_path, ladder), int(SPEC.lanes(BITS))
    found = made.search(CascadeQuery(X, lane=lane, k0=5, k1=5, k=5, weight=0.0))
    scores = dict(zip(found.chosen.ids.tolist(), found.chosen.score.tolist(), strict=True))
    assert scores == pytest.approx({"10": 1.0, "14": 1.0, "11": 0.2, "12": 0.2, "13": 0.2})
    assert not found.status.degraded
    other = Partly(made.snapshot.bank, made.snapshot.index, made.snapshot.model)
    query = CascadeQuery(X, lane=int(SPEC.lanes(made.snapshot.bank.tmd_bits[3]))).to_query()
    alone = made.pipeline(CascadeSettings(5, 5, 5, 0.0)).run(query, other).chosen
    assert set(alone.score.tolist()) == {0.2}, "13 has that lane, but no code of its own"


def test_a_lane_may_have_its_own_nprobe():
    leg = load("cascade").legs[0].leg
    own = dataclasses.replace(leg, lanes={"9": 32})
    assert own.probes(CascadeQuery(X, lane=9).to_query()) == 32
    assert own.probes(CascadeQuery(X, lane=8).to_query()) == 16
    assert own.probes(CascadeQuery(X, lane=9, nprobe=4).to_query()) == 4
    for wrong in ({"nprobe": 0}, {"lanes": {"nine": 4}}, {"lanes": {"09": 4}}, {"lanes": {"9": 0}}):
        with pytest.raises(ConfigError):
            dataclasses.replace(leg, **wrong)


def test_a_code_without_a_lane_has_its_own(tmp_path):
    """The table of lanes and the ladder see the same lane."""
    made = tiny(tmp_path)
    lane = int(SPEC.lanes(BITS))
    text = cascade.read_toml("cascade").replace("nprobe = 16", f'nprobe = 16\nlanes = {{"{lane}" = 32}}')
    (tmp_path / "own.toml").write_text(text)
    own = cascade.make_cascade(made.snapshot, str(tmp_path / "own.toml"))
    for ask, nprobe in ((CascadeQuery(X, BITS), 32), (CascadeQuery(X, BITS, lane + 1), 16), (CascadeQuery(X), 16)):
        assert own.leg.probes(own.search(dataclasses.replace(ask, k0=5, k1=5, k=5)).query) == nprobe


def test_yhat_may_probe_and_then_the_model_repeats_stage_1(tmp_path):
    made = tiny(tmp_path)
    (tmp_path / "own.toml").write_text(
        cascade.read_toml("cascade").replace("nprobe = 16", 'nprobe = 16\nprobe = "yhat"')
    )
    other = cascade.make_cascade(made.snapshot, str(tmp_path / "own.toml"))
    found = other.search(CascadeQuery(X, BITS, k0=2, k1=2, k=2, weight=1.0))
    assert found.chosen.ids.tolist() == ["13", "12"]
    parts = {part.name: part.column for part in found.chosen.parts}
    assert np.array_equal(parts["cosine"], parts["lvm"])
    bare = cascade.make_cascade(BankSnapshot(made.snapshot.bank, made.snapshot.index), str(tmp_path / "own.toml"))
    with pytest.raises(QueryError, match="needs a next-vector model"):
        bare.search(CascadeQuery(X, BITS, k0=2, k1=2, k=2))


@pytest.mark.parametrize("wrong", [(5, 6, 2), (5, 2, 3), (0, 0, 0), (5, 5, 0)])
def test_each_stage_keeps_some_of_the_one_before(wrong):
    with pytest.raises(QueryError, match="k0"):
        CascadeSettings(*wrong, 0.7)


def test_pipelines_that_are_no_cascade(tmp_path):
    made = tiny(tmp_path)
    for name in ("dense", "default"):
        with pytest.raises(ConfigError, match="cascade"):
            cascade.make_cascade(made.snapshot, name)
    (tmp_path / "own.toml").write_text('[legs.ivf]\n[[step]]\nuse = "lvm"\n')
    with pytest.raises(ConfigError, match="k1"):
        cascade.make_cascade(made.snapshot, str(tmp_path / "own.toml"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("not toml", "not valid TOML"),
        ('step = "lvm"\n[legs.ivf]\n', "list of tables"),
        ("step = [3]\n[legs.ivf]\n", "table"),
        (cascade.read_toml("cascade").replace("k = 500", "k = 20"), "k0 = 20, k1 = 50"),
        (cascade.read_toml("cascade").replace("k = 10\n", "k = 80\n"), "k1 = 50, k = 80"),
        (cascade.read_toml("cascade").replace("weight = 0.7", 'layout = "narrow"'), "layout"),
    ],
    ids=["no toml", "a word for steps", "a number for a step", "k0 below k1", "k above k1", "a layout nobody knows"],
)
def test_a_pipeline_that_cannot_work_is_refused_when_it_is_opened(tmp_path, text, what):
    """Not at the first request, and never as a bug of ours."""
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(ConfigError, match=what):
        cascade.open_cascade(
            planted_folder() / "bank.npz",
            planted_folder() / "index",
            planted_folder() / "lvm",
            str(tmp_path / "own.toml"),
        )


def test_a_model_of_another_dimension_is_refused(tmp_path):
    bank = bank_of(tmp_path, 40, 8)
    from assay.cascade.bank.index_build import Recipe, build_index

    build_index(bank, tmp_path / "index", Recipe("exact"))
    with pytest.raises(ModelError, match="trained on 32"):
        cascade.open_cascade(bank.path, tmp_path / "index", planted_folder() / "lvm")


@pytest.mark.parametrize(
    ("vector", "what"),
    [
        (np.array([2.0, 0.0], np.float32), "length"),
        (np.array([np.nan, 1.0], np.float32), "length"),
        (np.ones(3, np.float32) / np.sqrt(3), "shape"),
        (np.zeros(2, np.float32), "length"),
    ],
    ids=["long", "nan", "dimension", "zero"],
)
def test_vectors_that_are_refused(tmp_path, vector, what):
    with pytest.raises(QueryError, match=what):
        tiny(tmp_path).search(CascadeQuery(vector.astype(np.float32), BITS))


@pytest.mark.parametrize("wrong", [{"tmd_bits": 65_536}, {"tmd_bits": -1}, {"nprobe": 0}, {"nprobe": -1}], ids=str)
def test_numbers_that_no_request_has(wrong):
    """The library refuses what the wire refuses: sixteen bits are not cut out of more."""
    with pytest.raises(QueryError, match=next(iter(wrong))):
        CascadeQuery(X, **wrong)
    assert CascadeQuery(X, tmd_bits=65_535, nprobe=1).to_query().extra == {"tmd_bits": 65_535, "nprobe": 1}


@pytest.mark.parametrize(("length", "kept"), [(0.9992, True), (1.0008, True), (0.9988, False), (1.0012, False)])
def test_a_query_is_of_length_one_within_a_thousandth(tmp_path, length, kept):
    ask = CascadeQuery(X * np.float32(length), BITS, k0=5, k1=5, k=5)
    if kept:
        assert len(tiny(tmp_path).search(ask)) == 5
    else:
        with pytest.raises(QueryError, match=f"query_vec has length {length}"):
            tiny(tmp_path).search(ask)


def test_a_cosine_is_never_above_one(tmp_path):
    """A vector of length 1.0008 is of length one by contract; its product with ŷ is still a cosine."""
    vectors = np.array([[1, 0], [0, 1.0008]], np.float32)
    bank = bank_of(tmp_path, 2, 2, vectors=vectors)
    index = BankIndex(tmp_path, bank, {"kind": "exact", "nprobe": 1})
    made = cascade.make_cascade(BankSnapshot(bank, index, model_to([0.0, 1.0])))
    found = made.search(CascadeQuery(X, BITS, k0=2, k1=2, k=2, weight=1.0))
    assert found.chosen.score.tolist() == [1.0, 0.0]


def test_a_candidate_that_is_not_of_length_one_is_no_cosine(tmp_path):
    """Past every contract: stage 2 asserts it once more."""
    made = tiny(tmp_path)
    longer = dataclasses.replace(made.snapshot.bank, vectors=made.snapshot.bank.vectors * np.float32(1.01))
    other = cascade.make_cascade(BankSnapshot(longer, made.snapshot.index, made.snapshot.model))
    with pytest.raises(LawBroken, match="length 1"):
        other.search(CascadeQuery(X, BITS, k0=5, k1=5, k=5))


def test_unknown_ids_are_named_by_their_field(tmp_path):
    made = tiny(tmp_path)
    for field in ("context_ids", "exclude_ids"):
        with pytest.raises(QueryError, match=f"{field} names id 99"):
            made.search(CascadeQuery(X, BITS, k0=2, k1=2, k=2, **{field: (10, 99)}))


def test_filters_see_codes_and_lanes(tmp_path):
    from assay.where import parse

    made = tiny(tmp_path)
    query = dataclasses.replace(CascadeQuery(X, BITS).to_query(), where=parse("domain = 8"))
    assert made.base.run(query, made.snapshot).chosen.ids.tolist() == ["13", "12"]
    for wrong in ('domain = "x"', "shape = 1", "domain ~ 'x'"):
        with pytest.raises(QueryError):
            made.base.run(dataclasses.replace(query, where=parse(wrong)), made.snapshot)
    nobody = dataclasses.replace(query, where=None, scope="team")
    assert len(made.base.run(nobody, made.snapshot)) == 0


def test_a_filter_that_leaves_few_ends_with_every_kind_of_index(tmp_path):
    """A walk through a graph may not meet everybody, however far it goes: the search still ends, and finds them."""
    from assay.cascade.bank.index_build import Recipe, build_index
    from assay.where import parse

    vectors = np.repeat(unit(3, 8), 200, axis=0)  # three crowds, which a graph does not connect
    bank = bank_of(tmp_path, 600, 8, vectors=vectors)
    for kind in ("exact", "hnsw", "ivf_flat"):
        snapshot = BankSnapshot(bank, build_index(bank, tmp_path / kind, Recipe(kind)))
        query = dataclasses.replace(CascadeQuery(vectors[0]).to_query(), where=parse("id >= 605"))
        found = snapshot.nearest(query, 50)
        assert sorted(found.rows.tolist()) == [595, 596, 597, 598, 599]


# -- the planted structure


@pytest.fixture(scope="module")
def planted_questions():
    return make_questions(open_planted().snapshot, planted_sequences().val, 150)


def ranks_of(planted_questions, **settings):
    made = open_planted()
    pipeline = made.pipeline(dataclasses.replace(made.settings, **settings))
    (run,) = run_systems([make_system(pipeline)], made.snapshot, planted_questions)
    assert run.why == ""
    return run.ranks


def hit(ranks, at: int = 5) -> float:
    return float(score_ranks(ranks)[f"Success@{at}"].mean())


def test_each_stage_finds_what_was_planted_for_it(planted_questions):
    rows = rank_baselines(open_planted().snapshot, planted_questions)
    alone, whole = ranks_of(planted_questions, weight=1.0), ranks_of(planted_questions)
    assert hit(rows["random"], 10) < 0.02
    assert hit(rows["oracle"], 1) == 1.0
    assert hit(rows["identity"]) < 0.2
    assert 0.4 < hit(alone) < 0.7  # five of eight echoes that only their code tells apart
    assert hit(whole) > 0.9
    assert hit(whole) >= hit(alone) + 0.02


def test_the_current_id_never_comes_back(planted_questions):
    made = open_planted()
    for question in planted_questions[:40]:
        (current,) = question.request.exclude_ids
        assert str(current) not in made.search(question.request).chosen.ids.tolist()


def test_context_is_read(planted_questions):
    made = open_planted()
    some = next(question for question in planted_questions if len(question.request.context_ids) == 4)
    alone = dataclasses.replace(some.request, context_ids=())
    one, other = (made.snapshot.expected(ask.to_query()) for ask in (some.request, alone))
    assert not np.array_equal(one, other)


# -- the same everywhere


_CHILD = """
import json, sys
sys.path.insert(0, sys.argv[2])
import faiss
faiss.omp_set_num_threads(int(sys.argv[3]))
from pathlib import Path
from assay.cascade.service import open_cascade
from assay.cascade.bank.sequences import open_sequences
from assay.cascade.evaluation.questions import make_questions
folder = Path(sys.argv[1])
cascade = open_cascade(folder / "bank.npz", folder / "index", folder / "lvm")
questions = make_questions(cascade.snapshot, open_sequences(folder / "sequences.npz", cascade.snapshot.bank).val, 60)
print(json.dumps([cascade.search(question.request).digest for question in questions]))
"""


def test_answers_are_the_same_bytes_across_runs_threads_and_hash_seeds():
    payload = set()
    for threads, seed in (("1", "0"), ("2", "1"), ("2", "2")):
        env = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", _CHILD, str(planted_folder()), os.getcwd(), threads]
        payload.add(subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout)
    assert len(payload) == 1
    assert len(set(json.loads(payload.pop()))) == 60
