"""Export and import, and memories from other programs, from fixtures in their own formats."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from assay import memory
from assay.errors import ConfigError, StoreError
from assay.memory.service import MemoryService

MARCH = 1_772_323_200_000  # 2026-03-01 in milliseconds


def test_a_round_trip_brings_everything_back(mem: MemoryService, tmp_path: Path, clock: Any) -> None:
    old = mem.store("The vault is in room 12.", tags=["a"], importance=0.3)
    clock.pass_days(1)
    mem.store("The vault moved to the cellar.", supersedes=old.id, expires="2027-01-01")
    mem.store("Ada speaks\n\nPortuguese.", scope="user:ada", category="preference")
    lines = list(mem.export(["global", "user:ada"]))
    assert len(lines) == 3
    (tmp_path / "out.jsonl").write_text("\n".join(lines), "utf-8")
    with memory.open(tmp_path / "other", embedder="none", clock=clock) as other:
        done = other.import_(tmp_path / "out.jsonl", scope=["global", "user:ada"])
        assert (done.stored, done.skipped, done.problems) == (3, 0, ())
        assert list(other.export(["global", "user:ada"])) == lines
        again = other.import_(lines, scope=["global", "user:ada"])
        assert (again.stored, again.skipped) == (0, 3)
        assert list(other.export(["global", "user:ada"])) == lines


def test_a_round_trip_keeps_what_was_superseded_by_the_same_words(
    mem: MemoryService, tmp_path: Path, clock: Any
) -> None:
    clock.now += 0.123456789  # a moment is kept to the microsecond, so that it can be written down
    for _ in range(3):
        mem.store("The vault is in room 12.", on_duplicate="supersede")
        clock.pass_days(1)
    lines = list(mem.export("global"))
    with memory.open(tmp_path / "other", embedder="none", clock=clock) as other:
        assert other.import_(lines, scope="global").stored == 3
        assert list(other.export("global")) == lines
        assert other.list(scope="global") == mem.list(scope="global")


def test_force_brings_back_what_force_had_stored(mem: MemoryService, tmp_path: Path, clock: Any) -> None:
    for _ in range(2):
        mem.store("The vault is in room 12.", on_duplicate="force")
    lines = list(mem.export("global"))
    with memory.open(tmp_path / "other", embedder="none", clock=clock) as other:
        for stored in (2, 0):
            assert other.import_(lines, scope="global", on_duplicate="force").stored == stored
            assert list(other.export("global")) == lines


def test_an_id_that_is_taken_by_another_text_is_left_alone(mem: MemoryService) -> None:
    mem.import_(['{"id": "abc", "text": "The vault is in room 12."}'], scope="global")
    (name,) = mem.import_(['{"id": "abc", "text": "Lunch is served at noon."}'], scope="global").ids
    assert name != "abc"
    assert mem.get("abc", scope="global").text == "The vault is in room 12."


def test_links_that_lead_in_a_circle_end(mem: MemoryService) -> None:
    lines = [
        '{"id": "one", "text": "The vault is in room 12.", "superseded_by": "two"}',
        '{"id": "two", "text": "Lunch is served at noon.", "superseded_by": "one"}',
    ]
    assert mem.import_(lines, scope="global").stored == 2
    assert [hit.id for hit in mem.recall("vault room", scope="global", adaptive=False).hits] == ["two"]
    assert set(mem.forget("one", scope="global").ids) == {"one", "two"}


def test_records_that_cannot_be_taken_are_listed(mem: MemoryService) -> None:
    lines = [
        '{"text": "The vault is in room 12."}',
        "",
        "{not json",
        '{"no": "text"}',
        '["text"]',
        '{"text": "thanks!"}',
        '{"text": "Somebody else owns this.", "scope": "user:eve"}',
        '{"text": "Its date is odd.", "created": "soon"}',
        '{"text": "Its id is odd.", "id": "../../etc/passwd"}',
        '{"text": "Its importance is held to one.", "importance": 99, "tags": "single"}',
    ]
    done = mem.import_(lines, scope="global")
    assert (done.stored, done.refused) == (3, 1)
    assert [where for where, _ in done.problems] == ["line 3", "line 4", "line 5", "line 7", "line 8"]
    assert all("/" not in name for name in done.ids)
    (held,) = mem.list(scope="global", tags=["single"])
    assert held.importance == 1.0
    assert mem.list(scope="user:eve") == ()


def test_a_superseded_memory_whose_successor_stays_behind_is_named(mem: MemoryService) -> None:
    old = {"id": "old", "text": "The vault is in room 12.", "superseded_by": "new"}
    done = mem.import_([json.dumps(old), '{"id": "new", "text": "thanks!"}'], scope="global")
    assert (done.stored, done.refused) == (1, 1)
    assert done.problems == (("old", "it is superseded by 'new', which did not come along: it counts as current here"),)
    assert mem.get("old", scope="global").superseded_by == ""


def test_into_puts_all_of_them_into_one_scope(mem: MemoryService) -> None:
    line = json.dumps({"id": "abc", "text": "The vault is in room 12.", "scope": "user:eve"})
    assert mem.import_([line], scope="project:x", into="project:x").stored == 1
    assert mem.get("abc", scope="project:x").text == "The vault is in room 12."


def test_an_id_that_is_taken_elsewhere_gets_another(mem: MemoryService) -> None:
    line = json.dumps({"id": "abc", "text": "The vault is in room 12."})
    mem.import_([line], scope="agent:a", into="agent:a")
    (name,) = mem.import_([line], scope="agent:b", into="agent:b").ids
    assert name != "abc"
    assert mem.get("abc", scope="agent:a").scope == "agent:a"


def test_an_unknown_format_names_the_known_ones(mem: MemoryService) -> None:
    with pytest.raises(ConfigError, match="mem0") as raised:
        mem.import_([], scope="global", format="mem1")
    assert "mem0" in raised.value.cure


# -- mem0


def test_mem0(mem: MemoryService, tmp_path: Path) -> None:
    results = [
        {
            "id": "3c90c3cc-0d44-4b50-8888-8dd25736052a",
            "memory": "Dev works at TechCorp as a senior engineer",
            "user_id": "dev",
            "hash": "x",
            "metadata": {"type": "professional", "importance": 0.4, "tags": ["job"]},
            "categories": ["professional_details", "misc"],
            "created_at": "2026-02-07T05:31:56Z",
            "updated_at": "2026-02-08T05:31:56Z",
            "expiration_date": "2027-01-01",
        },
        {"id": "b", "memory": "Ships every Friday", "agent_id": "coder", "metadata": None, "created_at": None},
        {"id": "c", "content": "OpenMemory keeps its text here", "state": "active", "metadata_": {"category": "note"}},
        {"id": "d", "memory": "This one was deleted", "state": "deleted"},
        {"id": "e", "payload": {"data": "A vector store's own dump", "run_id": "r1"}},
        {"id": "f", "score": 1.0},
        "odd",
    ]
    for number, said in enumerate(({"results": results}, results, {"memories": results})):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(said), "utf-8")
        done = mem.import_(path, scope=["user:dev", "agent:coder", "global", "run:r1"], format="mem0")
        assert (done.stored, done.skipped) == ((4, 0) if number == 0 else (0, 4))
        assert [where for where, _ in done.problems] == ["memory 6", "memory 7"]
    entry = mem.get("3c90c3cc", scope="user:dev")
    assert (entry.text, entry.category) == ("Dev works at TechCorp as a senior engineer", "professional_details")
    assert (entry.importance, entry.tags) == (0.4, ("job", "misc", "professional_details"))
    assert (entry.created, entry.updated, entry.expires) == (1_770_442_316.0, 1_770_528_716.0, 1_798_761_600.0)
    assert mem.get("c", scope="global").category == "note"
    assert mem.get("e", scope="run:r1").text == "A vector store's own dump"


@pytest.mark.parametrize("said", ["{", '{"count": 1}', '"text"', ""])
def test_what_is_no_export_of_mem0(mem: MemoryService, tmp_path: Path, said: str) -> None:
    (tmp_path / "x.json").write_text(said)
    with pytest.raises(StoreError, match=r"JSON|no list"):
        mem.import_(tmp_path / "x.json", scope="global", format="mem0")


# -- claude-memory-mcp

SCHEMA = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL);
CREATE TABLE memories (
  id TEXT PRIMARY KEY, content TEXT NOT NULL,
  type TEXT NOT NULL CHECK(type IN ('fact', 'entity', 'relationship', 'self')),
  importance REAL NOT NULL CHECK(importance >= 0 AND importance <= 10), embedding BLOB,
  created_at INTEGER NOT NULL, last_accessed INTEGER NOT NULL, expires_at INTEGER,
  metadata TEXT NOT NULL DEFAULT '{}', is_deleted INTEGER NOT NULL DEFAULT 0 CHECK(is_deleted IN (0, 1)),
  summary TEXT, access_count INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE entities (
  id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, type TEXT NOT NULL, metadata TEXT NOT NULL DEFAULT '{}',
  created_at INTEGER NOT NULL
);
CREATE TABLE memory_entities (
  memory_id TEXT NOT NULL, entity_id TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (memory_id, entity_id)
);
CREATE VIRTUAL TABLE memories_fts USING fts5(memory_id UNINDEXED, content, summary, tokenize = 'porter unicode61');
"""


