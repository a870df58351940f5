"""Writes the tables of the hierarchy benchmark in documents from receipts/rb006."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.bench.rb006.systems.catalogue import ABLATIONS, MAIN

FOLDER = Path(__file__).resolve().parents[2] / "receipts" / "rb006"
BASES = ("simulated", "real")
Row = Mapping[str, Any]
_SYSTEMS = tuple(name for name in MAIN if name != "oracle")


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def _number(value: float | None) -> str:
    """Three decimals without a leading zero; whole numbers above 1 as they are."""
    if value is None:
        return "–"
    return f"{value:g}" if value > 1.0 and value == int(value) else re.sub(r"^(-?)0\.", r"\1.", f"{value:.3f}")


def _p(value: float | None) -> str:
    """A p of 10,000 draws is never 0."""
    return "<.001" if value is not None and value < 0.0005 else _number(value)


def _receipts() -> list[tuple[str, Row]]:
    """(base, receipt) of the verdicts of record."""
    paths = [(base, FOLDER / f"frozen-{base}.json") for base in BASES]
    return [(base, json.loads(path.read_text("utf-8"))) for base, path in paths if path.exists()]


def _ablations() -> list[tuple[str, Row]]:
    """(base, receipt) of the runs of ablations and seeds."""
    paths = [(base, FOLDER / f"ablations-{base}.json") for base in BASES]
    return [(base, json.loads(path.read_text("utf-8"))) for base, path in paths if path.exists()]


def _extended() -> list[tuple[str, Row]]:
    """(base, receipt) of runs that were extended to the largest corpus with fewer systems."""
    paths = [(base, FOLDER / f"frozen-{base}-200k.json") for base in BASES]
    return [(base, json.loads(path.read_text("utf-8"))) for base, path in paths if path.exists()]


def verdicts() -> str:
    """Every go and kill line of every hypothesis: what was asked, and what was observed on each base. A line that only
    the extended runs measure has their value."""
    found = _receipts()
    extended = dict(_extended())
    rows: list[list[str]] = []
    for place, verdict in enumerate(found[0][1]["canonical"]["verdicts"]):
        same = [receipt["canonical"]["verdicts"][place] for _, receipt in found]
        rows.append([f"**{verdict['name']}**", verdict["title"], "", *(f"**{one['outcome']}**" for one in same)])
        for kind in ("go", "kill"):
            for number, line in enumerate(verdict[kind]):
                seen = [one[kind][number] for one in same]
                cells = [_number(one["observed"]) + _mark(kind, one["verdict"]) for one in seen]
                for at, (base, _) in enumerate(found):
                    if seen[at]["verdict"] == "not_measured" and base in extended:
                        later = extended[base]["canonical"]["verdicts"][place][kind][number]
                        cells[at] = f"{_number(later['observed'])}{_mark(kind, later['verdict'])} *"
                rows.append([kind, line["says"], f"{line['op']} {line['threshold']:g}", *cells])
    return _table(["", "line", "asked", *(f"{base} base" for base, _ in found)], rows)


def _mark(kind: str, verdict: str) -> str:
    if verdict == "not_measured":
        return ""
    if kind == "kill":
        return " (holds)" if verdict == "pass" else ""
    return "" if verdict == "pass" else " (fails)"


def systems() -> str:
    """A by budget of every system at the scale that is judged."""
    rows = []
    for base, receipt in _receipts():
        canonical = receipt["canonical"]
        at = canonical["scales"][str(canonical["judged_at"])]
        for name in _SYSTEMS:
            if name in at["systems"]:
                one = at["systems"][name]
                pair = at["against_flat"].get(name)
                test = "–"
                if pair is not None and name != "flat-strong":
                    test = f"{pair['difference']:+.3f} [{pair['ci_low']:+.3f}, {pair['ci_high']:+.3f}]"
                budgets = [_number(one["A"][budget]) for budget in ("200", "400", "800", "1200", "pool")]
                rows.append([base, name, *budgets, _number(one["A_strict"]["400"]), _number(one["EP"]["400"]), test])
    head = [
        "base",
        "system",
        "A@200",
        "A@400",
        "A@800",
        "A@1200",
        "A@pool",
        "A_strict@400",
        "EP@400",
        "Δ flat@400, 95 %",
    ]
    return _table(head, rows)


def primaries() -> str:
    """The primaries with their tests, then the walk of the gated arm against the specification's."""
    rows = []
    for base, receipt in _receipts():
        canonical = receipt["canonical"]
        for line in canonical["primaries"]:
            if "difference" in line:
                effect = f"{line['difference']:+.3f} [{line['ci_low']:+.3f}, {line['ci_high']:+.3f}]"
            else:
                effect = f"{line['misses']} misses at level {line['level']}"
            numbers = [_p(line["p"]), _p(line["p_holm"]), _number(line.get("power"))]
            numbers.append(_number(line.get("power_at_true_effect")))
            rows.append([base, line["name"], str(line["n"]), effect, *numbers])
        for line in canonical["scales"][str(canonical["judged_at"])]["walks"]:
            name = f"survival of the walk, {line['arm']} against {line['other']} (not a primary)"
            rows.append([base, name, str(line["queries"]), f"{line['difference']:+.3f}", _p(line["p"]), *["–"] * 3])
    return _table(["base", "test", "n", "effect, 95 %", "p", "p (Holm)", "power at .08", "power at .12"], rows)


