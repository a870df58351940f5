"""Finds the queries where a system loses most against others, and where their relevant documents stand.

A loss is the system's value minus the best value of the others on the same query. Against the legs alone it shows what
fusion costs; against `oracle` it shows what is left to gain. Receipts must keep their rankings (`--with-rankings`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assay.bench.bounds import rank_judged
from assay.bench.receipt import Receipt, ReceiptError
from assay.bench.run_columns import RunColumns, check_fit, check_metric, read_columns
from assay.bench.types import Dataset

KEPT = 20
"""Documents of each ranking that a receipt keeps."""


@dataclass(frozen=True, slots=True)
class RelevantRank:
    """A relevant document: its grade, and its rank in each system; None below the ranks that were kept."""

    document: str
    title: str
    grade: int
    ranks: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class QueryLoss:
    """A query with the value of every system; `loss` is below 0 where another system is better."""

    query: str
    text: str
    loss: float
    values: Mapping[str, float]
    first: str
    """The title of the document that the system ranks first."""
    relevant: tuple[RelevantRank, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def find_losses(dataset: Dataset, receipts: Sequence[Receipt], metric: str, top: int = 10) -> list[QueryLoss]:
    """The `top` worst queries of the first receipt against the best of the others, worst first."""
    system, *others = runs = [read_columns(receipt) for receipt in receipts]
    if not others:
        raise ReceiptError("losses are against other systems", "name one with --against")
    for run in others:
        check_fit(system, run)
    check_metric(metric, runs)
    if system.dataset["digest"] != dataset.digest:
        raise ReceiptError(
            f"{dataset.name} has changed since {system.system} ran on it", "run it again: assay bench run --again"
        )
    rankings = {run.system: _kept_rankings(receipt, dataset) for run, receipt in zip(runs, receipts, strict=True)}
    losses = {
        query: float(system.scores[metric][place] - max(float(run.scores[metric][place]) for run in others))
        for place, query in enumerate(system.queries)
    }
    worst = sorted((query for query in losses if losses[query] < 0), key=lambda query: (losses[query], query))[:top]
    wanted = {
        name for query in worst for name in (*dataset.judgements[query], *rankings[system.system].get(query, ())[:1])
    }
    titles = {str(one["id"]): _title(one) for one in dataset.documents if str(one["id"]) in wanted}
    return [_describe(query, dataset, runs, metric, rankings, losses[query], titles) for query in worst]


def _describe(
    query: str,
    dataset: Dataset,
    runs: Sequence[RunColumns],
    metric: str,
    rankings: Mapping[str, Mapping[str, Sequence[str]]],
    loss: float,
    titles: Mapping[str, str],
) -> QueryLoss:
    place = runs[0].queries.index(query)
    graded = sorted(dataset.judgements[query].items(), key=lambda item: (-item[1], item[0]))
    relevant = tuple(
        RelevantRank(
            name,
            titles.get(name, ""),
            grade,
            {system: _rank(found.get(query, ()), name) for system, found in rankings.items()},
        )
        for name, grade in graded
        if grade > 0
    )
    first = rankings[runs[0].system].get(query, ())[:1]
    values = {run.system: float(run.scores[metric][place]) for run in runs}
    return QueryLoss(
        query, dataset.topics[query].text, loss, values, titles.get(first[0], first[0]) if first else "", relevant
    )


def _kept_rankings(receipt: Receipt, dataset: Dataset) -> Mapping[str, Sequence[str]]:
    """A receipt's rankings by query. The oracle's follow from the judgements."""
    if receipt.canonical["system"]["spec"].get("baseline") == "oracle":
        return {query: rank_judged(dataset, query, KEPT).documents for query in dataset.scored}
    kept = receipt.measured.get("rankings")
    if not isinstance(kept, Mapping):
        name = receipt.canonical["system"]["name"]
        raise ReceiptError(
            f"the receipt of {name} keeps no rankings", "make it again: assay bench run … --with-rankings --again"
        )
    return kept


def _rank(ranking: Sequence[str], document: str) -> int | None:
    return ranking.index(document) + 1 if document in ranking else None


def _title(record: Mapping[str, Any]) -> str:
    title = str(record.get("title") or "").strip()
    return title or " ".join(str(record.get("text") or "").split())[:80]
