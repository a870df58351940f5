"""A draw that goes round the documents: everybody's first before anybody's second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from assay.bench.synth.generated import drawn

T = TypeVar("T")


def spread(items: Iterable[T], named: Callable[[T], tuple[str, str]], seed: int, kind: str) -> Iterator[T]:
    """Items in the order of the draw. `named` gives the document of an item and what the item is."""
    groups: dict[str, list[tuple[int, T]]] = {}
    for item in items:
        document, what = named(item)
        groups.setdefault(document, []).append((drawn(seed, kind, document, what), item))
    ranked: list[tuple[int, int, T]] = []
    for document, group in groups.items():
        group.sort(key=lambda one: one[0])
        ranked += [(turn, drawn(seed, kind, document), item) for turn, (_, item) in enumerate(group)]
    ranked.sort(key=lambda one: one[:2])
    return (item for _, _, item in ranked)
