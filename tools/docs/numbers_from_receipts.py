"""Writes the number blocks of the documents from committed receipts, and finds stale ones.

    <!-- numbers: search -->
    … a table written by this script …
    <!-- end -->

`python -m tools.docs.numbers_from_receipts` writes every block; `tools/docs/check.py` fails when one is stale.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from tools.docs.markdown_table import table
from tools.docs.numbers_from_answerability import WRITERS as ANSWERABILITY
from tools.docs.numbers_from_cascade import WRITERS as CASCADE
from tools.docs.numbers_from_context import WRITERS as CONTEXT
from tools.docs.numbers_from_fusion import WRITERS as FUSION
from tools.docs.numbers_from_growth import cluster_forecast, cluster_growth, cluster_model, whole_store
from tools.docs.numbers_from_lab import WRITERS as LAB
from tools.docs.numbers_from_memory import WRITERS as MEMORY
from tools.docs.numbers_from_ranker import (
    ranker_between,
    ranker_cost,
    ranker_left_out,
    ranker_public,
    ranker_transfer,
    rerank_pipeline,
)
from tools.docs.numbers_from_rb006 import WRITERS as RB006
from tools.docs.numbers_from_reranker import WRITERS as RERANKER
from tools.docs.numbers_from_router import WRITERS as ROUTER
from tools.docs.numbers_from_routing import ROUTING
from tools.docs.numbers_from_torture import WRITERS as TORTURE

ROOT = Path(__file__).resolve().parents[2]
RUNS = {**LAB, **FUSION, **MEMORY, **CASCADE, **ROUTER, **CONTEXT, **ANSWERABILITY, **RB006, **TORTURE}
"""Block → what writes it from the lab's receipts."""
_BLOCK = re.compile(r"(<!-- numbers: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_DOCUMENTS = (
    "README.md",
    "docs/answerability.md",
    "docs/benchmarks.md",
    "docs/backends.md",
    "docs/cascade.md",
    "docs/context.md",
    "docs/memory.md",
    "docs/postgres.md",
    "docs/qdrant.md",
    "docs/scaling.md",
    "docs/fusion.md",
    "docs/graph.md",
    "docs/tree.md",
    "docs/decisions/0010-default-pipeline.md",
    "docs/decisions/0022-ranks-or-scores.md",
    "docs/decisions/0025-two-ladders.md",
    "docs/decisions/0026-which-next-vector-model.md",
    "docs/decisions/0014-token-vectors-are-signs.md",
    "docs/decisions/0037-a-trained-reranker.md",
    "docs/decisions/0046-term-sequences.md",
    "docs/decisions/0047-the-default-stays.md",
    "docs/decisions/0048-a-longer-run.md",
    "docs/decisions/0060-the-rerank-stage-of-the-verdict.md",
    "docs/decisions/0071-weights-that-transfer.md",
    "docs/decisions/0073-the-ranker-becomes-the-default.md",
    "docs/decisions/0078-one-ranker-for-both-encoders.md",
    "docs/router.md",
    "docs/hierarchy.md",
    "docs/rb006.md",
    "docs/security.md",
)


def search(receipt: dict[str, Any]) -> str:
    rows = []
    for entry in receipt["sizes"]:
        for name, times in entry["times"].items():
            rows.append([f"{entry['chunks']:,}", name, times["p50_ms"], times["p95_ms"]])
    ratios = table(["ratio", ""], [[name, value] for name, value in receipt["ratios"].items()])
    return table(["chunks", "what", "p50 ms", "p95 ms"], rows) + "\n" + ratios


def growth(receipt: dict[str, Any]) -> str:
    """One row per size: times, recall on real questions, opening, memory."""
    rows = []
    for entry in receipt["sizes"]:
        times = entry["times"]
        rows.append(
            [
                f"{entry['chunks']:,}",
                f"{times['assay']['p50_ms']} / {times['assay']['p95_ms']}",
                f"{times['raw engines']['p50_ms']} / {times['raw engines']['p95_ms']}",
                *("{p50_ms} / {p95_ms}".format(**times[f"assay, filter {part}"]) for part in ("0.5 %", "10 %", "50 %")),
                entry["dense_recall_at_100"]["assay"],
                entry["open_ms"],
                f"{entry['resident_mb']:,.0f} / {entry['private_mb']:,.0f}",
            ]
        )
    head = ["chunks", "assay p50 / p95 ms", "raw engines", "filter 0.5 %", "filter 10 %", "filter 50 %"]
    ratio = receipt["ratios"]["p95 from 100k to 1M"]
    return (
        table([*head, "dense recall@100", "open ms", "memory MB, resident / private"], rows)
        + f"\np95 from 100k to 1M: {ratio}x.\n"
    )


