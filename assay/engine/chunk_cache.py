"""A snapshot that reads every chunk once: steps, judge and answer of one query share what was read."""

from __future__ import annotations

from assay.engine.snapshot_proxy import SnapshotProxy
from assay.protocols import Snapshot
from assay.types import Chunk, Rows


class ChunkCache(SnapshotProxy):
    """The snapshot `inner`; a chunk that was read is not read again. Made for one query, whose candidates it holds."""

    def __init__(self, inner: Snapshot) -> None:
        super().__init__(inner)
        self._chunks: dict[int, Chunk] = {}

    def chunks(self, rows: Rows) -> list[Chunk]:
        wanted = rows.tolist()
        missing = [place for place, row in enumerate(wanted) if row not in self._chunks]
        if missing:
            read = self.inner.chunks(rows[missing])
            self._chunks.update((wanted[place], chunk) for place, chunk in zip(missing, read, strict=True))
        return [self._chunks[row] for row in wanted]
