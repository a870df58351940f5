"""`assay reembed` under kill -9: the old vectors serve, nothing is lost, the same command goes on where it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from corpus import write

import assay
from assay.upkeep.doctor import examine

MODEL = '''
import hashlib, os, time
import numpy as np

class Hashed:
    """A tiny embedder that notes every text it was given; `slow` takes its time."""

    max_tokens = 256

    def __init__(self, spec):
        self.dim, self.slow = (24, 0.05) if spec == "slow" else (16, 0.0)
        self.name = self.digest = f"hashed-{self.dim}"

    def encode(self, texts):
        time.sleep(self.slow)
        if self.slow:
            handle = os.open(os.environ["NOTES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(handle, b"x" * len(texts))
            os.close(handle)
        return np.stack([self.encode_query(text) for text in texts])

    def encode_query(self, text):
        out = np.full(self.dim, 0.01)
        for word in text.lower().split():
            out[hashlib.sha256(word.encode()).digest()[0] % self.dim] += 1.0
        return (out / np.linalg.norm(out)).astype(np.float32)
'''
COMMAND = "from assay.upkeep import reembed; reembed.BATCH = 4; from assay.cli.main import main; main()"


@pytest.fixture
def place(vector_store: str) -> str:
    return vector_store


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A third party's embedder, installed as `pip` would, here and for the processes started here."""
    site = tmp_path / "site"
    facts = site / "hashed-1.0.dist-info"
    facts.mkdir(parents=True)
    (site / "hashed.py").write_text(MODEL)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: hashed\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[assay.embedders]\nhashed = hashed:Hashed\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])}


def started(place: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", COMMAND, "reembed", "--embedder", "hashed:slow", "--store", place]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def dense(place: str) -> list[tuple[str, float]]:
    with assay.open(place) as base:
        answer = base.search("gateway invoice queue", k=5, pipeline="dense")
        assert not answer.status.degraded
        return [(hit.id, hit.score) for hit in answer]


@pytest.mark.slow
def test_killed_half_way_and_on(place: str, tmp_path: Path, environment: dict[str, str]) -> None:
    notes = tmp_path / "notes"
    with assay.open(place, embedder="hashed:fast") as base:
        base.add(write(tmp_path / "docs", range(10)))
        chunks = base.snapshot().size
    before = dense(place)
    made = 0
    for _ in range(2):
        child = started(place, environment)
        while made + 8 > (notes.stat().st_size if notes.exists() else 0):
            assert child.poll() is None, child.communicate()[0]
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        assert child.returncode == -9
        made = notes.stat().st_size
        assert dense(place) == before, "the old vectors serve until the last new one is there"
        assert all(check.state != "fail" for check in examine(place) if check.name != "model")
    child = started(place, environment)
    said = child.communicate()[0]
    assert child.returncode == 0, said
    embedded = int(said.strip().splitlines()[-1].split()[1])
    assert 0 < embedded <= chunks - 8, "what was committed before a kill is not made again"
    assert notes.stat().st_size <= chunks + 2 * 4, "a kill costs at most the batch under way"
    with assay.open(place) as base:
        assert (base.spec, base.store.settings["dim"]) == ("hashed:slow", 24)
        assert base.snapshot().size == chunks
        assert not base.store.rows_without_vector()
    assert dense(place) != before
