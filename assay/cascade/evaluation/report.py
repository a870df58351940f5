"""Writes a grid as Markdown: baselines, every configuration, the verdict and the chosen settings."""

from __future__ import annotations

from collections.abc import Sequence

from assay.bench.receipt import Receipt
from assay.cascade.evaluation.grid import CascadeCell, CascadeGrid

TITLE = "Hybrid Retrieval v0.1 Results"
_SCORES = (("Hit@1", "Success@1"), ("Hit@5", "Success@5"), ("Hit@10", "Success@10"), ("MRR@10", "RR@10"))
_VERDICTS = {"pass": "pass", "fail": "**fail**", "not_measured": "not measured"}


def headline(grid: CascadeGrid) -> str:
    """The chosen settings, or that there are none."""
    if grid.chosen is None:
        passed = any(cell.verdict == "pass" for cell in grid.cells)
        unmeasured = sum(cell.verdict == "not_measured" for cell in grid.cells)
        if passed:
            return f"No configuration passes: {grid.receipt.canonical['doubts'][0]}"
        return "No configuration passes." + (f" {unmeasured} could not be measured." if unmeasured else "")
    cell = grid.chosen
    return f"Chosen: K0 = {cell.k0}, λ = {cell.weight:g}, nprobe = {_probes(cell)}."


def goal_line(grid: CascadeGrid) -> str:
    (gate,) = grid.goal.canonical["gates"]
    observed = gate["why"] if gate["observed"] is None else f"{gate['observed']:.4f}"
    return f"Goal Hit@5 ≥ {gate['rule']['threshold']:g}: {_VERDICTS[gate['verdict']].strip('*')} ({observed})."


def to_markdown(grid: CascadeGrid, title: str = TITLE) -> str:
    facts = grid.receipt.canonical
    size, dim = facts["index"]["vectors"], facts["index"]["dim"]
    leak, codes = facts["leakage"], facts["codes_agree"]
    lines = [
        f"# {title}",
        "",
        f"**{headline(grid)}** {goal_line(grid)}",
        "",
        f"Bank {facts['dataset']['name']}: {size:,} vectors × {dim}, digest {facts['dataset']['bank'][:12]}; index "
        f"{facts['index']['kind']} with {facts['index'].get('nlist', 0)} lists; model "
        f"{facts['model']['name'] if facts['model'] else 'none'}; {facts['questions']:,} held-out questions. K1 "
        f"{facts['axes']['k1']}, K {facts['axes']['k']} (Hit@5 is the prefix of five).",
        "",
        "Settings are picked and judged on the same questions: the best of many looks a little better than it is.",
        "",
        "## Leakage",
        "",
        f"No id stands in both halves (else the file does not open). Twins in the bank: {leak['twins_in_the_bank']}; "
        f"held-out targets with a learned vector at cosine ≥ {leak['near']}: {leak['targets_near_a_learned_vector']} "
        f"of {leak['targets_looked_at']}; pairs that stand twice: {leak['repeated_pairs']}. A twin of the answer "
        f"counts as the answer. Answers that stand in their own context: {leak['answers_in_their_own_context']}.",
        "",
        f"What follows has the lane of the current vector in {codes['lane']:.1%} of the held-out pairs, its domain in "
        f"{codes['domain']:.1%}, its task in {codes['task']:.1%}: so much can codes decide.",
        "",
        *[f"- Doubt: {text}" for text in facts["doubts"]],
        *([""] if facts["doubts"] else []),
        "## Rows every report has",
        "",
        *_table(
            ["row", *(name for name, _ in _SCORES)], [[name, *_scores(one)] for name, one in grid.baselines.items()]
        ),
        "",
        "## The grid",
        "",
        "λ = 1 is the next-vector model alone (lvm-only), without the stage of the codes. Gates hold a row against "
        "lvm-only at its K0 and nprobe, timed in turns in one run. `used` are the lists that were read: where those of "
        "nprobe hold fewer than K0 vectors, more are.",
        "",
        *_table(
            [
                "K0",
                "nprobe",
                "used",
                "λ",
                *(name for name, _ in _SCORES),
                "p50 ms",
                "p95 ms",
                "against lvm-only",
                "gates",
            ],
            [_cells(cell, grid) for cell in sorted([*grid.alone, *grid.cells], key=_place)],
        ),
        "",
        *_gates(grid),
        "## Hit@5 by domain",
        "",
        *_lanes(grid),
    ]
    return "\n".join(lines) + "\n"


def _probes(cell: CascadeCell) -> str:
    used = cell.nprobe_used
    return str(cell.nprobe) if used == str(cell.nprobe) else f"{cell.nprobe} (used {used})"


def _place(cell: CascadeCell) -> tuple[float, ...]:
    return cell.k0, cell.nprobe, -cell.weight


def _scores(one: Receipt) -> list[str]:
    return [f"{one.canonical['aggregates']['all'][metric]:.4f}" for _, metric in _SCORES]


def _cells(cell: CascadeCell, grid: CascadeGrid) -> list[str]:
    base = next(one for one in grid.alone if (one.k0, one.nprobe) == (cell.k0, cell.nprobe))
    p50, p95 = cell.run.percentile("total", 50), cell.run.percentile("total", 95)
    against, verdict = "lvm-only", ""
    if cell.gate is not None:
        uplift = cell.score("Success@5") - base.score("Success@5")
        against = f"{uplift:+.4f}, ×{p95 / base.run.percentile('total', 95):.2f}"
        verdict = _VERDICTS[cell.verdict] + (" — chosen" if cell is grid.chosen else "")
    settings = [str(cell.k0), str(cell.nprobe), cell.nprobe_used, f"{cell.weight:g}"]
    return [*settings, *_scores(cell.receipt), f"{p50:.2f}", f"{p95:.2f}", against, verdict]


def _gates(grid: CascadeGrid) -> list[str]:
    """The verdicts of the chosen cell, or of the one that came nearest."""
    cell = grid.chosen or min(grid.cells, key=lambda one: one.preference)
    assert cell.gate is not None
    gates = [*cell.gate.canonical["gates"], *cell.gate.measured["gates"]]
    which = "chosen" if grid.chosen else "best by Hit@5"
    return [
        f"Gates of the {which} configuration (K0 {cell.k0}, λ {cell.weight:g}, nprobe {_probes(cell)}):",
        "",
        *_table(["gate", "verdict", "why"], [[one["name"], _VERDICTS[one["verdict"]], one["why"]] for one in gates]),
        "",
    ]


def _lanes(grid: CascadeGrid) -> list[str]:
    cell = grid.chosen or min(grid.cells, key=lambda one: one.preference)
    base = next(one for one in grid.alone if (one.k0, one.nprobe) == (cell.k0, cell.nprobe))
    canonical, alone = cell.receipt.canonical, base.receipt.canonical
    rows = []
    for name, places in canonical["strata"].items():
        if name in canonical["not_measured"]:
            continue
        one, other = (half["aggregates"][name]["Success@5"] for half in (canonical, alone))
        rows.append([name, str(len(places)), f"{one:.4f}", f"{other:.4f}", f"{one - other:+.4f}"])
    rows += [[name, count.split()[0], "not measured", "", ""] for name, count in canonical["not_measured"].items()]
    return _table(["lane", "questions", "Hit@5", "lvm-only", "difference"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
