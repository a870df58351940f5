"""Measurements by hand: ten queries, of which every number of a test can be computed on paper."""

from __future__ import annotations

from typing import Any

from assay.bench.rb006.diagnostics.measurements import Measurements, ScaleMeasurements
from assay.bench.rb006.measures.curves import BUDGETS, GRID
from assay.bench.rb006.subject import Subject, SuiteQuery
from assay.bench.types import Dataset, Evidence, Topic

QUERIES = (
    SuiteQuery("f1", "a", ("thematic",), archetype="x"),
    SuiteQuery("f2", "b", ("thematic",), archetype="x"),
    SuiteQuery("f3", "c", ("dpi",), archetype="y"),
    SuiteQuery("f4", "d", ("entity", "hop2"), archetype="z", hops=((0, 1), (1, 2))),
    SuiteQuery("f5", "e", ("entity", "hop2"), archetype="z", hops=((0, 1), (1, 2))),
    SuiteQuery("i1", "list", ("listing",), kind="listing", archetype="l"),
    SuiteQuery("i2", "list", ("listing",), kind="listing", archetype="l"),
    SuiteQuery("o1", "nowhere", ("ood",), kind="out_of_scope", archetype="o"),
    SuiteQuery("o2", "nowhere", ("ood",), kind="out_of_scope", archetype="o"),
    SuiteQuery("n1", "later", ("thematic",), in_scope=False, archetype="x"),
)
ANSWERED = [query.id for query in QUERIES if query.id[0] in "fi"]


def make_subject() -> Subject:
    evidence = {name: (Evidence(f"d-{name}", 0, 3, "abc", 0),) for name in ANSWERED}
    topics = {query.id: Topic(query.id, query.text) for query in QUERIES if query.in_scope}
    judged = {name: {f"d-{name}": 1} for name in ANSWERED}
    dataset = Dataset("hand", "all", "digest", "synthetic", (), 0, topics, judged, evidence)
    return Subject("hand", dataset, QUERIES, {})


def make_record(query: str, answers: str, **more: Any) -> dict[str, Any]:
    """`answers` has one digit for 200, 400, 800, 1200 and the pool."""
    keys = [*map(str, BUDGETS), "pool"]
    values = dict(zip(keys, map(float, answers), strict=True))
    grid = [int(values[str(max(b for b in (0, *BUDGETS) if b <= t))]) if t >= 200 else 0 for t in GRID]
    measures = dict.fromkeys(("A", "A_strict", "ER", "EP", "AIC"), values)
    return {"query": query, "ranking": query, **measures, "tokens": dict.fromkeys(keys, 100), "grid": grid, **more}


def make_routing(missed: int = 0, hop_missed: float | None = None, **links: bool) -> dict[str, Any]:
    """A walk over two levels; `missed` is the level at which it loses the evidence."""
    levels = [
        {
            "level": level,
            "reached": not missed or level <= missed,
            "any": level == missed,
            "node": float(level == missed),
            "evidence": float(level == missed),
            "every": level == missed,
            "chance": 0.5,
            "lost": bool(missed) and level >= missed,
            "children": [2],
            "child_recall": 1.0,
            "margin": 0.1,
        }
        for level in (1, 2)
    ]
    hops = [] if hop_missed is None else [{"hop": 2, "reached": True, "evidence": hop_missed}]
    survival = 0.0 if missed else 1.0 - (hop_missed or 0.0)
    nodes = [[level, level - 1, int(level == missed)] for level in (1, 2) if not missed or level <= missed]
    found = {"outside": False, "reached": False, "used": False, **links}
    return {"levels": levels, "hops": hops, "survival": survival, "nodes": nodes, "links": found, "scanned": 50}


def make_scale(
    answers: dict[str, str],
    said: dict[str, str] | None = None,
    routing: dict[str, dict[str, Any]] | None = None,
    scale: int = 1000,
) -> ScaleMeasurements:
    """`answers`: system → "query:digits query:digits …" with one digit for each budget and the pool."""
    records: dict[str, dict[str, dict[str, Any]]] = {}
    for system, text in answers.items():
        records[system] = {name: make_record(name, "00000") for name in ANSWERED}
        for part in text.split():
            name, _, digits = part.partition(":")
            more: dict[str, Any] = {}
            if system == "race":
                more = {
                    "race": {"winner": "beam", "confidence": {}},
                    "routing": (routing or {}).get(name, make_routing()),
                }
            records[system][name] = make_record(name, digits, **more)
        if system == "race":
            for name in ANSWERED:
                records[system][name].setdefault("race", {"winner": "beam", "confidence": {}})
                records[system][name].setdefault("routing", (routing or {}).get(name, make_routing()))
    detected = {query.id: {"query": query.id, "said": (said or {}).get(query.id, "")} for query in QUERIES}
    return ScaleMeasurements(scale, make_subject(), records, detected if said is not None else {})


def make_measurements(*scales: ScaleMeasurements) -> Measurements:
    at = {one.scale: one for one in scales}
    return Measurements(at, sorted(at)[min(1, len(at) - 1)], ("f1", "f3", "f4"))
