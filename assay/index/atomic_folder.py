"""Builds a folder atomically: under a temporary name, synced, renamed; a manifest lists its files."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.index.checksums import FolderChecks, write_checksums


@contextlib.contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Give a temporary folder to build in; it is renamed when the block ends, and removed when the block fails."""
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        _sync(temporary)
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest with every file of the folder, its length and its checksum; it must be the last file
    written."""
    write_checksums(folder, manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True), "utf-8")


def read_manifest(folder: Path, form: int, parts: frozenset[str]) -> tuple[dict[str, Any], FolderChecks]:
    """Return the manifest of a folder, after checking that every file is there with its length, and its checksums.

    OSError or ValueError when it is missing, incomplete, of another format, or lacks one of `parts`.
    """
    manifest = json.loads((folder / "manifest.json").read_bytes())
    if not isinstance(manifest, dict) or manifest.get("format") != form:
        raise ValueError(f"{folder} is not of format {form}")
    if not manifest.keys() >= parts | {"files"} or not isinstance(manifest["files"], dict):
        raise ValueError(f"the manifest of {folder} lacks a part")
    checks = FolderChecks(folder, manifest)
    checks.verify_manifest()
    checks.verify_lengths()
    return manifest, checks


def _sync(folder: Path) -> None:
    """Sync files and folders to disk, so that a power failure leaves no partial folder."""
    for path in (*folder.rglob("*"), folder):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
