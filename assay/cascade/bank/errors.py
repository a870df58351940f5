"""Errors of banks and sequences: one for each violation, naming the column."""

from __future__ import annotations

from assay.errors import StoreError


class BankError(StoreError):
    """A bank, its sequences or its index break their contract. `column` is where."""

    def __init__(self, message: str, cure: str = "", column: str = "") -> None:
        super().__init__(message, cure)
        self.column = column


class NotNpz(BankError):
    """The file is no NPZ archive, or a broken one: cut short, encrypted, a name twice."""


class MissingColumn(BankError):
    """A column that the contract demands is not there."""


class CompressedColumn(BankError):
    """A column is compressed, so it cannot be memory-mapped."""


class WrongDtype(BankError):
    """A column holds numbers of another type."""


class WrongShape(BankError):
    """A column has another number of dimensions or another length than the columns beside it."""


class DamagedColumn(BankError):
    """A column's bytes are not what was written: too few, or another checksum."""


class EmptyColumn(BankError):
    """A column has no rows, so there is nothing to search or to learn from."""


class NotFinite(BankError):
    """A vector holds NaN or infinity."""


class NotUnit(BankError):
    """A vector is not of length one, so a dot product is no cosine."""


class NegativeId(BankError):
    """An id is below 0; −1 stands for "no context here"."""


class RepeatedId(BankError):
    """Two rows have one id."""


class UnknownId(BankError):
    """A sequence names an id that the bank does not hold."""


class TargetIsCurrent(BankError):
    """A sequence's next id is its current one, which a search leaves out."""


class WindowsOverlap(BankError):
    """A window of the validation half shares an id with one of the training half: what it measures was learned."""


class WrongIndex(BankError):
    """An index is missing, damaged, or was built over another bank."""
