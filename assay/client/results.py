"""What a server answers, as values; `data` is the whole JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.errors import AssayError


class ServerError(AssayError):
    """A problem that the server answered with: its status, and the id to look up in the server's log."""

    def __init__(self, status: int, message: str, cure: str = "", request_id: str = "") -> None:
        super().__init__(message, cure)
        self.status = status
        self.request_id = request_id


@dataclass(frozen=True, slots=True)
class ServedHit:
    """One result; `why` are the parts of its score."""

    rank: int
    score: float
    id: str
    doc_id: str
    title: str
    section: str
    text: str
    meta: Mapping[str, Any]
    why: tuple[Mapping[str, Any], ...]

    @staticmethod
    def parse(data: Mapping[str, Any]) -> ServedHit:
        names = ("rank", "score", "id", "doc_id", "title", "section", "text", "meta")
        return ServedHit(**{name: data[name] for name in names}, why=tuple(data["why"]))


@dataclass(frozen=True)
class ServedAnswer:
    """An answer; iterate it for hits. `data` has every key of docs/reference/answer.md."""

    hits: tuple[ServedHit, ...]
    status: str
    degraded: tuple[str, ...]
    data: Mapping[str, Any] = field(repr=False)

    def __iter__(self) -> Iterator[ServedHit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def context(self) -> str:
        """The packed context, "" where no budget was given."""
        return str((self.data.get("context") or {}).get("text", ""))

    @staticmethod
    def parse(data: Mapping[str, Any]) -> ServedAnswer:
        status = data["status"]
        hits = tuple(map(ServedHit.parse, data["hits"]))
        return ServedAnswer(hits, status["word"], tuple(status["degraded"]), data)
