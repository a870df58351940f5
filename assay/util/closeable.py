"""A base class that makes anything with a `close` method a context manager."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closeable:
    """A context manager that calls `close()` at the end of the block."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
