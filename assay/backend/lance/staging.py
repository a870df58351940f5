"""Vectors of the next model beside those of the present one, in Lance: a table that takes the other's place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from assay.backend.lance.catalogue import Catalogue
from assay.backend.lance.tables import Tables
from assay.backend.lance.writer import LanceWriter
from assay.store.contract import STAGED, still_staged
from assay.store.validation import storable
from assay.types import Vector


class _LanceTables(Protocol):
    tables: Tables

    @property
    def address(self) -> str: ...
    @property
    def vector_table(self) -> str: ...
    def look(self) -> Catalogue: ...
    def setting(self, key: str) -> Any: ...
    def add_vectors(self, name: str, dim: int, vectors: Mapping[int, Vector]) -> None: ...
    def write(self, note: str) -> AbstractContextManager[LanceWriter]: ...


class LanceStaging:
    """The verbs of `record.Record` that move a store in Lance tables to another model."""

    def stage(self: _LanceTables, embedder: str, model: str, dim: int) -> int:
        """Begin a move to a model, or go on with it; how many rows still lack a vector of it."""
        asked = {"embedder": embedder, "model": model, "dim": dim}
        with self.write(f"embed with {embedder}") as writer:
            if self.setting(STAGED) != asked:
                for name in self.tables.names():  # of a move given up, and of one whose process died as it ended
                    if name.startswith("vector_") and name != self.vector_table:
                        self.tables.drop(name)
                writer.set(STAGED, asked)
        return len(_lacking(self, table_of(model), 0))

    def lacking_staged(self: _LanceTables, after: int, most: int) -> list[int]:
        """Rows behind `after`, dead or alive, that have no vector of the next model yet."""
        staged = self.setting(STAGED)
        return _lacking(self, table_of(staged["model"]), after)[:most] if staged else []

    def put_staged(self: _LanceTables, model: str, vectors: Sequence[tuple[int, Vector]]) -> None:
        with self.write("embed"):
            staged = still_staged(self.setting(STAGED), model, self.address)
            # A row may have been erased since it was read, or got its vector from another process meanwhile.
            lacking = set(_lacking(self, table_of(model), 0))
            made = {seq: storable(f"row {seq}", vector, staged["dim"]) for seq, vector in vectors}
            kept = {seq: vector for seq, vector in made.items() if seq in lacking}
            if kept:
                self.add_vectors(table_of(model), staged["dim"], kept)

    def adopt(self: _LanceTables, model: str, note: str) -> bool:
        """Make the next model the store's own, all at once; False when rows without its vector have come meanwhile."""
        with self.write(note) as writer:
            staged = still_staged(self.setting(STAGED), model, self.address)
            if _lacking(self, table_of(model), 0):
                return False
            for key, value in {**staged, STAGED: None, "filled": None}.items():
                writer.set(key, value)
            writer.touch()
        return True


def table_of(model: str) -> str:
    """The table that holds a model's vectors."""
    return f"vector_{model[:16] or 'none'}"


def _lacking(record: _LanceTables, table: str, after: int) -> list[int]:
    """Rows behind one, ascending, that the table has no vector of."""
    seqs = [seq for seq in record.look().seqs if seq > after]
    if table not in record.tables.names():
        return seqs
    having = set(record.tables.read(table, ("seq",), f"seq > {after}")["seq"].to_pylist())
    return [seq for seq in seqs if seq not in having]
