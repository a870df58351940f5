"""A bank file from anywhere: what keeps the contract opens, and each violation has its own name."""

import json
import os
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cascade.bank import errors, npz
from assay.cascade.bank.bank import Bank, open_bank, seal_path
from tests.cascade.bank.sample_bank import bank_of, columns, file_of, unit


def test_a_file_of_numpy_opens(tmp_path):
    bank = open_bank(file_of(tmp_path))
    assert len(bank) == 6
    assert bank.dim == 8
    assert bank.ids.tolist() == [10, 11, 12, 13, 14, 15]
    assert bank.lanes.tolist() == (columns()["tmd_bits"] >> 1).tolist()
    with pytest.raises(ValueError, match="read-only"):
        bank.vectors[0, 0] = 0.0


def test_numpy_opens_ours_aligned_and_byte_for_byte_the_same_each_time(tmp_path):
    bank = bank_of(tmp_path)
    again = bank_of(tmp_path, name="again.npz")
    with np.load(bank.path) as read:
        assert {name: read[name].tolist() for name in read} == {k: v.tolist() for k, v in columns().items()}
    assert bank.vectors.flags.aligned
    assert bank.path.read_bytes() == again.path.read_bytes()
    assert bank.digest == again.digest


def test_the_digest_is_of_the_columns_not_of_the_archive(tmp_path):
    assert open_bank(file_of(tmp_path)).digest == bank_of(tmp_path).digest
    other = columns()["tmd_bits"].copy()
    other[0] ^= 1
    assert open_bank(file_of(tmp_path, "b.npz", tmd_bits=other)).digest != bank_of(tmp_path).digest


def test_columns_nobody_knows_are_told_not_read(tmp_path):
    assert open_bank(file_of(tmp_path, texts=np.array(["a"] * 6))).others == ("texts",)


def test_columns_nobody_knows_may_be_anything(tmp_path):
    """Somebody's bank has its titles as Python objects, a compressed table and a note beside it: none of it is read."""
    path = file_of(tmp_path, titles=np.array([print] * 6, object))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("table.npy", b"x" * 5_000, zipfile.ZIP_DEFLATED)
        archive.writestr("README.txt", b"how it was made")
    assert open_bank(path).others == ("README.txt", "table", "titles")


def test_a_missing_column_says_what_is_there(tmp_path):
    path = file_of(tmp_path, drop="lane_indices", lanes=np.zeros(6, np.int16))
    with pytest.raises(errors.MissingColumn) as raised:
        open_bank(path)
    assert "lanes" in raised.value.cure


@pytest.mark.parametrize("column", ["vectors", "bank_ids", "tmd_bits", "lane_indices"])
def test_a_missing_column(tmp_path, column):
    with pytest.raises(errors.MissingColumn, match=column) as raised:
        open_bank(file_of(tmp_path, drop=column))
    assert raised.value.column == column


WRONG = {
    "float64 vectors": (errors.WrongDtype, {"vectors": unit(6).astype(np.float64)}),
    "big-endian vectors": (errors.WrongDtype, {"vectors": unit(6).astype(">f4")}),
    "int32 ids": (errors.WrongDtype, {"bank_ids": np.arange(6, dtype=np.int32)}),
    "int16 codes": (errors.WrongDtype, {"tmd_bits": np.zeros(6, np.int16)}),
    "uint16 lanes": (errors.WrongDtype, {"lane_indices": np.zeros(6, np.uint16)}),
    "flat vectors": (errors.WrongShape, {"vectors": unit(1)[0]}),
    "ids in a table": (errors.WrongShape, {"bank_ids": np.arange(6)[:, None]}),
    "vectors by columns": (errors.WrongShape, {"vectors": np.asfortranarray(unit(6))}),
    "fewer codes": (errors.WrongShape, {"tmd_bits": np.zeros(5, np.uint16)}),
    "no rows": (errors.EmptyColumn, {"vectors": np.empty((0, 8), np.float32)}),
    "no dimensions": (errors.EmptyColumn, {"vectors": np.empty((6, 0), np.float32)}),
    "NaN": (errors.NotFinite, {"vectors": np.where(np.arange(48).reshape(6, 8) == 9, np.nan, unit(6)).astype("f4")}),
    "infinity": (
        errors.NotFinite,
        {"vectors": np.where(np.arange(48).reshape(6, 8) == 9, np.inf, unit(6)).astype("f4")},
    ),
    "length 2": (errors.NotUnit, {"vectors": unit(6) * np.float32(2.0)}),
    "a zero row": (errors.NotUnit, {"vectors": unit(6) * (np.arange(6) != 3)[:, None].astype(np.float32)}),
    "an id twice": (errors.RepeatedId, {"bank_ids": np.array([1, 2, 3, 3, 4, 5])}),
    "an id below 0": (errors.NegativeId, {"bank_ids": np.arange(-1, 5)}),
}


