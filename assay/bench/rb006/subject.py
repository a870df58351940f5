"""What a run measures on: a dataset with its queries, their tags, and the evidence by group and hop."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.bench.datasets import load
from assay.bench.rb006.world import World
from assay.bench.rb006.world.writer import describe_queries
from assay.bench.types import Dataset
from assay.errors import AssayError


class SubjectError(AssayError):
    """The world on disk is not the one that is asked for, or lacks something."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class SuiteQuery:
    """A query as the measures read it. `kind` is why it is impossible, "" where it is feasible; `hops` has the hop of
    each group of evidence."""

    id: str
    text: str
    tags: tuple[str, ...] = ()
    kind: str = ""
    in_scope: bool = True
    stage: str = ""
    archetype: str = ""
    source: str = ""
    template_split: str = ""
    hops: tuple[tuple[int, int], ...] = ()

    @property
    def is_feasible(self) -> bool:
        return not self.kind

    @property
    def is_cross_branch(self) -> bool:
        """Whether its evidence spans branches: entity-spanning queries, and all with several hops."""
        return bool({"entity", "hop2", "hop3"}.intersection(self.tags))


@dataclass(frozen=True, eq=False)
class Subject:
    """A dataset and its queries. `about` says which world it is, or which real set, for receipts."""

    name: str
    dataset: Dataset
    queries: tuple[SuiteQuery, ...]
    about: Mapping[str, Any]

    @cached_property
    def by_id(self) -> dict[str, SuiteQuery]:
        return {query.id: query for query in self.queries}

    @cached_property
    def answered(self) -> tuple[SuiteQuery, ...]:
        """The queries with evidence in this corpus: systems are asked these."""
        return tuple(query for query in self.queries if self.dataset.evidence.get(query.id))

    @cached_property
    def feasible(self) -> tuple[SuiteQuery, ...]:
        return tuple(query for query in self.answered if query.is_feasible)

    def hop_of(self, query: str, group: int) -> int:
        return dict(self.by_id[query].hops).get(group, 1)


def load_world(folder: Path, world: World | None = None) -> Subject:
    """Load a folder that `assay bench rb006 build` wrote; with `world`, check that it is that one."""
    meta = _read_meta(folder)
    if world is not None:
        _check_world(folder, meta, world)
    dataset = load(str(folder), "all")
    # The loader leaves out passages that do not stand in the corpus; a suite may not lose any of its evidence.
    hops = {(row["query_id"], row["doc_id"], row["start"]): row["hop"] for row in _rows(folder / "evidence.jsonl")}
    queries = []
    for row in _rows(folder / "queries.jsonl"):
        about = row["metadata"]
        passages = dataset.evidence.get(row["_id"], ())
        by_group: dict[int, int] = {}
        for passage in passages:
            hop = hops.get((row["_id"], passage.doc_id, passage.start), 1)
            by_group[passage.group] = min(hop, by_group.get(passage.group, hop))
        kind = "" if about["impossible_kind"] == "none" else about["impossible_kind"]
        stated = {place[1:] for place in hops if place[0] == row["_id"]}
        missing = stated - {(passage.doc_id, passage.start) for passage in passages}
        if missing or (about["in_scope"] and kind != "out_of_scope" and not stated):
            where = f" in {min(missing)[0]}" if missing else ""
            raise SubjectError(
                f"{folder}: evidence of the query {row['_id']} is missing{where}", "build the world again"
            )
        queries.append(
            SuiteQuery(
                row["_id"],
                row["text"],
                tuple(about["tags"]),
                kind,
                about["in_scope"],
                about["stage"],
                about["archetype"],
                about["source"],
                about["template_split"],
                tuple(sorted(by_group.items())),
            )
        )
    return Subject(folder.name, dataset, tuple(queries), _describe(meta))


def _describe(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What a receipt says about the world; commits of real text included."""
    keys = ("template_set", "seed", "base", "scale", "stages", "tags", "impossible", "in_scope", "real_text")
    return {**{key: meta[key] for key in keys if key in meta}, "files": dict(meta["sha256"])}


def _check_world(folder: Path, meta: Mapping[str, Any], world: World) -> None:
    """The folder must hold this world, and the queries that its suite was frozen with."""
    expected = {
        "seed": world.seed,
        "template_set": world.templates.name,
        "scale": world.scale,
        "base": world.base,
        "stages": {stage.name: stage.chunks for stage in world.stages},
    }
    for key, value in expected.items():
        if meta.get(key) != value:
            raise SubjectError(
                f"{folder} holds a world with {key} {meta.get(key)!r}, not {value!r}",
                "name another folder, or remove this one and it is built again",
            )
    stored = [
        {"_id": row["_id"], "text": row["text"], "metadata": row["metadata"]} for row in _rows(folder / "queries.jsonl")
    ]
    if stored != json.loads(json.dumps(describe_queries(world))):
        raise SubjectError(
            f"the queries in {folder} are not those of the suite", "remove the folder and it is built again"
        )


def _read_meta(folder: Path) -> dict[str, Any]:
    try:
        meta = json.loads((folder / "meta.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SubjectError(f"{folder} holds no world: {error}", "build one: assay bench rb006 build") from error
    if not isinstance(meta, dict) or "template_set" not in meta or "sha256" not in meta:
        raise SubjectError(f"{folder} holds a dataset, but no world", "build one: assay bench rb006 build")
    return meta


def _rows(path: Path) -> Iterator[Any]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise SubjectError(f"{path}, line {number} is no JSON: {error}", "build the world again") from error
    except OSError as error:
        raise SubjectError(f"{path} cannot be read: {error}", "build the world again") from error
