"""Draws a stratified sample of a dataset's questions: LongMemEval-50 out of 500.

Questions are grouped by their first stratum and by whether they are answerable. A group of g out of N questions gets
n·g/N of the n places: integer parts first, the rest by largest remainder, ties by the group's name; if n allows, every
group gets one. Within a group the questions with the smallest sha256("seed:id") are chosen, so a sample depends on the
ids alone, and a smaller sample with the same seed is mostly part of a larger one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from assay.bench.datasets.errors import DatasetError
from assay.bench.receipt import compute_digest
from assay.bench.types import Dataset, Topic

GROUPING_STRATA = ("type=", "kind=", "question_type=")
"""Questions are grouped by the first of these strata that they have, else by their first stratum."""


def sample(dataset: Dataset, n: int, seed: int = 0) -> Dataset:
    """Return the dataset with n of its questions. The new digest covers the old one and the chosen questions."""
    if n < 1:
        raise DatasetError(f"a sample of {n} questions measures nothing", "ask for at least one")
    groups: dict[str, list[str]] = {}
    for name in (*dataset.scored, *sorted(dataset.abstain)):
        groups.setdefault(_group(dataset.topics[name], name in dataset.abstain), []).append(name)
    sizes = allocate({group: len(members) for group, members in groups.items()}, n)
    chosen = sorted(
        name
        for group, members in groups.items()
        for name in sorted(members, key=lambda member: _draw_key(seed, member))[: sizes[group]]
    )
    split = f"{dataset.split}~{n}~{seed}" if seed else f"{dataset.split}~{n}"
    selected = frozenset(chosen)
    return replace(
        dataset,
        split=split,
        digest=compute_digest({"of": dataset.digest, "split": split, "queries": chosen}),
        topics={name: dataset.topics[name] for name in chosen},
        judgements={name: found for name, found in dataset.judgements.items() if name in selected},
        evidence={name: found for name, found in dataset.evidence.items() if name in selected},
        abstain=dataset.abstain & selected,
        notes=(*dataset.notes, f"{len(chosen)} of {sum(map(len, groups.values()))} questions, by strata, seed {seed}"),
    )


def allocate(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """The sample size of each group: n·g/N by largest remainder, at least 1 if n allows, at most its size."""
    total = sum(sizes.values())
    wanted = min(n, total)
    exact = {group: Fraction(wanted * size, total) for group, size in sizes.items()}
    least = 1 if wanted >= len(sizes) else 0
    sizes_drawn = {group: max(least, int(share)) for group, share in exact.items()}
    by_need = sorted(sizes, key=lambda group: (sizes_drawn[group] - exact[group], group))
    while (missing := wanted - sum(sizes_drawn.values())) != 0:
        step = 1 if missing > 0 else -1
        order = by_need if missing > 0 else by_need[::-1]
        for group in order:
            if missing and (sizes_drawn[group] < sizes[group] if step > 0 else sizes_drawn[group] > least):
                sizes_drawn[group] += step
                missing -= step
    return sizes_drawn


def _group(topic: Topic, abstains: bool) -> str:
    strata = (stratum for start in GROUPING_STRATA for stratum in topic.strata if stratum.startswith(start))
    return f"{'no answer, ' if abstains else ''}{next(iter((*strata, *topic.strata, '')))}"


def _draw_key(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode("utf-8", "surrogatepass")).digest()
