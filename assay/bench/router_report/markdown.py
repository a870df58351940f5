"""Renders the router report as Markdown: counters, metrics, latency, gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.bench.report.markdown import render_table
from assay.bench.router_report.assemble import SUMMARY
from assay.page.tables import ReportTable

_VERDICTS = {
    "pass": "pass: within the latency budget, and no recall lost",
    "recall_loss": "recall loss: recall is below the second source alone, by the difference given below",
    "fail": "fail",
    "not_measured": "not measured",
}


def render_router_report(report: Mapping[str, Any]) -> str:
    return "\n".join(_render_lines(report)).rstrip() + "\n"


def _render_lines(report: Mapping[str, Any]) -> Iterator[str]:
    config, dataset, total = report["config"], report["dataset"], report["summary"]["questions_total"]
    yield f"# Router on {dataset['name']}/{dataset['split']}"
    yield ""
    routing = f"stage 2 is asked by {_format_trigger(config['trigger'])}, merged by {config['fusion_mode']}"
    apart, broken = (report["summary"][f"questions_{name}"] for name in ("without_answer", "failed"))
    more = (f" {broken} failed." if broken else "") + (f" {apart} more have no answer." if apart else "")
    yield f"{total} questions, top {report['top_k']}; {routing}.{more}"
    yield _describe_candidates(report)
    yield ""
    verdict = report["verdict"]
    yield f"**Verdict: {_VERDICTS[verdict['verdict']]}** (exit code {verdict['exit_code']})."
    yield ""
    rows = [(name, str(n), f"{n / total:.1%}" if total else "–") for name, n in report["counters"].items()]
    yield render_table(ReportTable(("stage 2", "questions", "share"), tuple(rows)))
    names = [name for name in report["summary"] if name in SUMMARY]
    yield render_table(
        ReportTable(("metric", "mean"), tuple((name, _format_four(report["summary"][name])) for name in names))
    )
    latency = report["latency"]
    times = [
        (stage, *(_format_two(latency[f"{stage}_ms_{word}"]) for word in ("p50", "p95", "mean")))
        for stage in ("search", "stage1", "stage2")
    ]
    yield render_table(ReportTable(("latency", "p50 ms", "p95 ms", "mean ms"), tuple(times)))
    yield render_table(ReportTable(("against", "metric", "difference", "95 %", "p"), tuple(_difference_rows(report))))
    for gate in verdict["gates"]:
        yield f"- {gate['verdict']}: {gate['name']}: {gate['why']}"
    yield ""
    yield _describe_recall(report)
    yield ""
    note = report["longmemeval_50"]
    yield note["why"] + ("." if note["measured"] else f". With it: `{note['how']}`.")
    yield ""
    yield f"Receipt `{report['receipt']}`, report `{report['digest']}`."


def _describe_candidates(report: Mapping[str, Any]) -> str:
    """What one candidate is: a session, a document or a chunk, and for how many chunks."""
    counts, fields = report["candidates"], report["config"]["dedupe_by"]
    if fields is None:
        return "Every chunk is a candidate; nothing is deduplicated."
    fields = [fields] if isinstance(fields, str) else fields
    total = sum(counts.values())
    shares = [f"{counts[field]} of {total} candidates by {field}" for field in fields if counts[field]]
    shares += [f"{counts['']} have none of them and stand for themselves"] if counts[""] else []
    late = report["summary"]["stage1_late"]
    return f"Deduplicated by {', else '.join(fields)}: {', '.join(shares) or 'no candidates'}." + (
        f" Stage 1 was past the budget for {late} questions." if late else ""
    )


def _format_trigger(trigger: Mapping[str, Any]) -> str:
    """`fewer_than (count = 3)`, `any_of (fill_to_k, margin_below (margin = 0.05))`."""
    members = [_format_trigger(one) for one in trigger.get("of", ())]
    members += [f"{key} = {value}" for key, value in trigger.items() if key not in ("use", "of") and value != ""]
    return f"{trigger['use']} ({', '.join(members)})" if members else str(trigger["use"])


def _difference_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
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
                _format_four(row["p"]),
            )


def _describe_recall(report: Mapping[str, Any]) -> str:
    """The recall against the second source alone; the router policy requires that a loss is reported."""
    for row in report["compared"]:
        if row["against"].endswith(" second") and row.get("metric", "").startswith("R@"):
            outcome = "kept" if row["difference"] >= 0 else "lost"
            share = f" ({row['losses']} questions worse, {row['wins']} better)" if "losses" in row else ""
            return f"{row['metric']} {outcome} against the second source alone: {row['difference']:+.4f}{share}."
    return "Recall against the second source alone was not measured."


def _format_two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _format_four(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
