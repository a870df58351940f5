"""Write the generated references anew: `make docs`."""

from __future__ import annotations

from pathlib import Path

from assay.cli.reference import write

for path in write(Path(__file__).parent / "reference"):
    print(f"wrote {path.name}")
