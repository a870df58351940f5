"""A folder of documents with everything that synthetic queries are made of, small enough to know by heart."""

from __future__ import annotations

from pathlib import Path

DOCS = {
    "keys.md": """---
title: Signing keys
description: How the firmware keys are rotated and who may touch them
created: 2025-03-01
---
# Signing keys

## Rotating the signing key

Rotate the signing key every ninety days with two people from the security team present in the vault.
Set `VAULT_SLOT_ID` before you run the rotation on the laptop beside the safe.
The Hardware Security Module (HSM) keeps the private half of every key behind two locks.

See [what to do when a token is lost](incidents.md#token) and [the canteen](food.md).
""",
    "incidents.md": """---
title: Incidents
---
# Incidents

## Lost tokens

Whoever loses a hardware token calls the incident line within an hour, at night and on holidays too.
The HSM refuses all signatures from a revoked token after the incident commander confirms the loss.
Advisory CVE-2024-4711 describes a bug in the radio parser of the harbour gateway.
""",
    "food.md": """# Canteen

## Opening hours

The kitchen serves warm lunch between eleven and two, and soup until the harbour closes in winter.
Guests pay four coins at the counter unless somebody from the kitchen invited them beforehand.
""",
    "copy.md": """# Old wiki page

## Opening hours

The kitchen serves warm lunch between eleven and two, and soup until the harbour closes in winter.
Guests pay four coins at the counter unless somebody from the kitchen invited them beforehand.
""",
    "gateway.md": """# Harbour gateway

## Radio parser

Gateways read packets from the tide gauges every six minutes and forward them over the harbour network.
A gateway that was silent for two hours raises an alarm on the dashboard of the night watch.
Version v4.2.0 of the gateway forwards the packets of older gauges without a second confirmation.
""",
}


def write_docs(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, text in DOCS.items():
        (folder / name).write_text(text, "utf-8")
    return folder
