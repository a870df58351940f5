"""Several processes that add the first documents of a store at once create it once, and none is turned away."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import assay
from assay.backend.postgres.connections import Address
from assay.backend.postgres.store import PostgresStore
from assay.testing.postgres import PostgresServer
from tests.backend.test_postgres import SETTINGS

COMMAND = "from assay.cli.main import main; main()"
WRITERS = 6


def test_a_store_that_several_create_at_once_is_one(postgres: PostgresServer) -> None:
    for turn in range(3):
        where = Address.parse(postgres.address(f"created_by_many_{turn}"))
        barrier = Barrier(WRITERS)

        def create(where: Address = where, barrier: Barrier = barrier) -> str:
            barrier.wait()
            store = PostgresStore.create(where, SETTINGS)
            name = str(store.settings["store"])
            store.close()
            return name

        with ThreadPoolExecutor(WRITERS) as pool:
            names = [future.result() for future in [pool.submit(create) for _ in range(WRITERS)]]
        assert len(set(names)) == 1


def test_the_parts_of_a_folder_may_create_the_store(database: str, tmp_path: Path) -> None:
    """`assay add --part` from several processes at once, into a store that is not there yet."""
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(24):
        (texts / f"note{number}.md").write_text(f"# Note {number}\n\nRake the salt pan.\n")
    add = [sys.executable, "-c", COMMAND, "add", str(texts), "--no-index", "--embedder", "none"]
    running = [
        subprocess.Popen(
            [*add, "--store", database, "--part", f"{part}/3"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for part in (1, 2, 3)
    ]
    said = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], said
    with assay.open(database) as kb:
        assert sorted(hit.chunk.meta["title"] for hit in kb.search("salt pan", k=100)) == sorted(
            f"Note {number}" for number in range(24)
        )