def scales() -> str:
    """Queries in scope and the race against the flat baseline, by the size of the corpus."""
    rows = []
    for base, receipt in [*_receipts(), *_extended()]:
        minutes = receipt["measured"]["minutes"]
        known = [row[:2] for row in rows]
        for line in receipt["canonical"]["by_scale"]:
            if [base, f"{line['scale']:,}"] in known:
                continue
            interval = f"[{line['interval'][0]:+.3f}, {line['interval'][1]:+.3f}]" if "interval" in line else "–"
            numbers = [_number(line.get(name)) for name in ("flat", "race")]
            counts = [str(line[name]) for name in ("in_scope", "absent", "feasible")]
            difference = f"{line['difference']:+.3f} {interval}" if "difference" in line else "–"
            spent = f"{minutes[str(line['scale'])]:g}"
            rows.append([base, f"{line['scale']:,}", *counts, *numbers, difference, spent])
    rows.sort(key=lambda row: (BASES.index(row[0]), len(row[1]), row[1]))
    head = ["base", "chunks", "in scope", "not yet present", "feasible", "flat@400", "race@400", "Δ, 95 %", "minutes"]
    return _table(head, rows)


def routing() -> str:
    """Routing errors of the walks by level: the gated arm and the specification's at the scale that is judged, other
    expansions at the smallest corpus."""
    found = [(base, receipt, ("race", "hcr")) for base, receipt in _receipts()]
    found += [(base, receipt, ("margin-4", "top-2", "router-maxpool")) for base, receipt in _ablations()]
    rows = []
    for base, receipt, walks in found:
        canonical = receipt["canonical"]
        at = canonical["scales"][str(canonical["judged_at"])]["routing"]
        for walk in walks:
            strata = at[walk]["strata"]
            errors = [_by_level(strata[name], "eps_any") for name in ("single-branch", "cross-branch")]
            bound = max(line["interval"][1] for line in strata["all"])
            whole = [_by_level(strata["all"], key) for key in ("child_recall", "margin")]
            children = ", ".join(f"{line['children']:.1f}" for line in strata["all"])
            rows.append([base, f"{canonical['judged_at']:,}", walk, *errors, _number(bound), children, *whole])
    head = ["base", "chunks", "walk", "ε single-branch", "ε cross-branch", "bound", "children", "CR@3", "margin"]
    return _table(head, rows)


def _by_level(lines: Sequence[Row], key: str) -> str:
    return ", ".join(_number(line[key]) for line in lines)


def losses() -> str:
    """Why the race missed feasible queries at 400 tokens."""
    rows = []
    for base, receipt in _receipts():
        canonical = receipt["canonical"]
        found = canonical["scales"][str(canonical["judged_at"])]["losses"]
        for reason, count in sorted(found["reasons"].items(), key=lambda item: -item[1]):
            rows.append([base, reason, f"{count} of {found['missed']}"])
    return _table(["base", "where the evidence was lost", "missed queries"], rows)


def detection() -> str:
    """Impossible queries by kind at the scale that is judged."""
    rows = []
    for base, receipt in _receipts():
        canonical = receipt["canonical"]
        found = canonical["scales"][str(canonical["judged_at"])]["detection"]
        for kind, one in {"all": found["all"], **found["kinds"]}.items():
            numbers = [_number(one[name]) for name in ("precision", "recall", "f1")]
            rows.append([base, kind.replace("_", " "), str(one["impossible"]), *numbers])
    return _table(["base", "kind", "number", "precision", "recall", "F1"], rows)


