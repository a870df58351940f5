"""Writes the tables of the fusion benchmark from receipts/fusion.

Members of a family are chosen on dev splits; on test splits only the chosen ones are compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.bench.report.markdown import render_table
from assay.bench.stats import compare_pair, holm
from assay.page.tables import ReportTable

RECEIPTS = Path(__file__).resolve().parents[2] / "receipts" / "fusion"
BASE = "rrf-60"
SPLITS = ("dev", "test")
MULTI_HOP = ("hotpotqa", "multihoprag_facts")
PARAPHRASED = "squad2_mini"
ALPHAS = tuple(f"{tenth / 10:g}" for tenth in range(1, 10))
FAMILIES = {
    "rrf": ("rrf-10", "rrf-30", "rrf-60", "rrf-100"),
    "weighted rrf": ("rrf-60", "wrrf-0.25", "wrrf-0.5", "wrrf-0.75", "wrrf-1.5", "wrrf-2"),
    "min-max": tuple(f"minmax-{a}" for a in ALPHAS),
    "tm2c2": tuple(f"tm2c2-{a}" for a in ALPHAS),
    "dbsf": ("dbsf",),
}
PLAIN = ("bm25", "dense", *dict.fromkeys(name for members in FAMILIES.values() for name in members))
APART = ("chunking_eval", "enron_berkeley", "longmemeval_mini")
"""Measured like the others and shown apart: a language model wrote the questions of the first, and the halves of
the other two hold some ten questions each, which would weigh as much in a mean as three hundred."""
GRAPH = ("0", "0.35", "0.5", "1", "1.5", "2", "3", "5")
EXACT = ("bm25", "dense", BASE, "rrf-60+exact-0.02", "rrf-60+exact-0.05", "rrf-60+exact-0.1", "rrf-60+exact-0.2")
EXACT_SCORES = ("minmax-0.4", "minmax-0.4+exact-0.05", "tm2c2-0.5")
Scores = NDArray[np.float64]


@cache
def receipts() -> dict[tuple[str, str], dict[str, Any]]:
    """(set, split) → the canonical half of its receipt."""
    found = {}
    for path in sorted(RECEIPTS.glob("*.json")):
        canonical = json.loads(path.read_text("utf-8"))["canonical"]
        dataset = canonical["inputs"]["dataset"]
        found[dataset["name"], dataset["split"].partition("~")[0]] = canonical  # of large sets a sample was asked
    return found


def sets(label: str) -> list[str]:
    """Sets of a label that were measured on both splits, but those that stand apart."""
    known = receipts()
    labels = (label, "unstated") if label == "human" else (label,)
    found = {name for (name, _), canonical in known.items() if canonical["inputs"]["dataset"]["label"] in labels}
    names = sorted(found - {*APART})
    return [name for name in names if all((name, split) in known for split in SPLITS)]


def scores(name: str, split: str, system: str) -> Scores:
    return np.array(receipts()[name, split]["systems"][system]["scores"]) / 10_000


def mean(name: str, split: str, system: str) -> float:
    return float(scores(name, split, system).mean())


def best(members: Sequence[str], names: Iterable[str]) -> str:
    """The member with the highest mean over the dev splits of some sets; of equals the first."""
    chosen = list(names)
    return max(members, key=lambda member: sum(mean(name, "dev", member) for name in chosen))


def matrix(split: str, systems: Sequence[str] = PLAIN) -> str:
    """nDCG@10 of systems × public sets, best first."""
    names = sets("human")
    rows = [(system, [mean(name, split, system) for name in names]) for system in systems]
    rows.sort(key=lambda row: (-float(np.mean(row[1])), row[0]))
    cells = tuple((system, *(f"{v:.3f}" for v in values), f"{np.mean(values):.3f}") for system, values in rows)
    return render_table(ReportTable(("system", *names, "mean"), cells, strong=frozenset({0})))


def apart() -> str:
    """The sets that stand apart: what each family, set as for the others, gains over plain RRF on the test splits."""
    names = sets("human")
    chosen = {"bm25": "bm25", "dense": "dense", **{family: best(m, names) for family, m in FAMILIES.items()}}
    rows = []
    for name in APART:
        base = scores(name, "test", BASE)
        cells = [name, str(len(base)), f"{base.mean():.4f}"]
        for member in chosen.values():
            test = compare_pair(base, scores(name, "test", member))
            same = member == BASE
            cells.append("the same" if same else f"{test.difference:+.4f} ({test.ci_low:+.3f} … {test.ci_high:+.3f})")
        rows.append(tuple(cells))
    heads = (f"{family}: {member}" if family != member else member for family, member in chosen.items())
    return render_table(ReportTable(("set", "questions", BASE, *heads), tuple(rows)))


def tuned() -> str:
    """Each family with one setting for all sets, chosen on the dev splits, against plain RRF on the test splits."""
    names = sets("human")
    chosen = {family: best(members, names) for family, members in FAMILIES.items()}
    tests = {
        (family, name): compare_pair(scores(name, "test", BASE), scores(name, "test", member))
        for family, member in chosen.items()
        for name in names
        if member != BASE
    }
    adjusted = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    rows = []
    for name in names:
        cells = [name, f"{mean(name, 'test', BASE):.4f}"]
        for family in chosen:
            if (family, name) not in tests:
                cells.append("the same")
                continue
            test = tests[family, name]
            mark = "*" if adjusted[family, name] < 0.05 else ""
            cells.append(f"{test.difference:+.4f}{mark} ({test.ci_low:+.3f} … {test.ci_high:+.3f})")
        rows.append(tuple(cells))
    means = [
        f"{np.mean([mean(name, 'test', member) - mean(name, 'test', BASE) for name in names]):+.4f}"
        for member in chosen.values()
    ]
    rows.append(("mean", f"{np.mean([mean(name, 'test', BASE) for name in names]):.4f}", *means))
    return render_table(
        ReportTable(("set", BASE, *(f"{family}: {member}" for family, member in chosen.items())), tuple(rows))
    )


def held_out() -> str:
    """Chosen without the set it is tested on, and chosen on the set's own dev split."""
    names = sets("human")
    rows = []
    for family, members in FAMILIES.items():
        if len(members) == 1:
            continue
        strange = {name: best(members, [other for other in names if other != name]) for name in names}
        own = {name: best(members, [name]) for name in names}
        for how, picked in (("the other sets' dev", strange), ("its own dev", own)):
            gained = [mean(name, "test", picked[name]) - mean(name, "test", BASE) for name in names]
            rows.append((family, how, *(_setting(family, picked[name]) for name in names), f"{np.mean(gained):+.4f}"))
    return render_table(ReportTable(("family", "chosen on", *names, "mean Δ to rrf-60, test"), tuple(rows)))


