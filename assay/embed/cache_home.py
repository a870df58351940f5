"""The folder of installed models and cached vectors."""

from __future__ import annotations

import os
from pathlib import Path


def cache_home() -> Path:
    """Return `$ASSAY_HOME`, else `$XDG_CACHE_HOME/assay`, else `~/.cache/assay`; not created here."""
    if own := os.environ.get("ASSAY_HOME"):
        return Path(own)
    if caches := os.environ.get("XDG_CACHE_HOME"):
        return Path(caches) / "assay"
    return Path.home() / ".cache" / "assay"