def public() -> str:
    """The flat baseline on public sets."""
    rows = []
    for line in json.loads((FOLDER / "public_sets.json").read_text("utf-8"))["measured"]["sets"]:
        for name, one in line["systems"].items():
            rows.append([line["set"], name, _number(one["nDCG@10"]), _number(one["R@100"])])
        rows += [[line["set"], f"published: {name}", _number(value), "–"] for name, value in line["published"].items()]
    return _table(["set", "system", "nDCG@10", "R@100"], rows)


def real_questions() -> str:
    """The race and the flat baseline on real questions."""
    rows = []
    for path in sorted((FOLDER / "questions").glob("*.json")):
        found = json.loads(path.read_text("utf-8"))
        for name in ("hybrid", "flat-strong", "flat-strong-xlink", "race"):
            one = found["systems"].get(name)
            if one is None:
                continue
            pair = found["against_flat"].get(name)
            test = "–" if pair is None or name == "flat-strong" else f"{pair['difference']:+.3f}"
            budgets = [_number(one["A"][budget]) for budget in ("200", "400", "800", "pool")]
            rows.append([found["name"], str(found["questions"]), name, *budgets, _number(one["AIC"]["400"]), test])
    return _table(["set", "questions", "system", "A@200", "A@400", "A@800", "A@pool", "AIC@400", "Δ flat@400"], rows)


def real_routing() -> str:
    """Refusals and routing on real questions."""
    rows = []
    for path in sorted((FOLDER / "questions").glob("*.json")):
        found = json.loads(path.read_text("utf-8"))
        said, without = found["detector"], found["without_answer"]
        refused = "–" if said["recall"] is None else f"{round(said['recall'] * without)} of {without}"
        errors = ", ".join(_number(line["eps_any"]) for line in found["routing"].get("race", {}).get("all", []))
        survival = found["survival"] or {}
        wrongly = f"{said['false_refusals']} of {found['questions']}"
        rows.append([found["name"], wrongly, refused, errors or "–", _number(survival.get("rho"))])
    return _table(["set", "refused", "refused, without an answer", "ε any by level", "ρ of survival and A@400"], rows)


def ablations() -> str:
    """One thing about the gated arm changed at a time, and the mean over clustering seeds, at the smallest corpus."""
    rows = []
    for base, receipt in _ablations():
        canonical = receipt["canonical"]
        at = canonical["scales"][str(canonical["judged_at"])]
        rows.append([base, "race", _number(at["systems"]["race"]["A"]["400"]), "–", "–", "the gated arm"])
        for name, test in at["ablations"].items():
            interval = f"{test['difference']:+.3f} [{test['ci_low']:+.3f}, {test['ci_high']:+.3f}]"
            rows.append([base, name, _number(test["mean_b"]), interval, _p(test["p"]), ABLATIONS[name]])
        if at["seeds"]:
            test = at["seeds"]["against_flat"]
            by_seed = ", ".join(_number(value) for value in at["seeds"]["by_seed"])
            interval = f"over flat {test['difference']:+.3f} [{test['ci_low']:+.3f}, {test['ci_high']:+.3f}]"
            mean = _number(test["mean_b"])
            rows.append([base, f"{at['seeds']['seeds']} seeds", mean, interval, _p(test["p"]), by_seed])
    return _table(["base", "ablation", "A@400", "Δ race, 95 %", "p", "what it is"], rows)


def dev_rerank() -> str:
    """A by budget on the dev world for rerank stages and weights."""
    rows = [
        [one["system"], one["stage"], f"{one['weight']:g}", *(_number(one["A"][b]) for b in ("200", "400", "800"))]
        for one in json.loads((FOLDER / "dev_rerank.json").read_text("utf-8"))["measured"]["rows"]
    ]
    return _table(["system", "stage", "weight", "A@200", "A@400", "A@800"], sorted(rows))


WRITERS: dict[str, Callable[[], str]] = {
    "rb006_ablations": ablations,
    "rb006_dev_rerank": dev_rerank,
    "rb006_verdicts": verdicts,
    "rb006_systems": systems,
    "rb006_primaries": primaries,
    "rb006_scales": scales,
    "rb006_losses": losses,
    "rb006_routing": routing,
    "rb006_detection": detection,
    "rb006_public": public,
    "rb006_real_questions": real_questions,
    "rb006_real_routing": real_routing,
}
