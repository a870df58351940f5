"""The tables, and the migrations from older formats: one script per format, applied in order, all or none.

Rows of `chunk` are append-only: inserted in version `born`, deleted in version `died` (or null); a past version is a
condition on both. What a search scans is in `chunk`; texts are in `body`, so that a scan reads few pages. `terms` are
numbers of our analyser's terms, ascending, `counts` how often each occurs. `fields` holds every value a filter can see
as a list under its name; `folded` the same texts case-folded, where folding changes one. `graph` is one row about the
graph, `graph_page` its files in pages (`graph_pages.py`); users of `chunk` get the same rights on both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from assay.errors import StoreError, install_hint

if TYPE_CHECKING:
    import psycopg

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE setting (key text PRIMARY KEY, value text NOT NULL);
    CREATE TABLE version (number bigint PRIMARY KEY, note text NOT NULL, chunks bigint, length bigint);
    CREATE TABLE tag (name text COLLATE "C" PRIMARY KEY, version bigint NOT NULL);
    CREATE TABLE source (name text COLLATE "C" PRIMARY KEY, root text NOT NULL);
    CREATE TABLE file (
      origin text COLLATE "C" PRIMARY KEY, source text NOT NULL, hash text NOT NULL, size bigint NOT NULL,
      chunks bigint NOT NULL
    );
    CREATE TABLE field (name text COLLATE "C", kind text, PRIMARY KEY (name, kind));
    CREATE TABLE term (
      number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      term text COLLATE "C" NOT NULL UNIQUE,
      holding bigint NOT NULL
    ) WITH (fillfactor = 70);
    CREATE SEQUENCE seq AS bigint;
    CREATE TABLE chunk (
      seq bigint PRIMARY KEY,
      id text COLLATE "C" NOT NULL,
      doc_id text COLLATE "C" NOT NULL,
      origin text COLLATE "C" NOT NULL,
      tokens bigint NOT NULL,
      chars integer NOT NULL,
      created double precision,
      importance double precision NOT NULL,
      fields jsonb NOT NULL,
      folded jsonb NOT NULL,
      facts bytea NOT NULL,
      born bigint NOT NULL,
      died bigint,
      length integer NOT NULL,
      terms integer[] NOT NULL,
      counts integer[] NOT NULL
    ) WITH (toast_tuple_target = 8160);
    CREATE UNIQUE INDEX live_id ON chunk (id) WHERE died IS NULL;
    CREATE INDEX named ON chunk (id);
    CREATE INDEX live_origin ON chunk (origin) WHERE died IS NULL;
    CREATE INDEX live_doc ON chunk (doc_id) WHERE died IS NULL;
    CREATE INDEX dead ON chunk (died) WHERE died IS NOT NULL;
    CREATE INDEX holding ON chunk USING gin (terms);
    CREATE INDEX saying ON chunk USING gin (fields jsonb_path_ops);
    CREATE TABLE body (
      seq bigint PRIMARY KEY REFERENCES chunk ON DELETE CASCADE, text text NOT NULL, meta text NOT NULL
    );
    """,
    "CREATE INDEX dated ON chunk (created);",
    """
    CREATE TABLE graph (
      base bigint, last bigint NOT NULL, kind text NOT NULL, made text NOT NULL, erasures bigint NOT NULL
    );
    INSERT INTO graph VALUES (NULL, 0, '', '', 0);
    CREATE TABLE graph_page (
      made text, name text COLLATE "C", part integer, held bytea NOT NULL, PRIMARY KEY (made, name, part)
    );
    ALTER TABLE graph_page ALTER COLUMN held SET STORAGE EXTERNAL;
    DO $$
    DECLARE one record;
    BEGIN
      FOR one IN SELECT grantee, privilege_type FROM information_schema.role_table_grants
        WHERE table_schema = current_schema() AND table_name = 'chunk' AND grantee <> current_user
          AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
      LOOP
        EXECUTE format(
          'GRANT %s ON graph, graph_page TO %s', one.privilege_type,
          CASE one.grantee WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(one.grantee) END
        );
      END LOOP;
    END $$;
    """,
)
"""MIGRATIONS[n] makes format n + 1 out of format n; a new one is appended, none is ever changed."""

