"""Who calls, and what the caller may do: rights and scopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from assay.errors import AssayError, QueryError
from assay.memory.scopes import check_scope
from assay.memory.silence import NAME_ANOTHER

Right = Literal["read", "write", "admin"]
RIGHTS: tuple[Right, ...] = get_args(Right)
"""Each includes those before it."""


class Forbidden(AssayError):
    """The caller has not the right, or not the scope."""


class Unauthorized(AssayError):
    """The caller has no key, or one that is unknown or revoked."""


@dataclass(frozen=True, slots=True)
class Caller:
    """`right` is None for a caller without a key where one is needed. `scopes` are those of memories and documents
    that the caller reaches; None is every scope that it names."""

    name: str
    right: Right | None
    scopes: tuple[str, ...] | None = None

    def require(self, right: Right) -> None:
        """Raise Forbidden unless the caller has the right, or one that includes it."""
        if self.right is None:
            raise Unauthorized("this needs a key", "send Authorization: Bearer KEY; make one: assay key create")
        if RIGHTS.index(self.right) < RIGHTS.index(right):
            raise Forbidden(f"this needs the right {right}; the key {self.name!r} has {self.right}", "use another key")

    def to_write(self, scope: str | None) -> str:
        """The scope to store in: the one asked for, if the caller reaches it, else its first, else `global`."""
        if scope is not None:
            return self.check_scope(scope)
        return "global" if self.scopes is None else self._own()[0]

    def to_read(self, scope: str | None) -> tuple[str, ...]:
        """The scopes to read: the one asked for, if the caller reaches it, else all of its own, else `global`."""
        if scope is not None:
            return (self.check_scope(scope),)
        return ("global",) if self.scopes is None else self._own()

    def explain_others(self, scope: str | None) -> str:
        """How the caller looks in other scopes than those it reads; "" when it reaches no other."""
        if self.scopes is None:
            return NAME_ANOTHER
        return "for all: leave scope out" if scope is not None and len(self.scopes) > 1 else ""

    def check_scope(self, scope: str) -> str:
        check_scope(scope)
        if self.scopes is not None and scope not in self.scopes:
            raise Forbidden(f"the key {self.name!r} does not reach the scope {scope[:60]!r}", "use another key")
        return scope

    def _own(self) -> tuple[str, ...]:
        if not self.scopes:
            raise QueryError(f"the key {self.name!r} reaches no scope", "make one that does: assay key create --scope")
        return self.scopes


LOCAL = Caller("local", "admin")
"""A caller without a key on the loopback interface."""
ANONYMOUS = Caller("anonymous", None, ())
"""A caller without a key, where one is needed: it reaches only what is open to everybody."""
