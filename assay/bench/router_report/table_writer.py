"""Writes a dataset's chunks as a LanceDB table, to serve as a second source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.bench.router_report.arms import get_stages
from assay.bench.workspace import Workspace
from assay.engine.pipeline import Pipeline
from assay.errors import ConfigError, MissingExtra, StoreError
from assay.sources.lance_table import LanceTable
from assay.types import Chunk, Progress

BATCH = 1_000


def write_lance_table(workspace: Workspace, pipeline: Pipeline, progress: Progress = lambda *_: None) -> int:
    """Write the table that the pipeline's second stage reads, with its column names; return the number of rows.

    Each chunk of the workspace has its vector, document, date and scalar metadata, so that filters, dates and groups
    work alike in the table. An existing table is never changed.
    """
    _, second = get_stages(pipeline)
    source = second.leg
    if not isinstance(source, LanceTable):
        raise ConfigError(f"legs.{second.name} is no lance_table", "make a table for a pipeline that reads one")
    try:
        import lancedb
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtra("making a LanceDB table", "lance") from error
    view = workspace.snapshot
    if why := view.lacks("dense"):
        raise StoreError(f"a table of vectors needs a model: {why}")
    rows = view.live_rows(None)
    dim = view.vectors(rows[:1]).shape[1]
    base = lancedb.connect(source.path)
    if source.table in base.list_tables().tables:
        count = base.open_table(source.table).count_rows()
        what = f"{source.path} has a table {source.table!r} already, of {count:,} rows; this would have {len(rows):,}"
        raise StoreError(what, "leave it as it is, or remove it first")
    own = {source.id, source.text, source.vector, source.doc, source.created}
    kinds = {name: kind for name, kind in _field_types(view.chunks(rows)).items() if name not in own}
    arrow = {str: pa.string(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema(
        [
            (source.id, pa.string()),
            (source.text, pa.string()),
            (source.vector, pa.list_(pa.float32(), dim)),
            *([(source.doc, pa.string())] if source.doc else []),
            *([(source.created, pa.float64())] if source.created else []),
            *((name, arrow[kind]) for name, kind in kinds.items()),
        ]
    )
    table = base.create_table(source.table, schema=schema)
    try:
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            pairs = zip(view.chunks(part), view.vectors(part), strict=True)
            batch = [_build_row(chunk, source, kinds) | {source.vector: vector} for chunk, vector in pairs]
            table.add(pa.Table.from_pylist(batch, schema))
            progress(source.table, start + len(part), len(rows))
    except BaseException:  # a partial table would be measured as a poor source
        base.drop_table(source.table)
        raise
    return len(rows)


def _field_types(chunks: Iterable[Chunk]) -> dict[str, type]:
    """The metadata fields whose values are all texts, all numbers or all booleans."""
    seen: dict[str, set[type]] = {}
    for chunk in chunks:
        for name, value in chunk.meta.items():
            seen.setdefault(name, set()).add(float if type(value) is int else type(value))
    return {name: next(iter(kinds)) for name, kinds in sorted(seen.items()) if kinds in ({str}, {float}, {bool})}


def _build_row(chunk: Chunk, source: LanceTable, kinds: Mapping[str, type]) -> dict[str, Any]:
    row: dict[str, Any] = {name: kind(chunk.meta[name]) for name, kind in kinds.items() if name in chunk.meta}
    if source.doc:
        row[source.doc] = chunk.doc_id
    if source.created and chunk.created == chunk.created:  # NaN: an undated chunk
        row[source.created] = chunk.created
    return {**row, source.id: chunk.id, source.text: chunk.text}
