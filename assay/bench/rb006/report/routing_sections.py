"""The sections of the report about routing: errors by level and node, walks, cross-links, the tree."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from assay.bench.rb006.report import charts
from assay.bench.rb006.report.section import ReportSection, number
from assay.page.tables import ReportTable


def make_routing_sections(at: Mapping[str, Any]) -> list[ReportSection | None]:
    """What the walks did at one scale."""
    return [_routing(at), _heat_map(at), _walks(at), _links(at)]


def _routing(at: Mapping[str, Any]) -> ReportSection | None:
    rows = [
        _routing_row(arm, stratum, line)
        for arm, found in at["routing"].items()
        for stratum in ("all", "single-branch", "cross-branch", "dpi")
        for line in found["strata"].get(stratum, ())
    ]
    if not rows:
        return None
    head = (
        "walk",
        "queries",
        "level",
        "ε any",
        "95 %",
        "misses",
        "ε ev",
        "ε node",
        "every",
        "chance",
        "lost",
        "children",
    )
    return ReportSection(
        "Routing error by level",
        "ε any is gated: no selected child is correct although a correct parent was in the beam. “every” is the "
        "literal form, which no diverse beam passes; “lost” is cumulative. CR@3 is Child Recall@3 before rerank, "
        "margin the best correct child less the best other one.",
        ReportTable((*head, "CR@3", "margin"), tuple(rows)),
    )


def _routing_row(arm: str, stratum: str, line: Mapping[str, Any]) -> tuple[str, ...]:
    interval = line["interval"]
    return (
        arm,
        stratum,
        str(line["level"]),
        number(line["eps_any"]),
        "–" if interval is None else f"[{interval[0]:.3f}, {interval[1]:.3f}]",
        f"{line['misses']} of {line['queries']}",
        *(number(line[key]) for key in ("eps_evidence", "eps_node", "eps_every", "chance", "lost")),
        number(line["children"], "{:.2f}"),
        number(line["child_recall"]),
        number(line["margin"], "{:+.3f}"),
    )


def _heat_map(at: Mapping[str, Any]) -> ReportSection | None:
    if not at["nodes"]:
        return None
    missed = sum(one["missed"] for one in at["nodes"])
    return ReportSection(
        "Routing errors by node",
        f"{missed} walks lost evidence at a node that led to it. Each square is a node with evidence below it; the "
        "number counts walks that chose no correct child, the colour is their share.",
        chart=partial(charts.draw_heat_map, at["nodes"]),
    )


def _walks(at: Mapping[str, Any]) -> ReportSection | None:
    lines = []
    survival = at["survival"]
    if survival and survival["rho"] is not None:
        lines.append(
            f"Survival against A@400: Spearman ρ {survival['rho']:.3f}, permutation p {survival['p']:.4f}; the best "
            f"possible with these values is {survival['ceiling']:.3f} (n {survival['queries']})."
        )
    lines += [
        f"Survival of {one['arm']} {one['survival']:.3f} against {one['other_survival']:.3f} of {one['other']}: "
        f"{one['difference']:+.3f}, p {one['p']:.3f}."
        for one in at["walks"]
    ]
    lines += [
        f"Level {one['level']}: {one['misses']} of {one['queries']} misses; p of so few if the true error were "
        f"{one['threshold']:g}: {one['p']:.3f}."
        for one in at["thresholds"]
    ]
    for arm, found in at["routing"].items():
        for hop in found["hops"]:
            missed = number(hop["eps_evidence"])
            lines.append(
                f"{arm}: hop {hop['hop']} was reached by {hop['reached']} of {hop['queries']} queries; share of its "
                f"evidence that no bridge led to: {missed}. Scanned: {found['scanned']:.1%} of the chunks."
            )
    return ReportSection("Does routing decide the answers?", lines=tuple(lines)) if lines else None


def _links(at: Mapping[str, Any]) -> ReportSection | None:
    links = at["links"]
    if not links:
        return None
    rates = {
        key: f"{links[key]['rate']:.3f} [{links[key]['interval'][0]:.3f}, {links[key]['interval'][1]:.3f}]"
        for key in ("cbr", "cur")
    }
    return ReportSection(
        "Cross-links",
        f"{links['queries']} feasible entity-spanning queries; {links['outside']} have evidence outside of the first "
        "branch.",
        ReportTable(
            ("measure", "value"),
            (
                ("cross-branch reachability (one hop)", rates["cbr"]),
                ("utilisation: contexts with a passage behind a bridge", rates["cur"]),
                ("A@400 lost without cross-links", number(links["drop"], "{:+.3f}")),
                ("A@400 that links add to the flat baseline", number(links["flat_gain"], "{:+.3f}")),
            ),
        ),
    )


def make_tree_section(canonical: Mapping[str, Any]) -> ReportSection:
    """The tree by itself, at every scale."""
    rows = []
    for scale, at in canonical["scales"].items():
        for line in at["tree"]["levels"]:
            values = (number(line["distinctiveness"]), number(line["entity_overlap"]))
            rows.append(
                (f"{int(scale):,}", str(line["level"]), str(line["parents"]), *values, number(at["tree"]["coverage"]))
            )
    return ReportSection(
        "The tree, without queries",
        "Mean cosine distance between the summaries of siblings (higher is better), Jaccard of their key entities "
        "(lower is better), and the share of chunks that a path leads to.",
        ReportTable(("chunks", "level", "parents", "distinctiveness", "entity overlap", "coverage"), tuple(rows)),
    )
