"""An index whose tree has other settings: a copy of the workspace's store, so that everybody else keeps theirs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.bench.receipt import compute_digest
from assay.bench.workspace import Workspace
from assay.embed.cache_home import cache_home
from assay.errors import AssayError
from assay.index.tree.layout import TreeSettings
from assay.kb import open as open_kb
from assay.store.locks import lock_file
from assay.types import Progress
from assay.upkeep.copy_store import copy_store


def open_tree_variant(
    workspace: Workspace, settings: Mapping[str, Any], progress: Progress = lambda *_: None, cache: Path | None = None
) -> Workspace:
    """Open the workspace with these settings of the tree; its copy is made once and kept in the user's cache."""
    chosen = TreeSettings.from_json(settings)
    key = compute_digest([workspace.snapshot.digest, chosen.to_json()])[:32]
    folder = (cache or cache_home() / "rb006") / f"tree-{key}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with lock_file(folder.with_suffix(".lock")):
        if folder.exists():
            try:
                return Workspace(open_kb(folder, create=False), workspace.settings)
            except AssayError:
                shutil.rmtree(folder)  # a cache: what cannot be opened is made again
        draft = folder.with_suffix(".part")
        shutil.rmtree(draft, ignore_errors=True)
        copy_store(workspace.kb.store, draft, progress).close()
        with open_kb(draft, create=False) as kb:
            kb.optimize(progress, force=True)
            kb.build_tree(chosen, progress)
        os.replace(draft, folder)
    return Workspace(open_kb(folder, create=False), workspace.settings)
