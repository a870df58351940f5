"""Which scopes may a client reach? Those the server was started with, and no others."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import ConfigError, QueryError
from assay.memory.scopes import checked


@dataclass(frozen=True, slots=True)
class Bounds:
    """The scopes of one server; the first is where memories are stored when a call names none.

    Law: whatever a client says, every scope handed to the service is one of `scopes`.
    """

    scopes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.scopes:
            raise ConfigError("a server without a scope could reach nothing", "name one: --scope global")
        for scope in self.scopes:
            checked(scope)

    def to_write(self, asked: str | None) -> str:
        """The scope to store in."""
        return self.scopes[0] if asked is None else self._allowed(asked)

    def to_read(self, asked: str | None) -> tuple[str, ...]:
        """The scopes to look into."""
        return self.scopes if asked is None else (self._allowed(asked),)

    def _allowed(self, asked: str) -> str:
        if asked not in self.scopes:
            raise QueryError(
                f"this server may not reach the scope {asked[:60]!r}", f"leave scope out, or: {', '.join(self.scopes)}"
            )
        return asked
