"""What the suites check before any law: every member is there, and the key order of a setting changes nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from assay.backend.addresses import create_backend, open_backend
from assay.config.registry import component_class
from assay.engine.order import arrange
from assay.errors import LawBroken
from assay.fuse.grouped import Grouped
from assay.fuse.rrf import Rrf
from assay.protocols import TriggerDecision
from assay.store.sqlite import SqliteStore
from assay.testing.backends import check_backend
from assay.testing.contracts import check_fuser, check_leg, check_selector, check_source, check_stage, check_trigger
from assay.testing.sample import sample_snapshot
from assay.testing.stores import check_store
from assay.types import Note, Part
from tests.testing.any_component import UNIT, AnyFuser, AnyLeg, AnySelector, AnyStage, same

THREE = {"one": 0.1, "two": 0.2, "three": 0.3}
KEY_ORDER = r"the order of the keys of `weights` changes the result \(law 5\)"


def in_key_order(weights):
    """A sum that depends on the order of the keys in its last bit: (0.1 + 0.2) + 0.3 > 0.1 + (0.2 + 0.3)."""
    total = 0.0
    for weight in weights.values():
        total += weight
    return Part("total", "mul", np.array([total]))


def scaled(ranking, weights):
    part = in_key_order(weights)
    return arrange(ranking.scored(replace(part, column=np.repeat(part.column, len(ranking)))))


def sorted_keys(weights):
    return dict(sorted(weights.items()))


@dataclass(frozen=True)
class WeightedFuser(AnyFuser):
    weights: Mapping[str, float] = field(default_factory=lambda: THREE)

    def fuse(self, query, rankings, snapshot):
        return scaled(Rrf().fuse(query, rankings, snapshot), self.change(self.weights))


@dataclass(frozen=True)
class WeightedStage(AnyStage):
    weights: Mapping[str, float] = field(default_factory=lambda: THREE)

    def apply(self, query, ranking, snapshot):
        return scaled(ranking, self.change(self.weights))


@dataclass(frozen=True)
class WeightedSelector(AnySelector):
    weights: Mapping[str, float] = field(default_factory=lambda: THREE)

    def select(self, query, ranking, snapshot):
        return ranking.noted(Note("info", str(self.change(self.weights))))


@dataclass(frozen=True)
class WeightedLeg(AnyLeg):
    weights: Mapping[str, float] = field(default_factory=lambda: THREE)

    def find(self, query, snapshot, k, seeds=None):
        return scaled(AnyLeg(same).find(query, snapshot, k), self.change(self.weights))


@dataclass(frozen=True)
class WeightedTrigger:
    change: Callable[[Mapping[str, float]], Mapping[str, float]]
    weights: Mapping[str, float] = field(default_factory=lambda: THREE)

    def fires(self, query, rankings, snapshot, k):
        return TriggerDecision(True, "always", "weighted", in_key_order(self.change(self.weights)).column[0])

    def check(self, legs):
        pass


@pytest.mark.parametrize(
    ("check", "component"),
    [
        (lambda leg: check_leg(leg, sample_snapshot()), WeightedLeg),
        (check_trigger, WeightedTrigger),
        (check_fuser, WeightedFuser),
        (check_stage, WeightedStage),
        (check_selector, WeightedSelector),
        (check_fuser, lambda change: Grouped(WeightedFuser(change), "doc_id")),
    ],
    ids=["leg", "trigger", "fuser", "stage", "selector", "nested"],
)
def test_the_order_of_a_settings_keys(check, component):
    check(component(sorted_keys))
    with pytest.raises(LawBroken, match=KEY_ORDER if "lambda" not in str(component) else "keys of `inner`"):
        check(component(same))


FILLED = {
    "convex": {"weights": {"dense": 0.1, "bm25": 0.2, "graph": 0.7}},
    "dbsf": {"weights": {"dense": 0.1, "bm25": 0.2, "graph": 0.7}},
    "rrf": {"weights": {"dense": 0.1, "bm25": 0.2, "graph": 0.7}},
    "weighted_merge": {"weights": {"dense": 0.1, "bm25": 0.2, "graph": 0.7}},
}
"""Settings for the fusers of the table that have a mapping; steps and legs fill theirs in their own tests."""


@pytest.mark.parametrize("name", FILLED)
def test_the_fusers_of_the_table_in_any_key_order(name):
    check_fuser(component_class("fuser", name)(**FILLED[name]), dict.fromkeys(("bm25", "dense", "graph"), UNIT))


# -- members


def _name(value):
    """A name without a memory address: test ids must be the same in every process."""
    return value if isinstance(value, str) else getattr(value, "__name__", type(value).__name__)


def without(component, member):
    """The same component of a class that lacks one member."""
    names = [name for base in type(component).__mro__ for name in vars(base) if not name.startswith("__")]
    members = {name: getattr(type(component), name) for name in names if name != member and name != "change"}
    return dataclass(frozen=True)(type("Partial", (), members))()


@pytest.mark.parametrize(
    ("check", "component", "member", "complaint"),
    [
        (check_leg, AnyLeg(same), "find", "no method `find`: every leg needs it"),
        (check_leg, AnyLeg(same), "gives", "no method `gives`: every leg needs it"),
        (check_leg, AnyLeg(same), "needs", "no attribute `needs`: every leg needs it"),
        (check_source, AnyLeg(same), "gives", "no method `gives`: every source needs it"),
        (check_fuser, AnyFuser(same), "fuse", "no method `fuse`: every fuser needs it"),
        (check_fuser, AnyFuser(same), "gives", "no method `gives`: every fuser needs it"),
        (check_fuser, AnyFuser(same), "symmetric", "no attribute `symmetric`: every fuser needs it"),
        (check_stage, AnyStage(same), "apply", "no method `apply`: every stage needs it"),
        (check_stage, AnyStage(same), "gives", "no method `gives`: every stage needs it"),
        (check_selector, AnySelector(same), "select", "no method `select`: every selector needs it"),
        (check_trigger, WeightedTrigger(same), "fires", "no method `fires`: every trigger needs it"),
        (check_trigger, WeightedTrigger(same), "check", "no method `check`: every trigger needs it"),
    ],
    ids=_name,
)
def test_a_missing_member_is_named(check, component, member, complaint):
    more = (sample_snapshot(),) if check is check_leg else ()
    with pytest.raises(LawBroken, match=f"class Partial has {complaint}") as caught:
        check(without(component, member), *more)
    assert caught.value.cure.startswith(f"add: {'def ' if 'method' in complaint else ''}{member}")


def test_a_missing_method_comes_with_its_signature():
    with pytest.raises(LawBroken) as caught:
        check_fuser(without(AnyFuser(same), "gives"))
    assert caught.value.cure == "add: def gives(self, legs: Mapping[str, Range]) -> Range"

    class Wrong(AnyStage):
        gives = UNIT

    with pytest.raises(LawBroken, match="class Wrong: `gives` is no method, and every stage needs it to be one"):
        check_stage(Wrong(same))


# -- stores

SETTINGS = {"embedder": "none", "model": "none", "dim": 0, "language": "english", "profile": "default"}


class Lacking:
    """A proxy that hides one member of what it stands for; `wrap` replaces what a method returns."""

    def __init__(self, target, member="", wrap=None):
        self._target, self._member, self._wrap = target, member, wrap or {}

    def __getattr__(self, name):
        if name == self._member:
            raise AttributeError(name)
        value = getattr(self._target, name)
        return (lambda *given, **more: self._wrap[name](value(*given, **more))) if name in self._wrap else value


@pytest.mark.parametrize("member", ["put", "remove", "snapshot", "compact", "close"])
def test_a_backend_without_a_method(tmp_path: Path, member):
    with pytest.raises(LawBroken, match=f"class Lacking has no method `{member}`: every backend needs it"):
        check_backend(lambda: Lacking(create_backend(tmp_path / "kb", SETTINGS), member))


@pytest.mark.parametrize(
    ("member", "complaint"),
    [
        ("digest", "no attribute `digest`: every backend's snapshot needs it"),
        ("lexical_at", "no method `lexical_at`: every backend's snapshot needs it"),
        ("numbers", "no method `numbers`: every backend's snapshot needs it"),
        ("related", "no method `related`: every snapshot with a graph needs it"),
    ],
)
def test_a_backend_whose_snapshots_lack_a_method(tmp_path: Path, member, complaint):
    def make():
        wrap = {"snapshot": lambda snapshot: Lacking(snapshot, member)}
        return Lacking(create_backend(tmp_path / "kb", SETTINGS), wrap=wrap)

    with pytest.raises(LawBroken, match=f"class Lacking has {complaint}"):
        check_backend(make)


@pytest.mark.parametrize("member", ["live_at", "stage", "address"])
def test_a_store_without_a_member(tmp_path: Path, member):
    with pytest.raises(LawBroken, match=f"class Lacking has no (method|attribute) `{member}`: every store needs it"):
        check_store(lambda: Lacking(SqliteStore.create(tmp_path / "kb", SETTINGS), member), tmp_path / "oracle")


def test_a_complete_proxy_passes(tmp_path: Path):
    """The proxy hides nothing here, so what the tests above catch is the member and not the proxy."""
    made = []

    def make():
        made.append(create_backend(tmp_path / "kb", SETTINGS) if not made else open_backend(tmp_path / "kb"))
        return Lacking(made[-1])

    check_backend(make, rounds=3)
