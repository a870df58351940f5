"""Which helper processes are running? Asked of the system, so that one nobody waited for is seen too."""

import contextlib
import os
from pathlib import Path


def helpers_of(module: str) -> list[int]:
    """Our helper processes of a module, also those that ended and were not waited for."""
    found = []
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(OSError):  # threads and processes may end while we look
            for pid in (task / "children").read_text().split():
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                if not command or module.encode() in command:
                    found.append(int(pid))
    return found
