"""Checks of a local store: its index, its tail, the disk, and files of killed processes."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from assay.backend.contract import Check, CheckState
from assay.backend.shared.limits import COMPACT_FROM
from assay.index.checksums import DamagedIndex, DamagedRange, FolderChecks
from assay.index.generation import Generation
from assay.index.recall import describe_recall
from assay.store.disk_usage import count_bytes
from assay.store.locks import try_lock_file
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser

LEAST_FREE = 64_000_000
"""Bytes below which the next write may fail."""
NO_POSITIONS = "; it was built without the order of terms, so `learned` reads texts: assay optimize --force"
_DRAFT_NAME = re.compile(r"\..+\.(?P<pid>\d+)(-journal|-wal|-shm)?")


def health(store: SqliteStore) -> list[Check]:
    """Every check of the folder, in order."""
    return [_index(store), _tail(store), _disk(store), _leftovers(store)]


def sweep(store: SqliteStore) -> int:
    """Remove what killed processes left behind, unless an index is being built; how many files and folders."""
    if store.readonly:
        return 0
    with try_lock_file(store.folder / ".compacting") as locked:
        left = list(leftovers(store)) if locked else []
        for path in left:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    return len(left)


def _index(store: SqliteStore) -> Check:
    """Whether there is a usable generation, made with this analyser and model."""
    generation = _generation(store)
    if generation is None:
        waiting = store.count_chunks().chunks
        if not waiting:
            return Check("index", "ok", "the store is empty; there is nothing to index")
        named = store.setting("generation")
        text = f"the index {named} is missing, damaged or out of date" if named else "there is no index yet"
        state: CheckState = "warn" if named or waiting >= COMPACT_FROM else "ok"
        return Check("index", state, f"{text}; {waiting:,} chunks are searched one by one", "assay optimize")
    recall = describe_recall(generation.manifest.get("vectors"))
    hint = f"; {recall}" if recall else ""
    try:
        hint += "" if generation.words.knows_positions else NO_POSITIONS
    except DamagedIndex as error:
        return Check("index", "fail", error.message, "assay optimize --force")
    return Check("index", "ok", f"{generation.size:,} chunks as of v{generation.version}{hint}")


def find_index_damage(store: SqliteStore) -> tuple[list[DamagedRange], bool]:
    """Every damaged range of the index with its graph and tree, and whether some of it has no checksums."""
    folder = store.folder / "generations" / str(store.setting("generation"))
    damage: list[DamagedRange] = []
    unchecked = False
    for path in (folder, folder / "graph", folder / "tree"):
        try:
            manifest = json.loads((path / "manifest.json").read_bytes())
            checks = FolderChecks(path, manifest)
            damage += checks.find_damage() if checks.manifest_is_sound else [_whole_manifest(path)]
            unchecked = unchecked or not checks.known
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError):
            damage.append(_whole_manifest(path))
    return damage, unchecked


def _whole_manifest(folder: Path) -> DamagedRange:
    path = folder / "manifest.json"
    return DamagedRange(path, 0, path.stat().st_size)


def check_index_files(store: SqliteStore) -> Check:
    """Whether every file of the index is what was written."""
    damage, unchecked = find_index_damage(store)
    if damage:
        listed = "; ".join(map(str, damage[:20]))
        return Check("index files", "fail", f"{len(damage)} damaged: {listed}", "assay optimize --force")
    if unchecked:
        return Check("index files", "warn", "the index was made without checksums", "assay optimize --force")
    return Check("index files", "ok", "every file is what was written")


def _tail(store: SqliteStore) -> Check:
    """How much has changed since the index was built."""
    generation = _generation(store)
    since = generation.last_seq if generation else 0
    new = store.count_since(since)
    dead = len(store.deaths_since(generation.version)) if generation else 0
    text = f"{new:,} new and {dead:,} removed since the index was built"
    if new + dead >= COMPACT_FROM:
        return Check("tail", "warn", text, "assay optimize")
    return Check("tail", "ok", text)


def _disk(store: SqliteStore) -> Check:
    """Whether there is room for the next index, which is written beside the present one."""
    free = shutil.disk_usage(store.folder).free
    needed = LEAST_FREE + 2 * count_bytes(store.folder / "generations")
    text = f"{free / 1e9:,.1f} GB free"
    if free < LEAST_FREE:
        return Check("disk", "fail", f"{text}: the next write may fail", "free some space")
    if free < needed:
        return Check("disk", "warn", f"{text}; the next index needs {needed / 1e9:,.1f} GB", "free some space")
    return Check("disk", "ok", text)


def _leftovers(store: SqliteStore) -> Check:
    left = sorted(leftovers(store))
    if left:
        names = ", ".join(str(path.relative_to(store.folder)) for path in left[:5])
        return Check("leftovers", "warn", f"a killed process left behind: {names}", "assay optimize")
    return Check("leftovers", "ok", "none")


def leftovers(store: SqliteStore) -> Iterator[Path]:
    """Half-written files and folders of processes that are no more. Old indexes are swept by the next build."""
    generations = [path for path in (store.folder / "generations").glob("*") if not path.name.startswith(".")]
    for folder in (store.folder, store.folder / "generations", store.folder / "snapshots", *generations):
        for path in folder.iterdir() if folder.is_dir() else ():
            found = _DRAFT_NAME.fullmatch(path.name)
            if found and not _is_running(int(found["pid"])):
                yield path


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _generation(store: SqliteStore) -> Generation | None:
    """The generation the store names, if the store can use it."""
    named = store.setting("generation")
    try:
        found = Generation(store.folder / "generations" / str(named))
        made_with = (found.manifest["analyser"], found.manifest["model"], found.manifest["dim"])
    except (OSError, ValueError, KeyError):
        return None
    analyser = Analyser(language=store.settings["language"])
    return found if made_with == (analyser.digest, store.settings["model"], store.settings["dim"]) else None