def filters(receipt: dict[str, Any]) -> str:
    """The largest size: a row for each share and kind of filter, beside the plan before."""
    largest = receipt["sizes"][-1]
    rows = []
    for share, kinds in largest["filters"].items():
        for kind, facts in kinds.items():
            old, times = facts["before"], f"{facts['p50_ms']} / {facts['p95_ms']}"
            new = [facts["recall_at_100"], facts["worst"], times]
            rows.append([share, kind, *new, old["recall_at_100"], old["worst"], f"{old['p50_ms']} / {old['p95_ms']}"])
    short = sum(facts["short_lists"] for kinds in largest["filters"].values() for facts in kinds.values())
    head = ["filter", "kind", "recall@100", "worst question", "p50 / p95 ms", "before: recall", "worst", "p50 / p95 ms"]
    return (
        table(head, rows)
        + f"\n{largest['vectors']:,} vectors, {largest['questions']} questions, {short} short lists.\n"
    )


def ingest(receipt: dict[str, Any]) -> str:
    return table(["what", "measured"], [[name, value] for name, value in receipt["summary"].items()])


def large_folder(receipt: dict[str, Any]) -> str:
    """What was added, with time and memory of the two phases and the limit."""
    rows = [
        [
            phase,
            f"{receipt[phase]['seconds']:,.0f}",
            f"{receipt[phase]['chunks_per_s']:,}",
            f"{receipt[phase]['peak_mb']:,}",
            f"{receipt[phase]['peak_mb_without_file_pages']:,}",
        ]
        for phase in ("adding", "indexing")
    ]
    head = ["phase", "seconds", "chunks/s", "peak MB, all processes", "without pages of files"]
    return (
        table(head, rows)
        + f"\n{receipt['bytes'] / 1e9:.2f} GB in {receipt['files']:,} files, {receipt['chunks']:,} chunks. "
        + f"Peak over the limit of {receipt['limit_mb']:,} MB: {receipt['peak_mb_over_limit']}, "
        + f"without pages of files {receipt['peak_mb_without_file_pages_over_limit']}.\n"
    )


def statistics(receipt: dict[str, Any]) -> str:
    """Seconds of the lab's tests at full size, and how they compare with plain loops."""
    rows = [[name, f"{seconds} s"] for name, seconds in receipt["seconds"].items() if "loop" not in name]
    return table(["what", "measured"], rows + [[name, f"{ratio}x"] for name, ratio in receipt["ratios"].items()])


def mcp(receipt: dict[str, Any]) -> str:
    """From the start of the process to an answer, by the wall clock and in processor time."""
    times = receipt["times"]
    rows = []
    for case, entry in times.items():
        for what, spent in entry.items():
            rows.append([case, what, spent["fastest_ms"], spent["median_ms"]])
    return table(["case", "what", "fastest ms", "median ms"], rows)


def serve(receipt: dict[str, Any]) -> str:
    """Latency of one client and throughput of sixteen, served and in the process itself."""
    times, ratios, rates = receipt["one client"], receipt["ratios"], receipt["throughput"]
    rows = [
        [f"one client, {name} ms", times["served"][p], times["in process"][p], ratios[f"served / in process, {p}"]]
        for name, p in (("p50", "p50_ms"), ("p95", "p95_ms"))
    ]
    rows.append(
        [
            f"{rates['clients']} clients, {rates['workers']} workers, searches a second (median of blocks)",
            median(rates["served"]),
            median(rates["in process"]),
            ratios["throughput, served / in process"],
        ]
    )
    count = f"{receipt['chunks']:,} chunks; {rates['failed']} requests failed; "
    grown = f"the server grew by {receipt['server_mb_grown']} MB under load.\n\n"
    return count + grown + table(["what", "served", "in process", "ratio"], rows)


