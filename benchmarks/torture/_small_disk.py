"""A small file system in memory that can be filled to the last byte."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from assay.errors import StoreError
from assay.testing.server_user import change_owner
from assay.util.closeable import Closeable

_BLOCK = 1 << 20


@dataclass(frozen=True)
class SmallDisk(Closeable):
    """A tmpfs mounted at `path`. Needs root."""

    path: Path

    @staticmethod
    def mount(path: Path, megabytes: int) -> SmallDisk:
        path.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "assay-torture", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise StoreError(f"a small disk cannot be mounted: {done.stderr.strip()}", "this needs root")
        path.chmod(0o755)
        change_owner(path)
        return SmallDisk(path)

    @property
    def _filler(self) -> Path:
        return self.path / "filler"

    def fill(self) -> None:
        """Write until nothing fits any more, also not a small file."""
        with self._filler.open("ab", buffering=0) as file:
            for size in (_BLOCK, 4_096, 1):
                with contextlib.suppress(OSError):
                    while file.write(b"\0" * size) == size:
                        pass

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        subprocess.run(["umount", "-l", str(self.path)], capture_output=True, check=False)


def find_obstacle() -> str:
    """Why no small disk can be mounted here; "" where it can."""
    if os.geteuid() != 0:
        return "only root can mount a small disk"
    return "" if Path("/proc/filesystems").read_text().find("tmpfs") >= 0 else "there is no tmpfs here"
