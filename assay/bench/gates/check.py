"""Does a result pass? Rules held against receipts: pass, fail or not_measured, with the number seen and why.

What was not measured never passes: a run without scores, a metric or stratum that is missing, too few queries, no
baseline, or times of different runs. The whole is the worst of its gates: fail, then not_measured, then pass.

    observed = mean of the metric over the scope                      without a baseline
             = mean difference to the baseline, query by query        against one
             = latency / the baseline's latency, of one run           for latency against one

p-values are those of the paired test in `compare`, adjusted by Holm over all queries and by Benjamini-Hochberg over
strata. Claims (gates with max_p) and alarms (gates with fail_p) are families of their own: another alarm makes no
claim harder. Observed values are rounded as receipts are, so that a difference of 0.05 meets a threshold of 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.bench.compare import TESTS, Tested, comparisons, rounded
from assay.bench.gates.rules import EACH, Rule, Rules
from assay.bench.metrics import mean
from assay.bench.receipt import Receipt
from assay.bench.run_columns import RunColumns, check_fit, latency_ratio, scored
from assay.bench.types import ALL
from assay.errors import nearest

Outcome = Literal["pass", "fail", "not_measured"]
SEVERITY: Mapping[str, int] = {"fail": 0, "not_measured": 1, "pass": 2}
Tests = Mapping[tuple[str, str, str], Tested]
"""(family, metric, scope) → its test."""
EXIT: Mapping[str, int] = {"pass": 0, "fail": 1, "not_measured": 2}


@dataclass(frozen=True, slots=True)
class GateFinding:
    """One rule on one scope."""

    scope: str
    verdict: Outcome
    observed: float | None
    why: str
    n: int = 0


@dataclass(frozen=True, slots=True)
class Gate:
    """One rule and all it found; its verdict is its worst finding's."""

    rule: Rule
    findings: tuple[GateFinding, ...]

    @property
    def decisive(self) -> GateFinding:
        """The worst finding; of several equally bad ones, that with the least to spare."""
        return min(self.findings, key=lambda finding: (SEVERITY[finding.verdict], self._spare(finding), finding.scope))

    @property
    def verdict(self) -> Outcome:
        return self.decisive.verdict

    def _spare(self, finding: GateFinding) -> float:
        above = (finding.observed or 0.0) - self.rule.threshold
        return above if self.rule.op.startswith(">") else -above


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """fail if any failed, else not_measured if any was not, else pass; nothing at all was not measured."""
    return min(outcomes, key=SEVERITY.__getitem__, default="not_measured")


def judge(receipt: Receipt, rules: Rules, against: Receipt | None = None) -> Receipt:
    """The verdicts on a run, as a receipt of kind "gate".

    Latency is measured, not computed, so its gates stand in the measured half with the verdict over all gates; the
    canonical half has the others and the verdict over those.
    """
    run = scored(receipt)
    base = None if against is None else scored(against)
    if base is not None:
        check_fit(base, run)
    gates = judged(run, rules, base)
    computed = [gate for gate in gates if gate.rule.timed is None]
    timed = [gate for gate in gates if gate.rule.timed is not None]
    canonical = {
        "dataset": dict(run.dataset),
        "system": _system(run),
        "baseline": None if base is None else _system(base),
        "rules": {"name": rules.name, "digest": rules.digest},
        "tests": dict(TESTS),
        "gates": [_plain(gate) for gate in computed],
        "verdict": worst([gate.verdict for gate in computed]) if computed else None,
    }
    measured = {"verdict": worst([gate.verdict for gate in gates]), "gates": [_plain(gate) for gate in timed]}
    return Receipt("gate", canonical, measured)


def judged(run: RunColumns, rules: Rules, base: RunColumns | None) -> list[Gate]:
    """Every rule, in the order of the file."""
    tests = _tests(run, rules, base)
    return [
        Gate(rule, (_timed(rule, run, base),))
        if rule.timed
        else Gate(rule, tuple(_scope(rule, scope, run, base, tests) for scope in _scopes(rule, run)))
        for rule in rules.rules
    ]


