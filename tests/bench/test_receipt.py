"""Receipts: one spelling, one digest, whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.receipt import Receipt, ReceiptError, canonical_bytes, compute_digest, read, write

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
CANONICAL = st.dictionaries(st.text(), PLAIN, max_size=5)


def test_digest_of_a_known_value() -> None:
    # printf '{"a":[1,0.5],"b":"\\u00e9"}' | sha256sum
    assert canonical_bytes({"b": "é", "a": [1, 0.5]}) == b'{"a":[1,0.5],"b":"\\u00e9"}'
    digest = compute_digest({"b": "é", "a": [1, 0.5]})
    assert digest == "ec71ccdcff0cf96fd30274c1403ad8674082333204143cf117a1aa4e0a953ed0"


@given(canonical=CANONICAL, measured=CANONICAL)
def test_what_is_written_reads_back(tmp_path_factory: pytest.TempPathFactory, canonical: dict, measured: dict) -> None:
    path = tmp_path_factory.mktemp("receipt") / "r.json"
    receipt = Receipt("run", canonical, measured)
    write(receipt, path)
    again = read(path)
    assert (again.canonical, again.measured, again.digest) == (canonical, measured, receipt.digest)


def test_the_measured_half_is_outside_the_digest() -> None:
    assert Receipt("run", {"a": 1}, {"ms": 3.0}).digest == Receipt("run", {"a": 1}, {"ms": 4.0}).digest


def test_a_changed_receipt_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write(Receipt("run", {"score": 0.5}), path)
    path.write_text(path.read_text().replace("0.5", "0.6"))
    with pytest.raises(ReceiptError, match="was changed after it was written"):
        read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no JSON"),
        ('{"schema": 1, "kind": "run", "digest": "", "canonical": {"score": NaN}}', "NaN is no number"),
        ('{"schema": 1, "kind": "run", "digest": "", "canonical": {"score": 1e999}}', "Out of range float"),
        (
            '{"schema": 1, "kind": "run", "digest": "", "canonical": {}, "measured": {"ms": -1e999}}',
            "Out of range float",
        ),
        ("[" * 100_000, "is no JSON"),
        ("[1, 2]", "is no receipt"),
        ('{"schema": 1}', "is no receipt"),
        ('{"schema": 99, "kind": "run", "digest": "", "canonical": {}}', "has schema 99"),
        ('{"schema": "x", "kind": "run", "digest": "", "canonical": {}}', "has schema x"),
        ('{"schema": 1, "kind": "ran", "digest": "", "canonical": {}}', "did you mean 'run'"),
    ],
    ids=["empty", "nan", "infinite", "infinite time", "deep", "list", "short", "newer", "odd schema", "kind"],
)
def test_what_is_no_receipt_says_so(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(ReceiptError, match=message):
        read(path)


def test_a_missing_receipt_says_so(tmp_path: Path) -> None:
    with pytest.raises(ReceiptError, match="cannot be read"):
        read(tmp_path / "absent.json")


def test_nan_cannot_enter_a_receipt() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        _ = Receipt("run", {"score": float("nan")}).digest


def test_a_failed_write_leaves_the_old_receipt_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write(Receipt("run", {"a": 1}), path)
    with pytest.raises(TypeError):
        write(Receipt("run", {"a": object()}), path)
    assert read(path).canonical == {"a": 1}
    assert os.listdir(tmp_path) == ["r.json"]


def test_readers_beside_a_writer_never_see_half(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    big = {"column": list(range(50_000))}
    write(Receipt("run", big), path)
    code = f"""
from pathlib import Path
from assay.bench.receipt import Receipt, write
for turn in range(30):
    write(Receipt("run", {{"column": list(range(50_000)), "turn": turn}}), Path({str(path)!r}))
"""
    writer = subprocess.Popen([sys.executable, "-c", code])
    seen = set()
    while writer.poll() is None:
        seen.add(read(path).canonical.get("turn"))
    assert writer.returncode == 0
    assert len(seen) > 1
    assert read(path).canonical["turn"] == 29


def test_a_receipt_is_read_by_people_too() -> None:
    lines = Receipt("run", {"scores": {"nDCG@10": [0.1, 0.2]}}).dumps().splitlines()
    assert '   "nDCG@10": [0.1, 0.2]' in lines
    assert json.loads("\n".join(lines))["schema"] == 2
