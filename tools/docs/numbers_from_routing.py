"""Writes the number blocks of the walk down the tree from its receipt."""

from __future__ import annotations

from typing import Any

Receipt = dict[str, Any]
_SPLITS = {"tuning": "tuning", "heldout": "held out"}


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines) + "\n"


def _worlds(receipt: Receipt) -> list[Receipt]:
    return sorted(receipt["worlds"].values(), key=lambda world: int(world["chunks"]))


def routing_errors(receipt: Receipt) -> str:
    """One row per world, router, expansion and split: ε_any of each level, children, scanned share, p95 of the leg."""
    rows = []
    for world in _worlds(receipt):
        for walk in world["walks"]:
            name = f"leg beam, {walk['router']}, {walk['expansion']}"
            for split, label in _SPLITS.items():
                measured = walk[split]
                misses = [
                    "–" if line["eps_any"] is None else f"{line['eps_any']:.3f} ({line['misses']}/{line['queries']})"
                    for line in measured["levels"]
                ]
                rows.append(
                    [
                        f"{world['chunks']:,}",
                        walk["router"],
                        walk["expansion"],
                        label,
                        *misses,
                        f"{measured['children']:.2f}",
                        f"{measured['scanned']:.3f}",
                        f"{world['times'][name]['p95_ms']:.1f}" if name in world.get("times", {}) else "–",
                    ]
                )
    head = ["chunks", "router", "expansion", "templates", "ε level 1", "ε level 2", "ε level 3"]
    return _table([*head, "children", "scanned", "p95 ms"], rows)


def routing_times(receipt: Receipt) -> str:
    """p95 of wall and processor time as multiples of the flat pipelines', measured in one run."""
    rows = []
    for world in _worlds(receipt):
        for name in world.get("times", {}):
            if not name.startswith("hcr"):
                continue
            cells = [
                f"{world['ratios'][f'{name} over {flat}'][p]:.2f}"
                for flat in ("flat-strong", "hybrid+rerank")
                for p in ("p95_ms", "cpu_p50_ms", "cpu_p95_ms")
            ]
            rows.append([f"{world['chunks']:,}", f"`{name}`", *cells])
    head = [
        "chunks",
        "pipeline",
        *(
            f"{what} / {flat}"
            for flat in ("flat-strong", "hybrid+rerank")
            for what in ("p95 wall", "p50 processor", "p95 processor")
        ),
    ]
    return _table(head, rows)


def routing_shares(receipt: Receipt) -> str:
    """Where the processor time of a flat search and of a race goes, as shares of the flat one, measured in one run."""
    rows = []
    for world in _worlds(receipt):
        if "shares" not in world:
            continue
        whole = sum(world["shares"]["hybrid+rerank"].values())
        for name, parts in world["shares"].items():
            for part, value in [*parts.items(), ("**all**", sum(parts.values()))]:
                rows.append([f"{world['chunks']:,}", f"`{name}`", part, f"{value:.2f}", f"{value / whole:.2f}"])
    return _table(["chunks", "pipeline", "part", "processor ms", "/ hybrid+rerank"], rows)


def _spell(interval: list[float]) -> str:
    return f"{interval[0]:.3f} to {interval[1]:.3f}"


def routing_seeds(receipt: Receipt) -> str:
    """One row per scale, router, expansion and split, all worlds of the scale added."""
    rows = []
    for line in receipt["pooled"]:
        levels = [
            f"{one['eps_any']:.3f} ({one['misses']}/{one['queries']}), {_spell(one['interval'])}"
            for one in line["levels"]
        ]
        rows.append(
            [
                f"{line['scale']:,}",
                str(line["worlds"]),
                line["router"],
                line["expansion"],
                _SPLITS[line["split"]],
                *levels,
                f"{line['children']:.2f}",
                f"{line['scanned']:.3f}",
                "–" if line["cpu_p95_ms"] is None else f"{line['cpu_p95_ms']:.1f}",
            ]
        )
    head = ["chunks", "worlds", "router", "expansion", "templates", "ε level 1", "ε level 2", "ε level 3"]
    return _table([*head, "children", "scanned", "p95 processor ms"], rows)


def heading_tree(receipt: Receipt) -> str:
    """One row per tree: what a walk reaches and reads, and how often a judged document is among the first results."""
    systems = list(receipt["trees"][0]["found"])
    rows = [
        [
            f"`{tree['tree']}`",
            " / ".join(map(str, tree["nodes"][1:])),
            f"{tree['reached']:.3f}",
            f"{tree['children']:.2f}",
            f"{tree['scanned']:.3f}",
            *(f"{tree['found'][name]:.3f}" for name in systems),
        ]
        for tree in receipt["trees"]
    ]
    head = ["tree", "nodes by level", "reached", "children", "scanned", *(f"`{name}`" for name in systems)]
    return f"{receipt['chunks']:,} chunks, {receipt['queries']} queries.\n\n" + _table(head, rows)


ROUTING = {
    "routing_errors": ("routing", routing_errors),
    "routing_times": ("routing", routing_times),
    "routing_shares": ("routing", routing_shares),
    "routing_seeds": ("routing_seeds", routing_seeds),
    "heading_tree": ("heading_tree", heading_tree),
}
"""The writer of each block, and the receipt it reads."""
