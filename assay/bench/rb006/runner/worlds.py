"""The worlds of a run and their indexes: built once, kept in the user's cache, checked whenever they are opened."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.bench.rb006.contamination import check_contamination
from assay.bench.rb006.frozen_suite import build_suite_world, digest_queries, read_suite
from assay.bench.rb006.measure.suite_bench import SuiteBench
from assay.bench.rb006.measure.tree_variants import open_tree_variant
from assay.bench.rb006.runner.plan import QUICK_QUERIES, RunSettings
from assay.bench.rb006.subject import Subject, load_world
from assay.bench.rb006.systems import BenchmarkSystem
from assay.bench.rb006.world import World, build_world, verify, write_world
from assay.bench.rb006.world.allocation import SIZES
from assay.bench.workspace import IndexSettings, prepare
from assay.embed.cache_home import cache_home
from assay.errors import AssayError, ConfigError
from assay.store.locks import lock_file
from assay.types import Progress

DEFAULT_SEED = 6
"""The seed of the dev world."""


@dataclass(frozen=True)
class BuiltWorlds:
    """The worlds of a run, one for each scale, and what a receipt says about their suite."""

    subjects: dict[int, Subject]
    suite: dict[str, Any]


def make_world(settings: RunSettings, scale: int, progress: Progress = lambda *_: None) -> World:
    """Build a world: with its frozen suite where it has one, whose digest is checked."""
    suite = read_suite(settings.templates)
    if suite is not None and settings.seed not in (None, suite.seed):
        raise ConfigError(
            f"the suite {settings.templates!r} was frozen with the seed {suite.seed}, not {settings.seed}",
            f"run it with --seed {suite.seed}, or take the world dev",
        )
    if suite is not None and settings.queries != SIZES[0]:
        raise ConfigError(
            f"the suite {settings.templates!r} was frozen with {SIZES[0]} queries, not {settings.queries}",
            "leave --queries out, or take the world dev",
        )
    if suite is not None and not settings.quick:
        return build_suite_world(suite, scale, base=settings.base, progress=progress)
    seed = DEFAULT_SEED if settings.seed is None else settings.seed
    return build_world(
        seed,
        settings.templates,
        scale,
        stages=settings.world_stages,
        base=settings.base,
        queries=settings.queries,
        progress=progress,
    )


def build_worlds(settings: RunSettings, cache: Path | None = None, progress: Progress = lambda *_: None) -> BuiltWorlds:
    """Build or open the worlds of all scales of a run, and check the suite."""
    home = (cache or cache_home() / "rb006") / "worlds"
    subjects: dict[int, Subject] = {}
    whole = make_world(settings, settings.largest, progress)
    suite = describe_suite(whole)
    for scale in settings.scales:
        world = replace(whole, scale=scale)  # the queries do not depend on it
        folder = home / f"{world.templates.name}-{world.base}-{world.seed}-{scale}-{suite['digest'][:8]}"
        home.mkdir(parents=True, exist_ok=True)
        with lock_file(folder.with_suffix(".lock")):
            if not (folder / "meta.json").exists():
                faults = verify(world, corpus=False)
                if faults:
                    raise AssayError(f"the world breaks {len(faults)} of its rules: {faults[0]}", "take another --seed")
                shutil.rmtree(folder, ignore_errors=True)  # meta.json is written last: this one was interrupted
                write_world(world, folder, progress=progress)
        subject = load_world(folder, world)
        subjects[scale] = _thin_out(subject) if settings.quick else subject
    return BuiltWorlds(subjects, suite)


def describe_suite(world: World) -> dict[str, Any]:
    """The suite as a receipt describes it: its digest, its counts, and what the contamination checks found."""
    return {
        "templates": world.templates.name,
        "seed": world.seed,
        "base": world.base,
        "queries": len(world.queries),
        "digest": digest_queries(world.queries),
        "contamination": check_contamination(world).to_json(),
    }


def _thin_out(subject: Subject) -> Subject:
    """A few queries of every kind, evenly: feasible, impossible, and those without evidence here."""
    groups: dict[str, list[str]] = {}
    for query in subject.queries:
        present = bool(subject.dataset.evidence.get(query.id))
        groups.setdefault("feasible" if present and query.is_feasible else query.kind or "absent", []).append(query.id)
    kept: set[str] = set()
    for name, found in groups.items():
        size = min(len(found), QUICK_QUERIES if name == "feasible" else 2)
        kept |= {found[place * len(found) // size] for place in range(size)}
    return replace(subject, queries=tuple(query for query in subject.queries if query.id in kept))


@contextmanager
def open_benches(
    subject: Subject, settings: RunSettings, progress: Progress, cache: Path | None = None
) -> Iterator[BenchPool]:
    """Open the index of a subject; benches with another tree are opened when a system needs one."""
    with ExitStack() as stack:
        index = IndexSettings(embedder=settings.embedder)
        workspace = stack.enter_context(prepare(subject.dataset, index, progress, cache and cache / "index"))
        yield BenchPool(SuiteBench(subject, workspace), stack, progress, cache)


@dataclass
class BenchPool:
    """The bench of a subject, and one for every setting of the tree that was asked for."""

    plain: SuiteBench
    stack: ExitStack
    progress: Progress
    cache: Path | None

    def __post_init__(self) -> None:
        self._variants: dict[str, SuiteBench] = {}

    def of(self, system: BenchmarkSystem) -> SuiteBench:
        """The bench with the tree that a system needs."""
        if not system.tree:
            return self.plain
        key = repr(sorted(system.tree.items()))
        if key not in self._variants:
            workspace = open_tree_variant(self.plain.workspace, system.tree, self.progress, self.cache)
            self._variants[key] = SuiteBench(self.plain.subject, self.stack.enter_context(workspace))
        return self._variants[key]