@pytest.mark.parametrize("case", WRONG)
def test_each_violation_has_its_name(tmp_path, case):
    kind, other = WRONG[case]
    with pytest.raises(errors.BankError) as raised:
        open_bank(file_of(tmp_path, **other))
    assert type(raised.value) is kind
    assert raised.value.column in other
    assert raised.value.cure


@pytest.mark.parametrize(("length", "kept"), [(0.9992, True), (1.0008, True), (0.9988, False), (1.0012, False)])
def test_a_length_is_one_within_a_thousandth(tmp_path, length, kept):
    path = file_of(tmp_path, vectors=unit(6) * np.where(np.arange(6) == 4, length, 1.0).astype(np.float32)[:, None])
    if kept:
        assert len(open_bank(path)) == 6
    else:
        with pytest.raises(errors.NotUnit, match=f"row 4 of 'vectors' has length {length}"):
            open_bank(path)


def test_every_block_of_a_long_bank_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.cascade.bank.bank._BLOCK", 4)
    other = columns()["vectors"].copy()
    other[5] = other[0]
    assert open_bank(file_of(tmp_path, vectors=other)).digest != open_bank(file_of(tmp_path, "b.npz")).digest
    other[5] = np.nan
    with pytest.raises(errors.NotFinite, match="row 5"):
        open_bank(file_of(tmp_path, "c.npz", vectors=other))


def test_python_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "given.npz", **{**columns(), "tmd_bits": np.array([print] * 6, object)})
    with pytest.raises(errors.WrongDtype, match="objects"):
        open_bank(tmp_path / "given.npz")


def test_a_compressed_column_says_how_to_save_it(tmp_path):
    np.savez_compressed(tmp_path / "given.npz", **columns())
    with pytest.raises(errors.CompressedColumn, match=r"cannot be memory-mapped") as raised:
        open_bank(tmp_path / "given.npz")
    assert "numpy.savez" in raised.value.cure


def test_what_is_no_archive(tmp_path):
    path = tmp_path / "given.npz"
    for content in (b"", b"PK\x03\x04 and nothing more", b"vectors"):
        path.write_bytes(content)
        with pytest.raises(errors.NotNpz):
            open_bank(path)
    with pytest.raises(errors.NotNpz, match="no file"):
        open_bank(tmp_path / "absent.npz")
    with pytest.raises(errors.NotNpz):
        open_bank(tmp_path)


def test_a_name_twice(tmp_path):
    path = file_of(tmp_path)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("vectors.npy", b"another")
    with pytest.raises(errors.NotNpz, match="twice"):
        open_bank(path)


def test_a_name_that_is_no_utf_8(tmp_path):
    """Found by atheris: zipfile decodes names that are marked as UTF-8, and raises an error of its own kind."""
    path = tmp_path / "given.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("véctors.npy", b"a name beyond ASCII is marked as UTF-8")
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xf4\x41"))
    with pytest.raises(errors.NotNpz, match="no whole NPZ archive"):
        open_bank(path)


def test_a_cut_file(tmp_path):
    path = file_of(tmp_path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(errors.NotNpz):
        open_bank(path)


def test_a_header_that_lies_about_its_size(tmp_path):
    path = file_of(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"'shape': (6, 8)", b"'shape': (9, 8)"))
    with pytest.raises(errors.DamagedColumn, match="vectors"):
        open_bank(path)


