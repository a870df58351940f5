"""The settings of a Qdrant index, as the options of a PostgreSQL address name them:

postgres://user@db/assay?index=qdrant://node1:6333,node2:6333&index_shards=3&index_replicas=2
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

from assay.errors import ConfigError, Reason
from assay.util.qdrant_cluster import HOW_TO_WRITE, QdrantAddress

OPTION = "index"
"""The option of a PostgreSQL address that names its index; settings are `index_NAME`."""
VectorSearch = Literal["exact", "hnsw", "int8"]


@dataclass(frozen=True, slots=True)
class QdrantSettings:
    """How a collection is made, and how it is searched."""

    vectors: VectorSearch = "exact"
    """exact: compare every vector; hnsw: a graph from 10,000 rows on; int8: a graph of int8 codes, vectors on disk."""
    shards: int = 1
    replicas: int = 1
    timeout: float = 10.0
    """Seconds that one request may take."""
    partial: bool = False
    """Whether an answer may lack the rows of shards that do not answer. Otherwise PostgreSQL answers instead."""

    @staticmethod
    def parse(options: Mapping[str, str]) -> QdrantSettings:
        """Read `index_vectors`, `index_shards`, `index_replicas`, `index_timeout` and `index_partial` of an address."""
        known = {f"{OPTION}_{name}": name for name in QdrantSettings.__slots__}
        for option in options:
            if option not in known:
                names = sorted((OPTION, f"{OPTION}_key", *known))
                raise ConfigError(f"an index has no setting {option!r}", f"known: {', '.join(names)}")
        values: dict[str, Any] = {}
        for option, text in options.items():
            values[known[option]] = _READERS[known[option]](option, text)
        return QdrantSettings(**values)

    def layout(self) -> dict[str, Any]:
        """What a collection is made with; a collection with another layout must be built anew."""
        return {key: value for key, value in asdict(self).items() if key in ("vectors", "shards", "replicas")}

    def explain_other(self, layout: Mapping[str, Any]) -> Reason | None:
        """Why a collection made with this layout is not the one that is wanted; None where it is."""
        wanted = self.layout()
        other = [key for key in wanted if layout.get(key) != wanted[key]]
        if not other:
            return None
        made, named = (", ".join(f"{key} {found.get(key)}" for key in other) for found in (layout, wanted))
        as_made = "&".join(f"{OPTION}_{key}={layout.get(key)}" for key in other)
        return Reason(
            f"the index was made with {made}, and the address means {named}",
            f"write {as_made} in the address, or let assay optimize build the index anew",
        )


def parse_options(options: Mapping[str, str]) -> tuple[QdrantAddress, QdrantSettings]:
    """The index that the options of a PostgreSQL address name; ConfigError for what cannot be read."""
    if OPTION not in options:
        raise ConfigError(f"the address has {', '.join(sorted(options))}, but names no index", HOW_TO_WRITE)
    settings = {key: value for key, value in options.items() if key not in (OPTION, f"{OPTION}_key")}
    return QdrantAddress.parse(options[OPTION], options.get(f"{OPTION}_key", "")), QdrantSettings.parse(settings)


def _read_search(option: str, text: str) -> VectorSearch:
    if text not in get_args(VectorSearch):
        raise ConfigError(f"{option} cannot be {text!r}", f"use one of {', '.join(get_args(VectorSearch))}")
    return cast(VectorSearch, text)


def _read_count(option: str, text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,2}", text):
        raise ConfigError(f"{option} cannot be {text!r}", "use a whole number from 1 to 999")
    return int(text)


def _read_seconds(option: str, text: str) -> float:
    if not re.fullmatch(r"\d{1,4}(\.\d+)?", text) or float(text) <= 0:
        raise ConfigError(f"{option} cannot be {text!r}", "use seconds, e.g. 2.5")
    return float(text)


def _read_flag(option: str, text: str) -> bool:
    if text not in ("allow", "refuse"):
        raise ConfigError(f"{option} cannot be {text!r}", "use allow or refuse")
    return text == "allow"


_READERS = {
    "vectors": _read_search,
    "shards": _read_count,
    "replicas": _read_count,
    "timeout": _read_seconds,
    "partial": _read_flag,
}
