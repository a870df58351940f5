"""Leave one set out: chooses a system of a family on all sets but one, and reports it on that one.

A setting that is best on the sets it was chosen on may lose on others. Here no set has a say in its own choice: for
every set, the system with the best mean of means over the *other* sets' dev splits is taken, and only its score on the
test split of the left-out set counts. The mean over sets predicts how a choice made on all of them does on a new set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench import lab
from assay.bench.compare import DRAWS, LEVEL, SEED, TESTS
from assay.bench.datasets import load_splits
from assay.bench.metrics import parse
from assay.bench.pooled import METRIC, choose_systems, group_by_set
from assay.bench.receipt import Receipt, ReceiptError
from assay.bench.run_columns import RunColumns, read_columns
from assay.bench.runner import RunPlan
from assay.bench.stats import compare_pairs
from assay.bench.stats.units import exact_mean
from assay.bench.systems import System
from assay.bench.workspace import IndexSettings, prepare
from assay.types import Floats, Progress

FEWEST_SETS = 3
"""With two sets every choice would be made on one."""


def run_family(
    sources: Sequence[str],
    systems: Sequence[System],
    splits: tuple[str, str],
    settings: IndexSettings,
    *,
    out: Path | None = None,
    metric: str = METRIC,
    progress: Progress = lambda *_: None,
) -> list[Receipt]:
    """Run every system on both splits of every set, untimed; receipts in `out` that fit are reused."""
    receipts: list[Receipt] = []
    for source in sources:
        datasets = load_splits(source, splits)
        with prepare(datasets[0], settings, progress) as workspace:
            for dataset in datasets:
                result = lab.run(
                    dataset, systems, workspace, RunPlan((metric,)), out=out, timed=False, progress=progress
                )
                receipts += result.receipts.values()
    return receipts


def leave_one_set_out(
    receipts: Sequence[Receipt],
    family: Sequence[str],
    baseline: str,
    metric: str = METRIC,
    splits: tuple[str, str] = ("dev", "test"),
) -> Receipt:
    """Choose from `family` for every set on the others' first split, and test the choice against `baseline` on its
    second, as a receipt of kind "loso". Of equal systems the first is chosen.

    A set that lacks a run of a system on one of the splits is listed, not used.
    """
    metric = str(parse(metric))
    runs = [read_columns(receipt) for receipt in receipts]
    names = choose_systems(runs, list(dict.fromkeys([baseline, *family])))
    family = [name for name in names if name in family]
    grouped, incomplete = group_by_set([run for run in runs if run.system in names], names, [metric])
    complete = {name: _by_split(name, grouped, splits) for name in dict.fromkeys(r.dataset["name"] for r in runs)}
    sets = {name: found for name, found in sorted(complete.items()) if found is not None}
    if len(sets) < FEWEST_SETS:
        lacking = "; ".join(f"{name} lacks {', '.join(missing)}" for name, missing in incomplete.items())
        raise ReceiptError(
            f"{len(sets)} sets have every system on {' and '.join(splits)}" + (f" ({lacking})" if lacking else ""),
            f"leaving one out takes {FEWEST_SETS} sets or more",
        )
    dev, test = (_means(sets, place, names, metric) for place in (0, 1))
    places = [names.index(name) for name in family]
    chosen = [places[int(np.argmax(np.delete(dev, row, axis=0).mean(axis=0)[places]))] for row in range(len(sets))]
    reported = test[np.arange(len(sets)), chosen]
    columns = [
        (members[1][0].values(metric), members[1][at].values(metric))
        for members, at in zip(sets.values(), chosen, strict=True)
    ]
    by_set = compare_pairs(columns, level=LEVEL, draws=DRAWS, seed=SEED)
    over_sets = compare_pairs([(test[:, 0], reported)], level=LEVEL, draws=DRAWS, seed=SEED)[0]
    canonical = {
        "baseline": names[0],
        "family": family,
        "metric": metric,
        "splits": list(splits),
        "tests": {**TESTS, "unit": "set"},
        "sets": [
            {
                "name": name,
                "digests": [members[0].dataset["digest"] for members in found],
                "receipts": {run.system: run.receipt for run in found[1]},
                "chosen": names[at],
                "best_of_its_own": names[places[int(np.argmax(test[row][places]))]],
                **one.to_dict(),
            }
            for row, ((name, found), at, one) in enumerate(zip(sets.items(), chosen, by_set, strict=True))
        ],
        "incomplete": incomplete,
        "systems": {
            name: {"dev": _rounded(dev[:, at]), "test": _rounded(test[:, at])} for at, name in enumerate(names)
        },
        "left_out": {**over_sets.to_dict(), "sign_test": sign_test(over_sets.wins, over_sets.losses)},
        "chosen_on_all": names[places[int(np.argmax(dev.mean(axis=0)[places]))]],
    }
    return Receipt("loso", canonical, {})


def sign_test(wins: int, losses: int) -> float:
    """The two-sided binomial probability of a split at least this uneven when wins and losses are equally likely."""
    total = wins + losses
    tail = sum(math.comb(total, k) for k in range(max(wins, losses), total + 1))
    return round(min(1.0, 2.0 * tail / 2.0**total), 10)


def _by_split(
    name: str, grouped: Mapping[str, list[RunColumns]], splits: tuple[str, str]
) -> tuple[list[RunColumns], list[RunColumns]] | None:
    """The runs of a set on both splits, in the order of the systems; None where one is missing."""
    first, second = (grouped.get(f"{name}/{split}") for split in splits)
    return None if first is None or second is None else (first, second)


def _means(
    sets: Mapping[str, tuple[list[RunColumns], list[RunColumns]]], place: int, names: Sequence[str], metric: str
) -> Floats:
    """Mean scores [set, system] on one of the splits."""
    return np.array(
        [[exact_mean(found[place][at].values(metric)) for at in range(len(names))] for found in sets.values()]
    )


def _rounded(means: Floats) -> dict[str, Any]:
    return {"mean": round(float(means.mean()), 10), "sets": [round(float(mean), 10) for mean in means]}
