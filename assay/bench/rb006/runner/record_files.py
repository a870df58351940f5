"""Records on disk: one file for each system and scale, with a line for each query. A finished line is never lost.

The first line says what was measured (digests of system, index and dataset). A file that was made for something else is
put aside under another name and not read. A line that was cut off by an interruption is measured again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.bench.rb006.measure.suite_bench import Record
from assay.errors import AssayError

FORMAT = 1


class RecordError(AssayError):
    """Records cannot be read or written."""

    exit_code = 2


@dataclass(frozen=True)
class RecordFile:
    """The records of one system at one scale. `inputs` identifies what is measured."""

    path: Path
    inputs: Mapping[str, Any]

    def read(self) -> dict[str, Record]:
        """query → record of what is measured already; a file with other inputs is put aside."""
        if not self.path.exists():
            return {}
        lines = self._read_lines()
        if not lines or lines[0] != self._header():
            self._put_aside()
            return {}
        return {line["query"]: line for line in lines[1:]}

    def append(self, records: Sequence[Record]) -> None:
        """Add records; they are on disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        known = self.path.exists()
        text = "" if known else _dump(self._header())
        text += "".join(map(_dump, records))
        try:
            if known:
                self._drop_torn_line()
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RecordError(
                f"{self.path} cannot be written: {error}", "free some space and run the same command again"
            ) from error

    def _header(self) -> dict[str, Any]:
        header: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, **self.inputs}))
        return header

    def _read_lines(self) -> list[dict[str, Any]]:
        """Every whole line; an unfinished last one is left out, any other that is no JSON is an error."""
        text = self.path.read_text("utf-8", errors="replace")
        whole, _, _ = text.rpartition("\n")
        lines = []
        for number, line in enumerate(whole.split("\n") if whole else [], 1):
            try:
                value = json.loads(line)
            except ValueError as error:
                raise RecordError(
                    f"{self.path}, line {number} is no record: {error}",
                    "remove this line, and the query is measured again",
                ) from error
            if not isinstance(value, dict) or (number > 1 and "query" not in value):
                raise RecordError(
                    f"{self.path}, line {number} is no record", "remove this line, and the query is measured again"
                )
            lines.append(value)
        return lines

    def _drop_torn_line(self) -> None:
        data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end != len(data):
            os.truncate(self.path, end)

    def _put_aside(self) -> None:
        number = 1
        while (aside := self.path.with_name(f"{self.path.stem}.old{number}.jsonl")).exists():
            number += 1
        self.path.rename(aside)


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
