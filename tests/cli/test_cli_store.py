"""ls, rm, tag, stats, optimize, export, backup, restore."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from assay import kb
from assay.embed.installed_models import find_model, models_folder
from assay.rerank.late_interaction import open_token_cache

Run = Callable[..., Result]


def test_ls_lists_sources_files_and_chunks(run: Run, made_store: Path) -> None:
    shown = run("ls", "--store", made_store).stdout.splitlines()
    assert shown[0].startswith("handbook  /")
    assert [line.split("  ")[1] for line in shown[1:-1]] == ["evil.txt", "food.md", "keys.md", "people.jsonl"]
    assert "  people.jsonl  2 documents, 2 chunks, " in "\n".join(shown)
    assert shown[-1] == "4 files, 5 documents, 6 chunks"
    assert run("ls", "handbook/keys", "--store", made_store).stdout.splitlines()[-1] == "1 file, 1 document, 2 chunks"
    assert "nothing here begins with 'nope'" in run("ls", "nope", "--store", made_store).stdout


def test_ls_verbose_names_every_chunk(run: Run, made_store: Path) -> None:
    with kb.open(made_store) as base:
        ids = {chunk.id for chunk in base.chunks()}
    shown = run("ls", "-v", "--store", made_store).stdout
    assert all(name in shown for name in ids)
    payload = json.loads(run("ls", "-v", "--json", "--store", made_store).stdout)
    assert {head["id"] for file in payload["files"] for head in file["heads"]} == ids
    assert set(payload["folders"]) == {"handbook"}


def test_rm_asks_before_it_takes_several_documents(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("rm", "handbook/food.md", "--store", store).stdout == "removed handbook/food.md: 1 chunk\n"
    nobody = run("rm", "handbook", "--store", store)
    assert nobody.exit_code == 2
    assert "this removes 4 documents with 5 chunks, and there is nobody to ask" in nobody.stderr
    missing = run("rm", "handbook/keys.md", "nope", "--store", store)
    assert missing.exit_code == 3
    assert "nothing was removed" in missing.stderr
    assert run("ls", "--store", store).stdout.splitlines()[-1] == "3 files, 4 documents, 5 chunks"
    gone = run("rm", "handbook", "handbook/keys.md", "--yes", "--store", store)
    assert gone.stdout == "removed handbook: 5 chunks\n"
    assert "this store is empty" in run("ls", "--store", store).stdout


def test_rm_a_chunk_by_the_beginning_of_its_id(run: Run, store: Path) -> None:
    with kb.open(store) as base:
        chunk = next(base.chunks('title = "Signing keys"'))
    assert run("rm", chunk.id[:6], "--store", store).stdout == f"removed {chunk.id[:6]}: 1 chunk\n"
    with kb.open(store) as base:
        assert chunk.id not in {other.id for other in base.chunks()}
    assert "  keys.md  1 chunk, " in run("ls", "--store", store).stdout  # its file's record is gone, its name is not


def test_rm_says_no(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.cli.commands.rm.is_interactive", lambda: True)
    result = run("rm", "handbook", "--store", store, input="n\n")
    assert (result.exit_code, result.stdout) == (1, "nothing was removed\n")
    assert "Remove 5 documents with 6 chunks?" in result.stderr
    assert run("ls", "--store", store).stdout.splitlines()[-1] == "4 files, 5 documents, 6 chunks"
    assert run("rm", "handbook", "--store", store, input="y\n").stdout == "removed handbook: 6 chunks\n"


def test_stats(run: Run, store: Path) -> None:
    run("tag", "first", "--store", store)
    run("rm", "handbook/food.md", "--store", store)
    payload = json.loads(run("stats", "--json", "--store", store).stdout)
    assert (payload["chunks"], payload["documents"], payload["dead"], payload["pending"]) == (5, 4, 1, 1)
    assert (payload["oldest"], payload["newest"], payload["tags"]) == (0, 2, {"first": 1})
    assert payload["index"]["chunks"] == 6
    assert payload["settings"]["embedder"] == "none"
    assert sum(payload["languages"].values()) == 5
    assert payload["sizes"]["database"] > 0 < payload["sizes"]["index"]
    shown = run("stats", "--store", store).stdout
    assert "    chunks  5; older snapshots also show 1 dead\n" in shown
    assert "      tags  first = v1\n" in shown
    assert "words only" in shown


def test_a_tag_is_a_word(run: Run, store: Path) -> None:
    result = run("tag", "v12", "--store", store)
    assert result.exit_code == 3
    assert "reads like a version" in result.stderr


def test_optimize(run: Run, store: Path) -> None:
    assert run("optimize", "--store", store).stdout == "the index is in step; nothing to do\n"
    assert run("optimize", "--force", "--store", store).stdout == "indexed 6 chunks\n"
    run("rm", "handbook/food.md", "--store", store)
    assert run("optimize", "--store", store).stdout == "indexed 5 chunks\n"
    (store / "generations" / ".00000009.999999999").mkdir()
    (store / ".assay.sqlite.999999999").write_bytes(b"half")
    assert run("optimize", "--store", store).stdout == "removed 2 leftovers of killed processes\n"
    assert not [path for path in store.rglob("*") if "999999999" in path.name]


@pytest.mark.skipif(find_model("minilm") is None, reason="the embedding model is not installed (assay model install)")
def test_token_vectors_ahead_of_time(run: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "models").symlink_to(models_folder())
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    reranked = tmp_path / "reranked.toml"
    reranked.write_text('[legs.bm25]\nnorm = "ideal"\n[[step]]\nuse = "late_interaction"\nbits = 8\n')
    open_token_cache.cache_clear()
    try:
        assert run("optimize", "--tokens", "--store", store).stdout == "made the token vectors of 6 chunks\n"
        assert run("optimize", "--tokens", "--store", store).stdout == "made the token vectors of 0 chunks\n"
        assert "of 6 chunks" in run("optimize", "--tokens", reranked, "--store", store).stdout
        before = open_token_cache("minilm", 8).misses
        assert "Rotation" in run("search", "rotate the signing key", "--pipeline", reranked, "--store", store).stdout
        assert open_token_cache("minilm", 8).misses - before == 1  # the question's own
        open_token_cache.cache_clear()
        (tmp_path / "home" / "tokens.sqlite").write_bytes(b"no database" * 999)
        (tmp_path / "home" / "tokens.sqlite-wal").unlink(missing_ok=True)
        result = run("optimize", "--tokens", "--store", store)
        assert result.exit_code == 4
        assert "could not be kept" in result.stderr
    finally:
        open_token_cache.cache_clear()
    result = run("optimize", "--tokens", "bm25", "--store", store)
    assert result.exit_code == 2
    assert "has no step late_interaction" in result.stderr


def test_forgetting_is_for_good(run: Run, store: Path) -> None:
    run("rm", "handbook/food.md", "--store", store)
    assert "Kitchen" in run("search", "kitchen", "-q", "--snapshot", "v1", "--store", store).stdout
    secret = b"Bring your own cup"
    assert any(secret in path.read_bytes() for path in store.glob("assay.sqlite*"))
    run("tag", "now", "--store", store)
    with sqlite3.connect(store / "assay.sqlite") as db:
        db.execute("INSERT INTO tag VALUES ('then', 1)")
    db.close()
    assert run("doctor", "--accept", "--store", store).exit_code == 0
    messages = run("optimize", "--forget-before", "v2", "--store", store).stdout
    assert "forgot 1 dead chunk; tags of older snapshots went with them: then" in messages
    assert run("search", "kitchen", "-q", "--snapshot", "v1", "--store", store).exit_code == 3
    assert run("search", "kitchen", "-q", "--store", store).stdout == ""
    assert run("search", "signing", "-q", "--store", store).stdout != ""
    files = [path for path in store.rglob("*") if path.is_file()]
    assert not [path for path in files if secret in path.read_bytes()]


def test_export(run: Run, store: Path, tmp_path: Path) -> None:
    lines = run("export", "--store", store).stdout.splitlines()
    chunks = [json.loads(line) for line in lines]
    assert [c["id"] for c in chunks] == sorted(c["id"] for c in chunks)
    assert len(chunks) == 6
    file = tmp_path / "out.jsonl"
    assert run("export", "-o", file, "--store", store).exit_code == 0
    assert [json.loads(line) for line in file.read_text("utf-8").splitlines()] == chunks
    nowhere = run("export", "-o", tmp_path / "no" / "out.jsonl", "--store", store)
    assert nowhere.exit_code == 1
    assert "No such file or directory" in nowhere.stderr


def test_what_was_exported_can_be_added_again(run: Run, store: Path, tmp_path: Path) -> None:
    run("export", "-o", tmp_path / "out.jsonl", "--store", store)
    again = run("add", tmp_path / "out.jsonl", "--store", tmp_path / "kb2", "--embedder", "none")
    assert again.exit_code == 0, again.output
    assert "Signing keys" in run("search", "signing key", "-q", "--store", tmp_path / "kb2").stdout


def test_backup_and_restore(run: Run, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "saved.assay"
    assert run("backup", file, "--store", store).exit_code == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("saved")] == ["saved.assay"]
    refused = run("backup", file, "--store", store)
    assert refused.exit_code == 3
    assert "--force" in refused.stderr
    assert run("backup", file, "--force", "--store", store).exit_code == 0
    made = run("restore", file, "--store", tmp_path / "new")
    assert made.stdout == f"{tmp_path / 'new'} is restored: v1, 6 chunks, indexed\n"
    with kb.open(store) as before, kb.open(tmp_path / "new") as after:
        assert before.search("signing key").digest == after.search("signing key").digest
    again = run("restore", file, "--store", tmp_path / "new")
    assert again.exit_code == 3
    assert "already" in again.stderr


def test_a_damaged_store_is_an_error_not_an_empty_answer(run: Run, store: Path) -> None:
    with kb.open(store) as base:
        base.store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = (store / "assay.sqlite").read_bytes()
    (store / "assay.sqlite").write_bytes(whole[:4096] + b"\xde\xad" * ((len(whole) - 4096) // 2))
    for command in (["search", "key"], ["ls"], ["stats"], ["export"]):
        result = run(*command, "--store", store)
        assert result.exit_code == 3, (command, result.output)
        assert "cure: " in result.stderr
    assert run("doctor", "--store", store).exit_code == 1
    (store / "assay.sqlite").write_bytes(b"this is not a database, it is a poem" * 100)
    assert run("search", "key", "--store", store).exit_code == 3


def test_a_store_of_a_newer_format(run: Run, store: Path) -> None:
    with sqlite3.connect(store / "assay.sqlite") as db:
        db.execute("UPDATE setting SET value = '99' WHERE key = 'format'")
    db.close()
    result = run("search", "key", "--store", store)
    assert result.exit_code == 3
    assert "upgrade" in result.stderr


def test_the_graph_ahead(run: Run, store: Path) -> None:
    assert run("optimize", "--graph", "--store", store).stdout == "built the graph of 6 chunks\n"
    assert run("optimize", "--force", "--store", store).stdout == "indexed 6 chunks\n"
    assert len(list(store.glob("generations/*/graph/manifest.json"))) == 1  # the new index came with one
