"""The tables. Rows are append-only: born in one version, perhaps dead in a later one; an old moment is a mask.

`chunk.seq` grows with every row and is never reused, so "everything since" is a range. `facts` is a digest of
all that a chunk says except its vector: equal facts mean nothing to do, and a row that reads otherwise is damaged. A
vector ends with the CRC-32 of its bytes. The settings hold `live`, the number of live chunks, and `journal`, the name
of the store in its commit journal. A store of format 1 has neither; it gets both with its next write.
"""

FORMAT = 2
"""Raised when an older Assay could no longer read what a newer one writes."""

TABLES = """
CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE version (number INTEGER PRIMARY KEY, note TEXT NOT NULL);
CREATE TABLE tag (name TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE source (name TEXT PRIMARY KEY, root TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE file (
  origin TEXT PRIMARY KEY,        -- source name / path inside it
  source TEXT NOT NULL,
  hash TEXT NOT NULL,             -- of the bytes: unchanged files are not read again
  size INTEGER NOT NULL,
  chunks INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE chunk (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  doc_id TEXT NOT NULL,
  origin TEXT NOT NULL,
  text TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  created REAL,
  importance REAL NOT NULL,
  meta TEXT NOT NULL,
  facts BLOB NOT NULL,
  born INTEGER NOT NULL,
  died INTEGER
);
CREATE UNIQUE INDEX live_id ON chunk (id) WHERE died IS NULL;
CREATE INDEX live_origin ON chunk (origin) WHERE died IS NULL;
CREATE INDEX live_doc ON chunk (doc_id) WHERE died IS NULL;
CREATE INDEX dead ON chunk (died) WHERE died IS NOT NULL;
CREATE TABLE vector (seq INTEGER PRIMARY KEY, value BLOB NOT NULL);
"""
