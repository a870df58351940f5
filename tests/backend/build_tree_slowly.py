"""python build_tree_slowly.py STORE     builds a tree and stops inside the build, so that it can be killed there."""

import sys
import time
from pathlib import Path

from tree_stores import open_backend

from assay.store.sqlite import SqliteStore


def wait_at_prototypes(task: str, done: int, total: int) -> None:
    del done, total
    if task == "prototypes":
        time.sleep(600)


backend = open_backend(SqliteStore.open(Path(sys.argv[1])))
backend.build_tree(progress=wait_at_prototypes)
