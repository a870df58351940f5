"""Reads query logs: one query per line.

    {"query": "how do I rotate the key?"}     or "text" for "query"; "_id" or "id" names it
    how do I rotate the key?                  plain lines, in a file that does not end in .jsonl

A line that cannot be read is reported and left out; a log without a readable line is an error. A repeated query is
kept once, with its count.
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
    """A query of the log. `times` is the number of lines that hold it."""

    id: str
    text: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Log:
    """The distinct queries in the order of their first line, and the lines left out, as "file:line: why"."""

    queries: tuple[LoggedQuery, ...]
    skipped: tuple[str, ...] = ()


def read_log(path: Path) -> Log:
    """Read the queries of a file."""
    try:
        raw = path.read_bytes().split(b"\n")
    except OSError as error:
        raise LogError(
            f"{path} cannot be read: {error.strerror or error}", "name a file with one query per line"
        ) from error
    queries: dict[str, LoggedQuery] = {}
    names: dict[str, str] = {}
    skipped: list[str] = []
    for number, line in enumerate(raw, 1):
        if not line.strip():
            continue
        try:
            query = _parse_line(line.decode("utf-8-sig").strip(), path.suffix == ".jsonl")
            if names.setdefault(query.id, query.text) != query.text:
                raise ValueError(f"the id {query.id!r} is that of another query")
        except ValueError as error:
            why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            skipped.append(f"{path}:{number}: {why}")
            continue
        earlier = queries.get(query.text)
        queries[query.text] = query if earlier is None else replace(earlier, times=earlier.times + 1)
    if not queries:
        why = f"; the first: {skipped[0]}" if skipped else ", it is empty"
        raise LogError(
            f"{path} holds no query{why}", 'write one per line: {"query": "…"}, or plain text in a .txt file'
        )
    return Log(tuple(queries.values()), tuple(skipped))


def _parse_line(line: str, strict: bool) -> LoggedQuery:
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
    given_id = record.get("_id", record.get("id"))
    text = " ".join(text.split())
    return LoggedQuery(" ".join(str(given_id).split()) or _id(text) if given_id is not None else _id(text), text)


def name_query(text: str) -> LoggedQuery:
    """A query under the id that depends on its text only."""
    one_line = " ".join(text.split())
    return LoggedQuery(_id(one_line), one_line)


def _id(text: str) -> str:
    """An id that depends on the text only, not on the line."""
    return f"q-{blake2b(text.encode('utf-8', 'replace'), digest_size=5).hexdigest()}"
