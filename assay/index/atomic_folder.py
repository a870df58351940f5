"""A folder that is there whole or not at all: built aside, synced, renamed; a manifest says what belongs to it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """A folder aside to build in; it takes its name when the block ends, and vanishes when the block fails."""
    aside = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        yield aside
        _sync(aside)
        shutil.rmtree(folder, ignore_errors=True)
        aside.rename(folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def write_manifest(folder: Path, said: dict[str, Any]) -> None:
    """What a folder says of itself, with every file in it and its length: the last thing written."""
    said["files"] = _sizes(folder)
    (folder / "manifest.json").write_text(json.dumps(said, indent=1, sort_keys=True), "utf-8")


def read_manifest(folder: Path, form: int, parts: frozenset[str]) -> dict[str, Any]:
    """What a folder says of itself, once every file is there and as long as it was when written.

    OSError or ValueError when it is not there, not whole, of another format, or lacks one of `parts`.
    """
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    if not isinstance(said, dict) or said.get("format") != form:
        raise ValueError(f"{folder} is not of format {form}")
    if not said.keys() >= parts | {"files"} or not isinstance(said["files"], dict):
        raise ValueError(f"the manifest of {folder} lacks a part")
    for name, size in said["files"].items():
        if (folder / name).stat().st_size != size:
            raise ValueError(f"{folder / name} is not {size} bytes long")
    return said


def _sizes(folder: Path) -> dict[str, int]:
    """Every file under a folder by its relative name, with its bytes."""
    return {str(p.relative_to(folder)): p.stat().st_size for p in sorted(folder.rglob("*")) if p.is_file()}


def _sync(folder: Path) -> None:
    """To the disk, the folders that name the files included: a machine that loses power must not keep half of it."""
    for path in (*folder.rglob("*"), folder):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
