"""A process opens the same model once; a model whose files changed is opened again."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from test_embed_onnx import make_model, make_tokenizer

import assay
from assay import embed
from assay.embed import bert, onnx
from assay.embed.installed_models import InstalledModel
from assay.embed.model_cache import ModelCache


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The paths of the ONNX sessions opened in this test."""
    opened: list[Path] = []
    for module in (bert, onnx):
        open_session = module.open_session

        def count(path: Path, *args: Any, open_session: Any = open_session, **options: Any) -> Any:
            opened.append(path)
            return open_session(path, *args, **options)

        monkeypatch.setattr(module, "open_session", count)
    embed._models.clear()
    return opened


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    make_tokenizer(folder / "tokenizer.json")
    make_model(folder / "model.onnx")
    return folder


def test_a_new_store_opens_its_model_once(model: InstalledModel, sessions: list[Path], tmp_path: Path) -> None:
    with assay.open(tmp_path / "store", embedder="minilm") as kb:
        kb.add([{"text": "Keys rotate every ninety days."}])
        assert kb.search("how often do keys rotate?").hits
    assert sessions == [model.folder / "int8.onnx"]
    with assay.open(tmp_path / "other", embedder="minilm") as kb:
        kb.add([{"text": "Backups run at night."}])
    assert len(sessions) == 1


def test_a_new_store_opens_an_onnx_folder_once(sessions: list[Path], encoder: Path, tmp_path: Path) -> None:
    with assay.open(tmp_path / "store", embedder=f"onnx:{encoder}") as kb:
        kb.add([{"text": "up right"}])
    assert sessions == [encoder / "model.onnx"]


def test_a_reinstalled_model_is_opened_again(
    model: InstalledModel, sessions: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    shutil.copytree(model.folder, home / "models" / "minilm")
    monkeypatch.setenv("ASSAY_HOME", str(home))
    first = embed.load("minilm")
    assert embed.load("minilm") is first
    graph = home / "models" / "minilm" / "int8.onnx"
    graph.write_bytes(graph.read_bytes())
    os.utime(graph, ns=(0, 0))
    assert embed.load("minilm") is not first
    graph.write_bytes(b"damaged")
    with pytest.raises(assay.errors.ModelError, match="damaged"):
        embed.load("minilm")
    graph.unlink()
    with pytest.raises(assay.errors.ModelError):
        embed.load("minilm")
    assert len(sessions) == 2


def test_a_changed_setting_of_a_folder_opens_it_again(sessions: list[Path], encoder: Path) -> None:
    first = embed.load(f"onnx:{encoder}")
    assert embed.load(f"onnx:{encoder}") is first
    (encoder / "1_Pooling").mkdir()
    (encoder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    second = embed.load(f"onnx:{encoder}")
    assert first is not None
    assert second is not None
    assert second.digest != first.digest
    assert len(sessions) == 2


def test_a_replaced_factory_is_used(
    model: InstalledModel, sessions: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = embed.load("minilm")
    stub = object()
    monkeypatch.setattr(bert, "open_minilm", lambda _: stub)
    assert embed.load("minilm") is stub
    monkeypatch.undo()
    assert embed.load("minilm") is first


def test_the_least_recently_used_model_goes_first() -> None:
    cache = ModelCache(2)
    opened: list[str] = []

    def get(key: str) -> None:
        cache.get(key, lambda: opened.append(key))  # type: ignore[arg-type, return-value, func-returns-value]

    for key in "abacab":
        get(key)
    assert opened == ["a", "b", "c", "b"]


def test_threads_open_a_model_once() -> None:
    cache, opened = ModelCache(), []

    def open_model() -> Any:
        opened.append(1)
        time.sleep(0.02)
        return object()

    threads = [threading.Thread(target=cache.get, args=("key", open_model)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1


def test_an_error_is_not_cached() -> None:
    cache = ModelCache()
    with pytest.raises(ZeroDivisionError):
        cache.get("key", lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    assert cache.get("key", lambda: "model") == "model"  # type: ignore[arg-type, return-value, comparison-overlap]
