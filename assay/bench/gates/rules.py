"""Gate rules from TOML. A rule file is checked completely when it is read: an unknown or ineffective key is an error.

[[gate]]
name = "better"              # how verdicts call it; by default the metric and the scope
metric = "nDCG@10"           # a metric of the receipts, or latency.p95, or latency.<stage>.p95 (milliseconds)
scope = "all"                # all (the default), a stratum such as "type=temporal", or "each stratum"
against = "baseline"         # judge the difference to a baseline (latency: the ratio); without it, the value
op = ">"                     # >= > <= <
threshold = 0.0
min_effect = 0.1             # and the standardised difference (mean / deviation) is at least this
max_p = 0.05                 # and its adjusted p is at most this: no pass by chance
fail_p = 0.05                # instead of max_p: a miss counts only when its adjusted p is at most this
min_n = 30                   # fewer queries than this in the scope: not measured
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from operator import ge, gt, le, lt
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from assay.bench.receipt import compute_digest
from assay.bench.types import ALL
from assay.errors import AssayError, nearest

T = TypeVar("T")

EACH_STRATUM = "each stratum"
"""The scope that judges every stratum separately, or all queries if a dataset has no strata."""
OPERATORS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType({">=": ge, ">": gt, "<=": le, "<": lt})
PERCENTILES = ("p50", "p95", "p99")
_TOP = ("about", "gate")
_KEYS = ("name", "metric", "scope", "against", "op", "threshold", "min_effect", "max_p", "fail_p", "min_n")
_TESTED = ("min_effect", "max_p", "fail_p")


class RuleError(AssayError):
    """A rule file cannot be used as written."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class GateRule:
    """One gate: a metric over a scope and its threshold."""

    name: str
    metric: str
    op: str
    threshold: float
    scope: str = ALL
    relative: bool = False
    """Judged against a baseline: the difference of a metric, the ratio of a latency."""
    min_effect: float | None = None
    max_p: float | None = None
    fail_p: float | None = None
    min_n: int = 1

    def holds(self, observed: float) -> bool:
        return OPERATORS[self.op](observed, self.threshold)

    @property
    def tested(self) -> bool:
        """Whether the rule needs a paired test."""
        return self.relative and self.timed is None

    @property
    def family(self) -> str:
        """Tests whose p is adjusted together: claims (max_p) and alarms (fail_p); "" where no p is read."""
        return "claims" if self.max_p is not None else "alarms" if self.fail_p is not None else ""

    @property
    def timed(self) -> tuple[str, str] | None:
        """(stage, percentile) for a rule about latency."""
        if not self.metric.startswith("latency."):
            return None
        stage, _, percentile = self.metric.removeprefix("latency.").rpartition(".")
        return stage or "total", percentile


@dataclass(frozen=True, slots=True)
class RuleSet:
    """A rule file: its rules in order. `digest` covers their settings; names and descriptions are not behaviour."""

    name: str
    rules: tuple[GateRule, ...]
    about: str = ""

    @property
    def digest(self) -> str:
        fields = [field for field in GateRule.__dataclass_fields__ if field != "name"]
        return compute_digest([{field: getattr(rule, field) for field in fields} for rule in self.rules])