def test_claude_memory_mcp(mem: MemoryService, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    rows = [
        ("mem_1", "Ada keeps the vault.", "fact", 8.0, MARCH, None, '{"tags": ["vault"]}', 0),
        ("mem_2", "Bob left the team.", "relationship", 5.0, MARCH + 1000, MARCH + 86_400_000, "{}", 0),
        ("mem_3", "This one was deleted.", "fact", 5.0, MARCH, None, "{}", 1),
        ("mem_4", "Its metadata is broken.", "self", 10.0, MARCH, None, "{", 0),
    ]
    with sqlite3.connect(path) as db:
        db.executescript(SCHEMA)
        db.executemany(
            "INSERT INTO memories (id, content, type, importance, created_at, last_accessed, expires_at, metadata, "
            "is_deleted, summary) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8, ?2)",
            rows,
        )
        db.execute("INSERT INTO entities VALUES ('ent_1', 'Ada', 'person', '{}', 0)")
        db.execute("INSERT INTO memory_entities VALUES ('mem_1', 'ent_1', 0)")
    db.close()
    done = mem.import_(path, scope="global", format="claude-memory-mcp")
    assert (done.stored, done.problems) == (3, ())
    first = mem.get("mem_1", scope="global")
    assert (first.text, first.category, first.importance) == ("Ada keeps the vault.", "fact", 0.8)
    assert (first.tags, first.created) == (("Ada", "vault"), MARCH / 1000)
    assert mem.get("mem_2", scope="global").expires == MARCH / 1000 + 86_400
    assert mem.import_(path, scope="global", format="claude-memory-mcp").skipped == 3


def test_what_is_no_database_of_claude_memory_mcp(mem: MemoryService, tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("not a database")
    with sqlite3.connect(tmp_path / "empty.db") as db:
        db.execute("CREATE TABLE t (a)")
    db.close()
    for name in ("x.db", "empty.db", "none.db"):
        with pytest.raises(StoreError, match="database"):
            mem.import_(tmp_path / name, scope="global", format="claude-memory-mcp")


# -- memory-lancedb-pro


def test_memory_lancedb_pro(mem: MemoryService, tmp_path: Path) -> None:
    lancedb = pytest.importorskip("lancedb", reason="lancedb is not installed (the extra lance)")
    old, new = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
    tabs = {"superseded_by": new, "tags": ["style"]}
    lost = {"superseded_by": "not-in-the-table", "invalidated_at": MARCH + 2000, "valid_until": MARCH + 9000}
    off = {"invalidated_at": MARCH + 500}
    spaces = {"valid_until": MARCH + 86_400_000, "supersedes": old}
    rows = [
        ("__schema__", "", "other", "global", 0.0, 0.0, "{}"),
        (old, "User prefers tabs.", "preference", "agent:main", 0.9, float(MARCH), json.dumps(tabs)),
        (new, "User prefers spaces now.", "preference", "agent:main", 1.7, float(MARCH + 1000), json.dumps(spaces)),
        ("n", "Nobody owns this one.", "fact", None, 0.5, 0.0, ""),
        ("gone", "User prefers vi.", "fact", "agent:main", 0.5, float(MARCH), json.dumps(lost)),
        ("off", "User prefers ed.", "fact", "agent:main", 0.5, float(MARCH), json.dumps(off)),
    ]
    names = ("id", "text", "category", "scope", "importance", "timestamp", "metadata")
    built = [{**dict(zip(names, row, strict=True)), "vector": [0.1] * 8} for row in rows]
    lancedb.connect(str(tmp_path / "db")).create_table("memories", built)
    done = mem.import_(tmp_path / "db", scope=["agent:main", "global"], format="memory-lancedb-pro")
    assert done.stored == 4
    assert [where for where, _ in done.problems] == ["n"]
    first, second = mem.get("1111", scope="agent:main"), mem.get("2222", scope="agent:main")
    assert (first.text, first.category, first.importance, first.tags) == (
        "User prefers tabs.",
        "preference",
        0.9,
        ("style",),
    )
    assert (first.created, first.superseded_by) == (MARCH / 1000, second.id)
    assert (second.importance, second.expires, second.supersedes) == (1.0, MARCH / 1000 + 86_400, (first.id,))
    taken = mem.import_(tmp_path / "db", scope="user:me", into="user:me", format="memory-lancedb-pro")
    assert taken.stored == 5
    ends = {entry.text: entry.expires for entry in mem.list(scope="agent:main", everything=True)}
    assert (ends["User prefers vi."], ends["User prefers ed."]) == (MARCH / 1000 + 2, MARCH / 1000 + 0.5)
    assert ends["User prefers tabs."] is None  # its successor is served in its place
    with pytest.raises(StoreError, match="LanceDB folder"):
        mem.import_(tmp_path / "none", scope="global", format="memory-lancedb-pro")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="no table"):
        mem.import_(tmp_path / "empty", scope="global", format="memory-lancedb-pro")


def test_records_of_one_id_are_all_taken(mem: MemoryService) -> None:
    """More of them than Python calls may nest; a repeated line is known already."""
    lines = [json.dumps({"id": "a1", "text": f"Shelf {number} holds box {number * 7}."}) for number in range(1_100)]
    done = mem.import_([*lines, lines[0], lines[0]], scope="global", on_duplicate="force")
    assert (done.stored, done.skipped, done.problems) == (1_100, 2, ())
    assert mem.get("a1", scope="global").text == "Shelf 0 holds box 0."
    assert {entry.text for entry in mem.list(scope="global", limit=None)} == {
        json.loads(line)["text"] for line in lines
    }


def test_a_scope_that_was_not_named_is_said_once_with_the_cure(mem: MemoryService) -> None:
    lines = [json.dumps({"text": f"Shelf {number} is red.", "scope": "user:ada"}) for number in range(3)]
    done = mem.import_(lines, scope="global")
    assert done.stored == 0
    assert {why for _, why in done.problems} == {
        "its scope 'user:ada' was not named: name it as a scope, or put all into one"
    }
