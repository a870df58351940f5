"""The published original of this design found 0.00 % of its answers; here it is made again, and refused.

It cut windows first and split them afterwards, so that the halves overlapped, and it searched the bank with the bare
predicted step Δ̂, a difference of two places, instead of the place l2(x + Δ̂).
"""

import dataclasses
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from assay.cascade import service as cascade
from assay.cascade.bank import npz
from assay.cascade.bank.errors import WindowsOverlap
from assay.cascade.bank.sequences import Pairs, open_sequences
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.bank.train import iter_windows, train_model
from assay.cascade.evaluation.doubts import chance_level
from assay.cascade.evaluation.grid import Axes, run_grid
from assay.cascade.evaluation.questions import make_questions
from assay.cascade.evaluation.report import headline, to_markdown
from assay.cascade.evaluation.runs import score_ranks
from assay.cascade.lvm.model import NextVectorModel
from assay.cascade.lvm.rank import last_windows, reciprocal_rank
from assay.cascade.lvm.ridge import fit_ridge
from assay.config.load import from_dict
from assay.errors import ConfigError, QueryError
from tests.cascade.planted_bank import open_planted, planted_folder, planted_sequences

ROOT = Path(__file__).resolve().parent.parent.parent
CONTEXT = 4


def of(pairs: Pairs, places) -> Pairs:
    return Pairs(pairs.current[places], pairs.following[places], pairs.context[places])


