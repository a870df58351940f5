"""Brings a collection in step with the tables: new rows, deaths, or a new collection where the old one is unfit."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.backend.postgres.store import PostgresStore
from assay.backend.postgres.vector_type import unpack_vector
from assay.backend.qdrant.collection import IndexPoint, PointCollection
from assay.backend.qdrant.manifest import KEY, IndexManifest
from assay.backend.qdrant.recall_measurement import is_measured, measure_recall
from assay.backend.qdrant.settings import QdrantSettings
from assay.errors import StoreError
from assay.index.similarity import Bm25Similarity
from assay.types import Progress
from assay.util.qdrant_cluster import IndexUnavailable, QdrantCluster

if TYPE_CHECKING:
    import psycopg

_BATCH = 512
DRIFT = 1.25
"""How far the mean length of a chunk may move before the weights of all words are computed anew."""
_ROWS = """
SELECT c.seq, c.born, c.died, c.created, c.doc_id, c.fields, c.length, c.terms, c.counts, {vector}
FROM chunk c {join} WHERE c.seq > %s AND c.seq <= %s ORDER BY c.seq LIMIT %s
"""
_STATE = f"""
SELECT coalesce((SELECT max(seq) FROM chunk), 0), (SELECT max(number) FROM version),
  (SELECT count(*) FROM chunk), (SELECT value FROM setting WHERE key = 'model'),
  (SELECT value FROM setting WHERE key = 'analyser'), (SELECT value FROM setting WHERE key = '{KEY}'),
  (SELECT chunks FROM version ORDER BY number DESC LIMIT 1), (SELECT length FROM version ORDER BY number DESC LIMIT 1)
