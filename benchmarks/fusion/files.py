"""The fusion benchmark's receipts as files: JSON with a line per system, so that a change shows as one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def format_receipt(receipt: Mapping[str, Any]) -> str:
    canonical = receipt["canonical"]
    head = {key: receipt[key] for key in ("schema", "kind", "digest", "measured")}
    rows = [f" {json.dumps(name)}: {json.dumps(result)}" for name, result in canonical["systems"].items()]
    lines = [
        f"{json.dumps(head)[:-1]},",
        f' "canonical": {{"inputs": {json.dumps(canonical["inputs"])},',
        f' "strata": {json.dumps(canonical["strata"])}, "systems": {{',
        ",\n".join(rows),
        "}}}",
    ]
    return "\n".join(lines) + "\n"