@cache
def cut_before_the_split() -> tuple[Pairs, Pairs]:
    """All windows of all documents, shuffled, the last tenth held out: as the original did it."""
    halves = planted_sequences().train, planted_sequences().val
    every = Pairs(*(np.concatenate([getattr(h, n) for h in halves]) for n in ("current", "following", "context")))
    order = np.random.default_rng(1).permutation(len(every))
    return of(every, order[: -len(order) // 10]), of(every, order[-len(order) // 10 :])


@cache
def original():
    """A model trained on those windows, past every contract."""
    train_half, held = cut_before_the_split()
    bank = open_planted().snapshot.bank
    return fit_ridge(iter_windows(bank, train_half, CONTEXT), iter_windows(bank, held, CONTEXT))[0]


def hit10(vectors, following) -> float:
    """How often exact search with these vectors has the answer among its first ten."""
    bank = open_planted().snapshot.bank
    ranks = (vectors @ bank.vectors.T > np.vecdot(vectors, bank.vectors[bank.rows(following)])[:, None]).sum(axis=1) + 1
    return float(score_ranks(np.where(ranks <= 10, ranks, 0))["Success@10"].mean())


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_it_looks_trained_and_finds_nothing():
    """Its own validation is content; the search finds no more than chance, while the same steps, added, find much."""
    bank, (_, held) = open_planted().snapshot.bank, cut_before_the_split()
    some = last_windows(iter_windows(bank, held, CONTEXT))
    steps = original().steps(some.current, some.context)
    stay = reciprocal_rank(some, np.zeros_like(steps))
    assert reciprocal_rank(some, steps) > stay
    following = held.following[-len(some) :]
    assert hit10(unit(steps), following) <= chance_level(len(bank), len(some))
    assert hit10(unit(some.current + steps), following) > 0.6


def test_its_windows_do_not_open(tmp_path):
    halves = dict(zip(("train", "val"), cut_before_the_split(), strict=True))
    columns = {
        f"{half}_{word}_ids": array
        for half, pairs in halves.items()
        for word, array in (("curr", pairs.current), ("next", pairs.following), ("context", pairs.context))
    }
    npz.write(tmp_path / "windows.npz", columns)
    with pytest.raises(WindowsOverlap, match="stand in windows of both halves"):
        open_sequences(tmp_path / "windows.npz", open_planted().snapshot.bank)
    bank = str(planted_folder() / "bank.npz")
    for command in (
        ["-m", "assay.cli", "lvm", "train", bank, str(tmp_path / "windows.npz"), "--out", str(tmp_path / "lvm")],
        [str(ROOT / "tools" / "eval_hybrid.py"), "--bank", bank, "--val", str(tmp_path / "windows.npz"),
         "--out", str(tmp_path / "grid.json")],
    ):  # fmt: skip
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 3, done.stderr
        assert "split by document, before windows are cut" in done.stderr
    assert not (tmp_path / "lvm").exists()
    assert not (tmp_path / "grid.json").exists()


def test_windows_of_one_document_in_both_halves_do_not_open_either():
    """The mildest form: one cut through one document, everything else apart."""
    from assay.cascade.bank.sequences import check_disjoint

    pairs = planted_sequences().train
    half = len(pairs) // 2 - 3  # in the middle of a document
    with pytest.raises(WindowsOverlap):
        check_disjoint(of(pairs, slice(0, half)), of(pairs, slice(half, None)), "windows cut first")
    whole = half + 3  # between two documents
    check_disjoint(of(pairs, slice(0, whole)), of(pairs, slice(whole, None)), "windows cut afterwards")


class Bare:
    """Whatever it is given, ŷ is the direction of the bare step: x + (Δ̂ − x) = Δ̂."""

    def __init__(self, steps) -> None:
        self._steps = steps

    def steps(self, current, context):
        return self._steps.steps(current, context) - current


def grid_of_the_bare_step(tmp_path, probe: str):
    made = open_planted()
    bare = NextVectorModel(Bare(made.snapshot.model._steps), made.snapshot.model.manifest)
    text = cascade.read_toml("cascade").replace("nprobe = 16", f'nprobe = 16\nprobe = "{probe}"')
    (tmp_path / "own.toml").write_text(text)
    other = cascade.make_cascade(
        BankSnapshot(made.snapshot.bank, made.snapshot.index, bare), str(tmp_path / "own.toml")
    )
    return run_grid(other, planted_sequences(), Axes(k0=(200,), weight=(0.6,), nprobe=(16,)), most=150)


def test_a_grid_that_searches_with_the_bare_step_promotes_nothing_and_says_why(tmp_path):
    grid = grid_of_the_bare_step(tmp_path, "yhat")
    assert grid.alone[0].score("Success@10") <= chance_level(4_096, 150)
    assert grid.chosen is None
    assert headline(grid).startswith("No configuration passes")
    assert grid.receipt.measured["verdict"] == "fail"
    assert "no more than a lot drawn at random" in grid.receipt.canonical["doubts"][0]
    assert "- Doubt: the model finds no more" in to_markdown(grid)


def test_a_grid_that_only_scores_with_it_is_told_that_staying_put_is_better(tmp_path):
    """Among the neighbours of x even the bare step finds some; copying the last vector finds more."""
    payload = grid_of_the_bare_step(tmp_path, "x").receipt.canonical["doubts"]
    assert payload == ["the model finds less than staying put (identity): it adds nothing here"]


def test_gates_that_pass_do_not_promote_over_a_model_that_finds_nothing(monkeypatch, tmp_path):
    """Were every gate to pass, the grid would still refuse."""
    monkeypatch.setattr("assay.cascade.evaluation.grid.CascadeCell.verdict", "pass")
    grid = grid_of_the_bare_step(tmp_path, "yhat")
    assert grid.chosen is None
    assert headline(grid).startswith("No configuration passes: the model finds no more")


def test_the_bare_step_is_refused_by_its_length():
    """Δ̂ is no place in the bank: it is not of length one, and whoever sends it is told so."""
    made = open_planted()
    (question,) = make_questions(made.snapshot, planted_sequences().val, 1)
    step = made.snapshot.model._steps.steps(question.request.vector[None], np.zeros((1, CONTEXT, 32), np.float32))[0]
    with pytest.raises(QueryError, match="length 0"):
        made.search(dataclasses.replace(question.request, vector=step))
    with pytest.raises(QueryError, match="length 0"):
        made.snapshot.model.predict(step, np.empty((0, 32), np.float32))


def test_no_config_can_ask_for_it():
    with pytest.raises(ConfigError, match="probe"):
        from_dict({"legs": {"ivf": {"probe": "delta"}}})


def test_a_proper_model_passes_where_the_original_is_refused(tmp_path):
    """The refusals are of the mistake, not of the bank: with whole documents held out it trains and finds."""
    made = train_model(open_planted().snapshot.bank, planted_sequences(), tmp_path, context=CONTEXT)
    bank, val = open_planted().snapshot.bank, planted_sequences().val
    some = last_windows(iter_windows(bank, val, CONTEXT))
    expected = made.predict_all(some.current, some.context)
    assert hit10(expected, val.following[-len(some) :]) > 0.6