"""


class IndexSynchroniser:
    """Writes the collections of one store. One process at a time does; the others wait."""

    def __init__(self, store: PostgresStore, cluster: QdrantCluster, settings: QdrantSettings) -> None:
        self._store, self._cluster, self._settings = store, cluster, settings

    @property
    def owner(self) -> dict[str, str]:
        """Whose a collection is, as it says itself."""
        return {"store": str(self._store.settings["store"]), "database": self._store.database}

    def collection(self, manifest: IndexManifest) -> PointCollection:
        return PointCollection(self._cluster, manifest.collection, self._settings)

    def synchronise(self, progress: Progress, force: bool = False) -> bool:
        """Index what is not indexed; True when something was. `force` builds a new collection.

        The recall of an approximate search is measured outside the lock: others may go on indexing meanwhile."""
        changed = self._bring_in_step(progress, force)
        return self._measure(progress) or changed

    def _measure(self, progress: Progress) -> bool:
        """Write the measured recall to the manifest where it is wanted; True when it was."""
        manifest = self._read_manifest()
        if manifest is None or not self._store.settings["dim"] or is_measured(manifest):
            return False
        collection = self.collection(manifest)
        if not collection.is_approximate(manifest.points) or not collection.wait_for_graph(progress):
            return False
        facts = measure_recall(self._store, collection, manifest, progress)
        with self._store.lock("index"):
            current = self._read_manifest()
            if current is None or current.collection != manifest.collection:
                return False  # another process has built another one
            self._write(replace(current, vectors=facts))
        return True

    def _bring_in_step(self, progress: Progress, force: bool) -> bool:
        with self._store.lock("index"):
            state = self._store.read(lambda db: db.execute(_STATE).fetchone())
            assert state is not None
            last, version, rows, model, analyser, found, chunks, length = state
            manifest = IndexManifest.decode(found, self._store.database)
            average = length / chunks if chunks and length else 1.0
            if (
                manifest is None
                or force
                or not self._is_fit(manifest, json.loads(model), json.loads(analyser), average)
            ):
                if not rows:
                    return False
                self._rebuild(manifest, last, version, json.loads(model), json.loads(analyser), average, progress)
                return True
            return self._extend(manifest, last, version, progress)

    def _is_fit(self, manifest: IndexManifest, model: str, analyser: str, average: float) -> bool:
        """Can the collection be brought in step, or must it be made anew?"""
        if (manifest.model, manifest.analyser) != (model, analyser) or dict(manifest.layout) != self._settings.layout():
            return False
        if not 1 / DRIFT <= average / manifest.average <= DRIFT:
            return False
        collection = self.collection(manifest)
        if not collection.exists():
            return False
        dim = collection.check_owner(self.owner)
        return dim == int(self._store.settings["dim"]) and collection.count() >= manifest.points

    def _rebuild(
        self,
        old: IndexManifest | None,
        last: int,
        version: int,
        model: str,
        analyser: str,
        average: float,
        progress: Progress,
    ) -> None:
        """Fill a new collection, make it current, drop the old one. The old one, or PostgreSQL, serves meanwhile."""
        self._cluster.check_version()  # before anything is dropped or made there
        name = self._next_name()
        collection = PointCollection(self._cluster, name, self._settings)
        dim = int(self._store.settings["dim"])
        collection.create(dim, {**self.owner, "model": model, "analyser": analyser})
        layout, database = self._settings.layout(), self._store.database
        manifest = IndexManifest(name, 0, version, 0, average, model, analyser, layout, database=database)
        try:
            points = self._fill(collection, manifest, last, progress)
        except BaseException:
            self._drop(name)
            raise
        self._write(replace(manifest, seq=last, points=points))
        if old is not None and old.collection != name:
            self._drop(old.collection)

    def _next_name(self) -> str:
        """A name that no collection ever had: who still reads by an older manifest must not find a half-filled one
        under its name. Collections of ours that a killed process left are dropped; those of a copy of the store in
        another database are not ours."""
        prefix = self._cluster.address.name or f"assay_{self._store.settings['store'].replace('-', '')}"
        prefix += "_" + blake2b(self._store.database.encode(), digest_size=4).hexdigest()
        current = self._read_manifest()
        for found in self._cluster.ask(lambda client: client.get_collections()).collections:
            if found.name.startswith(f"{prefix}_") and (current is None or found.name != current.collection):
                self._drop(found.name)
        return f"{prefix}_{secrets.token_hex(6)}"

    def _read_manifest(self) -> IndexManifest | None:
        found = self._store.read(lambda db: db.execute("SELECT value FROM setting WHERE key = %s", (KEY,)).fetchone())
        return IndexManifest.decode(found[0] if found else None, self._store.database)

    def _extend(self, manifest: IndexManifest, last: int, version: int, progress: Progress) -> bool:
        if last <= manifest.seq and version <= manifest.version:
            return False
        collection = self.collection(manifest)
        points = manifest.points
        if last > manifest.seq:
            points += self._fill(collection, manifest, last, progress)
        statement = "SELECT died, array_agg(seq) FROM chunk WHERE died > %s AND died <= %s AND seq <= %s GROUP BY died"
        given = (manifest.version, version, manifest.seq)
        deaths = self._store.read(lambda db: db.execute(statement, given).fetchall())
        for died, seqs in deaths:
            collection.mark_dead(died, seqs)
        self._write(replace(manifest, seq=max(last, manifest.seq), version=version, points=points))
        return last > manifest.seq or bool(deaths)

    def _fill(self, collection: PointCollection, manifest: IndexManifest, last: int, progress: Progress) -> int:
        """Put the rows after the manifest's, up to `last`; how many."""
        total = self._store.read(
            lambda db: _number(db, "SELECT count(*) FROM chunk WHERE seq > %s AND seq <= %s", manifest.seq, last)
        )
        done = 0
        for batch in self._batches(manifest, last):
            collection.put(batch)
            done += len(batch)
            progress("indexing in Qdrant", done, total)
        return done

    def _batches(self, manifest: IndexManifest, last: int) -> Iterator[Sequence[IndexPoint]]:
        table = self._store.settings.get("vectors")
        statement = _ROWS.format(
            vector="vector_send(n.v)" if table else "NULL::bytea",
            join=f"LEFT JOIN {table} n USING (seq)" if table else "",
        )
        similarity = Bm25Similarity.from_settings(self._store.settings)
        after = manifest.seq
        while True:
            given = (after, last, _BATCH)
            rows = self._store.read(lambda db, given=given: db.execute(statement, given).fetchall())  # type: ignore[misc]
            if not rows:
                return
            yield [_point(row, similarity, manifest.average) for row in rows]
            after = rows[-1][0]

    def forget(self, seqs: Sequence[int]) -> str:
        """Delete the points of rows that the tables no longer hold; "" or why it could not be done now.

        A collection that cannot be reached is disowned: the next upkeep drops it and builds another."""
        manifest = self._read_manifest()
        if manifest is None or not seqs:
            return ""
        try:
            with self._store.lock("index"):
                for start in range(0, len(seqs), _BATCH):
                    self.collection(manifest).delete(seqs[start : start + _BATCH])
                points = self.collection(manifest).count()
                self._write(replace(manifest, points=points))
        except IndexUnavailable as error:
            with self._store.derived_transaction() as db:
                IndexManifest.delete(db)
            return error.message
        return ""

    def _write(self, manifest: IndexManifest) -> None:
        with self._store.derived_transaction() as db:
            manifest.write(db)

    def _drop(self, name: str) -> None:
        """Drop a collection if it is of this store; one that cannot be reached is dropped by the next rebuild."""
        collection = PointCollection(self._cluster, name, self._settings)
        with contextlib.suppress(StoreError):  # somebody else's, or out of reach
            collection.check_owner(self.owner)
            collection.drop()


def _point(row: Sequence[Any], similarity: Bm25Similarity, average: float) -> IndexPoint:
    seq, born, died, created, doc_id, fields, length, terms, counts, vector = row
    damped = similarity.damping(np.array([length], np.float64), average)
    weights = similarity.saturation(np.array(counts, np.float64)[:, None], damped)[:, 0]
    payload: dict[str, Any] = {"born": born, "doc_id": doc_id, "fields": fields, "scope": fields.get("scope", [])}
    if died is not None:
        payload["died"] = died
    if created is not None:
        payload["created"] = created
    return IndexPoint(seq, None if vector is None else unpack_vector(bytes(vector)), terms, weights.tolist(), payload)


def _number(db: psycopg.Connection[Any], statement: str, *given: Any) -> int:
    row = db.execute(statement, given).fetchone()
    assert row is not None
    return int(row[0])
