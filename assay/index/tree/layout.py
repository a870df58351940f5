"""The tree as arrays, and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError
from assay.types import Rows, Vectors

Nodes = NDArray[np.int32]  # numbers of nodes
TreeKind = Literal["clusters", "headings"]
Summaries = Literal["contrastive", "generic"]
MAX_REPLICATION = 1.5
_CURE = "the defaults are clusters, 16 children, 3 levels, leaves of 64 to 128 chunks, contrastive summaries"


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """The settings of a tree: its shape, and what its nodes say.

    branching       the most children of a node
    levels          levels below the root, the last of which are the leaves; more where `branching ** levels` leaves
                    do not hold the store, fewer in a small store (`clustering.count_levels`)
    leaf_min        the size that leaves should have at least
    leaf_cap        the most rows of a leaf
    second_margin   rows whose cosine to another leaf is within so much of the cosine to their own get a second leaf;
                    0 turns it off
    replication     the most places of all rows together, as a multiple of the number of rows
    kind            "clusters": chunks that are similar share a leaf; "headings": chunks of one document and section do
    seed            of the clustering
    summaries       "contrastive": keywords and sentences that tell a node from its siblings; "generic": those that are
                    frequent in it and rare in the store
    """

    branching: int = 16
    levels: int = 3
    leaf_min: int = 64
    leaf_cap: int = 128
    second_margin: float = 0.0
    replication: float = MAX_REPLICATION
    kind: TreeKind = "clusters"
    seed: int = 1
    summaries: Summaries = "contrastive"

    def __post_init__(self) -> None:
        for wrong, message in (
            (self.branching < 2, f"tree: branching = {self.branching} is less than 2"),
            (self.levels < 1, f"tree: levels = {self.levels} is less than 1"),
            (
                not 1 <= self.leaf_min <= self.leaf_cap,
                f"tree: leaf_min = {self.leaf_min} is not between 1 and leaf_cap = {self.leaf_cap}",
            ),
            (not self.second_margin >= 0.0, f"tree: second_margin = {self.second_margin} is negative"),
            (self.seed < 0, f"tree: seed = {self.seed} is negative"),
            (self.kind not in get_args(TreeKind), f"tree: kind = {self.kind!r} is unknown"),
            (self.summaries not in get_args(Summaries), f"tree: summaries = {self.summaries!r} is unknown"),
            (
                not 1.0 <= self.replication <= MAX_REPLICATION,
                f"tree: replication = {self.replication} is not between 1 and {MAX_REPLICATION}",
            ),
        ):
            if wrong:
                raise ConfigError(message, _CURE)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> TreeSettings:
        """The settings that a store remembers; the defaults where it has none. ConfigError for unknown names."""
        stored = stored or {}
        if unknown := sorted(stored.keys() - {field.name for field in fields(cls)}):
            raise ConfigError(
                f"the store's tree has a setting {unknown[0]!r} that this version does not know",
                "update assay, or build the tree anew: assay tree build --defaults",
            )
        return cls(**stored)

    def to_json(self) -> dict[str, Any]:
        """What a store remembers: only what differs from the defaults."""
        usual = asdict(TreeSettings())
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    @property
    def leaf_target(self) -> int:
        """The mean size of leaves that clustering aims at."""
        return (self.leaf_min + self.leaf_cap + 1) // 2


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """Nodes level by level; node 0 is the root, and the children of a node are consecutive, ordered by smallest row.

    parent, level        of each node; the root has parent -1 and level 0
    first_child          of each node, -1 for a leaf
    child_count          of each node, 0 for a leaf; all leaves have the same level
    leaf_of_row          the leaf of each row
    second_leaf_of_row   another leaf of each row, or -1
    centroids            the normalised mean of the rows under each node; zero where no row has a vector
    split_families       families larger than a leaf, whose rows are in several leaves

    An empty store has no nodes. A store that fits into one leaf has one node, which is root and leaf.
    """

    parent: Nodes
    level: Nodes
    first_child: Nodes
    child_count: Nodes
    leaf_of_row: Nodes
    second_leaf_of_row: Nodes
    centroids: Vectors
    split_families: Rows

    def children(self, node: int) -> range:
        """Return the children of a node."""
        first = int(self.first_child[node])
        return range(first, first + int(self.child_count[node]))

    def leaves(self) -> Rows:
        """Return the leaves, ascending."""
        return np.flatnonzero(self.child_count == 0)

    def leaf_sizes(self) -> Rows:
        """Return the number of rows of each node that is their leaf; second leaves are not counted."""
        return np.bincount(self.leaf_of_row, minlength=len(self.parent)).astype(np.int64)
