"""Files that are whole or not there: a reader never sees half of one, and of two writers the later wins whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a file beside its place, make it durable, then put it there. What was there before stays until then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)  # mkstemp's 0600 is for secrets
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