def test_a_header_that_asks_for_the_whole_of_memory(tmp_path):
    path = file_of(tmp_path)
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"'shape': (6, 8), }      ", b"'shape': (999999, 8), } "))
    with pytest.raises(errors.DamagedColumn):
        open_bank(path)


def test_a_header_with_negative_lengths(tmp_path):
    path = file_of(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"'shape': (6, 8), }  ", b"'shape': (-6, -8), }"))
    with pytest.raises(errors.DamagedColumn, match="vectors"):
        open_bank(path)


HOSTILE = {
    "a tuple that is never closed": b"{'descr': '<f4', 'shape': (8,\n",
    "a string that is never closed": b"'''",
    "many signs": b"-" * 9_000 + b"1",
    "many sums": b"1+1j+" * 1_500 + b"1",
    "many parentheses": b"(" * 900,
    "no type": b"{'descr': (), 'fortran_order': False, 'shape': (8,)}",
}


@pytest.mark.parametrize("header", HOSTILE.values(), ids=HOSTILE)
def test_a_header_that_numpy_cannot_parse(tmp_path, header):
    path = tmp_path / "bank.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vectors.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(errors.DamagedColumn, match="'vectors' is no array") as told:
        open_bank(path)
    assert len(told.value.message) < 400


def test_a_local_header_elsewhere(tmp_path):
    path = file_of(tmp_path)
    raw = bytearray(path.read_bytes())
    raw[:4] = b"XXXX"
    path.write_bytes(raw)
    with pytest.raises(errors.NotNpz):
        open_bank(path)


def test_a_flipped_bit_is_noticed_by_its_checksum(tmp_path):
    path = file_of(tmp_path)
    at = npz.read_archive(path, ["tmd_bits"]).columns["tmd_bits"].offset
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)
    with pytest.raises(errors.DamagedColumn, match="tmd_bits"):
        open_bank(path)


def test_a_seal_is_trusted_for_this_very_file_only(tmp_path):
    bank = bank_of(tmp_path)
    path = bank.path
    stat = path.stat()
    assert json.loads(seal_path(path).read_text())["digest"] == bank.digest
    at = npz.read_archive(path, ["tmd_bits"]).columns["tmd_bits"].offset
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    with pytest.raises(errors.DamagedColumn):
        open_bank(path)  # touched: read whole again
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert open_bank(path).digest == bank.digest  # to the clock it is the sealed file, and opens without being read
    with pytest.raises(errors.DamagedColumn):
        open_bank(path, verify=True)


def test_a_file_that_changes_while_it_is_read_is_not_sealed(tmp_path, monkeypatch):
    path = file_of(tmp_path)
    stat = path.stat()
    checked = npz.verify_checksums

    def meanwhile(file, found):
        checked(file, found)
        file_of(tmp_path, vectors=unit(6) * np.float32(2.0))  # somebody writes it anew, not of length one
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))  # a clock may stand still for milliseconds

    with monkeypatch.context() as patch:
        patch.setattr(npz, "verify_checksums", meanwhile)
        patch.setattr("assay.cascade.bank.bank._check", lambda *_: None)
        open_bank(path)
    with pytest.raises(errors.NotUnit):
        open_bank(path)


@pytest.mark.parametrize("said", ["", "[]", "{}", '{"size": 1}', "null"])
def test_a_seal_that_says_nothing_costs_a_check(tmp_path, said):
    bank = bank_of(tmp_path)
    seal_path(bank.path).write_text(said)
    assert open_bank(bank.path).digest == bank.digest


@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=30, unique=True), st.lists(st.integers(-5, 2**62)))
def test_rows_of_ids_are_those_of_a_dictionary(ids, asked):
    held = np.array(ids, np.int64)
    bank = Bank(None, unit(len(ids)), held, None, None, "")
    known = {one: row for row, one in enumerate(ids)}
    questions = np.array([*asked, *ids], np.int64)
    assert bank.rows(questions).tolist() == [known.get(one, -1) for one in questions.tolist()]


def test_zip64_sizes_are_read(tmp_path):
    path = bank_of(tmp_path).path  # ours are written with 64-bit sizes
    head = path.read_bytes()[:30]
    assert struct.unpack("<I", head[18:22])[0] == 0xFFFFFFFF
    assert len(open_bank(path, verify=True)) == 6
