"""Random draws in rounds: one item of every document before a second one of any."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from assay.bench.synth.synthetic_query import seeded_hash

T = TypeVar("T")


def draw_round_robin(items: Iterable[T], key: Callable[[T], tuple[str, str]], seed: int, kind: str) -> Iterator[T]:
    """Shuffle items round robin over documents. `key` returns the document of an item and its identity."""
    groups: dict[str, list[tuple[int, T]]] = {}
    for item in items:
        document, identity = key(item)
        groups.setdefault(document, []).append((seeded_hash(seed, kind, document, identity), item))
    ranked: list[tuple[int, int, T]] = []
    for document, group in groups.items():
        group.sort(key=lambda one: one[0])
        ranked += [(turn, seeded_hash(seed, kind, document), item) for turn, (_, item) in enumerate(group)]
    ranked.sort(key=lambda one: one[:2])
    return (item for _, _, item in ranked)
