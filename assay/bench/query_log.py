"""A query log: what people asked, one question per line.

    {"query": "how do I rotate the key?"}     or "text" for "query"; "_id" or "id" names it
    how do I rotate the key?                  plain lines, in a file that does not end in .jsonl

A line that cannot be read is named and left out; a log of which nothing can be read is an error. A question that
comes again is asked once, and counted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from assay.errors import AssayError


class LogError(AssayError):
    """A query log cannot be used."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class LoggedQuery:
    """A question of the log. `times` is how many lines ask it."""

    id: str
    text: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Log:
    """The different questions in the order they first came, and the lines left out, as "file:line: why"."""

    queries: tuple[LoggedQuery, ...]
    skipped: tuple[str, ...] = ()


def read_log(path: Path) -> Log:
    """The questions of a file."""
    try:
        raw = path.read_bytes().split(b"\n")
    except OSError as error:
        raise LogError(
            f"{path} cannot be read: {error.strerror or error}", "name a file with one query per line"
        ) from error
    found: dict[str, LoggedQuery] = {}
    names: dict[str, str] = {}
    skipped: list[str] = []
    for number, line in enumerate(raw, 1):
        if not line.strip():
            continue
        try:
            asked = _asked(line.decode("utf-8-sig").strip(), path.suffix == ".jsonl")
            if names.setdefault(asked.id, asked.text) != asked.text:
                raise ValueError(f"the id {asked.id!r} is that of another query")
        except ValueError as error:
            why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            skipped.append(f"{path}:{number}: {why}")
            continue
        before = found.get(asked.text)
        found[asked.text] = asked if before is None else replace(before, times=before.times + 1)
    if not found:
        why = f"; the first: {skipped[0]}" if skipped else ", it is empty"
        raise LogError(
            f"{path} holds no query{why}", 'write one per line: {"query": "…"}, or plain text in a .txt file'
        )
    return Log(tuple(found.values()), tuple(skipped))


def _asked(line: str, strict: bool) -> LoggedQuery:
    if not strict and not line.startswith("{"):
        return LoggedQuery(_id(line), line)
    try:
        record: Any = json.loads(line)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(record, dict):
        raise ValueError('not a mapping such as {"query": "…"}')
    text = record.get("query", record.get("text"))
    if not isinstance(text, str) or not text.strip():
        raise ValueError('no text under "query" or "text"')
    name = record.get("_id", record.get("id"))
    text = " ".join(text.split())
    return LoggedQuery(" ".join(str(name).split()) or _id(text) if name is not None else _id(text), text)


def _id(text: str) -> str:
    """A name that stays the same wherever the query stands in the log."""
    return f"q-{blake2b(text.encode('utf-8', 'replace'), digest_size=5).hexdigest()}"
