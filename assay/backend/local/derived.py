"""Builds the graph and the tree of a local store's generation: ahead, or with each generation once they are in use."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from assay.backend.shared.limits import MOST_TAIL
from assay.errors import ConfigError
from assay.index.generation import Generation
from assay.index.tree.layout import TreeSettings
from assay.types import Progress

if TYPE_CHECKING:
    from assay.backend.local.backend import LocalBackend


def is_graph_due(backend: LocalBackend) -> bool:
    generation = backend.generation
    return generation is not None and generation.size > MOST_TAIL and not generation.graph_folder.is_dir()


def is_tree_due(backend: LocalBackend) -> bool:
    generation = backend.generation
    return generation is not None and generation.size > MOST_TAIL and not generation.tree_folder.is_dir()


def build_graph_now(backend: LocalBackend, progress: Progress) -> int:
    """Build the graph of the current generation, instead of for the first question; how many chunks it covers.

    Every later generation is built with one. 0 when there is no generation yet: then a graph costs nothing.
    """
    generation = backend.generation
    if generation is None:
        return 0
    backend.build_graph_of(generation, progress)
    return generation.size


def build_tree_now(backend: LocalBackend, settings: TreeSettings, progress: Progress) -> int:
    """Index what is pending, save the settings, and build the tree of the generation; how many chunks it covers.

    New settings are a new version, so that every process notices them.
    """
    if settings.to_json() != (backend.store.setting("tree") or {}):
        with backend.store.write("tree settings") as writer:
            writer.set("tree", settings.to_json())
            writer.touch()
    if backend.generation is None or backend.pending:
        backend.compact(progress)
    generation = backend.generation
    if generation is None:
        return 0
    backend.build_tree_of(generation, progress)
    return generation.size


def build_as_before(backend: LocalBackend, before: Path | None, built: Generation, progress: Progress) -> None:
    """Give a new generation the graph and the tree if the one before has them: the first query must not wait."""
    if before is None:
        return
    if (before / "graph").is_dir():
        backend.build_graph_of(built, progress)
    if (before / "tree").is_dir():
        with contextlib.suppress(ConfigError):  # settings of a newer version: the tree says so when it is used
            backend.build_tree_of(built, progress)
