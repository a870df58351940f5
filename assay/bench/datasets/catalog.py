"""Finds datasets: shipped with Assay, in $ASSAY_DATA, or at a path, in this order."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from assay.bench.datasets import beir
from assay.bench.datasets.errors import DatasetError
from assay.errors import nearest

HOME = "ASSAY_DATA"
"""The environment variable that names the folder of the user's datasets."""
_BENCH = Path(__file__).parent.parent
SHIPPED: Mapping[str, Path] = {name: _BENCH / name for name in ("tiny", "changing_facts")}
_ABSOLUTE = re.compile(r"(?<![^:=,])/[^,#]*")  # a path at the beginning, or after a prefix, a key or a comma


def list_datasets() -> list[str]:
    """The names that `load` accepts: the shipped datasets and the folders in $ASSAY_DATA."""
    home = _home()
    names = (path.name for path in home.iterdir() if beir.is_beir_folder(path)) if home and home.is_dir() else ()
    return sorted({*SHIPPED, *names})


def locate(name: str) -> Path:
    """Find the file or folder of that name; DatasetError names the nearest known one.

    What begins with `.` or `..` is a path, never a name in $ASSAY_DATA.
    """
    home = _home()
    is_path = Path(name).is_absolute() or name.partition("/")[0] in (".", "..")
    tried = (Path(name),) if is_path else (SHIPPED.get(name), home / name if home else None, Path(name))
    for path in tried:
        if name and path is not None and os.path.exists(path):  # never raises, for any name
            return path
    missing = ""
    if home is None:
        missing = f"; ${HOME}, the folder of your datasets, is not set"
    elif not home.is_dir():
        missing = f"; ${HOME} names {home}, which is no folder"
    raise DatasetError(f"there is no dataset {name!r}", nearest(name, list_datasets()) + missing)


def display_source(source: str) -> str:
    """Shorten absolute paths in a dataset argument: relative to $ASSAY_DATA or the working folder, else the name."""
    return _ABSOLUTE.sub(lambda found: _relative(Path(found[0])), source)


def _relative(path: Path) -> str:
    home = _home()
    for root in (home.resolve() if home else None, Path.cwd()):
        if root and path.resolve().is_relative_to(root):
            return path.resolve().relative_to(root).as_posix()
    return path.name


def _home() -> Path | None:
    folder = os.environ.get(HOME)
    return Path(folder) if folder else None
