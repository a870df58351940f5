"""Purge: removes the text of forgotten memories from every version, index, cache and known backup.

The report lists what was erased and what cannot be reached. The memories are deleted before; the backend takes them out
of every version and index. A second run completes what a crash, or a reader with an old index open, left undone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from assay.backend.contract import ErasureReport
from assay.embed.cache_home import cache_home
from assay.embed.vector_cache import hash_text
from assay.errors import StoreError
from assay.kb import KnowledgeBase
from assay.memory.entries import document_id
from assay.memory.writer import version_note
from assay.store.backup_file import erase_from_backup
from assay.upkeep.backup import known_backups
from assay.util.disk_cache import DiskCache

CACHES = {"vectors.sqlite": (b"document", b"query"), "tokens.sqlite": (b"tokens",)}
"""Caches outside the store, under `cache_home()`, with the kinds of keys that a text has in them."""
LIMITS = (
    "copies nobody told this store of: exports, copied folders, stores restored from a backup, moved backups",
    "other running processes, until they look at the store again",
    "remote services that were sent the text, where an embedder or reranker is one",
    "the disk itself: file system snapshots and blocks that are free now",
)


def purge(kb: KnowledgeBase, ids: Sequence[str], backups: Sequence[Path], now: float) -> ErasureReport:
    """Remove all text of these memories, which must be deleted already."""
    names = [document_id(memory_id) for memory_id in ids]
    chunks = (state.row.chunk for name in names for state in kb.store.states(name))
    texts = sorted({chunk.text for chunk in chunks if chunk.doc_id in names})
    result = kb.backend.erase(names, version_note("purged", now))
    _purge_caches(texts, result)
    for path in dict.fromkeys((*known_backups(kb.store), *(given.resolve() for given in backups))):
        _purge_backup(path, names, result)
    result.unreached.extend(LIMITS)
    return result


def _purge_caches(texts: Sequence[str], result: ErasureReport) -> None:
    for name, kinds in CACHES.items():
        path = cache_home() / name
        if not path.exists():
            continue
        with contextlib.closing(DiskCache(path, 1 << 62)) as cache:
            count = cache.drop([hash_text(kind, text) for kind in kinds for text in texts])
        if cache.trouble:
            result.unreached.append(f"cache {name}: {cache.trouble}")
        else:
            result.erased.append(f"cache {name}: {_count(count, 'entry')}")


def _purge_backup(path: Path, names: Sequence[str], result: ErasureReport) -> None:
    if not path.is_file():
        result.unreached.append(f"backup {path}: it is not there any more; if it was moved, name it (backups=…)")
        return
    try:
        rows, remains = erase_from_backup(path, names)
    except StoreError as error:
        result.unreached.append(f"backup {path}: {error.message}")
        return
    if remains:
        result.unreached.append(f"backup {path}: {remains}")
    result.erased.append(f"backup {path}: {_count(rows, 'row')}")


def _count(number: int, noun: str) -> str:
    many = noun if number == 1 else f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {many}"
