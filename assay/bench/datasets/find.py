"""Where does a dataset lie? Shipped with Assay, in $ASSAY_DATA, or at a path; in this order."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from assay.bench.datasets import beir
from assay.bench.datasets.errors import DatasetError
from assay.errors import nearest

HOME = "ASSAY_DATA"
"""The environment variable that names the folder of one's datasets."""
SHIPPED: Mapping[str, Path] = {"tiny": Path(__file__).parent.parent / "tiny"}
_ABSOLUTE = re.compile(r"(?<![^:=,])/[^,#]*")  # a path at the beginning, or after a prefix, a key or a comma


def available() -> list[str]:
    """Names that `load` takes as they are: the shipped datasets, and the folders in $ASSAY_DATA."""
    home = _home()
    there = (path.name for path in home.iterdir() if beir.is_folder(path)) if home and home.is_dir() else ()
    return sorted({*SHIPPED, *there})


def locate(name: str) -> Path:
    """The file or folder of that name; DatasetError names the nearest known one."""
    home = _home()
    tried = (SHIPPED.get(name), home / name if home else None, Path(name))
    for path in tried:
        if name and path is not None and os.path.exists(path):  # never raises, whatever the name
            return path
    unset = "" if home else f"; ${HOME}, the folder of your datasets, is not set"
    raise DatasetError(f"there is no dataset {name!r}", nearest(name, available()) + unset)


def shown(source: str) -> str:
    """A source without absolute paths: as it is found from $ASSAY_DATA or from here, else the last name of it."""
    return _ABSOLUTE.sub(lambda found: _relative(Path(found[0])), source)


def _relative(path: Path) -> str:
    home = _home()
    for root in (home.resolve() if home else None, Path.cwd()):
        if root and path.resolve().is_relative_to(root):
            return path.resolve().relative_to(root).as_posix()
    return path.name


def _home() -> Path | None:
    named = os.environ.get(HOME)
    return Path(named) if named else None
