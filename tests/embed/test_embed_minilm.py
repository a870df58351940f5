from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.embed import bert as specs
from assay.embed.bert import BertEncoder, first_pieces, open_encoder
from assay.embed.installed_models import InstalledModel
from assay.embed.shipped_models import INT8
from assay.embed.unit_vectors import compute_digest
from assay.errors import ConfigError, ModelError
from assay.protocols import Embedder
from assay.text.wordpiece import encode_pieces

TEXTS = [
    "How do I rotate the signing key?",
    "",
    " \n\t",
    "🙂",
    "\ud800 lone \udfff surrogates",
    "nul \0 and \x1b control",
    "مرحبا بالعالم",
    "機械学習の入門",
    "e\u0301" * 50,
    "[CLS] [SEP] [PAD] [MASK]",
    "word " * 2000,
    "x" * 5000,
    "Keys are rotated every ninety days. " * 4,
]


def test_every_vector_is_finite_float32_and_of_length_one(minilm: BertEncoder) -> None:
    vectors = minilm.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors.astype(np.float64), axis=1) == pytest.approx(1, abs=1e-6)


def test_it_is_an_embedder_and_frozen(minilm: BertEncoder) -> None:
    assert isinstance(minilm, Embedder)
    assert (minilm.name, minilm.dim, minilm.max_tokens) == ("minilm", 384, 256)
    with pytest.raises(FrozenInstanceError):
        minilm.dim = 3  # type: ignore[misc]


@pytest.mark.parametrize("tier", ["minilm", "minilm-exact"])
def test_workers_and_neighbours_change_no_bit(tier: str, model: InstalledModel) -> None:
    one = open_encoder(tier, workers=1)
    alone = np.stack([one.encode_query(text) for text in TEXTS])
    for workers in (1, 2, 4):
        assert replace(one, workers=workers).encode(TEXTS).tobytes() == alone.tobytes()
    backwards = open_encoder(tier, workers=3).encode(TEXTS[::-1])
    assert backwards[::-1].tobytes() == alone.tobytes()


def test_another_process_gives_the_same_bytes(minilm: BertEncoder) -> None:
    program = (
        "import sys; from assay.embed.bert import open_encoder\n"
        "sys.stdout.buffer.write(open_encoder('minilm', workers=2).encode(['one text', 'another']).tobytes())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "1"}
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, env=environment)
    assert found.stdout == minilm.encode(["one text", "another"]).tobytes()
    assert found.stderr == b""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_gives_the_same_bytes(model: InstalledModel) -> None:
    program = """
import os
from assay.embed.bert import open_encoder
embedder, texts = open_encoder("minilm", workers=3), ["one text", "another", "", "a fourth"]
before = embedder.encode(texts).tobytes()
if (child := os.fork()) == 0:
    os._exit(0 if embedder.encode(texts).tobytes() == before else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=120).returncode == 0


def test_meaning_is_found(minilm: BertEncoder) -> None:
    query = minilm.encode_query("How can I change my password?")
    near, far = minilm.encode(["Resetting the login secret of your account", "The recipe needs two eggs and flour"])
    assert query @ near > query @ far + 0.2


def test_known_cosines_of_the_published_model(exact: BertEncoder) -> None:
    """Values that the model's publisher shows for it, so the whole path is right: tokens, graph and pooling."""
    a, b = exact.encode(["That is a happy person", "That is a happy dog"])
    c = exact.encode_query("Today is a sunny day")
    assert float(a @ b) == pytest.approx(0.695, abs=2e-3)
    assert float(a @ c) == pytest.approx(0.257, abs=2e-3)


def test_int8_is_close_to_exact(minilm: BertEncoder, exact: BertEncoder) -> None:
    texts = [
        "How do I rotate the signing key?",
        "Keys are rotated every ninety days; the old key stays valid for one more day.",
        "Aspirin lowers the risk of a second heart attack, but not that of a first one.",
        "KEP-1287: in-place update of pod resources",
        "機械学習の入門",
    ]
    cosine = (minilm.encode(texts) * exact.encode(texts)).sum(axis=1)
    assert cosine.min() > 0.99
    assert cosine.max() < 0.9999  # the two tiers are not one and the same graph


