"""Purging: the text of forgotten memories leaves every version, index, cache and known backup, and we say what stays.

Order matters. The memories are dead already; a new index is built without them, under a new name, so that every reader
starts over from it; only then do their rows go, and the files are written anew. Run it again and it finishes what a
crash, or a reader that kept an old index open, left undone.
"""

from __future__ import annotations

import contextlib
import gc
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.backup import known_backups
from assay.embed.cache import key_of
from assay.embed.home import home
from assay.embed.shelf import Shelf
from assay.errors import StoreBusy
from assay.kb import KnowledgeBase
from assay.memory.entries import document_id
from assay.memory.writing import noted
from assay.store.erase import erase, rewrite, texts_of
from assay.store.locks import unused
from assay.store.sqlite import DATABASE

CACHES = {"vectors.sqlite": (b"document", b"query"), "tokens.sqlite": (b"tokens",)}
"""Caches beside the store, under `embed.home`, with the kinds of keys a text has in them."""
LIMITS = (
    "copies nobody told this store of: exports, copied folders, stores restored from a backup, moved backups",
    "other running processes, until they look at the store again",
    "remote services that were sent the text, where an embedder or reranker is one",
    "the disk itself: file system snapshots and blocks that are free now",
)


@dataclass
class Purge:
    """What has been done so far."""

    erased: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)


def purge(kb: KnowledgeBase, ids: Sequence[str], backups: Sequence[Path], now: float) -> Purge:
    """Remove all text of these memories, which are dead already."""
    names = [document_id(one) for one in ids]
    texts = texts_of(kb.store.db, names)
    done = Purge()
    _index_anew(kb)
    _rows(kb, names, now, done)
    _indexes(kb, done)
    _caches(texts, done)
    for path in dict.fromkeys((*known_backups(kb.store), *(given.resolve() for given in backups))):
        _backup(path, names, done)
    done.unreached.extend(LIMITS)
    return done


def _index_anew(kb: KnowledgeBase) -> None:
    version = kb.store.version()
    kb.optimize(force=True)
    index = kb.backend.generation
    if index is None or index.version < version:
        raise StoreBusy(
            f"the memories are hidden, but not purged: the index of {kb.store.folder} is being built",
            "purge them again when it has finished",
        )


def _rows(kb: KnowledgeBase, names: Sequence[str], now: float, done: Purge) -> None:
    db = kb.store.db
    db.execute("PRAGMA secure_delete = ON")
    with kb.store.write(noted("purged", now)):
        gone = erase(db, names)
    lingers = rewrite(db)
    if lingers:
        done.unreached.append(f"{DATABASE}: {lingers}")
    done.erased.append(f"{DATABASE}: {_count(gone, 'row')} of all versions, the file written anew")


def _indexes(kb: KnowledgeBase, done: Purge) -> None:
    """Every index but the new one goes, unless somebody has it open."""
    kb.snapshot()  # moves this process on to the new index
    gc.collect()  # views of the old one that nobody holds any more
    current = kb.store.setting("generation")
    removed = 0
    for folder in _folders(kb.backend.folder, kb.store.folder / "snapshots"):
        if folder.name == current and folder.parent == kb.backend.folder:
            continue
        with unused(folder / "manifest.json") as free:
            if free:
                shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            done.unreached.append(f"the old index {folder.name}, which is open: purge again when it is closed")
        else:
            removed += 1
    done.erased.append(f"indexes: {current} was built without it, {_count(removed, 'old one')} removed")


def _folders(*parents: Path) -> Iterator[Path]:
    for parent in parents:
        yield from sorted(path for path in parent.glob("*") if path.is_dir())


def _caches(texts: Sequence[str], done: Purge) -> None:
    for name, kinds in CACHES.items():
        path = home() / name
        if not path.exists():
            continue
        with contextlib.closing(Shelf(path, 1 << 62)) as shelf:
            gone = shelf.drop([key_of(kind, text) for kind in kinds for text in texts])
        if shelf.trouble:
            done.unreached.append(f"cache {name}: {shelf.trouble}")
        else:
            done.erased.append(f"cache {name}: {_count(gone, 'entry')}")


def _backup(path: Path, names: Sequence[str], done: Purge) -> None:
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