def _scopes(rule: Rule, run: RunColumns) -> list[str]:
    if rule.scope != EACH:
        return [rule.scope]
    return list(run.strata) or [ALL]


def _tests(run: RunColumns, rules: Rules, base: RunColumns | None) -> Tests:
    """Every test that a rule reads, adjusted within its family."""
    if base is None:
        return {}
    wanted: dict[str, list[tuple[str, str]]] = {}
    for rule in rules.rules:
        for scope in _scopes(rule, run):
            if rule.tested and not _missing(rule, scope, run, base):
                wanted.setdefault(rule.family, []).append((rule.metric, scope))
    return {
        (family, test.metric, test.scope): test
        for family, pairs in wanted.items()
        for test in comparisons(base, [run], pairs)
    }


def _missing(rule: Rule, scope: str, run: RunColumns, base: RunColumns | None) -> str:
    """Why a rule cannot be measured on a scope; "" when it can."""
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


def _scope(rule: Rule, scope: str, run: RunColumns, base: RunColumns | None, tests: Tests) -> GateFinding:
    why = _missing(rule, scope, run, base)
    if why:
        return GateFinding(scope, "not_measured", None, why)
    if not rule.relative:
        values = run.values(rule.metric, scope)
        observed = mean(values) or 0.0
        return GateFinding(
            scope, "pass" if rule.holds(observed) else "fail", observed, _said(rule, observed), len(values)
        )
    return _relative(rule, scope, tests[rule.family, rule.metric, scope])


def _relative(rule: Rule, scope: str, test: Tested) -> GateFinding:
    """The difference, and what the test says about it."""
    observed, p = rounded(test.paired.difference), rounded(test.p_adjusted)
    said, holds = [_said(rule, observed)], rule.holds(observed)
    if rule.max_p is not None:
        said.append(f"p {p:.4f} {'≤' if p <= rule.max_p else '>'} {rule.max_p:g}")
        holds = holds and p <= rule.max_p
    if rule.min_effect is not None:
        effect = _effect(rule, test, observed)
        said.append(f"effect {effect:.3f} {'≥' if effect >= rule.min_effect else '<'} {rule.min_effect:g}")
        holds = holds and effect >= rule.min_effect
    if rule.fail_p is not None and not holds:
        holds = p > rule.fail_p
        said.append(f"p {p:.4f} > {rule.fail_p:g}: noise" if holds else f"p {p:.4f} ≤ {rule.fail_p:g}: no noise")
    return GateFinding(scope, "pass" if holds else "fail", observed, ", ".join(said), test.paired.n)


def _effect(rule: Rule, test: Tested, observed: float) -> float:
    """d_z in the direction that the rule wants; differences that are all alike have no limit."""
    size = test.paired.d_z
    if size is None:
        size = math.copysign(math.inf, observed) if observed else 0.0
    return rounded(size) if rule.op.startswith(">") else rounded(-size)


def _timed(rule: Rule, run: RunColumns, base: RunColumns | None) -> GateFinding:
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
    observed = rounded(observed)
    return GateFinding(
        ALL, "pass" if rule.holds(observed) else "fail", observed, _said(rule, observed), len(run.queries)
    )


def _said(rule: Rule, observed: float) -> str:
    holds = rule.holds(observed)
    what = rule.metric if not rule.relative else f"{rule.metric} {'ratio' if rule.timed else 'difference'}"
    seen = f"{observed:+.4f}" if rule.tested else f"{observed:.4f}" if not rule.timed else f"{observed:.2f}"
    return f"{what} {seen} is {'' if holds else 'not '}{rule.op} {rule.threshold:g}"


def _system(run: RunColumns) -> dict[str, Any]:
    return {"name": run.system, "digest": run.system_digest, "receipt": run.receipt}


def _plain(gate: Gate) -> dict[str, Any]:
    decisive = gate.decisive
    return {
        "name": gate.rule.name,
        "verdict": gate.verdict,
        "observed": decisive.observed,
        "why": decisive.why,
        "rule": {key: value for key, value in asdict(gate.rule).items() if key != "name" and value is not None},
        "findings": [asdict(finding) for finding in gate.findings],
    }