def _setting(family: str, member: str) -> str:
    """What is varied in a family; plain RRF is the weighted one with weight 1."""
    return "1" if family == "weighted rrf" and member == BASE else member.rpartition("-")[2]


def sensitivity() -> str:
    """The mean over all test splits by constant and by alpha: how much there is to lose."""
    names = sets("human")
    spread = {
        family: [np.mean([mean(n, "test", m) for n in names]) for m in members] for family, members in FAMILIES.items()
    }
    rows = [
        (
            family,
            ", ".join(f"{_setting(family, m)}: {v:.3f}" for m, v in zip(FAMILIES[family], values, strict=True)),
            f"{max(values) - min(values):.3f}",
        )
        for family, values in spread.items()
    ]
    return render_table(ReportTable(("family", "mean nDCG@10 by setting", "span"), tuple(rows)))


def strata() -> str:
    """Both splits of the suite from documents (exact by kind, paraphrase), the set whose questions paraphrase a passage
    and the multi-hop sets."""
    synthetic = sets("synthetic")
    exact = [name for name in synthetic if name.startswith("exact_")]
    kinds = sorted({kind for name in exact for split in SPLITS for kind in receipts()[name, split]["strata"]})
    columns = {kind.removeprefix("kind="): [_stratum(name, kind) for name in exact] for kind in kinds}
    if "paraphrase_nfcorpus" in synthetic:
        columns["paraphrase"] = [_whole("paraphrase_nfcorpus")]
    for name in (PARAPHRASED, *MULTI_HOP):
        if name in sets("human"):
            columns[name] = [_whole(name)]
    rows = []
    for system in (*EXACT, *EXACT_SCORES, "graph-0.35", "graph-1"):
        values = [np.concatenate([part(system) for part in parts]).mean() for parts in columns.values()]
        rows.append((system, *(f"{value:.3f}" for value in values)))
    counts = [sum(len(part(BASE)) for part in parts) for parts in columns.values()]
    rows.append(("questions", *(str(count) for count in counts)))
    return render_table(ReportTable(("system", *columns), tuple(rows)))


