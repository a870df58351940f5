"""What the report says, from a receipt: a section is a title with sentences, tables and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from assay.bench.rb006.report import charts
from assay.bench.rb006.report.public_section import make_public_section
from assay.bench.rb006.report.routing_sections import make_routing_sections, make_tree_section
from assay.bench.rb006.report.section import ReportSection, number
from assay.page.tables import ReportTable

_BUDGETS = ("200", "400", "800", "1200", "pool")


def make_sections(canonical: Mapping[str, Any]) -> list[ReportSection]:
    """Every section after the verdicts that the receipt has numbers for."""
    at = canonical["scales"][str(canonical["judged_at"])]
    return [
        section
        for section in (
            _stages(canonical),
            _curves(canonical, at),
            _systems(at),
            _strata(at),
            _race(at),
            *make_routing_sections(at),
            _detection(canonical),
            _scales(canonical),
            make_public_section(canonical),
            _primaries(canonical),
            _ablations(at),
            make_tree_section(canonical),
            _suite(canonical, at),
        )
        if section is not None
    ]


def _interval(line: Mapping[str, Any]) -> str:
    return f"[{line['ci_low']:+.3f}, {line['ci_high']:+.3f}]"


def _stages(canonical: Mapping[str, Any]) -> ReportSection:
    rows = []
    for stage in canonical["stages"]:
        values = ", ".join(f"{name} {number(value)}" for name, value in stage["values"].items())
        rows.append((stage["title"], stage["state"], "; ".join(stage["killed_by"]) or "–", values or "–"))
    about = "In the order in which they can stop the run."
    if any(stage["state"] == "after a kill" for stage in canonical["stages"]):
        about += " Stages “after a kill” were measured although a kill line held before them (--continue)."
    return ReportSection(
        "How far the run went", about, ReportTable(("stage", "state", "kill line", "values"), tuple(rows))
    )


def _curves(canonical: Mapping[str, Any], at: Mapping[str, Any]) -> ReportSection:
    parity = canonical["values"].get("budget_at_parity")
    said = (
        "not measured"
        if parity is None
        else "not reached within 1200 tokens"
        if parity > 1200
        else f"{parity:g} tokens"
    )
    return ReportSection(
        "Answers by token budget",
        f"The share of feasible queries whose whole evidence is in the context. Budget at parity (the race reaches the "
        f"flat baseline without a budget, less .02): {said}.",
        chart=partial(charts.draw_curves, at["systems"]),
    )


def _systems(at: Mapping[str, Any]) -> ReportSection:
    head = ("system", *(f"A@{b}" for b in _BUDGETS), "strict@400", "ER@400", "EP@400", "AUC", "Δ flat@400", "95 %", "p")
    rows: list[tuple[str, ...]] = []
    strong: set[int] = set()
    for name, one in at["systems"].items():
        if name in at["ablations"] or name.startswith("race-seed-"):
            continue
        pair = at["against_flat"].get(name)
        test = ("–", "–", "–")
        if pair is not None and name != "flat-strong":
            test = (f"{pair['difference']:+.3f}", _interval(pair), number(pair["p"]))
        if name in ("race", "flat-strong"):
            strong.add(len(rows))
        measures = [number(one["A"][b]) for b in _BUDGETS]
        measures += [number(one[m]["400"]) for m in ("A_strict", "ER", "EP")]
        rows.append((name, *measures, number(one["auc"]), *test))
    return ReportSection(
        "Systems",
        f"{len(at['queries'])} feasible queries in scope; every system has the same selector and a pool of 50 chunks. "
        "“strict” fails when a contradicting twin stands there without its header. Intervals: two-level bootstrap; p: "
        "sign flips.",
        ReportTable(head, tuple(rows), frozenset(strong)),
    )


def _strata(at: Mapping[str, Any]) -> ReportSection | None:
    if not at["strata"]:
        return None
    return ReportSection(
        "Where the race wins and loses against the flat baseline",
        "A@400 by stratum, with 95 % intervals; the number of queries in brackets. Strata overlap.",
        chart=partial(charts.draw_strata, at["strata"]),
    )


def _race(at: Mapping[str, Any]) -> ReportSection | None:
    race = at["race"]
    if not race:
        return None
    rows = []
    for name, one in [("all queries", race["all"]), ("feasible", race["feasible"]), *race["strata"].items()]:
        values = [number(one[key]) for key in ("race", "beam", "collapsed")]
        rows.append(
            (
                name,
                str(one["n"]),
                *values,
                one["better"],
                f"{one['gain']:+.3f}",
                number(one["regret"]),
                number(one["p"]),
            )
        )
    chosen = ", ".join(f"{name} {count}" for name, count in race["chosen"].items())
    return ReportSection(
        "The race and its paths",
        "Right at 400 tokens: a feasible query is answered and not refused, an impossible one is refused; the detector "
        f"is the same for all. Of the feasible queries the race gave to {chosen}. Gain is over the better path there; "
        "regret is what a perfect choice would add.",
        ReportTable(
            ("queries", "n", "race", "beam", "collapsed", "better", "gain", "regret", "p"), tuple(rows), frozenset({0})
        ),
    )


def _detection(canonical: Mapping[str, Any]) -> ReportSection | None:
    rows = []
    for scale, at in canonical["scales"].items():
        found = at["detection"]
        if not found:
            continue
        for name, one in [("all", found["all"]), *found["kinds"].items()]:
            rows.append(
                (
                    f"{int(scale):,}",
                    name.replace("_", " "),
                    str(one["impossible"]),
                    *(_rate(one, key) for key in ("precision", "recall")),
                    number(one["f1"]),
                    number(one["kind_right"]),
                    number(found["utility"]) if name == "all" else "",
                    f"{found['absent']['refused']} of {found['absent']['queries']}" if name == "all" else "",
                )
            )
    if not rows:
        return None
    return ReportSection(
        "Impossible queries",
        "“Impossible” is the positive class. Utility: +1 right, −1 false refusal, −2 attempt of the impossible. Absent "
        "queries have their evidence in a larger corpus only: how many of them are refused.",
        ReportTable(
            ("chunks", "kind", "n", "precision", "recall", "F1", "kind right", "utility", "absent refused"), tuple(rows)
        ),
    )


def _rate(one: Mapping[str, Any], key: str) -> str:
    interval = one.get(f"{key}_interval")
    return number(one[key]) + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def _scales(canonical: Mapping[str, Any]) -> ReportSection:
    rows = []
    for line in canonical["by_scale"]:
        measured = ("–", "–", "–", "–")
        if "race" in line:
            low, high = line["interval"]
            measured = (
                number(line["flat"]),
                number(line["race"]),
                f"{line['difference']:+.3f}",
                f"[{low:+.3f}, {high:+.3f}]",
            )
        counts = (str(line["in_scope"]), str(line["absent"]), str(line["feasible"]))
        rows.append((f"{line['scale']:,}", *counts, *measured))
    cross = canonical["crossover"]
    place = cross["overtakes_at"]
    said = f"from {place:,} chunks on" if place else "at no measured scale"
    return ReportSection(
        "By the size of the corpus",
        f"On the {cross['queries']} feasible queries that all scales share, the race is above the flat baseline "
        f"{said}.",
        ReportTable(("chunks", "in scope", "absent", "feasible", "flat@400", "race@400", "Δ", "95 %"), tuple(rows)),
        partial(charts.draw_scales, canonical["by_scale"]),
    )


def _primaries(canonical: Mapping[str, Any]) -> ReportSection | None:
    rows = []
    for line in canonical["primaries"]:
        paired = "difference" in line
        rows.append(
            (
                line["name"],
                str(line["n"]),
                f"{line['difference']:+.3f}" if paired else f"{line['misses']} misses",
                _interval(line) if paired else "–",
                number(line.get("d_z"), "{:+.2f}"),
                f"{line['wins']}/{line['ties']}/{line['losses']}" if paired else "–",
                number(line["p"], "{:.4f}"),
                number(line["p_holm"], "{:.4f}"),
                number(line.get("power"), "{:.2f}"),
                number(line.get("power_at_true_effect"), "{:.2f}"),
            )
        )
    if not rows:
        return None
    head = ("primary", "n", "effect", "95 %", "d_z", "W/T/L", "p", "p (Holm)", "power .08", "power .12")
    return ReportSection(
        "Primaries",
        "Paired over the same queries; sign flips with 10,000 draws, two-sided; the race against both paths by "
        "intersection-union; routing error by an exact binomial test of its worst level.",
        ReportTable(head, tuple(rows)),
    )


def _ablations(at: Mapping[str, Any]) -> ReportSection | None:
    rows = [
        (name, number(one["mean_b"]), f"{one['difference']:+.3f}", _interval(one), number(one["p"]))
        for name, one in at["ablations"].items()
    ]
    lines = []
    if at["seeds"]:
        pair = at["seeds"]["against_flat"]
        by_seed = ", ".join(number(value) for value in at["seeds"]["by_seed"])
        lines.append(
            f"{at['seeds']['seeds']} clustering seeds: A@400 {by_seed}; mean {pair['mean_b']:.3f}, against the flat "
            f"baseline {pair['difference']:+.3f} {_interval(pair)}, p {pair['p']:.3f} (averaged per query first)."
        )
    if not rows and not lines:
        return None
    table = ReportTable(("ablation", "A@400", "Δ race", "95 %", "p"), tuple(rows)) if rows else None
    return ReportSection(
        "Ablations and seeds", "One thing about the gated arm changed at a time.", table, lines=tuple(lines)
    )


def _suite(canonical: Mapping[str, Any], at: Mapping[str, Any]) -> ReportSection:
    suite, checks = canonical["suite"], canonical["suite"]["contamination"]
    tags: Mapping[str, int] = at["world"].get("tags", {})
    lines = [
        f"Suite {suite['templates']}, seed {suite['seed']}, base {suite['base']}, {suite['queries']} queries, digest "
        f"{suite['digest'][:16]}.",
        "Strata: " + ", ".join(f"{tag} {count}" for tag, count in tags.items()) + ".",
        f"Contamination: {checks['overlapping']} queries share a {checks['ngram']}-gram with their gold (mean overlap "
        f"{checks['mean_overlap']:.3f}); {checks['isolation_faults']} isolation faults, {checks['minimality_faults']} "
        f"minimality faults, {checks['shared_templates']} shared templates.",
        *(_list_texts(at["world"].get("real_text"))),
        *(f"Not run: {name}. {why}." for name, why in canonical["not_run"].items()),
    ]
    return ReportSection("Suite, corpus and what was not run", lines=tuple(lines))


def _list_texts(real: Any) -> Sequence[str]:
    """The commits of the real text, where there is some."""
    if not isinstance(real, Mapping):
        return ()
    shown = "; ".join(f"{name}: {one['source']}" for name, one in real.items())
    return (f"Real text: {shown}.",)