def backends(receipt: dict[str, Any]) -> str:
    """One row per kind of question and backend, with the ratio to the embedded store; then what adding costs."""
    rows = []
    for what, entry in receipt["times"].items():
        for name, times in entry.items():
            ratio = "" if name == "local" else f"{times['p50_ms'] / entry['local']['p50_ms']:.1f}"
            rows.append([what, name, f"{times['p50_ms']:.2f}", f"{times['p95_ms']:.2f}", ratio])
    builds = [
        [name, f"{m['added_per_s']:,}", m["compact_s"], m["mb"], _share(receipt["agreement"].get(name))]
        for name, m in receipt["made"].items()
    ]
    searched = table([f"{receipt['chunks']:,} chunks", "backend", "p50 ms", "p95 ms", "p50 / local"], rows)
    return searched + "\n" + table(["backend", "added/s", "compact s", "MB", "same hundred as local"], builds)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def postgres(receipt: dict[str, Any]) -> str:
    """Times of both backends and of plain ts_rank, how alike they answer, and the kinds of vector index."""
    times = table(["what", "p50 ms", "p95 ms"], [[n, t["p50_ms"], t["p95_ms"]] for n, t in receipt["times"].items()])
    kinds = [
        [n, *(i[k] for k in ("build_s", "mb", "recall_at_100_of_200", "p50_ms"))] for n, i in receipt["indexes"].items()
    ]
    alike = table(["answers", ""], [[name, value] for name, value in receipt["answers"].items()])
    head = ["index of the vectors", "build s", "MB", "recall@100 among 200", "p50 ms"]
    return f"{receipt['chunks']:,} chunks.\n\n{times}\n{alike}\n{table(head, kinds)}"


def graph(receipt: dict[str, Any]) -> str:
    """One row per size: building the graph and the word index, a walk and BM25."""
    rows = []
    for entry in receipt["sizes"]:
        changed = next(value for key, value in entry.items() if key.startswith("after "))
        for state, measured in (("compacted", entry["compacted"]), ("with a tail and deletions", changed)):
            times = measured["times"]
            rows.append(
                [
                    f"{entry['chunks']:,}",
                    state,
                    f"{measured['things']:,}",
                    *(f"{times[name]['p50_ms']} / {times[name]['p95_ms']}" for name in ("bm25", "walk")),
                    " / ".join(str(value) for value in measured["ratios"].values()),
                    measured["first_question_ms"],
                ]
            )
    head = [
        "chunks",
        "index",
        "things",
        "bm25 p50 / p95 ms",
        "walk p50 / p95 ms",
        "walk over bm25",
        "first question ms",
    ]
    built = [
        [
            f"{entry['chunks']:,}",
            f"{entry['chunks_added_per_s']:,}",
            entry["index_s"],
            entry["graph_s"],
            entry["graph_mb_on_disk"],
            f"{entry['peak_mb']:,} / {entry['peak_mb_of_a_helper']:,}",
        ]
        for entry in receipt["sizes"]
    ]
    more = ["chunks", "added per s", "words and columns s", "graph s", "graph MB on disk", "peak MB, program / helper"]
    return table(head, rows) + "\n" + table(more, built)


def tree(receipt: dict[str, Any]) -> str:
    """One row per size: building the tree; then its look-ups beside those of a flat search."""
    built, times = [], []
    for entry in receipt["sizes"]:
        least, mean, most = entry["leaf_chunks"].values()
        built.append(
            [
                f"{entry['chunks']:,}",
                " / ".join(f"{count:,}" for count in entry["nodes_by_level"][1:]),
                f"{least} / {mean} / {most}",
                f"{entry['tree_s']} / {entry['tree_cpu_s']}",
                f"{entry['chunks_per_cpu_s']:,}",
                entry["tree_mb_on_disk"],
                f"{entry['peak_mb']:,}",
            ]
        )
        spent = entry["look_ups"]["times"]
        times.append([f"{entry['chunks']:,}", *(f"{one['p50_ms']} / {one['p95_ms']}" for one in spent.values())])
    head = [
        "chunks",
        "nodes by level",
        "leaf least / mean / most",
        "s / processor s",
        "chunks per processor s",
        "MB on disk",
    ]
    names = receipt["sizes"][0]["look_ups"]["times"]
    more = table(["chunks", *(f"{name}, p50 / p95 ms" for name in names)], times)
    growth = receipt["growth"]
    return (
        table([*head, "peak MB"], built)
        + f"\n{more}\nFrom the first to the last size chunks grow {growth['chunks']}x, processor seconds "
        + f"{growth['tree_cpu_s']}x, the tree's files {growth['tree_mb_on_disk']}x.\n"
    )


def recall(receipt: dict[str, Any]) -> str:
    """A recall compared with a search by `default`, by the wall clock and by processor time."""
    rows = [
        [
            kind,
            clock,
            *(times[name][p] for name in ("recall", "default") for p in ("p50_ms", "p95_ms")),
            *ratios.values(),
        ]
        for kind, clocks in receipt.items()
        if isinstance(clocks, dict)
        for clock, entry in clocks.items()
        if isinstance(entry, dict)
        for times, ratios in [(entry["times"], entry["recall / default"])]
    ]
    head = ["questions", "clock", "recall p50 ms", "p95", "default p50 ms", "p95 ", "ratio p50", "ratio p95"]
    return f"{receipt['memories']:,} memories.\n\n" + table(head, rows)


