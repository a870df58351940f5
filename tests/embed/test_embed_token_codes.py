from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.embed.bert import BertEncoder
from assay.embed.token_cache import CachedTokens
from assay.embed.token_codes import BITS, WIDEST, open_coder, quantise_vectors, unpack_codes
from assay.errors import ConfigError, ModelError
from assay.util.disk_cache import DiskCache


class Letters:
    """A real, cheap token encoder: each letter is a token with a fixed direction. Counts what it is asked."""

    dim = 10
    digest = "letters"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def token_vectors(self, texts: Sequence[str]) -> list[np.ndarray]:
        self.asked += texts
        return [self._rows(text) for text in texts]

    def _rows(self, text: str) -> np.ndarray:
        rows = np.array([[np.cos(ord(c) * (n + 1.3)) for n in range(self.dim)] for c in text]).reshape(-1, self.dim)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


# -- codes


def test_numbers_by_hand() -> None:
    rows = np.array([[0.8, 0.6, 0, 0], [-0.5, 0.5, 0.5, -0.5], [0, 0, 0, 1], [0.28, 0, -0.96, 0]], np.float32)
    codes = quantise_vectors(rows, 8)
    # 127 · (1, .75, 0, 0) = (127, 95.25, 0, 0); 127 · .28 / .96 = 37.04
    assert codes.tolist() == [[127, 95, 0, 0], [-127, 127, 127, -127], [0, 0, 0, 127], [37, 0, -127, 0]]
    assert codes.dtype == np.int8
    assert unpack_codes(codes, 4).tolist() == codes.tolist()


def test_signs_by_hand() -> None:
    rows = np.array([[0.8, -0.6, 0, 0, 0, 0, 0, -0.0, -1, 1], [-1] * 10], np.float32)
    codes = quantise_vectors(rows, 1)
    assert codes.tolist() == [[0b10111111, 0b01000000], [0, 0]]
    assert codes.dtype == np.uint8
    assert unpack_codes(codes, 10).tolist() == [[1, -1, 1, 1, 1, 1, 1, 1, -1, 1], [-1] * 10]


