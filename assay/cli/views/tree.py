"""The views of `assay tree`: nodes as an indented list, one node in full, and the numbers of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from assay.cli.terminal import format_count, sanitize
from assay.cli.views.layout import align_columns, wrap
from assay.types import NodePayload
from assay.upkeep.tree_report import NodeReport, TreeStats

_LISTED = 8
"""Keywords in the list of nodes."""


def show_nodes(reports: Sequence[NodeReport], screen: Console) -> None:
    """Every node on up to three lines, indented by its level."""
    top = reports[0].level
    for report in reports:
        indent = 2 * (report.level - top)
        size = format_count(report.payload.chunks, "chunk")
        more = f", {format_count(report.children, 'child', 'children')}" if report.children else ""
        screen.print(Text(" " * indent).append(report.path, "bold").append(f"  {size}{more}", "dim"))
        words = ", ".join(report.payload.keywords[:_LISTED])
        for text, style in ((words, "cyan"), (_first_line(report.payload), "")):
            if text:
                line = Text(" " * (indent + 2)).append(sanitize(text), style)
                line.truncate(screen.width, overflow="ellipsis")
                screen.print(line)


def _first_line(payload: NodePayload) -> str:
    return payload.text or (payload.summary[0].text if payload.summary else "")


def show_node(report: NodeReport, ids: Sequence[str], screen: Console) -> None:
    """One node with all that it says; `ids` are the chunks of its sentences."""
    payload = report.payload
    children = f", {format_count(report.children, 'child', 'children')}" if report.children else ", a leaf"
    screen.print(Text(report.path, "bold").append(f"  level {report.level}{children}", "dim"))
    dates = " to ".join(datetime.fromtimestamp(day, UTC).date().isoformat() for day in payload.dates or ())
    for name, text in (
        ("chunks", f"{payload.chunks:,}, {payload.tokens:,} tokens"),
        ("keywords", ", ".join(payload.keywords)),
        ("entities", ", ".join(payload.entities)),
        ("dates", dates),
        ("versions", ", ".join(payload.versions)),
        ("model says", payload.text),
    ):
        if text:
            first, *others = wrap(Text(sanitize(text)), screen, 12)
            screen.print(Text(f"{name:>10}  ", "bold").append(first.plain.strip()), *others, sep="\n")
    for one, name in zip(payload.summary, ids, strict=True):
        for line in wrap(Text("· ").append(sanitize(one.text)), screen, 2):
            screen.print(line)
        screen.print(Text(f"    {sanitize(name)}", "dim"))


def show_stats(numbers: TreeStats, screen: Console) -> None:
    """The numbers of a tree, level by level."""
    over = f"; {format_count(numbers.over_cap, 'leaf', 'leaves')} above the cap" if numbers.over_cap else ""
    screen.print(
        f"{format_count(numbers.chunks, 'chunk')}, {format_count(numbers.nodes, 'node')}, "
        f"{format_count(numbers.leaves, 'leaf', 'leaves')}{over}"
    )
    screen.print(f"coverage {numbers.coverage:.3f}, replication {numbers.replication:.3f}")
    if not numbers.levels:
        return
    screen.print("siblings: cosine distance of centroids and of summaries, Jaccard overlap of entities")
    screen.print("children: the share of children that a node's summary quotes")
    head = ("level", "nodes", "least", "mean", "most", "centroids", "summaries", "entities", "children")
    rows = [[Text(name, "dim") for name in head]]
    for level in numbers.levels:
        least, mean, most = level.chunks
        shares = (level.centroid_distance, level.summary_distance, level.entity_overlap, level.contributing)
        cells = [f"{level.level}", f"{level.nodes:,}", f"{least:,}", f"{mean:,.1f}", f"{most:,}"]
        rows.append([Text(cell) for cell in (*cells, *("" if share is None else f"{share:.3f}" for share in shares))])
    for line in align_columns(rows, range(len(head)), 0):
        screen.print(line)