def memory_side_by_side(receipt: dict[str, Any]) -> str:
    """`recall` and other memories on conversations: nDCG@10, and what `recall` gains, with its interval."""
    rows = [
        [system, *(cell for entry in receipt.values() for cell in _side_by_side_cells(entry["systems"][system]))]
        for system in next(iter(receipt.values()))["systems"]
    ]
    head = [f"{name}{what}" for name in ("LoCoMo", "BEAM") for what in (": nDCG@10", ": recall minus it (95 %)")]
    return table(["memory", *head], rows)


def _side_by_side_cells(entry: dict[str, Any]) -> list[str]:
    difference, low, high = entry["recall minus it"]
    return [f"{entry['nDCG@10']:.3f}", f"{difference:+.3f} ({low:+.3f} … {high:+.3f})" if low or high else "–"]


def cluster_faults(receipt: dict[str, Any]) -> str:
    """Every fault with the searches around it; seconds until the first answer, and until the index served again."""
    rows = [
        [
            name,
            len(fault["seconds_to_answer"]),
            f"{fault['searches']:,}",
            fault["failed_searches"],
            f"{fault['searches_by_index']:,}",
            f"{fault['degraded_searches']:,}",
            max(fault["seconds_to_answer"]),
            max(fault["seconds_to_index"]),
        ]
        for name, fault in receipt["by_fault"].items()
    ]
    head = ["fault", "trials", "searches", "operations that failed", "by the index", "degraded"]
    kept, wrong = receipt["outcomes"].get("kept", 0), len(receipt["wrong"])
    return (
        table([*head, "s to an answer, most", "s to the index, most"], rows)
        + f"\n{kept} of {receipt['trials']} trials kept every promise; {receipt['writes']:,} acknowledged writes, "
        + f"{receipt['searches']:,} searches, {wrong} wrong answers.\n"
    )


WRITERS: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    **RERANKER,
    **ROUTING,
    "search": ("search", search),
    "graph": ("graph", graph),
    "tree": ("tree", tree),
    "growth": ("growth", growth),
    "filters": ("filters", filters),
    "ingest": ("ingest", ingest),
    "large_folder": ("large_folder", large_folder),
    "statistics": ("statistics", statistics),
    "mcp": ("mcp", mcp),
    "recall": ("recall", recall),
    "memory_side_by_side": ("memory_side_by_side", memory_side_by_side),
    "serve": ("serve", serve),
    "backends": ("backends", backends),
    "ranker_cost": ("ranker_cost", ranker_cost),
    "ranker_default": ("ranker_default", ranker_transfer),
    "ranker_default_public": ("ranker_default", ranker_public),
    "ranker_encoders": ("ranker_encoders", ranker_transfer),
    "ranker_encoders_between": ("ranker_encoders", ranker_between),
    "ranker_encoders_public": ("ranker_encoders", ranker_public),
    "ranker_left_out": ("ranker_left_out", ranker_left_out),
    "ranker_public": ("ranker_transfer", ranker_public),
    "ranker_transfer": ("ranker_transfer", ranker_transfer),
    "rerank_pipeline": ("rerank_pipeline", rerank_pipeline),
    "rerank_pipeline_encoders": ("rerank_pipeline_encoders", rerank_pipeline),
    "postgres": ("postgres", postgres),
    "cluster_faults": ("torture/cluster", cluster_faults),
    "partition_faults": ("torture/partitions", cluster_faults),
    "cluster_growth": ("cluster_growth", cluster_growth),
    "cluster_model": ("cluster_growth", cluster_model),
    "cluster_forecast": ("cluster_growth", cluster_forecast),
    "whole_store": ("whole_store", whole_store),
}
"""Block → its receipt, and what writes it."""


def _fill_blocks(text: str) -> str:
    def block(entry: re.Match[str]) -> str:
        if entry[2] in RUNS:
            return f"{entry[1]}{RUNS[entry[2]]()}{entry[4]}"
        name, writer = WRITERS[entry[2]]
        receipt = json.loads((ROOT / "receipts" / f"{name}.json").read_text("utf-8"))["measured"]
        return f"{entry[1]}{writer(receipt)}{entry[4]}"

    return _BLOCK.sub(block, text)


def stale_blocks(root: Path) -> list[str]:
    entry = []
    for name in _DOCUMENTS:
        path = root / name
        if not path.exists():
            entry.append(f"{name} is missing")
        elif _fill_blocks(path.read_text("utf-8")) != path.read_text("utf-8"):
            entry.append(f"{name}: a block of numbers does not match its receipt; run: make docs")
    return entry


if __name__ == "__main__":
    for document in _DOCUMENTS:
        path = ROOT / document
        path.write_text(_fill_blocks(path.read_text("utf-8")), "utf-8")
