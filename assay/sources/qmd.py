"""A QMD collection, asked by its command line."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from dataclasses import dataclass
from typing import Any, ClassVar

from assay.beside import Brought
from assay.errors import ConfigError, StoreError
from assay.protocols import Snapshot
from assay.sources.listing import ranked, unfiltered
from assay.sources.qmd_rows import Id, Mode, listed, one_line
from assay.types import Query, Range, Ranking

MOST_BYTES = 8_000_000


@dataclass(frozen=True, slots=True)
class Qmd:
    """`qmd <mode> <text> -n <k> --json [-c <collection>]`: "search" is words, "vsearch" vectors, "query" both and more.

    `command` is the program, on the path or with its own. A find goes by its `file` (unique) or its `docid` (a hash of
    its content). Scores are QMD's, in [0, 1] to two decimals; its order is kept where they tie. Past its cap the
    process is killed, with all that it started.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    elsewhere: ClassVar[bool] = True

    collection: str = ""
    mode: Mode = "query"
    command: str = "qmd"
    id: Id = "file"

    def __post_init__(self) -> None:
        if not self.command.strip():
            raise ConfigError("qmd.command is empty", 'command = "qmd"')

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Brought:
        return self.begin(query, k).result()

    def begin(self, query: Query, k: int) -> Process:
        return Process(self, query, k)

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


class Process:
    """One run of QMD, which may be killed."""

    def __init__(self, source: Qmd, query: Query, k: int) -> None:
        self._source, self._query, self._k = source, query, k
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = False
        self._lock = threading.Lock()

    def result(self) -> Brought:
        unfiltered("QMD", self._query)
        text = one_line(self._query.text)
        if not text.strip():
            return ranked("qmd", [], "unit", self._k)
        out, err, code = self._run(self._source.arguments(text, self._k))
        if code != 0:
            said = " ".join(err.decode("utf-8", "replace").split())[-200:]
            raise StoreError(f"{self._source.command} ended with {code}: {said or 'it says nothing'}", "run it by hand")
        return ranked("qmd", listed(_parsed(out), self._source.id), "unit", self._k)

    def _run(self, arguments: list[str]) -> tuple[bytes, bytes, int]:
        with self._lock:
            if self._cancelled:
                raise StoreError("QMD was cancelled before it began")
            try:
                self._process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                raise StoreError(
                    f"{arguments[0]} cannot be run: {error.strerror}", "install QMD, or give its path as `command`"
                ) from error
        out, err = self._process.communicate()
        return out, err, self._process.returncode

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._process is not None and self._process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)  # its children hold its pipes open


def _parsed(out: bytes) -> Any:
    """The JSON list; a model that loads may print its progress before it."""
    if len(out) > MOST_BYTES:
        raise StoreError(f"QMD printed more than {MOST_BYTES:,} bytes", "ask for fewer results")
    text = out.decode("utf-8", "replace").strip()
    starts = [0, *(at + 1 for at, letter in enumerate(text) if letter == "\n" and text[at + 1 : at + 2] == "[")]
    for start in dict.fromkeys(starts):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(text[start:])
    raise StoreError(f"QMD printed no JSON: {text[:80]!r}", "run it by hand: qmd search … --json")