GRAPH_FROM = 3
"""The format from which a store can hold a graph."""
SWITCHED_ON = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
AVAILABLE = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
LEAST_SERVER = 14
LEAST_PGVECTOR = (0, 8)
"""0.7 added half precision, 0.8 iterative scans, which a filter cannot leave short."""
_HAS_VECTORS = "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = 'v' AND NOT attisdropped"
LOCK = 0x4153_5341_5900
"""The advisory lock of writers; the schema's own number is added, so that two stores do not wait for each other."""


def lock(db: psycopg.Connection[Any]) -> None:
    """Only one transaction at a time writes to a schema; the others wait, readers never do."""
    db.execute(
        "SELECT pg_advisory_xact_lock(%s + (SELECT oid::bigint FROM pg_namespace WHERE nspname = current_schema()))",
        (LOCK,),
    )


def lock_creation(db: psycopg.Connection[Any]) -> None:
    """Only one transaction at a time creates in a database: `IF NOT EXISTS` fails over what another one has created and
    not committed."""
    db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))


def migrate(db: psycopg.Connection[Any], found: int, where: str) -> int:
    """Bring the tables of this connection's schema from a format to ours; the format they have now."""
    if found > len(MIGRATIONS):
        raise StoreError(
            f"{where} has format {found}; this Assay reads up to {len(MIGRATIONS)}", f"upgrade: {install_hint()}"
        )
    for script in MIGRATIONS[found:]:
        db.execute(script)
    if found < len(MIGRATIONS):
        db.execute(
            "INSERT INTO setting VALUES ('format', %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (str(len(MIGRATIONS)),),
        )
    return len(MIGRATIONS)


def check_server(db: psycopg.Connection[Any], where: str) -> None:
    """StoreError when this database cannot hold a store; called before anything is created."""
    release = db.info.server_version // 10_000
    if release < LEAST_SERVER:
        raise StoreError(
            f"{where}: this server is PostgreSQL {release}; Assay needs {LEAST_SERVER} or newer",
            "upgrade the server, or name another",
        )
    encoding = db.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"{where}: this database is in {encoding}, which cannot hold every text",
            "make one in UTF-8: createdb -E UTF8 -T template0 NAME",
        )


def create_vector_table(db: psycopg.Connection[Any], name: str, dim: int) -> None:
    """Create the table for the vectors of one model."""
    db.execute(f"CREATE TABLE {name} (seq bigint PRIMARY KEY REFERENCES chunk ON DELETE CASCADE, v vector({dim}))")


def require_pgvector(db: psycopg.Connection[Any], where: str) -> None:
    """Switch pgvector on in this database; StoreError with the cure where that fails."""
    import psycopg

    if _has_pgvector(db, where):
        return
    if not db.execute(AVAILABLE).fetchone():
        raise StoreError(
            f"{where}: this server has no pgvector, which holds the vectors",
            "install it there (packages postgresql-NN-pgvector or pgvector), or use words only: --embedder none",
        )
    try:
        db.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            f"{where}: pgvector is not switched on in this database, and this user may not do it",
            "let its owner run: CREATE EXTENSION vector",
        ) from error
    _has_pgvector(db, where)


def _has_pgvector(db: psycopg.Connection[Any], where: str) -> bool:
    """Is pgvector switched on, and new enough?"""
    found = db.execute(SWITCHED_ON).fetchone()
    if found is None:
        return False
    if tuple(int(part) for part in re.findall(r"\d+", found[0])[:2]) < LEAST_PGVECTOR:
        least = ".".join(map(str, LEAST_PGVECTOR))
        raise StoreError(
            f"{where}: this database has pgvector {found[0]}; Assay needs {least} or newer",
            "update its package on the server, then let the database's owner run: ALTER EXTENSION vector UPDATE",
        )
    return True


def check_vectors(db: psycopg.Connection[Any], table: str, dim: int, where: str, readonly: bool) -> None:
    """StoreError when a store's vectors are gone: dropping pgvector drops them. The words stay, and once pgvector is
    back an empty table is created for new vectors."""
    if not _has_pgvector(db, where):
        raise StoreError(
            f"{where}: pgvector is no longer switched on in this database, and the store's vectors went with it",
            "let the database's owner run: CREATE EXTENSION vector; then make the vectors anew: assay reembed",
        )
    if db.execute(_HAS_VECTORS, (table,)).fetchone():
        return
    if readonly:
        raise StoreError(f"{where}: the store's vectors are gone", "as a user who may write: assay reembed")
    db.execute(f"DROP TABLE IF EXISTS {table}")
    create_vector_table(db, table, dim)