@given(st.integers(0, 9), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_signs_survive_the_way_there_and_back(tokens: int, dim: int, seed: int) -> None:
    rows = np.random.default_rng(seed).standard_normal((tokens, dim)).astype(np.float32)
    assert np.array_equal(unpack_codes(quantise_vectors(rows, 1), dim), np.where(rows >= 0, 1.0, -1.0))


@pytest.mark.parametrize("bits", BITS)
def test_no_tokens_no_rows(bits: int) -> None:
    coder = open_coder(Letters(), bits)
    width = 2 if bits == 1 else 10
    assert [codes.shape for codes in coder.encode(["", "ab"])] == [(0, width), (2, width)]
    assert coder.encode([]) == []
    for codes in coder.encode(["", "a", "abc"]):
        again = coder.from_bytes(codes.tobytes())
        assert (again.tolist(), again.shape, again.dtype) == (codes.tolist(), codes.shape, codes.dtype)


def test_a_digest_for_every_kind_of_code() -> None:
    other = Letters()
    other.digest = "other letters"
    assert len({open_coder(model, bits).digest for model in (Letters(), other) for bits in BITS}) == 4


def test_what_cannot_be_coded() -> None:
    for model in (None, object()):
        with pytest.raises(ModelError, match="gives no token vectors"):
            open_coder(model, 1)
    with pytest.raises(ConfigError, match="of 4 bits"):
        open_coder(Letters(), 4)
    wide = Letters()
    wide.dim = WIDEST + 1
    with pytest.raises(ModelError, match="too wide"):
        open_coder(wide, 8)
    assert 127**2 * WIDEST < 2**24 <= 127**2 * (WIDEST + 1)


def test_the_real_model_keeps_directions(minilm: BertEncoder) -> None:
    text = "Rotate the signing key every ninety days, then announce it in the channel of the security team."
    rows = minilm.token_vectors([text])[0].astype(np.float64)
    whole, signs = (unpack_codes(open_coder(minilm, bits).encode([text])[0], 384).astype(np.float64) for bits in (8, 1))
    whole /= np.linalg.norm(whole, axis=1, keepdims=True)
    assert np.abs(whole @ whole.T - rows @ rows.T).max() < 0.01
    # Cosines with signs are some √(2/π) of the true ones; what counts is that they rise and fall with them.
    upper = np.triu_indices(len(rows), 1)
    assert np.corrcoef((whole @ signs.T)[upper], (rows @ rows.T)[upper])[0, 1] > 0.95
    assert float(np.diag(whole @ signs.T).mean() / np.sqrt(384)) == pytest.approx(np.sqrt(2 / np.pi), abs=0.03)


SAME = """
import hashlib, sys
from assay.embed.bert import open_encoder
from assay.embed.token_codes import BITS, open_coder
from assay.rerank.max_sim import max_sim
texts = ["Rotate the signing key.", "机器学习 and naïve façades", "", "a " * 400, "how often do we rotate keys?"]
model = open_encoder("minilm", workers=int(sys.argv[1]))
codes_of = {bits: open_coder(model, bits).encode(texts) for bits in BITS}
raw = [codes.tobytes() for bits in BITS for codes in codes_of[bits]]
raw += [max_sim(codes_of[8][-1], codes_of[bits], both=both).tobytes() for bits in BITS for both in (False, True)]
print(hashlib.sha256(b"".join(raw)).hexdigest())
"""


@pytest.mark.usefixtures("model")
def test_the_same_bytes_in_every_process() -> None:
    """Whatever the hash seed, our own threads, and the threads of the library that multiplies."""
    seen = set()
    for seed, threads in (("1", "1"), ("2", "2")):
        settings = {**os.environ, "PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": threads}
        done = subprocess.run([sys.executable, "-c", SAME, threads], capture_output=True, text=True, env=settings)
        assert done.returncode == 0, done.stderr
        seen.add(done.stdout)
    assert len(seen) == 1


# -- the disk cache


def cached(path: Path, **settings: int) -> tuple[Letters, CachedTokens]:
    inner = Letters()
    return inner, CachedTokens(open_coder(inner, 1), path, **settings)


@pytest.mark.parametrize("memory", [0, 1 << 20])
def test_cold_and_warm_are_the_same_bytes(tmp_path: Path, memory: int) -> None:
    texts = ["one", "two", "", "\ud800", "🙂" * 500, "one"]
    fresh = [codes.tobytes() for codes in open_coder(Letters(), 1).encode(texts)]
    first, cold = cached(tmp_path / "t.sqlite", memory=memory)
    assert [codes.tobytes() for codes in cold.codes(texts)] == fresh
    assert [codes.tobytes() for codes in cold.codes(texts)] == fresh
    assert first.asked == texts[:-1]
    second, warm = cached(tmp_path / "t.sqlite", memory=memory)
    assert [codes.tobytes() for codes in warm.codes(texts)] == fresh
    assert [codes.shape for codes in warm.codes(["", "ab"])] == [(0, 2), (2, 2)]
    assert second.asked == ["ab"]
    assert (cold.hits, cold.misses) == (5, 5)


def test_what_is_held_cannot_be_changed(tmp_path: Path) -> None:
    _, tokens = cached(tmp_path / "t.sqlite")
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            tokens.codes(["one"])[0][:] = 0


def test_memory_is_bounded_and_the_least_recently_used_go_first(tmp_path: Path) -> None:
    inner, tokens = cached(tmp_path / "no" / "t.sqlite", memory=2 * 10 * 3)  # three texts of ten letters at two bytes
    (tmp_path / "no").touch()  # so there is no file, only memory
    for text in ("a" * 10, "b" * 10, "c" * 10, "a" * 10, "d" * 10):
        tokens.codes([text])
    inner.asked.clear()
    tokens.codes(["a" * 10, "c" * 10, "d" * 10])
    assert inner.asked == []
    tokens.codes(["b" * 10])
    assert inner.asked == ["b" * 10]


def test_codes_of_different_bits_do_not_mix(tmp_path: Path) -> None:
    inner, path = Letters(), tmp_path / "t.sqlite"
    shapes = [CachedTokens(open_coder(inner, bits), path).codes(["abc"])[0].shape for bits in (1, 8, 1)]
    assert shapes == [(3, 2), (3, 10), (3, 2)]
    assert inner.asked == ["abc"] * 2


def test_fill_makes_only_what_is_missing(tmp_path: Path) -> None:
    inner, tokens = cached(tmp_path / "t.sqlite", memory=0)
    tokens.codes(["text 7"])
    reports: list[int] = []
    assert tokens.fill((f"text {n}" for n in range(150)), reports.append) == 149
    assert reports == [64, 128, 150]
    inner.asked.clear()
    assert tokens.fill([f"text {n}" for n in range(150)]) == 0
    assert inner.asked == []


# -- the disk cache


def test_reading_what_is_young_writes_nothing(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "s.sqlite", 1 << 20)
    for n in range(10):
        cache.put("m", {bytes([n]): b"x" * n})

    def uses() -> list[int]:
        rows = cache._open().execute("SELECT used FROM vectors ORDER BY text").fetchall()
        return [used for (used,) in rows]

    assert cache.get("m", [bytes([8]), bytes([9])]) == {bytes([8]): b"x" * 8, bytes([9]): b"x" * 9}
    assert uses() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    cache.get("m", [bytes([0]), bytes([9])])  # the oldest is in danger, so its use is written down
    assert uses() == [10, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert cache.bypassed == 0


def test_a_read_only_cache(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "s.sqlite", 1 << 20)
    for n in range(4):
        cache.put("m", {bytes([n]): b"x" * n})
    cache._open().execute("PRAGMA query_only = 1")
    assert cache.get("m", [bytes([1])]) == {bytes([1]): b"x"}
    assert cache.bypassed == 0
    cache.put("m", {b"new": b"y"})
    assert (cache.bypassed, cache.get("m", [b"new"])) == (1, {})