def list_shipped_rules() -> list[str]:
    """The names of the shipped rule files."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in resources.files("assay.bench.gates").iterdir()
        if entry.name.endswith(".toml")
    )


def load_rules(name_or_path: str) -> RuleSet:
    """Load rules by the name of a shipped file or by path."""
    if name_or_path in list_shipped_rules():
        return parse_rules(
            resources.files("assay.bench.gates").joinpath(f"{name_or_path}.toml").read_text("utf-8"), name_or_path
        )
    path = Path(name_or_path)
    if path.suffix != ".toml" and not path.exists():
        raise RuleError(f"there are no rules called {name_or_path!r}", nearest(name_or_path, list_shipped_rules()))
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"rule file {path} cannot be read: {error}", "name a TOML file, or shipped rules") from error
    return parse_rules(text, path.stem)


def parse_rules(text: str, name: str = "rules") -> RuleSet:
    """Parse rules from TOML text."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RuleError(f"rules {name!r} are not valid TOML: {error}", "see docs/gates.md") from error
    _check_keys(found, _TOP, f"rule file {name!r}")
    tables = found.get("gate", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise RuleError("gate must be a list of tables", "write [[gate]], with two brackets")
    if not tables:
        raise RuleError(f"rules {name!r} have no gate, so nothing could fail", "add one: [[gate]]")
    rules = tuple(_parse_rule(table, f"gate {number}") for number, table in enumerate(tables, 1))
    names = [rule.name for rule in rules]
    for rule in names:
        if names.count(rule) > 1:
            raise RuleError(f"two gates are called {rule!r}", "give each its own name")
    return RuleSet(name, rules, _get_typed(found, "about", str, "", f"rule file {name!r}"))


def _parse_rule(table: Mapping[str, Any], where: str) -> GateRule:
    where = f"{where} ({table['name']!r})" if isinstance(table.get("name"), str) else where
    _check_keys(table, _KEYS, where)
    metric = _parse_metric(_get_typed(table, "metric", str, "", where), where)
    scope = _get_typed(table, "scope", str, ALL, where)
    against = _get_typed(table, "against", str, "", where)
    if against not in ("", "baseline"):
        raise RuleError(f"{where}: against = {against!r}", 'write against = "baseline", or leave it out')
    op = _get_typed(table, "op", str, "", where)
    if op not in OPERATORS:
        raise RuleError(f"{where}: op = {op!r} is no operator", f"one of {' '.join(OPERATORS)}")
    if "threshold" not in table:
        raise RuleError(f"{where} has no threshold", "add threshold = …")
    rule = GateRule(
        name=_get_typed(table, "name", str, metric if scope == ALL else f"{metric} of {scope}", where),
        metric=metric,
        op=op,
        threshold=_get_number(table, "threshold", -math.inf, math.inf, where),
        scope=scope,
        relative=against == "baseline",
        min_effect=_get_number(table, "min_effect", 0.0, math.inf, where) if "min_effect" in table else None,
        max_p=_get_number(table, "max_p", 0.0, 1.0, where) if "max_p" in table else None,
        fail_p=_get_number(table, "fail_p", 0.0, 1.0, where) if "fail_p" in table else None,
        min_n=_get_typed(table, "min_n", int, 1, where),
    )
    _check_consistent(rule, where)
    return rule


def _check_consistent(rule: GateRule, where: str) -> None:
    """Reject keys that would have no effect or contradict each other."""
    if rule.min_n < 1:
        raise RuleError(f"{where}: min_n = {rule.min_n}", "give a whole number from 1")
    idle = [key for key in _TESTED if getattr(rule, key) is not None]
    if idle and not rule.tested:
        cure = "drop it" if rule.timed else 'add against = "baseline"'
        raise RuleError(f"{where}: {idle[0]} has no effect, since nothing is tested against a baseline", cure)
    if rule.timed and rule.scope != ALL:
        raise RuleError(f"{where}: latency is not measured by stratum", "drop scope")
    if rule.timed and rule.min_n > 1:
        raise RuleError(f"{where}: min_n has no effect on latency", "drop it")
    if rule.fail_p is not None and (rule.max_p is not None or rule.min_effect is not None):
        raise RuleError(
            f"{where}: fail_p forgives what max_p and min_effect demand", "keep fail_p, or the others: docs/gates.md"
        )


def _parse_metric(name: str, where: str) -> str:
    """The canonical name of the metric."""
    if not name:
        raise RuleError(f"{where} does not say which metric", 'add metric = "nDCG@10"')
    if not name.startswith("latency."):
        from assay.bench.metrics import parse

        return str(parse(name))
    if name.rpartition(".")[2] not in PERCENTILES:
        raise RuleError(f"{where}: metric = {name!r}", f"latency has {', '.join(PERCENTILES)}: latency.p95")
    return name


def _get_number(table: Mapping[str, Any], key: str, low: float, high: float, where: str) -> float:
    value = table[key]
    if not isinstance(value, int | float) or isinstance(value, bool) or not -1e300 <= value <= 1e300:
        raise RuleError(f"{where}: {key} = {value!r} is no number", f"write it as {key} = 0.05")
    if not low <= value <= high:
        raise RuleError(f"{where}: {key} = {value!r} is out of range", f"from {low:g} to {high:g}")
    return float(value)


def _get_typed(table: Mapping[str, Any], key: str, kind: type[T], default: T, where: str) -> T:
    value = table.get(key, default)
    if type(value) is not kind:
        raise RuleError(f"{where}: {key} = {value!r} should be of type {kind.__name__}", f"got {type(value).__name__}")
    return value


def _check_keys(table: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in names:
            raise RuleError(f"{where} has no setting {key!r}", nearest(key, names))
