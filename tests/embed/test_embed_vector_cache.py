from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.embed.bert import BertEncoder
from assay.embed.vector_cache import CachedEmbedder
from assay.protocols import Embedder


class Letters:
    """A real, cheap embedder: a fixed projection of the letters of a text. Counts what it is asked."""

    name, dim, max_tokens = "letters", 16, 99

    def __init__(self, digest: str = "letters-1") -> None:
        self.digest = digest
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        rows = [self._row("d" + text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dim), np.float32)

    def encode_query(self, text: str) -> np.ndarray:
        self.asked.append(text)
        return self._row("q" + text)

    def _row(self, text: str) -> np.ndarray:
        seed = [ord(letter) for letter in text + self.digest]
        row = np.random.default_rng(seed).standard_normal(self.dim)
        return (row / np.linalg.norm(row)).astype(np.float32)


def test_the_second_time_nothing_is_asked_and_every_bit_is_the_same(tmp_path: Path) -> None:
    texts = ["one", "two", "", "\ud800", "🙂" * 500]
    first, second = Letters(), Letters()
    cold = CachedEmbedder(first, tmp_path / "v.sqlite").encode(texts)
    warm = CachedEmbedder(second, tmp_path / "v.sqlite").encode(texts[::-1])[::-1]
    assert first.asked == texts
    assert second.asked == []
    assert warm.tobytes() == cold.tobytes() == Letters().encode(texts).tobytes()
    assert warm.dtype == np.float32


def test_it_looks_like_the_embedder_inside(tmp_path: Path) -> None:
    cached = CachedEmbedder(Letters(), tmp_path / "v.sqlite")
    assert isinstance(cached, Embedder)
    assert (cached.name, cached.digest, cached.dim, cached.max_tokens) == ("letters", "letters-1", 16, 99)
    assert cached.encode([]).shape == (0, 16)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "", "\0", "é"]), max_size=12))
