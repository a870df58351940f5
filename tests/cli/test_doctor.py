"""Every check of `doctor` can fail, and says what cures it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from assay import kb
from assay.backend.local import health
from assay.embed import default_spec
from assay.embed.cache_home import cache_home
from assay.upkeep.doctor import Check, examine

Run = Callable[..., Result]


def check(folder: Path, name: str, **options: bool) -> Check:
    (found,) = [check for check in examine(folder, **options) if check.name == name]
    return found


def change(store: Path, sql: str) -> None:
    db = sqlite3.connect(store / "assay.sqlite")
    db.execute(sql)
    db.commit()
    db.close()
    (store / "assay.sqlite-commits").unlink(missing_ok=True)  # or the store would not be opened at all


def test_a_healthy_store(run: Run, made_store: Path) -> None:
    checks = {check.name: check for check in examine(made_store, deep=True)}
    assert list(checks) == [
        "store", "database", "index", "index files", "tail",
        "vectors", "model", "languages", "disk", "folders", "leftovers",
    ]  # fmt: skip
    assert {name for name, check in checks.items() if check.state == "fail"} == set()
    assert checks["vectors"].state == "warn"  # it was made without a model
    result = run("doctor", "--store", made_store)
    assert result.exit_code == 0
    assert "! vectors    made without an embedding model" in result.stdout
    assert "cure: assay model install, then assay optimize --embed" in result.stdout


def test_no_store(run: Run, tmp_path: Path) -> None:
    result = run("doctor", "--store", tmp_path / "nope")
    assert result.exit_code == 1
    assert "✗ store" in result.stdout
    assert "cure: make one: assay add" in result.stdout


def test_damaged_pages(store: Path) -> None:
    with kb.open(store) as base:
        base.store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file = store / "assay.sqlite"
    whole = file.read_bytes()
    file.write_bytes(whole[:8192] + os.urandom(len(whole) - 8192))
    (noticed, _) = examine(store)
    assert (noticed.name, noticed.state) == ("store", "fail")
    assert "damaged" in noticed.text
    assert "restore" in noticed.cure


def test_a_chunk_that_is_not_what_was_written(store: Path) -> None:
    change(store, "UPDATE chunk SET text = 'forged' WHERE doc_id = 'handbook/food.md'")
    assert check(store, "database").state == "ok"
    deep = check(store, "database", deep=True)
    assert deep.state == "fail"
    assert "1 chunks are not what was written" in deep.text


def test_a_lost_index(store: Path) -> None:
    shutil.rmtree(store / "generations")
    found = check(store, "index")
    assert (found.state, found.cure) == ("warn", "assay optimize")
    with kb.open(store) as base:
        assert len(base.search("signing key")) == 3  # right all the same


def test_changes_since_the_index(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kb.open(store) as base:
        base.remove("handbook/food.md")
        base.add(["one", "two"])
    assert check(store, "tail") == Check("tail", "ok", "2 new and 1 removed since the index was built")
    monkeypatch.setattr(health, "COMPACT_FROM", 3)
    assert check(store, "tail").state == "warn"


def test_missing_vectors_and_another_model(store: Path) -> None:
    change(store, "UPDATE setting SET value = '384' WHERE key = 'dim'")
    change(store, "UPDATE setting SET value = '\"minilm\"' WHERE key = 'embedder'")
    change(store, "UPDATE setting SET value = '\"0123456789abcdef\"' WHERE key = 'model'")
    vectors = check(store, "vectors")
    assert (vectors.state, vectors.cure) == ("fail", "assay optimize --embed")
    assert "6 chunks have none" in vectors.text
    assert check(store, "index").state == "warn"  # it was built for another model
    model = check(store, "model")
    assert model.state == "fail"
    assert "0123456789ab" in model.text or "not installed" in model.text


@pytest.mark.skipif(default_spec() == "none", reason="the embedding model is not installed")
def test_a_damaged_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = cache_home() / "models" / "minilm"
    there = tmp_path / "home" / "models" / "minilm"
    there.mkdir(parents=True)
    shutil.copy(here / "manifest.json", there)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    assert check(tmp_path / "nope", "model").state == "fail"
    (there / "manifest.json").unlink()
    assert check(tmp_path / "nope", "model").state == "warn"


def test_foreign_languages(store: Path) -> None:
    change(store, "UPDATE chunk SET meta = json_set(meta, '$.lang', 'de')")
    assert check(store, "languages").state == "ok"  # words only: no model to mislead
    change(store, "UPDATE setting SET value = '\"minilm\"' WHERE key = 'embedder'")
    found = check(store, "languages")
    assert found.state == "warn"
    assert "100% of the chunks are not in English" in found.text


def test_little_room(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = shutil.disk_usage(store).free
    monkeypatch.setattr(health, "LEAST_FREE", free * 2)
    assert check(store, "disk").state == "fail"


def test_a_source_that_is_gone(store: Path) -> None:
    change(store, "UPDATE source SET root = '/no/such/folder'")
    found = check(store, "folders")
    assert found.state == "warn"
    assert "handbook (/no/such/folder)" in found.text
    assert "--moved" in found.cure


def test_leftovers_of_the_dead_but_not_of_the_living(store: Path) -> None:
    (store / "generations" / f".00000007.{os.getpid()}").mkdir()
    assert check(store, "leftovers").state == "ok"
    (store / ".assay.sqlite.999999999-wal").write_bytes(b"")
    (store / "generations" / ".00000042.999999999").mkdir()
    found = check(store, "leftovers")
    assert (found.state, found.cure) == ("warn", "assay optimize")
    assert ".assay.sqlite.999999999-wal, generations/.00000042.999999999" in found.text
