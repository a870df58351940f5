"""The section about public test sets: is the flat baseline as strong as its name says?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.bench.rb006.report.section import ReportSection, number
from assay.page.tables import ReportTable


def make_public_section(canonical: Mapping[str, Any]) -> ReportSection | None:
    """nDCG@10 and R@100 of the flat systems beside published values."""
    rows: list[tuple[str, ...]] = []
    strong: set[int] = set()
    for line in canonical.get("public", ()):
        for name, one in line["systems"].items():
            if name == "flat-strong":
                strong.add(len(rows))
            rows.append((line["set"], str(line["queries"]), name, number(one["nDCG@10"]), number(one["R@100"])))
        rows += [
            (line["set"], str(line["queries"]), f"published: {name}", number(value), "–")
            for name, value in line["published"].items()
        ]
    if not rows:
        return None
    return ReportSection(
        "The flat baseline on public sets",
        "A sanity check outside of the suite: BEIR test sets, the same pipelines, documents by their best chunk. The "
        "published values are those of the BEIR paper.",
        ReportTable(("set", "queries", "system", "nDCG@10", "R@100"), tuple(rows), frozenset(strong)),
    )
