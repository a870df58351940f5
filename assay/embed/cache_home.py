"""Where Assay keeps what it can make again: installed models and cached vectors."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """`$ASSAY_HOME`, else `$XDG_CACHE_HOME/assay`, else `~/.cache/assay`; not created here."""
    if own := os.environ.get("ASSAY_HOME"):
        return Path(own)
    if caches := os.environ.get("XDG_CACHE_HOME"):
        return Path(caches) / "assay"
    return Path.home() / ".cache" / "assay"
