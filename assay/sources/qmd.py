"""Asks a QMD collection through its command line."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, ClassVar, cast

from assay.engine.foreign_chunks import SourceResult
from assay.errors import ConfigError, StoreError
from assay.protocols import Snapshot
from assay.sources.listing import build_result, reject_filters
from assay.sources.qmd_rows import Doc, Id, Mode, one_line, parse_hits
from assay.types import Query, Range, Ranking
from assay.util.permissions import Effect, require

MOST_BYTES = 8_000_000
TIMEOUT_S = 120.0
"""Where no cap is given: the first query in mode "query" loads three models."""
TICK_S = 0.02
STARTS = 100
"""Offsets tried as the start of its JSON; other output may have millions."""


@dataclass(frozen=True, slots=True)
class Qmd:
    """`qmd <mode> <text> -n <k> --json [-c <collection>]`: "search" is words, "vsearch" vectors, "query" both and more.

    `command` is the program, on the path or with its own. A find goes by its `file` (unique) or its `docid` (a hash of
    its content); its document is the `file`, or with doc = "stem" the file's name without folder and suffix, so that
    `sessions/s1.md` is the document s1 of another source. Scores are QMD's, in [0, 1] to two decimals; its order is
    kept where they tie. Past its cap the process is killed, with all that it started. The program is started only if
    the user allows it (`assay allow program:qmd`).
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    is_source: ClassVar[bool] = True

    collection: str = ""
    mode: Mode = "query"
    command: str = "qmd"
    id: Id = "file"
    doc: Doc = "file"

    def __post_init__(self) -> None:
        if not self.command.strip():
            raise ConfigError("qmd.command is empty", 'command = "qmd"')

    def effects(self) -> tuple[Effect, ...]:
        return (Effect("program", self.command),)

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> SourceResult:
        return self.begin(query, snapshot, k).result()

    def begin(self, query: Query, snapshot: Snapshot, k: int) -> QmdProcess:
        return QmdProcess(self, query, k)

    def arguments(self, text: str, k: int) -> list[str]:
        return [
            self.command,
            self.mode,
            text,
            "-n",
            str(k),
            "--json",
            *(("-c", self.collection) if self.collection else ()),
        ]


class QmdProcess:
    """One run of QMD, which can be cancelled."""

    def __init__(self, source: Qmd, query: Query, k: int) -> None:
        self._source, self._query, self._k = source, query, k
        self._process: subprocess.Popen[bytes] | None = None
        self._cancel_reason = ""
        self._lock = threading.Lock()

    def result(self) -> SourceResult:
        reject_filters("QMD", self._query)
        text = one_line(self._query.text)
        if not text.strip():
            return build_result("qmd", [], "unit", self._k)
        require(*self._source.effects())
        out, err, code = self._run(self._source.arguments(text, self._k))
        if code != 0:
            message = " ".join(err.decode("utf-8", "replace").split())[-200:]
            raise StoreError(
                f"{self._source.command} ended with {code}: {message or 'it says nothing'}", "run it by hand"
            )
        return build_result("qmd", parse_hits(_parse(out), self._source), "unit", self._k)

    def _run(self, arguments: list[str]) -> tuple[bytes, bytes, int]:
        with self._lock:
            if self._cancel_reason:
                raise StoreError("QMD was cancelled before it began")
            try:
                process = self._process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                message = getattr(error, "strerror", None) or error
                raise StoreError(
                    f"{arguments[0]} cannot be run: {message}", "install QMD, or give its path as `command`"
                ) from error
        try:
            out, err = self._read_output(process)
        except BaseException:  # interrupted: it has a session of its own, so that no Ctrl-C reaches it
            self._kill("QMD was interrupted")
            process.wait()
            raise
        finally:
            with self._lock:
                self._process = None
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        if self._cancel_reason:
            raise StoreError(self._cancel_reason, "run it by hand: qmd search … --json")
        return out, err, process.returncode

    def _read_output(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        """Its output and the end of its error output, until it ends or is cancelled.

        Time and size are limited: a process that hangs or never stops printing is killed. A child in the background
        that keeps the pipes open is not waited for.
        """
        out, err = bytearray(), bytearray()
        until = time.monotonic() + TIMEOUT_S
        with selectors.DefaultSelector() as pipes:
            pipes.register(cast(IO[bytes], process.stdout), selectors.EVENT_READ, out)
            pipes.register(cast(IO[bytes], process.stderr), selectors.EVENT_READ, err)
            while not self._cancel_reason:
                if not _read(pipes, TICK_S) and _has_ended(process) and not _read(pipes, 0.0):
                    break
                del err[:-4096]
                if len(out) > MOST_BYTES:
                    self._kill(f"QMD printed more than {MOST_BYTES:,} bytes")
                elif time.monotonic() > until:
                    self._kill(f"QMD did not end within {TIMEOUT_S:g} s")
        process.wait()  # it has ended, or was killed
        return bytes(out), bytes(err)

    def cancel(self) -> None:
        self._kill("QMD was cancelled")

    def _kill(self, why: str) -> None:
        """Kill it with all that it started: a child may hold its pipes open after it has ended."""
        with self._lock:
            self._cancel_reason = self._cancel_reason or why
            if self._process is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(TICK_S)
    return process.returncode is not None


def _read(pipes: selectors.BaseSelector, seconds: float) -> bool:
    """Read what the pipes hold now, or within some seconds; False when that is nothing."""
    ready = pipes.select(seconds) if pipes.get_map() else []
    for key, _ in ready:
        block = os.read(key.fd, 65_536)
        key.data.extend(block)
        if not block:
            pipes.unregister(key.fileobj)
    return bool(ready)


def _parse(out: bytes) -> Any:
    """The JSON list; a model that loads may print its progress before it."""
    text = out.decode("utf-8", "replace").strip()
    starts = [0, *(found.end() - 1 for found in islice(re.finditer(r"\n\[", text), STARTS))]
    for start in starts:
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(text[start:])
    raise StoreError(f"QMD printed no JSON: {text[:80]!r}", "run it by hand: qmd search … --json")
