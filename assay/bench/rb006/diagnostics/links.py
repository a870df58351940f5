"""What the cross-links do: evidence they reach, contexts that use them, and what is lost without them."""

from __future__ import annotations

from typing import Any

from assay.bench.rb006.diagnostics.measurements import FLAT, NO_LINKS, RACE, ScaleMeasurements
from assay.bench.stats import clopper_pearson


def summarise_links(at: ScaleMeasurements) -> dict[str, Any]:
    """Over the feasible entity-spanning queries:

    cbr        evidence lies outside of the first branch, and one hop leads to some of it
    cur        the context of 400 tokens has a passage from behind a bridge
    drop       A@400 of the race less that without cross-links
    flat_gain  what the same links add to the strong flat baseline
    """
    spanning = [query for query in at.feasible if "entity" in query.tags]
    events = at.routing(RACE, spanning)
    if not events:
        return {}
    links = [one["links"] for one in events]
    reached = sum(one["outside"] and one["reached"] for one in links)
    used = sum(one["used"] for one in links)
    means = {name: at.mean(name, "A", 400, spanning) for name in (RACE, NO_LINKS, FLAT, f"{FLAT}-xlink")}
    return {
        "queries": len(links),
        "outside": sum(one["outside"] for one in links),
        "cbr": _rate(reached, len(links)),
        "cur": _rate(used, len(links)),
        "drop": _difference(means[RACE], means[NO_LINKS]),
        "flat_gain": _difference(means[f"{FLAT}-xlink"], means[FLAT]),
    }


def _rate(count: int, total: int) -> dict[str, Any]:
    interval = clopper_pearson(count, total)
    return {"count": count, "rate": round(count / total, 6), "interval": [round(end, 6) for end in interval]}


def _difference(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else round(a - b, 6)
