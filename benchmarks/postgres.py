"""Compares the PostgreSQL backend with the embedded one and with plain `ts_rank`, on a server of its own.

Query embedding and the reading of texts are excluded. The server waits for its disk as in production; client and server
share one machine, so the round trips of a network (two to five per search) are not included.

    python -m benchmarks.postgres --size 100000
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.local.backend import LocalBackend
from assay.backend.postgres.backend import PostgresBackend
from assay.backend.postgres.factory import FACTORY
from assay.backend.postgres.hnsw import INDEX_FROM, index_name
from assay.backend.postgres.vector_type import VectorCodec
from assay.config.load import load
from assay.store.sqlite import SqliteStore
from assay.testing.postgres import PostgresServer
from assay.text.analyser import Analyser
from assay.types import Query
from assay.where import parse
from benchmarks.data import chunks, questions
from benchmarks.measure import time_call, time_filling, time_in_turns, write_receipt

DIM = 384
POOL = 100
SETTINGS = {"embedder": "minilm", "model": "bench", "dim": DIM, "language": "english", "profile": "default"}
FILTERS = {"0.5 %": "bucket < 5", "10 %": "bucket < 100", "50 %": "bucket < 500"}
KINDS = {
    "hnsw, half precision": "hnsw ((v::halfvec({dim})) halfvec_ip_ops)",
    "hnsw, single precision": "hnsw (v vector_ip_ops)",
    "ivfflat, half precision": "ivfflat ((v::halfvec({dim})) halfvec_ip_ops) WITH (lists = {lists})",
}
_TS_RANK = """
SELECT seq FROM naive, (SELECT replace(plainto_tsquery('english', %s)::text, '&', '|')::tsquery AS q) AS asked
WHERE words @@ q ORDER BY ts_rank(words, q) DESC LIMIT %s
"""


def fill_backend(backend: Any, size: int) -> dict[str, float]:
    loading, indexing = time_filling(backend, lambda: chunks(size))
    return {"load_s": round(loading, 1), "index_s": round(indexing, 1)}


def create_naive_table(backend: PostgresBackend) -> Callable[[str], Any]:
    """A plain full-text table: to_tsvector, GIN, any of the words, ts_rank."""
    with backend.store.alone() as db:
        db.execute("CREATE TABLE naive AS SELECT seq, to_tsvector('english', text) AS words FROM body")
        db.execute("CREATE INDEX ON naive USING gin (words)")
        db.execute("ALTER TABLE naive ADD PRIMARY KEY (seq)")
        db.execute("ANALYZE naive")
    return lambda text: backend.store.read(lambda db: db.execute(_TS_RANK, (text, POOL)).fetchall())


def run(size: int, count: int, folder: Path, server: PostgresServer) -> dict[str, Any]:
    local = LocalBackend(SqliteStore.create(folder / "kb", SETTINGS), Analyser(), "bench", DIM)
    team = FACTORY.create(server.address("bench"), SETTINGS)
    assert isinstance(team, PostgresBackend)
    built = {"postgres": fill_backend(team, size), "local": fill_backend(local, size)}
    search_naive = create_naive_table(team)
    texts, vectors = questions(count)
    postgres_view, local_view = team.snapshot(), local.snapshot()
    hybrid = load("default")
    contenders: dict[str, Callable[[int], Any]] = {"naive ts_rank": lambda i: search_naive(texts[i])}
    for name, view in (("postgres", postgres_view), ("local", local_view)):
        contenders[f"{name} lexical"] = lambda i, v=view: v.lexical(Query(texts[i]), POOL)
        contenders[f"{name} dense"] = lambda i, v=view: v.nearest(Query(vector=vectors[i]), POOL)
        contenders[f"{name} hybrid"] = lambda i, v=view: hybrid.run(Query(texts[i], vector=vectors[i]), v)
    for share, expression in FILTERS.items():
        where = parse(expression)
        contenders[f"postgres hybrid, filter {share}"] = lambda i, w=where: hybrid.run(
            Query(texts[i], vector=vectors[i], where=w), postgres_view
        )
    times = time_in_turns(contenders, len(texts), rounds=2)
    results = {
        "chunks": size,
        "built": built,
        "times": times,
        "answers": compare_answers(postgres_view, local_view, texts, vectors),
        "sizes": team.sizes(),
        "indexes": compare_indexes(team, local, vectors, size) if size >= INDEX_FROM else {},
    }
    for backend in (team, local):
        backend.close()
    return results


def compare_answers(postgres_view: Any, local_view: Any, texts: Any, vectors: Any) -> dict[str, float]:
    """Shares of common results; a chunk that both found must have the same score to the last bit."""
    shares: dict[str, list[float]] = {"lexical": [], "dense": []}
    broadened = proven = 0
    for text, vector in zip(texts, vectors, strict=True):
        for verb, query in (("lexical", Query(text)), ("nearest", Query(vector=vector))):
            postgres_result, local_result = (getattr(view, verb)(query, POOL) for view in (postgres_view, local_view))
            scores = [
                dict(zip(view.ids(results.rows).tolist(), sum(p.column for p in results.parts).tolist(), strict=True))
                for view, results in ((postgres_view, postgres_result), (local_view, local_result))
                if len(results.rows)
            ]
            if len(scores) == 2:
                both = scores[0].keys() & scores[1].keys()
                assert all(scores[0][name] == scores[1][name] for name in both), (verb, text)
                shares["dense" if verb == "nearest" else verb].append(len(both) / len(scores[1]))
            if verb == "lexical" and postgres_result.notes:
                broadened += "too few" in postgres_result.notes[-1].text
                proven += "proven" in postgres_result.notes[-1].text
    results = {f"{name}: share of the local hundred": round(float(np.mean(s)), 4) for name, s in shares.items()}
    return {**results, "questions": len(texts), "broadened": broadened, "frequent terms proposed nobody": proven}


def compare_indexes(team: PostgresBackend, local: LocalBackend, vectors: Any, size: int) -> dict[str, Any]:
    """Builds every kind of pgvector index on the same vectors: seconds, bytes, milliseconds, recall."""
    table = team.store.settings["vectors"]
    generation = local.generation
    assert generation is not None
    assert generation.vectors is not None
    truth = [
        set(generation.ids.array(np.argsort(-(generation.vectors.matrix @ vector), kind="stable")[:POOL]).tolist())
        for vector in vectors
    ]
    results = {}
    for name, kind in KINDS.items():
        lists = max(size // 1_000, 10)
        with team.store.alone() as db:
            db.execute(f"DROP INDEX {index_name(table)}")
            statement = f"CREATE INDEX {index_name(table)} ON {table} USING {kind.format(dim=DIM, lists=lists)}"
            seconds, _ = time_call(lambda s=statement, d=db: d.execute(s))
            weight = db.execute(f"SELECT pg_relation_size('{index_name(table)}')").fetchone()
        cast = f"::halfvec({DIM})" if "half" in name else ""
        near = (
            f"SELECT c.id FROM {table} n JOIN chunk c USING (seq) "
            f"ORDER BY n.v{cast} <#> %b::vector{cast} LIMIT {2 * POOL}"
        )

        def search(i: int, statement: str = near) -> list[str]:
            def work(db: Any) -> list[str]:
                db.execute(f"SET LOCAL hnsw.ef_search = {2 * POOL}")
                db.execute(f"SET LOCAL ivfflat.probes = {max(10, size // 10_000)}")
                db.execute("SET LOCAL enable_seqscan = off")
                return [row[0] for row in db.execute(statement, (VectorCodec(vectors[i]),)).fetchall()]

            return team.store.read(work)

        recall = np.mean([len(truth[i] & set(search(i))) / POOL for i in range(len(vectors))])
        results[name] = {
            "build_s": round(seconds, 1),
            "mb": round(weight[0] / 1e6, 1),
            "recall_at_100_of_200": round(float(recall), 4),
            **time_in_turns({name: search}, len(vectors), rounds=2)[name],
        }
        print(name, results[name], flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--receipt", default="postgres")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server is stopped, too
    with tempfile.TemporaryDirectory() as folder, PostgresServer.start() as server:
        results = run(options.size, options.questions, Path(folder), server)
    times = results["times"]
    ratios = {
        f"{left} / {right}, {p}": round(times[left][p] / times[right][p], 2)
        for left, right in (
            ("naive ts_rank", "postgres lexical"),
            ("postgres lexical", "local lexical"),
            ("postgres dense", "local dense"),
            ("postgres hybrid", "local hybrid"),
        )
        for p in ("p50_ms", "p95_ms")
    }
    print(times)
    print(ratios)
    print(write_receipt(options.receipt, {"ratios": ratios, **results}))


if __name__ == "__main__":
    main()
