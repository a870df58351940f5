"""The scopes that clients of a server may reach: those it was started with, and no others."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import ConfigError, QueryError
from assay.memory.scopes import check_scope


@dataclass(frozen=True, slots=True)
class ScopeLimits:
    """The scopes of one server; memories are stored in the first when a call names none.

    Law: whatever a client sends, every scope passed to the service is one of `scopes`.
    """

    scopes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.scopes:
            raise ConfigError("a server without a scope could reach nothing", "name one: --scope global")
        for scope in self.scopes:
            check_scope(scope)

    def to_write(self, scope: str | None) -> str:
        """The scope to store in: the requested one if it is allowed, else the first."""
        return self.scopes[0] if scope is None else self._check(scope)

    def to_read(self, scope: str | None) -> tuple[str, ...]:
        """The scopes to search: the requested one if it is allowed, else all."""
        return self.scopes if scope is None else (self._check(scope),)

    def explain_others(self, scope: str | None) -> str:
        """How to look in other scopes: all that the server reaches, or those it must be started with."""
        wide = scope is not None and len(self.scopes) > 1
        return "for all: leave scope out" if wide else "for another, start: assay mcp --scope NAME"

    def _check(self, scope: str) -> str:
        if scope not in self.scopes:
            raise QueryError(
                f"this server may not reach the scope {scope[:60]!r}", f"leave scope out, or: {', '.join(self.scopes)}"
            )
        return scope