def test_the_tail_of_a_long_text_is_not_seen(minilm: BertEncoder) -> None:
    head = "word " * 254
    assert minilm.encode_query(head + "signing key").tobytes() == minilm.encode_query(head).tobytes()
    shorter = "word " * 253
    assert minilm.encode_query(shorter + "signing").tobytes() != minilm.encode_query(shorter + "word").tobytes()


def test_no_texts_no_rows(minilm: BertEncoder) -> None:
    assert minilm.encode([]).shape == (0, 384)
    assert minilm.token_vectors([]) == []


def test_token_vectors(minilm: BertEncoder) -> None:
    found = minilm.token_vectors(TEXTS)
    assert [len(rows) for rows in found] == [min(254, len(encode_pieces(text))) for text in TEXTS]
    for rows in found:
        assert rows.dtype == np.float32
        assert rows.shape[1] == 384
        assert np.linalg.norm(rows.astype(np.float64), axis=1) == pytest.approx(1, abs=1e-6)
    alone = minilm.token_vectors(TEXTS[:1])[0]
    assert alone.tobytes() == found[0].tobytes()
    raw = minilm.hidden([101, *encode_pieces(TEXTS[0]), 102])
    assert found[0][2] == pytest.approx(raw[3] / np.linalg.norm(raw[3]), abs=1e-6)


WORDS = st.text(st.characters(), max_size=12) | st.sampled_from(["a " * 90, "ΑΣ", "\n", "x" * 130, "日本"])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(WORDS, max_size=9), st.integers(1, 12))
def test_reading_only_the_head_gives_the_same_pieces(parts: list[str], limit: int) -> None:
    text = " ".join(parts) * 4
    assert first_pieces(text, limit) == encode_pieces(text)[:limit]


def test_digests_tell_tiers_apart_and_ignore_place_and_workers(
    minilm: BertEncoder, exact: BertEncoder, model: InstalledModel, tmp_path: Path
) -> None:
    shutil.copytree(model.folder, tmp_path / "models" / "minilm")
    moved = open_encoder("minilm", under=tmp_path, workers=7)
    assert moved.digest == minilm.digest != exact.digest
    assert replace(minilm, workers=9).digest == minilm.digest


def test_a_missing_model_names_its_cure(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not installed") as caught:
        open_encoder("minilm", under=tmp_path)
    assert caught.value.cure == "assay model install"


def test_a_damaged_model_is_not_used(model: InstalledModel, tmp_path: Path) -> None:
    folder = tmp_path / "models" / "minilm"
    shutil.copytree(model.folder, folder)
    graph = bytearray((folder / "int8.onnx").read_bytes())
    graph[len(graph) // 2] ^= 1
    (folder / "int8.onnx").write_bytes(graph)
    with pytest.raises(ModelError, match=r"int8\.onnx is damaged"):
        open_encoder("minilm", under=tmp_path)
    (folder / "exact.onnx").unlink()
    with pytest.raises(ModelError, match=r"exact\.onnx cannot be read"):
        open_encoder("minilm-exact", under=tmp_path)


@pytest.mark.parametrize("factory", [specs.open_minilm, specs.open_minilm_exact])
def test_the_specs_take_no_argument(factory: object) -> None:
    with pytest.raises(ConfigError, match="takes no argument"):
        factory("fast")  # type: ignore[operator]


def test_the_digest_covers_the_bytes_of_the_graph(model: InstalledModel, minilm: BertEncoder) -> None:
    """Another graph of the same weights makes other vectors; in a store or a cache they must not meet."""
    facts = {"weights": model.weights, "numbers": INT8, "pooling": "mean", "max_tokens": 256}
    assert minilm.digest == compute_digest({**facts, "graph": model.files[INT8]})
    assert minilm.digest != compute_digest({**facts, "graph": "0" * 64})
