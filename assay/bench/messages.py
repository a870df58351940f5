"""The sentences of a run receipt: rendered from its codes, or read from its measured half where they are kept.

The canonical half holds codes. What only the moment knows (an exception's message, why an index lacks something) stands
in the measured half under "messages", outside the digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.bench.receipt import Receipt
from assay.config.findings import render


def why(receipt: Receipt) -> str:
    """Why the run was not measured; "" when it was."""
    reason = receipt.canonical.get("why")
    return str(_messages(receipt).get("why", "")) or (render_message(reason) if reason else "")


def failures(receipt: Receipt) -> dict[str, str]:
    """query → the error it failed with."""
    texts = _messages(receipt).get("failed", {})
    return {query: str(texts.get(query, error)) for query, error in receipt.canonical["failed"].items()}


def degradations(receipt: Receipt) -> dict[str, int]:
    """What a step did not do, as a sentence → for how many queries."""
    return {
        f"{step} was {outcome}": count
        for step, outcomes in receipt.canonical["degraded"].items()
        for outcome, count in outcomes.items()
    }


def notes(receipt: Receipt) -> list[str]:
    """What a reader should know about the dataset."""
    return [str(note) for note in receipt.measured.get("notes", ())]


def render_message(message: Mapping[str, Any]) -> str:
    """The sentence of a {"code": …, "values": {…}}; findings have both beside their level and place."""
    return render(str(message.get("code", "text")), message.get("values", {}))


def _messages(receipt: Receipt) -> Mapping[str, Any]:
    found = receipt.measured.get("messages", {})
    return found if isinstance(found, Mapping) else {}