def test_equal_texts_are_asked_for_once(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    inner = Letters()
    cached = CachedEmbedder(inner, tmp_path_factory.mktemp("c") / "v.sqlite")
    assert cached.encode(texts).tobytes() == Letters().encode(texts).tobytes()
    assert inner.asked == list(dict.fromkeys(texts))
    assert (cached.hits, cached.misses, cached.bypassed) == (0, len(set(texts)), 0)
    cached.close()


def test_queries_and_documents_and_models_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    one, other = Letters(), Letters("letters-2")
    cached = CachedEmbedder(one, path)
    document, query = cached.encode(["x"])[0], cached.encode_query("x")
    assert not np.array_equal(document, query)
    assert np.array_equal(query, Letters().encode_query("x"))
    assert np.array_equal(CachedEmbedder(one, path).encode_query("x"), query)
    assert one.asked == ["x", "x"]
    assert np.array_equal(CachedEmbedder(other, path).encode(["x"]), Letters("letters-2").encode(["x"]))


def test_more_texts_than_one_statement_takes(tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(1234)]
    cached = CachedEmbedder(Letters(), tmp_path / "v.sqlite")
    assert cached.encode(texts).tobytes() == cached.encode(texts).tobytes()
    assert (cached.hits, cached.misses) == (1234, 1234)


def test_the_size_is_bounded_and_the_least_recently_used_go_first(tmp_path: Path) -> None:
    inner = Letters()
    limit = 200_000
    cached = CachedEmbedder(inner, tmp_path / "v.sqlite", max_bytes=limit)
    for start in range(0, 6000, 100):
        cached.encode(["always", *(f"text {n}" for n in range(start, start + 100))])
    cached.close()
    assert (tmp_path / "v.sqlite").stat().st_size < 1.5 * limit
    assert inner.asked.count("always") == 1
    inner.asked.clear()
    again = CachedEmbedder(inner, tmp_path / "v.sqlite", max_bytes=limit)
    again.encode([f"text {n}" for n in range(5900, 6000)])
    assert inner.asked == []
    again.encode(["text 0"])
    assert inner.asked == ["text 0"]


def works_anyway(cached: CachedEmbedder, reason: str) -> None:
    assert cached.encode(["one", "two"]).tobytes() == Letters().encode(["one", "two"]).tobytes()
    assert np.array_equal(cached.encode_query("one"), Letters().encode_query("one"))
    assert cached.bypassed > 0
    assert reason in cached.trouble
    assert str(cached.path) in cached.trouble


def test_a_file_that_is_not_a_database(tmp_path: Path) -> None:
    (tmp_path / "v.sqlite").write_bytes(b"this is not a database, it is a sentence" * 99)
    works_anyway(CachedEmbedder(Letters(), tmp_path / "v.sqlite"), "not a database")
    assert (tmp_path / "v.sqlite").read_bytes().startswith(b"this is not")


def test_a_database_damaged_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    cached = CachedEmbedder(Letters(), path)
    texts = [f"text {n}" for n in range(500)]
    cached.encode(texts)
    cached.close()
    raw = bytearray(path.read_bytes())
    for place in range(5000, len(raw), 97):
        raw[place] ^= 0xFF
    path.write_bytes(raw)
    again = CachedEmbedder(Letters(), path)
    assert again.encode(texts).tobytes() == Letters().encode(texts).tobytes()
    assert again.bypassed + again.misses > 0


def test_a_vector_that_rotted_is_computed_again(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    CachedEmbedder(Letters(), path).encode(["one", "two"])
    with sqlite3.connect(path) as database:
        database.execute("UPDATE vectors SET vector = zeroblob(72)")
    database.close()
    inner = Letters()
    assert CachedEmbedder(inner, path).encode(["one"]).tobytes() == Letters().encode(["one"]).tobytes()
    assert inner.asked == ["one"]
    inner.asked.clear()
    CachedEmbedder(inner, path).encode(["one"])
    assert inner.asked == []  # and the good one took its place


def test_a_locked_file(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    CachedEmbedder(Letters(), path).encode(["zero"])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    works_anyway(CachedEmbedder(Letters(), path), "locked")
    other.execute("ROLLBACK")
    other.close()
    free = CachedEmbedder(Letters(), path)
    free.encode(["one"])
    assert free.bypassed == 0


@pytest.mark.parametrize("place", ["a folder", "a file/v.sqlite"])
def test_a_place_where_no_file_can_be(tmp_path: Path, place: str) -> None:
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a file").touch()
    works_anyway(CachedEmbedder(Letters(), tmp_path / place), "")


def test_a_file_of_another_format(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "v.sqlite") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    works_anyway(CachedEmbedder(Letters(), tmp_path / "v.sqlite"), "format 99")


def test_a_hopeless_file_is_left_alone_after_a_few_tries(tmp_path: Path) -> None:
    (tmp_path / "v.sqlite").write_bytes(b"x" * 5000)
    cached = CachedEmbedder(Letters(), tmp_path / "v.sqlite")
    for _ in range(4):
        cached.encode(["one"])
    (tmp_path / "v.sqlite").unlink()
    cached.encode(["one"])
    assert not (tmp_path / "v.sqlite").exists()
    assert cached.bypassed == 10


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_embed_vector_cache import Letters
from assay.embed.vector_cache import CachedEmbedder
cached = CachedEmbedder(Letters(), Path(sys.argv[2]))
def same(texts):
    return cached.encode(texts).tobytes() == Letters().encode(texts).tobytes()
"""


def child(program: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD + program, str(Path(__file__).parent), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_full_disk(tmp_path: Path) -> None:
    """A limit on file size stands in for it: writes fail in the middle, as they do on a full disk."""
    pytest.importorskip("resource")
    program = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
print(all([same([f"text {n}" for n in range(start, start + 300)]) for start in range(0, 3000, 300)]))
print(cached.bypassed > 0)
"""
    output, _ = child(program, str(tmp_path / "v.sqlite")).communicate()
    assert output == "True\nTrue\n"


def test_many_processes_share_one_file(tmp_path: Path) -> None:
    program = """
print(all([same([f"text {n}" for n in range(start, start + 20)]) for start in range(0, 300, 20)]))
"""
    crowd = [child(program, str(tmp_path / "v.sqlite")) for _ in range(4)]
    assert [process.communicate()[0] for process in crowd] == ["True\n"] * 4
    inner = Letters()
    cached = CachedEmbedder(inner, tmp_path / "v.sqlite")
    cached.encode([f"text {n}" for n in range(300)])
    assert cached.bypassed == 0
    database = sqlite3.connect(tmp_path / "v.sqlite")
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_after_a_fork_the_child_opens_the_file_anew(tmp_path: Path) -> None:
    program = """
import os
cached.encode(["before"])
if (pid := os.fork()) == 0:
    cached.encode(["before", "in the child"])
    os._exit(0 if (cached.hits, cached.bypassed) == (1, 0) else 1)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
cached.encode(["in the child"])
print(status, cached.hits, cached.bypassed)
"""
    output, _ = child(program, str(tmp_path / "v.sqlite")).communicate()
    assert output == "0 1 0\n"


def test_the_default_place_is_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    CachedEmbedder(Letters()).encode(["one"])
    assert (tmp_path / "home" / "vectors.sqlite").is_file()


def test_around_the_real_model(minilm: BertEncoder, tmp_path: Path) -> None:
    texts = ["How do I rotate the signing key?", "", "機械学習"]
    cached = CachedEmbedder(minilm, tmp_path / "v.sqlite")
    cold, warm = cached.encode(texts), cached.encode(texts)
    assert cold.tobytes() == warm.tobytes() == minilm.encode(texts).tobytes()
    assert (cached.hits, cached.misses) == (3, 3)
