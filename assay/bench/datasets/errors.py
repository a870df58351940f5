"""The error of unusable datasets. Messages name the file and line, and the cure."""

from __future__ import annotations

from assay.errors import AssayError


class DatasetError(AssayError):
    """A dataset cannot be found, cannot be read, or contradicts itself."""

    exit_code = 2
