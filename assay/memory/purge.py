"""Purging: the text of forgotten memories leaves every version, index, cache and known backup, and we say what stays.

The memories are dead already; the backend takes them out of every version and index. Run it again and it finishes what
a crash, or a reader that kept an old index open, left undone.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from assay.backend.contract import Erased
from assay.embed.cache import key_of
from assay.embed.home import home
from assay.kb import KnowledgeBase
from assay.memory.entries import document_id
from assay.memory.writing import noted
from assay.store.erase import erase, rewrite
from assay.upkeep.backup import known_backups
from assay.util.disk_cache import DiskCache

CACHES = {"vectors.sqlite": (b"document", b"query"), "tokens.sqlite": (b"tokens",)}
"""Caches beside the store, under `embed.home`, with the kinds of keys a text has in them."""
LIMITS = (
    "copies nobody told this store of: exports, copied folders, stores restored from a backup, moved backups",
    "other running processes, until they look at the store again",
    "remote services that were sent the text, where an embedder or reranker is one",
    "the disk itself: file system snapshots and blocks that are free now",
)


def purge(kb: KnowledgeBase, ids: Sequence[str], backups: Sequence[Path], now: float) -> Erased:
    """Remove all text of these memories, which are dead already."""
    names = [document_id(one) for one in ids]
    every = (state.row.chunk for name in names for state in kb.store.states(name))
    texts = sorted({chunk.text for chunk in every if chunk.doc_id in names})
    done = kb.backend.erase(names, noted("purged", now))
    _caches(texts, done)
    for path in dict.fromkeys((*known_backups(kb.store), *(given.resolve() for given in backups))):
        _backup(path, names, done)
    done.unreached.extend(LIMITS)
    return done


def _caches(texts: Sequence[str], done: Erased) -> None:
    for name, kinds in CACHES.items():
        path = home() / name
        if not path.exists():
            continue
        with contextlib.closing(DiskCache(path, 1 << 62)) as shelf:
            gone = shelf.drop([key_of(kind, text) for kind in kinds for text in texts])
        if shelf.trouble:
            done.unreached.append(f"cache {name}: {shelf.trouble}")
        else:
            done.erased.append(f"cache {name}: {_count(gone, 'entry')}")


def _backup(path: Path, names: Sequence[str], done: Erased) -> None:
    if not path.is_file():
        done.unreached.append(f"backup {path}: it is not there any more; if it was moved, name it (backups=…)")
        return
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA secure_delete = ON")
            db.execute("BEGIN IMMEDIATE")
            gone = erase(db, names)
            db.execute("COMMIT")
            lingers = rewrite(db)
    except sqlite3.Error as error:
        done.unreached.append(f"backup {path}: {error}")
        return
    if lingers:
        done.unreached.append(f"backup {path}: {lingers}")
    done.erased.append(f"backup {path}: {_count(gone, 'row')}")


def _count(number: int, noun: str) -> str:
    many = noun if number == 1 else f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {many}"
