"""Judges receipts by gate rules: pass, fail or not_measured, with the observed number and the reason.

Unmeasured values never pass: a run without scores, a missing metric or stratum, too few queries, no baseline, or times
of different runs. The overall verdict is the worst of the gates: fail, then not_measured, then pass.

    observed = mean of the metric over the scope                      without a baseline
             = mean difference to the baseline, query by query        against one
             = latency / the baseline's latency, of one run           for latency against one

A ratio of latencies whose 95 % interval holds the threshold is not measured: the noise is larger than what is asked.
The interval needs times of single questions, which the grid of the vector cascade takes; else the ratio decides alone.

p-values are those of the paired test in `compare`, adjusted by Holm over all queries and by Benjamini-Hochberg over
strata. Claims (gates with max_p) and alarms (gates with fail_p) are separate families: an additional alarm makes no
claim harder. Observed values are rounded like receipts, so that a difference of 0.05 meets a threshold of 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.bench.compare import TESTS, ComparisonResult, compare_columns, round_score
from assay.bench.gates.rules import EACH_STRATUM, GateRule, RuleSet
from assay.bench.metrics import mean
from assay.bench.receipt import Receipt
from assay.bench.run_columns import RunColumns, check_fit, latency_ratio, ratio_interval, read_columns
from assay.bench.types import ALL
from assay.errors import nearest

GateVerdict = Literal["pass", "fail", "not_measured"]
SEVERITY: Mapping[str, int] = {"fail": 0, "not_measured": 1, "pass": 2}
Tests = Mapping[tuple[str, str, str], ComparisonResult]
"""(family, metric, scope) → its test."""
EXIT_CODES: Mapping[str, int] = {"pass": 0, "fail": 1, "not_measured": 2}


@dataclass(frozen=True, slots=True)
class GateFinding:
    """The verdict of one rule on one scope."""

    scope: str
    verdict: GateVerdict
    observed: float | None
    why: str
    n: int = 0


@dataclass(frozen=True, slots=True)
class GateResult:
    """One rule and its findings; its verdict is that of the worst finding."""

    rule: GateRule
    findings: tuple[GateFinding, ...]

    @property
    def decisive(self) -> GateFinding:
        """The worst finding; of equally bad ones the one with the smallest margin."""
        return min(self.findings, key=lambda finding: (SEVERITY[finding.verdict], self._spare(finding), finding.scope))

    @property
    def verdict(self) -> GateVerdict:
        return self.decisive.verdict

    def _spare(self, finding: GateFinding) -> float:
        above = (finding.observed or 0.0) - self.rule.threshold
        return above if self.rule.op.startswith(">") else -above


def worst_verdict(outcomes: Sequence[GateVerdict]) -> GateVerdict:
    """fail if any failed, else not_measured if any was not measured, else pass; not_measured for no verdicts."""
    return min(outcomes, key=SEVERITY.__getitem__, default="not_measured")


def judge_receipt(receipt: Receipt, rules: RuleSet, against: Receipt | None = None) -> Receipt:
    """Judge a run and return a receipt of kind "gate".

    Latency is not reproducible, so its gates are in the measured half with the verdict over all gates; the canonical
    half has the others and the verdict over those.
    """
    run = read_columns(receipt)
    base = None if against is None else read_columns(against)
    if base is not None:
        check_fit(base, run)
    gates = judge_rules(run, rules, base)
    computed = [gate for gate in gates if gate.rule.timed is None]
    timed = [gate for gate in gates if gate.rule.timed is not None]
    canonical = {
        "dataset": dict(run.dataset),
        "system": _system(run),
        "baseline": None if base is None else _system(base),
        "rules": {"name": rules.name, "digest": rules.digest},
        "tests": dict(TESTS),
        "gates": [_to_json(gate) for gate in computed],
        "verdict": worst_verdict([gate.verdict for gate in computed]) if computed else None,
    }
    measured = {"verdict": worst_verdict([gate.verdict for gate in gates]), "gates": [_to_json(gate) for gate in timed]}
    return Receipt("gate", canonical, measured)


def judge_rules(run: RunColumns, rules: RuleSet, base: RunColumns | None) -> list[GateResult]:
    """Apply every rule, in the order of the file."""
    tests = _run_tests(run, rules, base)
    return [
        GateResult(rule, (_judge_latency(rule, run, base),))
        if rule.timed
        else GateResult(rule, tuple(_judge_scope(rule, scope, run, base, tests) for scope in _scopes(rule, run)))
        for rule in rules.rules
    ]


def _scopes(rule: GateRule, run: RunColumns) -> list[str]:
    if rule.scope != EACH_STRATUM:
        return [rule.scope]
    return list(run.strata) or [ALL]


def _run_tests(run: RunColumns, rules: RuleSet, base: RunColumns | None) -> Tests:
    """Run every test that a rule needs, adjusted within its family."""
    if base is None:
        return {}
    wanted: dict[str, list[tuple[str, str]]] = {}
    for rule in rules.rules:
        for scope in _scopes(rule, run):
            if rule.tested and not _missing_reason(rule, scope, run, base):
                wanted.setdefault(rule.family, []).append((rule.metric, scope))
    return {
        (family, test.metric, test.scope): test
        for family, pairs in wanted.items()
        for test in compare_columns(base, [run], pairs)
    }


def _missing_reason(rule: GateRule, scope: str, run: RunColumns, base: RunColumns | None) -> str:
    """Why a rule cannot be measured on a scope; "" if it can."""
    for which in (run, base) if rule.relative else (run,):
        if which is None:
            return "no baseline was given; name one: --against RECEIPT"
        if which.why:
            return f"{which.system} was not measured: {which.why}"
        if rule.metric not in which.scores:
            return f"{which.system} has no {rule.metric}; {nearest(rule.metric, which.scores)}"
    scopes = run.scopes()
    if scope not in scopes:
        return f"there is no stratum {scope!r}; {nearest(scope, scopes)}"
    n = len(run.values(rule.metric, scope))
    if n < max(rule.min_n, 1):
        return f"{n} queries with a value, fewer than min_n = {max(rule.min_n, 1)}"
    if rule.min_effect is not None and n < 2:
        return "one query has no spread to measure an effect by"
    return ""


def _judge_scope(rule: GateRule, scope: str, run: RunColumns, base: RunColumns | None, tests: Tests) -> GateFinding:
    why = _missing_reason(rule, scope, run, base)
    if why:
        return GateFinding(scope, "not_measured", None, why)
    if not rule.relative:
        values = run.values(rule.metric, scope)
        observed = mean(values) or 0.0
        return GateFinding(
            scope, "pass" if rule.holds(observed) else "fail", observed, _explain(rule, observed), len(values)
        )
    return _judge_difference(rule, scope, tests[rule.family, rule.metric, scope])


def _judge_difference(rule: GateRule, scope: str, test: ComparisonResult) -> GateFinding:
    """Judge the difference to the baseline by threshold, p-value and effect size."""
    observed, p = round_score(test.paired.difference), round_score(test.p_adjusted)
    parts, holds = [_explain(rule, observed)], rule.holds(observed)
    if rule.max_p is not None:
        parts.append(f"p {p:.4f} {'≤' if p <= rule.max_p else '>'} {rule.max_p:g}")
        holds = holds and p <= rule.max_p
    if rule.min_effect is not None:
        effect = _effect(rule, test, observed)
        parts.append(f"effect {effect:.3f} {'≥' if effect >= rule.min_effect else '<'} {rule.min_effect:g}")
        holds = holds and effect >= rule.min_effect
    if rule.fail_p is not None and not holds:
        holds = p > rule.fail_p
        parts.append(f"p {p:.4f} > {rule.fail_p:g}: noise" if holds else f"p {p:.4f} ≤ {rule.fail_p:g}: no noise")
    return GateFinding(scope, "pass" if holds else "fail", observed, ", ".join(parts), test.paired.n)


def _effect(rule: GateRule, test: ComparisonResult, observed: float) -> float:
    """d_z in the direction of the rule; infinite if all differences are equal and not 0."""
    size = test.paired.d_z
    if size is None:
        size = math.copysign(math.inf, observed) if observed else 0.0
    return round_score(size) if rule.op.startswith(">") else round_score(-size)


def _judge_latency(rule: GateRule, run: RunColumns, base: RunColumns | None) -> GateFinding:
    assert rule.timed is not None
    stage, percentile = rule.timed
    observed: float | None
    if run.why:
        observed, why = None, f"{run.system} was not measured: {run.why}"
    elif not rule.relative:
        observed = run.latency_ms.get(stage, {}).get(percentile)
        why = f"{run.system} has no time of {stage} {percentile}"
    elif base is None:
        observed, why = None, "no baseline was given; name one: --against RECEIPT"
    else:
        observed, why = latency_ratio(base, run, stage, percentile)
    if observed is None:
        return GateFinding(ALL, "not_measured", None, why)
    observed = round_score(observed)
    verdict: GateVerdict = "pass" if rule.holds(observed) else "fail"
    explained = _explain(rule, observed)
    interval = ratio_interval(base, run, stage, percentile) if rule.relative and base is not None else None
    if interval is not None:
        low, high = interval
        explained += f" (95 %: {low:.2f} to {high:.2f})"
        if rule.holds(low) != rule.holds(high):
            verdict = "not_measured"
            explained += ": too noisy to tell; measure on a quieter machine"
    return GateFinding(ALL, verdict, observed, explained, len(run.queries))


def _explain(rule: GateRule, observed: float) -> str:
    holds = rule.holds(observed)
    what = rule.metric if not rule.relative else f"{rule.metric} {'ratio' if rule.timed else 'difference'}"
    formatted = f"{observed:+.4f}" if rule.tested else f"{observed:.4f}" if not rule.timed else f"{observed:.2f}"
    return f"{what} {formatted} is {'' if holds else 'not '}{rule.op} {rule.threshold:g}"


def _system(run: RunColumns) -> dict[str, Any]:
    return {"name": run.system, "digest": run.system_digest, "receipt": run.receipt}


def _to_json(gate: GateResult) -> dict[str, Any]:
    decisive = gate.decisive
    return {
        "name": gate.rule.name,
        "verdict": gate.verdict,
        "observed": decisive.observed,
        "why": decisive.why,
        "rule": {key: value for key, value in asdict(gate.rule).items() if key != "name" and value is not None},
        "findings": [asdict(finding) for finding in gate.findings],
    }
