"""Asks systems the queries of a subject and measures what is in their contexts, query by query."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from assay.bench.bounds import draw_random, rank_judged
from assay.bench.metrics.budget import FORMULAS, ContextReading
from assay.bench.metrics.context import BudgetContext, fit_budget, split_context
from assay.bench.rb006.judge.chat_votes import ChatVotes, JudgeFailed
from assay.bench.rb006.measure.routing_events import Groups, find_log, measure_routing
from assay.bench.rb006.measures.curves import BUDGETS, GRID
from assay.bench.rb006.subject import Subject, SuiteQuery
from assay.bench.rb006.systems.catalogue import POOL, SELECTORS, BenchmarkSystem
from assay.bench.rb006.systems.lattice import VERSION as LATTICE_VERSION
from assay.bench.rb006.systems.lattice import walk_with_model
from assay.bench.rb006.systems.leg_cache import LegCache
from assay.bench.rb006.systems.packing_cache import PackingCache
from assay.bench.rb006.systems.raptor import TreePassage, append_passages, rank_passages
from assay.bench.snapshot_cache import CachingSnapshot
from assay.bench.types import Evidence, Piece
from assay.bench.workspace import Workspace
from assay.config.registry import build_component
from assay.config.resolve import with_budget
from assay.embed.chat import open_chat
from assay.engine.answer import Answer
from assay.engine.context import PackCandidate, PackedContext, Packer
from assay.engine.laws import check_context
from assay.engine.pipeline import Pipeline, read_candidates
from assay.errors import AssayError
from assay.protocols import Snapshot, TreeSnapshot, TreeView
from assay.select.context.candidates import format_header, make_pool
from assay.select.context.coverage import Coverage
from assay.select.context.slots import QuerySlots
from assay.types import Query

MEASURES = ("A", "A_strict", "ER", "EP", "AIC")
POOL_KEY = "pool"
"""The budget of a context that holds the whole pool."""
SEED = 0
Record = dict[str, Any]
"""What was measured about one query and one system, as JSON."""


@dataclass(frozen=True, eq=False)
class SystemContexts:
    """What a system made of a query: the pieces for every budget, the whole pool, and the trace behind it."""

    by_budget: Mapping[int, tuple[Piece, ...]]
    pool: tuple[Piece, ...]
    ranking: str = ""
    answer: Answer | None = None
    problems: tuple[str, ...] = ()


@dataclass(eq=False)
class SuiteBench:
    """One subject on one index. Look-ups, legs and query vectors are shared by all systems that are asked here."""

    subject: Subject
    workspace: Workspace
    legs: LegCache = field(default_factory=LegCache)
    packings: PackingCache = field(default_factory=PackingCache)
    _pipelines: dict[str, Pipeline] = field(default_factory=dict)
    _summaries: dict[int, TreePassage] = field(default_factory=dict)
    _chats: dict[str, ChatVotes] = field(default_factory=dict)

    @cached_property
    def snapshot(self) -> CachingSnapshot:
        return CachingSnapshot(self.workspace.snapshot)

    @cached_property
    def tree(self) -> TreeView:
        snapshot = self.workspace.snapshot
        if not isinstance(snapshot, TreeSnapshot):
            raise AssayError("this store has no tree", "measure on a store in a folder")
        return snapshot.tree()

    @cached_property
    def rows_of(self) -> dict[str, list[int]]:
        """document → its rows"""
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(self.workspace.documents.tolist()):
            rows.setdefault(name, []).append(row)
        return rows

    def query(self, query: SuiteQuery) -> Query:
        return self.workspace.query(self.subject.dataset.topics[query.id])

    def measure(self, system: BenchmarkSystem, query: SuiteQuery) -> Record:
        """Ask one system one query. A failure is a record with its reason, and every measure is 0."""
        try:
            made = self.make_contexts(system, query)
        except JudgeFailed:
            raise  # the language model is gone: what was measured is kept, the rest is measured later
        except AssayError as error:
            return self._fail(system, query, f"{type(error).__name__}: {error.message}")
        record = {"query": query.id, "ranking": made.ranking, **self.read_contexts(query, made)}
        if "grid" in system.measures:
            record["grid"] = [self.answers(query, made.by_budget[budget]) for budget in GRID]
        if made.answer is not None:
            record |= self._read_trace(query, made)
        if made.problems:
            record["degraded"] = list(made.problems)
        return record

    def make_contexts(self, system: BenchmarkSystem, query: SuiteQuery) -> SystemContexts:
        """The contexts of a system for every budget."""
        budgets = GRID if "grid" in system.measures else BUDGETS
        if system.kind == "oracle":
            pieces = rank_judged(self.subject.dataset, query.id, POOL).pieces
            return SystemContexts({budget: fit_budget(pieces, budget) for budget in budgets}, pieces)
        if system.kind == "raptor":
            passages = rank_passages(self.query(query), self.snapshot, self.tree, POOL, self._summaries)
            pool = tuple(piece for passage in passages for piece in passage.pieces)
            return SystemContexts({budget: append_passages(passages, budget) for budget in budgets}, pool)
        if system.kind == "random":
            return self._pack_random(query, budgets)
        if system.kind == "lattice":
            return self._pack_lattice(system, query, budgets)
        pipeline = self._pipeline(system)
        answer = pipeline.run(self.query(query), self.snapshot, k=POOL)
        packer = pipeline_packer(system)
        candidates = list(read_candidates(packer, answer.chosen, answer.snapshot))[:POOL]
        made = self._pack(packer, answer.query, candidates, answer.snapshot, budgets)
        problems = answer.status.degraded
        return replace(made, ranking=digest_ids(answer), answer=answer, problems=(*problems, *made.problems))

    def _pipeline(self, system: BenchmarkSystem) -> Pipeline:
        """The pipeline without its packer, its legs behind the cache."""
        if system.digest not in self._pipelines:
            pipeline = system.pipeline
            assert pipeline is not None
            self._pipelines[system.digest] = self.legs.attach(replace(pipeline, packer=None))
        return self._pipelines[system.digest]

    def _pack_random(self, query: SuiteQuery, budgets: Sequence[int]) -> SystemContexts:
        drawn = draw_random(self.subject.dataset, query.id, self.workspace, POOL, SEED)
        rows = [self.rows_of[name][0] for name in drawn.documents]
        return self._pack_rows(query, rows, drawn.scores, budgets)

    def _pack_lattice(self, system: BenchmarkSystem, query: SuiteQuery, budgets: Sequence[int]) -> SystemContexts:
        if system.chat not in self._chats:
            self._chats[system.chat] = ChatVotes(open_chat(system.chat), LATTICE_VERSION)
        graded = walk_with_model(self.query(query), self.snapshot, self.tree, self._chats[system.chat])[:POOL]
        rows, scores = [one.row for one in graded], [one.relevance for one in graded]
        made = self._pack_rows(query, rows, scores, budgets)
        return replace(made, ranking=_digest_names(str(row) for row in rows))

    def _pack_rows(
        self, query: SuiteQuery, rows: Sequence[int], scores: Sequence[float], budgets: Sequence[int]
    ) -> SystemContexts:
        """Pack ranked rows with the selector that all systems share."""
        chunks = self.snapshot.chunks(np.array(rows, np.int64))
        candidates = [
            PackCandidate(place, chunk, score)
            for place, (chunk, score) in enumerate(zip(chunks, scores, strict=True), 1)
        ]
        return self._pack(_shared_packer(), self.query(query), candidates, self.snapshot, budgets)

    def _pack(
        self,
        packer: Packer,
        query: Query,
        candidates: list[PackCandidate],
        snapshot: Snapshot,
        budgets: Sequence[int],
    ) -> SystemContexts:
        chunks = {one.citation: one.chunk for one in candidates}
        shared = snapshot is self.snapshot  # another one may read other chunks
        known = self.packings.find(packer, query, candidates) if shared else {}
        missing = [budget for budget in budgets if budget not in known]
        for budget, context in pack_budgets(packer, query, candidates, snapshot, missing):
            check_context(context, candidates)
            degraded = [f"context: {note.text}" for note in context.notes if note.kind == "degraded"]
            known[budget] = split_context(context, chunks), tuple(degraded)
        by_budget = {budget: known[budget][0] for budget in budgets}
        notes = dict.fromkeys(note for budget in budgets for note in known[budget][1])
        pool = tuple(
            Piece(one.chunk.doc_id, one.chunk.text, one.chunk.tokens, format_header(one.chunk)) for one in candidates
        )
        return SystemContexts(by_budget, pool, problems=tuple(notes))

    def read_contexts(self, query: SuiteQuery, made: SystemContexts) -> Record:
        """Every measure at every budget of the curve, and the tokens that were used."""
        record: Record = {measure: {} for measure in MEASURES} | {"tokens": {}}
        for key, pieces in [*((str(b), made.by_budget[b]) for b in BUDGETS), (POOL_KEY, made.pool)]:
            reading = self._read(query, pieces)
            for measure in MEASURES:
                value = FORMULAS[measure](reading)
                record[measure][key] = None if np.isnan(value) else round(value, 6)
            record["tokens"][key] = reading.context.tokens
        return record

    def _read(self, query: SuiteQuery, pieces: tuple[Piece, ...]) -> ContextReading:
        evidence = self._evidence(query)
        context = BudgetContext(pieces)
        groups = frozenset(passage.group for passage in evidence)
        return ContextReading(self.subject.dataset.topics[query.id], context, groups, context.groups(evidence))

    def answers(self, query: SuiteQuery, pieces: tuple[Piece, ...]) -> int:
        """1 when all evidence of a query is in a context."""
        return int(FORMULAS["A"](self._read(query, pieces)))

    def _evidence(self, query: SuiteQuery) -> Sequence[Evidence]:
        return self.subject.dataset.evidence[query.id]

    def evidence_rows(self, query: SuiteQuery) -> Groups:
        """hop → group → rows whose text holds some of the evidence."""
        rows: dict[int, dict[int, set[int]]] = {}
        for passage in self._evidence(query):
            hop = self.subject.hop_of(query.id, passage.group)
            found = self._rows_with(passage)
            rows.setdefault(hop, {}).setdefault(passage.group, set()).update(found)
        return rows

    def _rows_with(self, passage: Evidence) -> list[int]:
        """The chunks of the passage's document that hold it; all of them where it spans several."""
        rows = self.rows_of.get(passage.doc_id, [])
        if len(rows) <= 1:
            return rows
        texts = [" ".join(chunk.text.split()) for chunk in self.snapshot.chunks(np.array(rows))]
        wanted = " ".join(passage.text.split())
        return [row for row, text in zip(rows, texts, strict=True) if wanted in text] or rows

    def _read_trace(self, query: SuiteQuery, made: SystemContexts) -> Record:
        """What the race chose and what the walk did; nothing where a system has neither."""
        assert made.answer is not None
        record: Record = {}
        for span in made.answer.trace:
            for note in span.notes:
                if note.data and "winner" in note.data:
                    confidence = {leg: round(value, 6) for leg, value in note.data["confidence"].items()}
                    record["race"] = {"winner": note.data["winner"], "confidence": confidence}
        log = find_log(made.answer.trace)
        if log is not None:
            routing = measure_routing(log, self.evidence_rows(query), self.tree, self.snapshot)
            walked = record.get("race", {}).get("winner", "beam") == "beam"
            bridged = set(self._documents(routing["links"].pop("bridged")) if walked else ())
            routing["links"]["used"] = any(piece.doc_id in bridged for piece in made.by_budget[400])
            record["routing"] = routing
        return record

    def _documents(self, ids: Iterable[str]) -> list[str]:
        rows = self.snapshot.rows(np.array(sorted(ids), np.str_)) if ids else np.empty(0, np.int64)
        names: list[str] = self.workspace.documents[rows].tolist()
        return names

    def _fail(self, system: BenchmarkSystem, query: SuiteQuery, reason: str) -> Record:
        empty = SystemContexts(dict.fromkeys(BUDGETS, ()), ())
        record = {"query": query.id, "ranking": "", **self.read_contexts(query, empty), "failed": reason}
        return record | ({"grid": [0] * len(GRID)} if "grid" in system.measures else {})


