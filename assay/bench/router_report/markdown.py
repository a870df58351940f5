"""The report for people: how often, how good, how fast, what passes, and what was not measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.bench.report.markdown import table
from assay.bench.report.tables import Table


def markdown(report: Mapping[str, Any], timed: Mapping[str, Any] | None = None) -> str:
    """Markdown of a report; `timed` are the verdicts of the gate's receipt that read the clock."""
    return "\n".join(_lines(report, timed or {})).rstrip() + "\n"


def _lines(report: Mapping[str, Any], timed: Mapping[str, Any]) -> Iterator[str]:
    config, dataset, total = report["config"], report["dataset"], report["summary"]["questions_total"]
    yield f"# Router on {dataset['name']}/{dataset['split']}"
    yield ""
    asked = f"stage 2 is asked by {_trigger(config['trigger'])}, merged by {config['fusion_mode']}"
    apart, broken = (report["summary"][f"questions_{name}"] for name in ("without_answer", "failed"))
    more = (f" {broken} failed." if broken else "") + (f" {apart} more have no answer." if apart else "")
    yield f"{total} questions, top {report['top_k']}; {asked}.{more}"
    yield ""
    rows = [(name, str(n), f"{n / total:.1%}" if total else "–") for name, n in report["counters"].items()]
    yield table(Table(("stage 2", "questions", "share"), tuple(rows)))
    names = [name for name in report["summary"] if not name.startswith("questions_")]
    yield table(Table(("metric", "mean"), tuple((name, _four(report["summary"][name])) for name in names)))
    latency = report["latency"]
    times = [
        (stage, *(_two(latency[f"{stage}_ms_{word}"]) for word in ("p50", "p95", "mean")))
        for stage in ("search", "stage1", "stage2")
    ]
    yield table(Table(("latency", "p50 ms", "p95 ms", "mean ms"), tuple(times)))
    yield table(Table(("against", "metric", "difference", "95 %", "p"), tuple(_differences(report))))
    for gate in (*report["gates"]["gates"], *timed.get("gates", ())):
        yield f"- {gate['verdict']}: {gate['name']}: {gate['why']}"
    yield ""
    yield _loss(report)
    yield ""
    note = report["longmemeval_50"]
    yield note["why"] + ("." if note["measured"] else f". With it: `{note['how']}`.")
    yield ""
    yield f"Receipt `{report['receipt']}`, report `{report['digest']}`."


def _trigger(said: Mapping[str, Any]) -> str:
    """`fewer_than (count = 3)`, `any_of (fill_to_k, margin_below (margin = 0.05))`."""
    members = [_trigger(one) for one in said.get("of", ())]
    members += [f"{key} = {value}" for key, value in said.items() if key not in ("use", "of") and value != ""]
    return f"{said['use']} ({', '.join(members)})" if members else str(said["use"])


def _differences(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for row in report["compared"]:
        if "not_measured" in row:
            yield row["against"], "not measured", row["not_measured"], "", ""
        else:
            low, high = row["ci_low"], row["ci_high"]
            yield (
                row["against"],
                row["metric"],
                f"{row['difference']:+.4f}",
                f"{low:+.4f} … {high:+.4f}",
                _four(row["p"]),
            )


def _loss(report: Mapping[str, Any]) -> str:
    """000: recall is kept against the second source alone, or its loss is said."""
    for row in report["compared"]:
        if row["against"].endswith(" second") and row.get("metric", "").startswith("R@"):
            kept = "kept" if row["difference"] >= 0 else "lost"
            share = f" ({row['losses']} questions worse, {row['wins']} better)" if "losses" in row else ""
            return f"{row['metric']} {kept} against the second source alone: {row['difference']:+.4f}{share}."
    return "Recall against the second source alone was not measured."


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _four(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
