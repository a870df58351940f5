"""After a purge no file of the store, its caches or its backups holds the secret, in any spelling we can think of."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from assay import embed, memory
from assay.embed.installed_models import find_model, models_folder
from assay.embed.token_cache import CachedTokens
from assay.embed.token_codes import open_coder
from assay.embed.vector_cache import hash_text
from assay.errors import StoreError
from assay.memory.service import MemoryService
from assay.upkeep.backup import backup, known_backups, restore

SECRET = "Xylophonia Quetzalcoatl"
"""Its terms are stems of nothing else here."""
ASK = {"scope": "global", "adaptive": False}


def holding(folder: Path, *marks: bytes) -> list[str]:
    """Every file below a folder that holds one of these, in any case, as UTF-8 or UTF-16."""
    wanted = [m for mark in marks for m in (mark.lower(), mark.lower().decode("latin-1").encode("utf-16-le"))]
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [str(path.relative_to(folder)) for path in files if any(m in path.read_bytes().lower() for m in wanted)]


MARKS = (b"xylophon", b"quetzalcoatl")


@pytest.fixture
def filled(mem: MemoryService, tmp_path: Path) -> tuple[MemoryService, str]:
    """A secret that was updated, superseded something, was indexed, looked back at and backed up."""
    for number in range(5):
        mem.store(f"Plain fact {number} about apples.", on_duplicate="force")
    old = mem.store(f"The old password is {SECRET} the First.").id
    name = mem.store(f"The password is {SECRET}.", supersedes=old, tags=["password"]).id
    mem.kb.optimize()
    mem.kb.tag("before")
    mem.update(name, scope="global", text=f"The password is {SECRET} the Third.")
    mem.kb.optimize()
    assert len(mem.kb.search(SECRET, snapshot="before")) > 0  # builds an index of that moment
    mem.kb.search(SECRET, snapshot="v2")
    (tmp_path / "backups").mkdir()
    backup(mem.kb.store, tmp_path / "backups" / "one.bak")
    mem.store("A last fact about pears.")
    return mem, name


def test_no_file_holds_the_secret_after_a_purge(filled: tuple[MemoryService, str], tmp_path: Path) -> None:
    mem, name = filled
    before = holding(tmp_path, *MARKS)
    assert any("generations" in path for path in before)
    assert any("snapshots" in path for path in before)
    assert any(path.startswith("m/assay.sqlite") for path in before)
    assert "backups/one.bak" in before
    done = mem.forget(name[:6], scope="global", purge=True)
    assert (done.done, done.purged, len(done.memories)) == (True, True, 2)
    assert holding(tmp_path, *MARKS) == []
    message = "\n".join(done.erased)
    for part in ("assay.sqlite: 4 rows", "indexes:", "one.bak: 4 rows"):
        assert part in message
    assert any("copies nobody told this store of" in limit for limit in done.unreached)
    assert not any("assay.sqlite" in limit or "index" in limit or "backup /" in limit for limit in done.unreached)
    assert mem.recall(f"{SECRET} password", pipeline="bm25", **ASK).hits == ()
    with pytest.raises(StoreError, match="no memory here"):
        mem.history(name, scope="global")
    assert mem.stats("global").memories == 6
    assert len(mem.recall("fact about apples", pipeline="bm25", k=9, **ASK).hits) == 6
    assert mem.kb.search(SECRET, snapshot="v2").hits == ()
    restore(tmp_path / "backups" / "one.bak", tmp_path / "again").close()
    with memory.open(tmp_path / "again") as again:
        assert again.stats("global").memories == 5
        again.kb.optimize(force=True)
    assert holding(tmp_path, *MARKS) == []


def test_what_was_forgotten_before_can_be_purged_later(filled: tuple[MemoryService, str], tmp_path: Path) -> None:
    mem, name = filled
    mem.forget(name, scope="global")
    assert holding(tmp_path / "m", *MARKS)
    assert mem.stats("global").hidden == 2
    done = mem.forget(name, scope="global", purge=True)
    assert len(done.memories) == 2
    assert holding(tmp_path, *MARKS) == []
    assert mem.stats("global").hidden == 0


def test_another_process_view_never_brings_it_back(filled: tuple[MemoryService, str], tmp_path: Path) -> None:
    """Another opening of the folder has the secret in its tail and its index when it is purged."""
    mem, name = filled
    with memory.open(tmp_path / "m", clock=mem.clock) as other:
        assert other.get(name, scope="global").id == name
        done = mem.forget(name, scope="global", purge=True)
        assert any("which is open" in line for line in done.unreached)  # by `other`, and it says so
        assert other.recall(f"{SECRET} password", pipeline="bm25", **ASK).hits == ()
        assert [entry.text for entry in other.list(scope="global") if SECRET in entry.text] == []
        with pytest.raises(StoreError, match="no memory here"):
            other.get(name, scope="global")
    (keep,) = [entry for entry in mem.list(scope="global") if "pears" in entry.text]
    mem.forget(keep.id, scope="global", purge=True)  # the next purge sweeps what was open
    assert holding(tmp_path, *MARKS) == []


def test_a_backup_that_is_gone_or_broken_is_named(filled: tuple[MemoryService, str], tmp_path: Path) -> None:
    mem, name = filled
    (tmp_path / "backups" / "one.bak").rename(tmp_path / "moved.bak")
    (tmp_path / "backups" / "one.bak").write_text("not a database")
    done = mem.forget(name, scope="global", purge=True, backups=[tmp_path / "moved.bak", tmp_path / "nowhere.bak"])
    messages = [line for line in done.unreached if line.startswith("backup ")]
    assert len(messages) == 2
    assert "not a database" in messages[0]
    assert "nowhere.bak: it is not there" in messages[1]
    assert holding(tmp_path, *MARKS) == []


def test_a_store_remembers_its_backups(mem: MemoryService, tmp_path: Path) -> None:
    mem.store("The vault is in room 12.")
    assert known_backups(mem.kb.store) == ()
    for name in ("b", "a", "b"):
        backup(mem.kb.store, tmp_path / name, replace=True)
    assert known_backups(mem.kb.store) == (tmp_path / "a", tmp_path / "b")
    restored = restore(tmp_path / "a", tmp_path / "new")
    assert tmp_path / "a" in known_backups(restored)
    restored.close()


@pytest.mark.skipif(find_model("minilm") is None, reason="the embedding model is not installed (assay model install)")
def test_the_caches_forget_the_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = models_folder()
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("JINA_API_KEY", raising=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "models").symlink_to(models)
    text = f"The password is {SECRET}."
    with memory.open(tmp_path / "m", embedder="minilm") as mem:
        name = mem.store(text).id
        mem.store("Apples are kept in the cellar.")
        mem.recall(text, **ASK)
        assert (
            cached(tmp_path / "home" / "vectors.sqlite", hash_text(b"document", text), hash_text(b"query", text)) == 2
        )
        done = mem.forget(name, scope="global", purge=True)
        assert (
            cached(tmp_path / "home" / "vectors.sqlite", hash_text(b"document", text), hash_text(b"query", text)) == 0
        )
        assert (
            cached(tmp_path / "home" / "vectors.sqlite", hash_text(b"document", "Apples are kept in the cellar.")) == 1
        )
        assert "cache vectors.sqlite: 2 entries" in done.erased
    own = [path for path in tmp_path.iterdir() if path.name != "home"]
    assert [found for folder in own for found in holding(folder, *MARKS)] == []
    for cache in (tmp_path / "home").glob("*.sqlite*"):
        assert hash_text(b"document", text) not in cache.read_bytes()


@pytest.mark.skipif(find_model("minilm") is None, reason="the embedding model is not installed (assay model install)")
def test_the_caches_forget_what_a_reranker_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    coder = open_coder(embed.load("minilm"), 1)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    text, other = f"The password is {SECRET}.", "The password is kept in the cellar."
    with memory.open(tmp_path / "m", embedder="none") as mem:
        name = mem.store(text).id
        mem.store(other)
        CachedTokens(coder).codes([text, other])  # as late interaction keeps them
        path = tmp_path / "home" / "tokens.sqlite"
        assert cached(path, hash_text(b"tokens", text), hash_text(b"tokens", other)) == 2
        done = mem.forget(name, scope="global", purge=True)
        assert "cache tokens.sqlite: 1 entry" in done.erased
        assert cached(path, hash_text(b"tokens", text), hash_text(b"tokens", other)) == 1
    for cache in (tmp_path / "home").glob("tokens.sqlite*"):
        assert hash_text(b"tokens", text) not in cache.read_bytes()


def cached(path: Path, *keys: bytes) -> int:
    with sqlite3.connect(path) as db:
        return sum(db.execute("SELECT count(*) FROM vectors WHERE text = ?", (key,)).fetchone()[0] for key in keys)
