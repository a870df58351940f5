"""Searches a LanceDB table that another program writes; it is never written here."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Literal

from assay.engine.checks import check_whole
from assay.engine.foreign_chunks import SourceResult
from assay.errors import ConfigError, MissingExtra, StoreError, nearest
from assay.protocols import Snapshot
from assay.sources.lance_sql import Kind, TableColumns
from assay.sources.listing import SourceHit, build_result
from assay.types import Chunk, Query, Range, Ranking
from assay.util.permissions import Effect, address_effects, require

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LanceTable:
    """Rows of `table` in the LanceDB folder (or address) `path`, nearest first, or by its full-text index.

    mode = "vector": score = max(0, 1 − cosine distance), scale unit. The query's vector is this store's, so the column
    `vector` must have been made with the same model; another length is refused. `nprobes` is for tables with a vector
    index: how many of its lists are looked at, more where a filter leaves too few rows; without one it is exact.
    mode = "text": the score of LanceDB's full-text index over `text`, scale raw.
    Columns: `id` and `text`; `doc` names the document (by default the id), `created` the moment (seconds since 1970, or
    a timestamp; one without a zone is UTC); all other plain columns become metadata. A row without an id is not found.
    A filter is pushed down as SQL; one that names a column the table lacks is refused. Equal scores stand in id order.
    The newest version is read, or `version`. Past its cap the search is cancelled.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    is_source: ClassVar[bool] = True

    path: str
    table: str = "chunks"
    mode: Literal["vector", "text"] = "vector"
    id: str = "id"
    text: str = "text"
    vector: str = "vector"
    doc: str = ""
    created: str = ""
    nprobes: int = 20
    version: int | None = None

    def __post_init__(self) -> None:
        check_whole("lance_table.nprobes", self.nprobes, 1)
        for key in ("path", "table", "id", "text", "vector"):
            if not getattr(self, key):
                raise ConfigError(f"lance_table.{key} is empty", f"name the {key}")

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"vector"}) if self.mode == "vector" else frozenset()

    def effects(self) -> tuple[Effect, ...]:
        return address_effects(self.path)

    def reads(self) -> tuple[str, ...]:
        return () if address_effects(self.path) else (self.path,)

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0) if self.mode == "vector" else Range("raw", 0.0, math.inf)

    def prepare(self) -> None:
        """Load the library: a second of its own, once; not for a folder that is not there."""
        _check_there(self.path)
        _lancedb()

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> SourceResult:
        return self.begin(query, snapshot, k).result()

    def begin(self, query: Query, snapshot: Snapshot, k: int) -> LanceSearch:
        return LanceSearch(self, query, k)


class LanceSearch:
    """One search in an event loop of its own, which can be cancelled."""

    def __init__(self, source: LanceTable, query: Query, k: int) -> None:
        self._source, self._query, self._k = source, query, k
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[list[Row]] | None = None
        self._cancelled = False

    def result(self) -> SourceResult:
        source, query = self._source, self._query
        if not query.text.strip() and (source.mode == "text" or query.vector is None):
            return build_result(source.table, [], source.gives().scale, self._k)
        if source.mode == "vector" and query.vector is None:
            raise StoreError(f"{source.table} is searched by vector, and the query has none", "assay model install")
        try:
            rows = asyncio.run(self._search())
        except asyncio.CancelledError:
            raise StoreError("the search was cancelled") from None
        return build_result(source.table, _sort_hits(rows, source), source.gives().scale, self._k)

    def cancel(self) -> None:
        self._cancelled = True
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)

    async def _search(self) -> list[Row]:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.ensure_future(self._rows())
        if self._cancelled:
            self._task.cancel()
        return await self._task

    async def _rows(self) -> list[Row]:
        source, query = self._source, self._query
        table = await _open(source)
        schema = await table.schema()
        names = schema.names
        for column in (source.id, source.text, *filter(None, (source.doc, source.created))):
            if column not in names:
                raise StoreError(f"{source.table} has no column {column!r}", nearest(column, names))
        kinds: dict[str, Kind] = {field.name: _kind(field.type) for field in schema}
        where = TableColumns(kinds, source.doc or source.id, source.created, source.id).sql(query)
        try:
            if source.mode == "vector":
                search = table.query().nearest_to(query.vector).column(source.vector).distance_type("cosine")
                # A filter may leave the nearest lists empty: it looks on, so that no list is short while rows match.
                search = search.minimum_nprobes(source.nprobes).maximum_nprobes(0)
            else:
                search = table.query().nearest_to_text(query.text, columns=[source.text])
            if where:
                search = search.where(where)
            score = "_distance" if source.mode == "vector" else "_score"
            search = search.select([*(name for name in names if name != source.vector), score])
            most = 2 * self._k
            # Ties at the end of the list would follow the table's file order: fetch past them, then cut in our order.
            while _open_edge(found := await search.limit(most).to_list(), most, self._k, score, source.id):
                most *= 4
        except (ValueError, RuntimeError, OSError, TypeError) as error:
            text = " ".join(str(error).split())[:200]
            raise StoreError(f"{source.table} cannot be searched: {text}", _cure(source, where)) from error
        return [row for row in found if row[source.id] is not None]


