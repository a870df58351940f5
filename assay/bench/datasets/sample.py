"""Fewer questions of a dataset, every kind of question with its share: LongMemEval-50 out of 500.

Questions are grouped by their first stratum and by whether anything answers them. A group of g out of N questions
gets n·g/N of the n places: whole places first, the rest by largest remainder, ties by the group's name; where n
allows, no group goes without. Within a group those come first whose sha256("seed:id") is smallest, so a sample
depends on the ids alone, and a smaller one with the same seed is mostly part of a larger one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from assay.bench.datasets.errors import DatasetError
from assay.bench.receipt import digest_of
from assay.bench.types import Dataset, Topic

FIRST = ("type=", "kind=", "question_type=")
"""Strata by which questions are grouped, the first that a question has; without one, by its first stratum."""


def sample(dataset: Dataset, n: int, seed: int = 0) -> Dataset:
    """The same documents with n of the questions. Its digest covers the whole dataset's digest and the choice."""
    if n < 1:
        raise DatasetError(f"a sample of {n} questions measures nothing", "ask for at least one")
    groups: dict[str, list[str]] = {}
    for name in (*dataset.scored, *sorted(dataset.abstain)):
        groups.setdefault(_group(dataset.topics[name], name in dataset.abstain), []).append(name)
    sizes = shares({group: len(members) for group, members in groups.items()}, n)
    chosen = sorted(
        name
        for group, members in groups.items()
        for name in sorted(members, key=lambda member: _draw(seed, member))[: sizes[group]]
    )
    split = f"{dataset.split}~{n}~{seed}" if seed else f"{dataset.split}~{n}"
    kept = frozenset(chosen)
    return replace(
        dataset,
        split=split,
        digest=digest_of({"of": dataset.digest, "split": split, "queries": chosen}),
        topics={name: dataset.topics[name] for name in chosen},
        judgements={name: found for name, found in dataset.judgements.items() if name in kept},
        evidence={name: found for name, found in dataset.evidence.items() if name in kept},
        abstain=dataset.abstain & kept,
        notes=(*dataset.notes, f"{len(chosen)} of {sum(map(len, groups.values()))} questions, by strata, seed {seed}"),
    )


def shares(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """How many of each group: n·g/N by largest remainder, at least one where n allows, never more than there are."""
    total = sum(sizes.values())
    wanted = min(n, total)
    exact = {group: Fraction(wanted * size, total) for group, size in sizes.items()}
    least = 1 if wanted >= len(sizes) else 0
    given = {group: max(least, int(share)) for group, share in exact.items()}
    by_need = sorted(sizes, key=lambda group: (given[group] - exact[group], group))
    while (missing := wanted - sum(given.values())) != 0:
        step = 1 if missing > 0 else -1
        order = by_need if missing > 0 else by_need[::-1]
        for group in order:
            if missing and (given[group] < sizes[group] if step > 0 else given[group] > least):
                given[group] += step
                missing -= step
    return given


def _group(topic: Topic, abstains: bool) -> str:
    named = (stratum for start in FIRST for stratum in topic.strata if stratum.startswith(start))
    return f"{'no answer, ' if abstains else ''}{next(iter((*named, *topic.strata, '')))}"


def _draw(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode("utf-8", "surrogatepass")).digest()
