"""Masks keys, tokens and passwords in what a server writes or shows about itself: logs, traces, receipts."""

from __future__ import annotations

from typing import Any

from assay.text.secrets import mask_secrets


def redact(value: Any) -> Any:
    """The same plain data with every secret in its texts masked."""
    if isinstance(value, str):
        return mask_secrets(value)
    if isinstance(value, dict):
        return {key: redact(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redact(inner) for inner in value]
    return value