def _open_edge(found: list[Row], most: int, k: int, score: str, name: str) -> bool:
    """May a row that was not fetched belong to the first k? Where the last one fetched ties with the k-th it may, and
    where rows without an id take up places."""
    named = [row[score] for row in found if row[name] is not None]
    return len(found) == most and (len(named) < k or named[k - 1] == found[-1][score])


def _lancedb() -> Any:
    try:
        import lancedb
    except ImportError as error:
        raise MissingExtra("reading a LanceDB table", "lance") from error
    return lancedb


def _check_there(path: str) -> None:
    if "://" not in path and not Path(path).is_dir():
        raise StoreError(f"there is no LanceDB folder at {path}", "name the folder that holds the table")


async def _open(source: LanceTable) -> Any:
    require(*source.effects())
    _check_there(source.path)
    lancedb = _lancedb()
    try:
        base = await lancedb.connect_async(source.path, read_consistency_interval=timedelta(0))
        table = await base.open_table(source.table)
        if source.version is not None:
            await table.checkout(source.version)
    except (ValueError, RuntimeError, OSError) as error:
        text = " ".join(str(error).split())[:200]
        raise StoreError(
            f"{source.path} cannot be opened at {source.table!r}: {text}", "name a table of that folder"
        ) from error
    return table


def _kind(arrow_type: Any) -> Kind:
    """What a column holds, from its Arrow type."""
    text = str(arrow_type)
    return "moment" if text.startswith(("timestamp", "date")) else "list" if "list" in text else "plain"


def _cure(source: LanceTable, where: str) -> str:
    if where:
        return "does the filter compare each column with a value of its kind?"
    if source.mode == "text":
        return f'the column {source.text!r} needs a full-text index; or: mode = "vector"'
    return f"is {source.vector!r} a vector column of this store's model?"


def _sort_hits(rows: list[Row], source: LanceTable) -> list[SourceHit]:
    """The hits by (score desc, id asc)."""
    hits = [_parse_hit(row, source) for row in rows]
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))


def _moment(value: object) -> float:
    """Seconds since 1970; NaN for a row without a moment."""
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return math.nan


def _parse_hit(row: Row, source: LanceTable) -> SourceHit:
    score = max(0.0, 1.0 - float(row["_distance"])) if source.mode == "vector" else float(row["_score"])
    own = {source.id, source.text, source.vector, "_distance", "_score", "_relevance_score"}
    meta = {key: value for key, value in row.items() if key not in own and isinstance(value, str | int | float | bool)}
    name = str(row[source.id])
    moment = _moment(row.get(source.created) if source.created else None)
    doc = str(row[source.doc]) if source.doc and row.get(source.doc) is not None else name
    return SourceHit(Chunk(name, doc, str(row[source.text] or ""), 0, moment, meta=meta), score)