def _stratum(name: str, kind: str) -> Any:
    def values(system: str) -> Scores:
        parts = [scores(name, s, system)[receipts()[name, s]["strata"].get(kind, [])] for s in SPLITS]
        return np.concatenate(parts)

    return values


def _whole(name: str) -> Any:
    return lambda system: np.concatenate([scores(name, split, system) for split in SPLITS])


def bonus() -> str:
    """What exact questions lose under RRF against words alone, and what the bonus gives back, paired."""
    exact = [name for name in sets("synthetic") if name.startswith("exact_")]
    rows = []
    for kind in ("identifier", "phrase", "quoted"):
        parts = [_stratum(name, f"kind={kind}") for name in exact]
        words, blended = (np.concatenate([part(system) for part in parts]) for system in ("bm25", BASE))
        for system in EXACT[2:]:
            test = compare_pair(words, np.concatenate([part(system) for part in parts]))
            back = compare_pair(blended, np.concatenate([part(system) for part in parts])) if system != BASE else None
            rows.append(
                (
                    kind,
                    system,
                    f"{test.difference:+.4f} ({test.ci_low:+.3f} … {test.ci_high:+.3f})",
                    f"{back.difference:+.4f}, p {back.p:.3f}" if back else "–",
                )
            )
    return render_table(ReportTable(("exact stratum", "system", "Δ nDCG@10 to words alone", "given back"), tuple(rows)))


def graph() -> str:
    """The graph's weight swept: quality, and how many of the first ten only the graph had found."""
    names = sets("human")
    hops = [name for name in MULTI_HOP if name in names]
    rows = []
    for weight in GRAPH:
        for ending, words in (("", "seeds kept"), ("-new", "new only")):
            system = f"graph-{weight}{ending}"
            if system not in receipts()[names[0], "test"]["systems"]:
                continue
            found = [receipts()[name, "test"]["systems"][system] for name in names]
            barred = "legs.graph" in found[0]["barred"]
            alone = sum(one["alone"].get("graph", 0) for one in found)
            rows.append(
                (
                    weight,
                    words,
                    "no" if barred else "yes",
                    *(f"{mean(name, 'test', system):.3f}" for name in hops),
                    f"{np.mean([mean(name, 'test', system) for name in names]):.3f}",
                    f"{np.mean([one['means']['R@100'] for one in found]):.3f}",
                    "not measured" if barred and not alone else f"{alone:,}",
                )
            )
    places = 10 * sum(len(scores(name, "test", BASE)) for name in names)
    head = ("weight", "seeds", "can enter alone", *hops, "all sets", "R@100", f"alone, of {places:,} places")
    return render_table(ReportTable(head, tuple(rows)))


def graph_tests() -> str:
    """The graph at three weights against the same fusion without it, per set, on the test splits."""
    rows = []
    for name in sets("human"):
        base = scores(name, "test", BASE)
        tests = [compare_pair(base, scores(name, "test", f"graph-{weight}")) for weight in ("0.35", "1", "2")]
        cells = [f"{t.difference:+.4f} ({t.ci_low:+.3f} … {t.ci_high:+.3f}), p {t.p:.3f}" for t in tests]
        rows.append((name, f"{base.mean():.4f}", *cells))
    return render_table(ReportTable(("set", BASE, "graph 0.35", "graph 1", "graph 2"), tuple(rows)))


WRITERS = {
    "fusion_test": lambda: matrix("test"),
    "fusion_dev": lambda: matrix("dev"),
    "fusion_apart": apart,
    "fusion_tuned": tuned,
    "fusion_held_out": held_out,
    "fusion_sensitivity": sensitivity,
    "fusion_strata": strata,
    "fusion_bonus": bonus,
    "fusion_graph": graph,
    "fusion_graph_tests": graph_tests,
}
