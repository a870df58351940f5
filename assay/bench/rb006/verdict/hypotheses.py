"""Judges the hypotheses: values that a run measured against thresholds that were set in advance."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any, Literal

from assay.bench.gates.rules import OPERATORS, RuleError
from assay.bench.receipt import compute_digest

LineVerdict = Literal["pass", "fail", "not_measured"]
Outcome = Literal["GO", "NO-GO", "KILL", "NOT MEASURED"]
KillMode = Literal["all", "any"]

_TOP = {"about", "declared", "hypothesis"}
_DECLARED = {"race", "scale", "slice", "strata_uplift", "parity_tolerance"}
_HYPOTHESIS = {"name", "title", "kill_when", "go", "kill"}
_LINE = {"value", "says", "op", "threshold"}


@dataclass(frozen=True, slots=True)
class ThresholdLine:
    """One threshold on one value."""

    value: str
    says: str
    op: str
    threshold: float

    def judge(self, values: Mapping[str, float | None]) -> JudgedLine:
        observed = values.get(self.value)
        if observed is None or not math.isfinite(observed):
            return JudgedLine(self, None, "not_measured")
        return JudgedLine(self, observed, "pass" if OPERATORS[self.op](observed, self.threshold) else "fail")


@dataclass(frozen=True, slots=True)
class JudgedLine:
    """A threshold with what was observed; of a kill line, "pass" means that it holds, which is bad."""

    line: ThresholdLine
    observed: float | None
    verdict: LineVerdict

    def to_json(self) -> dict[str, Any]:
        line = self.line
        rule = {"value": line.value, "says": line.says, "op": line.op, "threshold": line.threshold}
        return {**rule, "observed": self.observed, "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """GO when every go line holds; KILL when the kill lines hold (all or any of them); otherwise NO-GO."""

    name: str
    title: str
    kill_when: KillMode
    go: tuple[ThresholdLine, ...]
    kill: tuple[ThresholdLine, ...]

    def judge(self, values: Mapping[str, float | None]) -> HypothesisVerdict:
        go = tuple(line.judge(values) for line in self.go)
        kill = tuple(line.judge(values) for line in self.kill)
        return HypothesisVerdict(self, self._decide(go, kill), go, kill)

    def _decide(self, go: tuple[JudgedLine, ...], kill: tuple[JudgedLine, ...]) -> Outcome:
        held = [line.verdict == "pass" for line in kill]
        if held and (all(held) if self.kill_when == "all" else any(held)):
            return "KILL"
        verdicts = {line.verdict for line in go}
        if "fail" in verdicts:
            return "NO-GO"
        return "NOT MEASURED" if "not_measured" in verdicts else "GO"


@dataclass(frozen=True, slots=True)
class HypothesisVerdict:
    """A hypothesis with its outcome and every line behind it."""

    hypothesis: Hypothesis
    outcome: Outcome
    go: tuple[JudgedLine, ...]
    kill: tuple[JudgedLine, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.hypothesis.name,
            "title": self.hypothesis.title,
            "outcome": self.outcome,
            "kill_when": self.hypothesis.kill_when,
            "go": [line.to_json() for line in self.go],
            "kill": [line.to_json() for line in self.kill],
        }


@dataclass(frozen=True, slots=True)
class Declared:
    """What was decided before the first run.

    race      the preset of the arm that is gated; its own expansion is the one whose routing error is gated
    scale     the chunks of the corpus that is judged
    slice     the feasible queries of the dev slice, evenly from the suite
    strata_uplift, parity_tolerance   as in the definitions
    """

    race: str = "hcr-margin"
    scale: int = 50_000
    slice: int = 50
    strata_uplift: float = 0.03
    parity_tolerance: float = 0.02


@dataclass(frozen=True, slots=True)
class Thresholds:
    """A thresholds file. `digest` covers what decides, not the sentences."""

    about: str
    hypotheses: tuple[Hypothesis, ...]
    declared: Declared = Declared()

    @property
    def digest(self) -> str:
        return compute_digest(
            [
                asdict(self.declared),
                *(
                    [h.name, h.kill_when, *([[x.value, x.op, x.threshold] for x in lines] for lines in (h.go, h.kill))]
                    for h in self.hypotheses
                ),
            ]
        )

    def judge(self, values: Mapping[str, float | None]) -> tuple[HypothesisVerdict, ...]:
        return tuple(hypothesis.judge(values) for hypothesis in self.hypotheses)


def load_thresholds() -> Thresholds:
    """The thresholds that the benchmark ships."""
    file = resources.files("assay.bench.rb006.verdict") / "thresholds.toml"
    return parse_thresholds(file.read_text("utf-8"))


def parse_thresholds(text: str) -> Thresholds:
    """Read a thresholds file; an unknown key or operator is an error, because it would silently judge nothing."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RuleError(f"the thresholds are not TOML: {error}", "mend the named line") from error
    _check_keys(table, _TOP, "the file")
    declared = table.get("declared", {})
    _check_keys(declared, _DECLARED, "the table declared")
    hypotheses = tuple(_read_hypothesis(row) for row in table.get("hypothesis", ()))
    return Thresholds(str(table.get("about", "")), hypotheses, Declared(**declared))


def _read_hypothesis(row: Mapping[str, Any]) -> Hypothesis:
    _check_keys(row, _HYPOTHESIS, "a hypothesis")
    missing = sorted({"name", "go"} - row.keys())
    if missing or not row["go"]:
        raise RuleError(f"a hypothesis lacks {missing[0] if missing else 'go lines'}", "every hypothesis has both")
    mode = row.get("kill_when", "any")
    if mode not in ("all", "any"):
        raise RuleError(f"kill_when = {mode!r} of {row['name']}", 'say "all" or "any"')
    go, kill = (tuple(_read_line(line, row["name"]) for line in row.get(key, ())) for key in ("go", "kill"))
    return Hypothesis(row["name"], row.get("title", row["name"]), mode, go, kill)


def _read_line(row: Mapping[str, Any], name: str) -> ThresholdLine:
    _check_keys(row, _LINE, f"a line of {name}")
    if missing := sorted({"value", "op", "threshold"} - row.keys()):
        raise RuleError(f"a line of {name} lacks {missing[0]}", "a line has value, op and threshold")
    if row["op"] not in OPERATORS:
        raise RuleError(f"a line of {name} has the operator {row['op']!r}", f"one of {' '.join(OPERATORS)}")
    threshold = row["threshold"]
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not math.isfinite(threshold):
        raise RuleError(f"a line of {name} has the threshold {threshold!r}", "give a number")
    return ThresholdLine(row["value"], row.get("says", row["value"]), row["op"], float(threshold))


def _check_keys(row: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(row.keys() - known):
        raise RuleError(f"{where} has the unknown key {unknown[0]!r}", f"the keys are {', '.join(sorted(known))}")
