"""One error for everything that can be wrong with a dataset: what, in which file and line, and what cures it."""

from __future__ import annotations

from assay.errors import AssayError


class DatasetError(AssayError):
    """A dataset cannot be found, cannot be read, or contradicts itself. A run on it would mean nothing."""

    exit_code = 2
