"""What is opened is closed: `with` for everything that has a `close`."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """A context manager that closes itself at the end of the block, whatever happened in it."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
