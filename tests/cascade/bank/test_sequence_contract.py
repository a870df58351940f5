"""Which vector came after which: two halves that share nothing, over ids the bank holds."""

import numpy as np
import pytest

from assay.cascade.bank import errors, npz
from assay.cascade.bank.sequences import Pairs, check_disjoint, open_sequences
from tests.cascade.bank.sample_bank import bank_of, pair_file


@pytest.fixture
def bank(tmp_path):
    return bank_of(tmp_path)


def test_pairs_open(tmp_path, bank):
    found = open_sequences(pair_file(tmp_path, val_context_ids=np.array([[-1, 15]])), bank)
    assert found.train.following.tolist() == [11, 12]
    assert found.train.context.shape == (2, 0)
    assert found.val.all_ids().tolist() == [13, 14, 15]


EMPTY = np.empty(0, np.int64)
WRONG = {
    "int32": (errors.WrongDtype, {"val_next_ids": np.array([14], np.int32)}, "val_next_ids"),
    "a table": (errors.WrongShape, {"train_curr_ids": np.array([[10, 11]])}, "train_curr_ids"),
    "fewer next ids": (errors.WrongShape, {"train_next_ids": np.array([11])}, "train_next_ids"),
    "context of another length": (errors.WrongShape, {"val_context_ids": np.array([[15], [15]])}, "val_context_ids"),
    "a flat context": (errors.WrongShape, {"val_context_ids": np.array([15])}, "val_context_ids"),
    "none at all": (errors.EmptyColumn, {"val_curr_ids": EMPTY, "val_next_ids": EMPTY}, "val_curr_ids"),
    "an unknown current id": (errors.UnknownId, {"train_curr_ids": np.array([10, 99])}, "train_curr_ids"),
    "an unknown next id": (errors.UnknownId, {"val_next_ids": np.array([99])}, "val_next_ids"),
    "an unknown context id": (errors.UnknownId, {"val_context_ids": np.array([[-1, 99]])}, "val_context_ids"),
    "next is current": (errors.TargetIsCurrent, {"val_next_ids": np.array([13])}, "val_next_ids"),
    "the answer was learned": (errors.WindowsOverlap, {"val_curr_ids": np.array([11])}, "val_curr_ids"),
    "a context that was learned": (errors.WindowsOverlap, {"val_context_ids": np.array([[12]])}, "val_curr_ids"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_each_violation_has_its_name(tmp_path, bank, case):
    kind, other, column = WRONG[case]
    with pytest.raises(errors.BankError) as raised:
        open_sequences(pair_file(tmp_path, **other), bank)
    assert type(raised.value) is kind
    assert raised.value.column == column


@pytest.mark.parametrize("column", ["train_curr_ids", "train_next_ids", "val_curr_ids", "val_next_ids"])
def test_a_missing_column(tmp_path, bank, column):
    with pytest.raises(errors.MissingColumn, match=column):
        open_sequences(pair_file(tmp_path, drop=column), bank)


def test_a_flipped_bit_is_noticed_by_its_checksum(tmp_path, bank):
    """12 becomes 13, an id of the bank: only the checksum tells."""
    path = pair_file(tmp_path, val_context_ids=np.array([[15, 15]]), val_curr_ids=np.array([12]),
                     train_curr_ids=np.array([10]), train_next_ids=np.array([11]))  # fmt: skip
    open_sequences(path, bank)
    at = npz.read_archive(path, ["val_curr_ids"]).columns["val_curr_ids"].offset
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)
    with pytest.raises(errors.DamagedColumn, match="val_curr_ids"):
        open_sequences(path, bank)


def test_only_a_validation_half(tmp_path, bank):
    held = {"val_curr_ids": np.array([13]), "val_next_ids": np.array([14])}
    np.savez(tmp_path / "val.npz", **held)
    found = open_sequences(tmp_path / "val.npz", bank, train=False)
    assert len(found.train) == 0
    assert len(found.val) == 1


def test_windows_that_slide_over_one_document_and_are_split_by_position_overlap():
    """The published mistake: cut windows first, split them afterwards; the last windows to learn from hold the first
    answers to be measured."""
    ids = np.arange(20)
    context = np.stack([ids[at : at + 4] for at in range(14)])
    windows = Pairs(ids[4:18], ids[5:19], context)
    train, val = (
        Pairs(windows.current[s], windows.following[s], windows.context[s]) for s in (slice(0, 10), slice(10, 14))
    )
    with pytest.raises(errors.WindowsOverlap, match="5 ids"):
        check_disjoint(train, val, "sliding windows")
