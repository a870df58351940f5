"""Staged vectors of the next model in Lance: a table that replaces the present one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from assay.backend.lance.catalogue import Catalogue
from assay.backend.lance.tables import Tables
from assay.backend.lance.writer import LanceWriter
from assay.store.contract import STAGED, require_staged
from assay.store.validation import check_vector
from assay.types import Vector


class _LanceTables(Protocol):
    tables: Tables

    @property
    def address(self) -> str: ...
    @property
    def vector_table(self) -> str: ...
    def refresh(self) -> Catalogue: ...
    def setting(self, key: str) -> Any: ...
    def add_vectors(self, name: str, dim: int, vectors: Mapping[int, Vector]) -> None: ...
    def write(self, note: str) -> AbstractContextManager[LanceWriter]: ...


class LanceStaging:
    """The part of `ChunkStore` that moves a store in Lance tables to another model."""

    def stage(self: _LanceTables, embedder: str, model: str, dim: int) -> int:
        target = {"embedder": embedder, "model": model, "dim": dim}
        with self.write(f"embed with {embedder}") as writer:
            if self.setting(STAGED) != target:
                for name in self.tables.names():  # of a move given up, and of one whose process died as it ended
                    if name.startswith("vector_") and name != self.vector_table:
                        self.tables.drop(name)
                writer.set(STAGED, target)
        return len(_lacking(self, vector_table_name(model), 0))

    def rows_without_staged_vector(self: _LanceTables, after: int, most: int) -> list[int]:
        staged = self.setting(STAGED)
        return _lacking(self, vector_table_name(staged["model"]), after)[:most] if staged else []

    def put_staged(self: _LanceTables, model: str, vectors: Sequence[tuple[int, Vector]]) -> None:
        with self.write("embed"):
            staged = require_staged(self.setting(STAGED), model, self.address)
            # A row may have been erased since it was read, or got its vector from another process meanwhile.
            lacking = set(_lacking(self, vector_table_name(model), 0))
            made = {seq: check_vector(f"row {seq}", vector, staged["dim"]) for seq, vector in vectors}
            missing = {seq: vector for seq, vector in made.items() if seq in lacking}
            if missing:
                self.add_vectors(vector_table_name(model), staged["dim"], missing)

    def adopt(self: _LanceTables, model: str, note: str) -> bool:
        with self.write(note) as writer:
            staged = require_staged(self.setting(STAGED), model, self.address)
            if _lacking(self, vector_table_name(model), 0):
                return False
            for key, value in {**staged, STAGED: None, "filled": None}.items():
                writer.set(key, value)
            writer.touch()
        return True


def vector_table_name(model: str) -> str:
    """The table that holds a model's vectors."""
    return f"vector_{model[:16] or 'none'}"


def _lacking(store: _LanceTables, table: str, after: int) -> list[int]:
    """Rows after `after`, ascending, without a vector in the table."""
    seqs = [seq for seq in store.refresh().seqs if seq > after]
    if table not in store.tables.names():
        return seqs
    having = set(store.tables.read(table, ("seq",), f"seq > {after}")["seq"].to_pylist())
    return [seq for seq in seqs if seq not in having]
