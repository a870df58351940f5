"""What reading one file may cost: memory, processor time and text. A file that needs more is reported, not read.

Foreign formats are parsed in worker processes that set these limits for themselves (`chunk_worker`), because a parser
written in C cannot be stopped from outside and aborts when memory runs out. Time and text grow with the file, so a
large file is no problem by itself. Environment variables change the limits: ASSAY_READER_MEMORY in MB,
ASSAY_READER_SECONDS.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from assay.errors import BadFile, ConfigError, Reason
from assay.ingest.files import bad_file
from assay.util.worker_pool import WorkerCrashed

MEMORY_MB = 1024
"""Memory of a reader process, on top of what it has when it starts."""
SECONDS, SECONDS_PER_MB = 60, 20
"""Processor time for one file."""
CHARACTERS, CHARACTERS_PER_BYTE = 64 << 20, 50
"""Text of one file: more than any file of ordinary text, table or office format has."""
STALL_SECONDS = 900.0
"""How long a reader may be silent by the clock: more than it may compute, so only one that waits is ended by it."""
OWN_FORMATS = frozenset({".md", ".markdown", ".mdx", ".rst", ".txt", ".text", ".log", ".jsonl", ".ndjson"})
"""Read by our own code, line by line with limits: a process for them would cost more than it protects."""

RESAVE_OR_RAISE_MEMORY = "open and re-save it, split it, or raise the limit: ASSAY_READER_MEMORY=4096"


def is_foreign(path: Path) -> bool:
    """Is this a format that a parser of others reads, or one that is held in memory as a whole?"""
    return path.suffix.lower() not in OWN_FORMATS


def memory_limit() -> int:
    """Bytes that a reader process may take on top of what it has when it starts."""
    return _read_setting("ASSAY_READER_MEMORY", MEMORY_MB) << 20


def time_limit(size: int) -> int:
    """Seconds of processor time for a file of so many bytes."""
    return _read_setting("ASSAY_READER_SECONDS", SECONDS) + SECONDS_PER_MB * (size >> 20)


def text_limit(size: int) -> int:
    """Characters of text that a file of so many bytes may have."""
    return CHARACTERS + CHARACTERS_PER_BYTE * size


def _read_setting(name: str, default: int) -> int:
    setting = os.environ.get(name, "").strip()
    if not setting:
        return default
    if not (setting.isascii() and setting.isdigit() and 0 < int(setting) < 1 << 30):
        raise ConfigError(f"{name} = {setting!r} is not a limit", f"give a whole number, e.g. {default}, or unset it")
    return int(setting)


# -- in the worker


def limit_memory() -> None:
    """Limit the memory of this process from now on."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit = _mapped_bytes() + memory_limit()
    with contextlib.suppress(ValueError, OSError):  # no such limit (macOS), or a lower one holds already
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def limit_time(size: int) -> None:
    """Limit the processor time of this process for the next file: beyond it the system ends the process."""
    import resource

    soft = int(time.process_time()) + 1 + time_limit(size)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _mapped_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


# -- reasons


def too_much_text(path: Path, size: int) -> BadFile:
    megabytes = text_limit(size) >> 20
    return bad_file(
        path, f"its text is longer than {megabytes:,} million characters, {size:,} bytes grew to it", _SPLIT
    )


def too_much_memory(path: Path) -> BadFile:
    return bad_file(path, _MEMORY.format(memory_limit() >> 20), RESAVE_OR_RAISE_MEMORY)


def explain_crash(error: WorkerCrashed, size: int) -> Reason:
    """Why a reader process ended while it read a file."""
    if error.stalled:
        return Reason(f"its reader did nothing for {STALL_SECONDS:.0f} seconds", "check the disk it lies on")
    if error.status == -signal.SIGXCPU:
        return Reason(
            f"reading it takes more than {time_limit(size):,} seconds of processor time",
            "split or re-save it, or raise the limit: ASSAY_READER_SECONDS=600",
        )
    return Reason(
        f"its reader crashed: it is damaged, or {_MEMORY.format(memory_limit() >> 20)}", RESAVE_OR_RAISE_MEMORY
    )


_MEMORY = "reading it takes more than {:,} MB of memory"
_SPLIT = "split it, or remove it"