def pipeline_packer(system: BenchmarkSystem) -> Packer:
    """The selector of a system."""
    pipeline = system.pipeline
    if pipeline is None or pipeline.packer is None:
        return _shared_packer()
    return pipeline.packer


def _shared_packer() -> Packer:
    """The selector of systems that are no pipeline."""
    settings = dict(SELECTORS["coverage"])
    made: Packer = build_component("packer", settings.pop("use"), settings, "context")
    return made


def pack_budgets(
    packer: Packer, query: Query, candidates: list[PackCandidate], snapshot: Snapshot, budgets: Sequence[int]
) -> Iterable[tuple[int, PackedContext]]:
    """The contexts of one pool for many budgets; the coverage packer cuts and scores the sentences once for all."""
    if not budgets:
        return
    if not isinstance(packer, Coverage) or not candidates:
        for budget in budgets:
            yield budget, with_budget(packer, budget).pack(query, candidates, snapshot)
        return
    pool = make_pool(candidates, headers=packer.headers)
    slots = QuerySlots(query, pool, snapshot)
    scores, notes = packer.score_sentences(query, pool, slots)
    for budget in budgets:
        sized = with_budget(packer, budget)
        assert isinstance(sized, Coverage)
        yield budget, sized.choose(candidates, pool, slots, scores, notes)


def digest_ids(answer: Answer) -> str:
    """Sixteen hex digits that change when a chunk or the order does."""
    return _digest_names(answer.chosen.ids.tolist())


def _digest_names(names: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(names).encode()).hexdigest()[:16]
