"""What an `add` reports: progress while it runs, and the outcome of every file."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.errors import Reason


@dataclass(frozen=True, slots=True)
class Event:
    """Progress: a file is done, or part of a long one. `done` of `total` files; `chunks` committed or pending so
    far."""

    name: str
    done: int
    total: int
    chunks: int


@dataclass
class AddReport:
    """What an `add` did. `chunks_kept` were already there, unchanged; files under `problems` were left out; those
    under `warnings` were read, but not all of them as their author meant; those under `ignored` were passed over."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks_added: int = 0
    chunks_removed: int = 0
    chunks_kept: int = 0
    problems: list[tuple[str, Reason]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    ignored: list[tuple[str, str]] = field(default_factory=list)
    version: int = 0

    @property
    def files(self) -> int:
        return self.added + self.changed + self.unchanged

    def __iadd__(self, other: AddReport) -> AddReport:
        """Add what a later run did; the version is the later one."""
        for name, value in vars(other).items():
            setattr(self, name, value if name == "version" else getattr(self, name) + value)
        return self
